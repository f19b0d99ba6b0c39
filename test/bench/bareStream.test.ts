/** The bare server that Ringfence's streams are compared with, and how it flushes. */
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Flusher } from '../../bench/load/flusher.ts'
import { startBareStream, type BareWork } from '../../bench/load/servers.ts'
import type { Encoding } from '../../bench/load/streamFrames.ts'
import { startStreamGenerator } from '../../bench/load/streamLoad.ts'
import { Fleet, RecordFile, regionOf } from '../../bench/load/workload.ts'

const DEVICES = 280
const ROUNDS = 2

function folderOf(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'ringfence-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function rounds(): Record<string, unknown>[] {
  const fleet = new Fleet(regionOf(1000), DEVICES, 1)
  return Array.from({ length: ROUNDS }, () => [...fleet.round()]).flat()
}

for (const gatherMs of [0, 1]) {
  t.test(
    `waiting requests are answered in order, once the rows are in the file; gathered for ${gatherMs} ms`,
    async (t) => {
      const path = join(folderOf(t), 'rows')
      const answered: number[] = []
      await new Promise<void>((resolve) => {
        const flusher = new Flusher<number>(path, 26, gatherMs, (batch) => {
          answered.push(...batch)
          const rows = readFileSync(path)
          for (const i of batch) t.equal(rows.readDoubleLE(i * 26), i, 'is there')
          if (answered.length < 100) return
          flusher.close()
          resolve()
        })
        const add = (i: number) => {
          flusher.row(i, 0, 0)
          flusher.wait(i)
          if (i === 99) return
          if (i % 10 === 0) setImmediate(add, i + 1)
          else add(i + 1)
        }
        add(0)
      })
      t.strictSame(
        answered,
        Array.from({ length: 100 }, (_, i) => i),
      )
      t.equal(statSync(path).size, 100 * 26)
    },
  )
}

t.test('every frame is acknowledged, and its rows are in the file', async (t) => {
  const folder = folderOf(t)
  const path = join(folder, 'updates')
  const file = new RecordFile(path)
  for (const update of rounds()) file.add(JSON.stringify(update))
  file.close()
  const count = DEVICES * ROUNDS
  const generator = await startStreamGenerator(path, count)
  t.teardown(() => generator.stop())
  const steps: [Encoding, BareWork][] = [
    ['json', {}],
    ['json', { flushes: true }],
    ['msgpack', { flushes: true }],
    ['protobuf', { flushes: true }],
  ]
  for (const [i, [encoding, work]] of steps.entries()) {
    const name = `step${i}`
    const server = await startBareStream(folder, name, work)
    t.teardown(() => server.kill())
    const session = await generator.open({
      port: server.port,
      key: 'k',
      encoding,
      connections: 3,
      updatesPerFrame: 7,
      updatesPerRound: DEVICES,
      events: false,
    })
    const { ok, problems } = await session.run({ rate: 0, count, maxLagMs: 1000 })
    t.strictSame({ ok, problems }, { ok: count, problems: 0 }, `${encoding} ${JSON.stringify(work)}`)
    await session.close()
    if (work.flushes) t.equal(statSync(join(folder, `${name}.rows`)).size, count * 26)
    await server.stop()
  }
})
