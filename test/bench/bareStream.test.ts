/** What the floor of an update is measured with: each part beside its obvious twin, and the whole as a server. */
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { BareDevices, ID_BYTES } from '../../bench/load/bareDevices.ts'
import { Flusher } from '../../bench/load/flusher.ts'
import { readPlainFrame } from '../../bench/load/plainJson.ts'
import { startBareStream, type BareStreamWork } from '../../bench/load/servers.ts'
import { frameEncoder, type Encoding } from '../../bench/load/streamFrames.ts'
import { startStreamGenerator } from '../../bench/load/streamLoad.ts'
import { Fleet, RecordFile, regionOf } from '../../bench/load/workload.ts'
import { PROTO_FILE } from '../../bench/load/servers.ts'

const DEVICES = 280
const ROUNDS = 2
const DEVICE_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

function folderOf(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'ringfence-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function rounds(): Record<string, unknown>[] {
  const fleet = new Fleet(regionOf(1000), DEVICES, 1)
  return Array.from({ length: ROUNDS }, () => [...fleet.round()]).flat()
}

t.test('the reader that knows the order reads what JSON.parse does', async (t) => {
  const encoder = frameEncoder('json', PROTO_FILE)
  const updates = rounds()
  for (const [id, size] of [
    [1, 1],
    [4_000_000_000, 32],
  ] as const) {
    for (let at = 0; at < updates.length; at += size) {
      const part = updates.slice(at, at + size)
      const body = encoder.body(part)
      const frame = Buffer.concat([encoder.around(id, body, size, false)[0], body, Buffer.from(']}')])
      const read: object[] = []
      const readId = readPlainFrame(frame, ID_BYTES, (idAt, latitude, longitude) => {
        read.push({ deviceId: frame.toString('latin1', idAt, idAt + ID_BYTES), latitude, longitude })
      })
      const { updates: parsed } = JSON.parse(frame.toString()) as { updates: Record<string, unknown>[] }
      t.equal(readId, id)
      t.strictSame(
        read,
        parsed.map(({ deviceId, latitude, longitude }) => ({ deviceId, latitude, longitude })),
      )
    }
  }
})

t.test('the table knows the last latitude of each device, as a Map does', async (t) => {
  const table = new BareDevices()
  const twin = new Map<string, number>()
  let differences = 0
  for (const update of rounds()) {
    const { deviceId, latitude, longitude } = update as {
      deviceId: string
      latitude: number
      longitude: number
    }
    const before = table.move(Buffer.from(`..${deviceId}`), 2, latitude, longitude, 1)
    if (before !== (twin.get(deviceId) ?? 0)) differences++
    twin.set(deviceId, latitude)
  }
  t.equal(differences, 0)
  t.equal(twin.size, DEVICES)
})

for (const gatherMs of [0, 1]) {
  t.test(
    `who waits is answered in order, once the rows are in the file; gathered for ${gatherMs} ms`,
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

t.test('every frame is acknowledged after every step; rows and events are where they belong', async (t) => {
  const folder = folderOf(t)
  const path = join(folder, 'updates')
  const file = new RecordFile(path)
  for (const update of rounds()) file.add(JSON.stringify(update))
  file.close()
  const count = DEVICES * ROUNDS
  const generator = await startStreamGenerator(path, count)
  t.teardown(() => generator.stop())
  const all: BareStreamWork = { flush: 'gathered', devices: true, index: true }
  const steps: [Encoding, BareStreamWork][] = [
    ['json', {}],
    ['json', { flush: 'at once' }],
    ['json', all],
    ['json', { ...all, plain: true }],
    ['msgpack', all],
    ['protobuf', all],
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
    const events = work.index ? count / 14 : 0
    if (work.flush !== undefined)
      t.equal(statSync(join(folder, `${name}.rows`)).size, count * 26 + events * 700)
    if (work.index) t.equal(await indexed(join(folder, `${name}.db`), events), events)
    await server.stop()
  }
})

/** How many events the index has, each of a device that is one; the thread puts them in a moment after their frames were acknowledged. */
async function indexed(file: string, wanted: number): Promise<number> {
  for (let attempt = 0; ; attempt++) {
    const devices = devicesIn(file)
    if (devices.length === wanted || attempt === 100)
      return devices.filter((id) => DEVICE_ID.test(id as string)).length
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

function devicesIn(file: string): unknown[] {
  if (!existsSync(file)) return []
  const database = new Database(file, { readonly: true })
  try {
    const tables = database.prepare('SELECT 1 FROM sqlite_schema').all()
    return tables.length === 0 ? [] : database.prepare('SELECT device FROM events').pluck().all()
  } finally {
    database.close()
  }
}
