/** Appends the given number of frames, and writes `ack <offset>` to stdout at each acknowledgement. */
import { writeSync } from 'node:fs'
import { openCommitLog } from '../../src/log/commitLog.ts'
import { openStore } from '../../src/log/store.ts'

const [folder, durability, frames] = process.argv.slice(2) as [string, 'fsync' | 'os', string]
const store = openStore(folder, { partitions: 4 })
const log = openCommitLog({
  store,
  durability,
  segmentBytes: 4096,
  failed: (error) => {
    throw error
  },
})

function acknowledged(): void {
  writeSync(1, `ack ${log.offset}\n`)
  if (log.offset < Number(frames)) next()
}

function next(): void {
  log.append([Buffer.from(`frame ${log.offset + 1}`), Buffer.alloc(600, 7)], acknowledged)
}

next()
