/**
 * Loaded before a server: at SIGUSR2 it collects garbage, and writes how many bytes the main thread still holds to the file
 * RINGFENCE_BENCH_HEAP: those of objects, and those of buffers beside them. Unlike the memory of the process, this does
 * not depend on what the allocator has given back.
 */
import { renameSync, writeFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { isMainThread } from 'node:worker_threads'

/** Objects that refer to buffers are collected first, and these only the next time. */
const COLLECTIONS = 4
const PAUSE_MS = 200

const file = process.env['RINGFENCE_BENCH_HEAP']
if (isMainThread && file !== undefined) {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  process.on('SIGUSR2', () => {
    let left = COLLECTIONS
    const next = () => {
      collect()
      if (--left > 0) return void setTimeout(next, PAUSE_MS)
      const { heapUsed, external } = process.memoryUsage()
      writeFileSync(`${file}.new`, String(heapUsed + external))
      renameSync(`${file}.new`, file)
    }
    next()
  })
}
