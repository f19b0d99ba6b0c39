/** Ends of a process by SIGTERM, and starts that are refused. Neither may lose anything that was acknowledged. */
import { createHash, randomBytes } from 'node:crypto'
import {
  cpSync,
  openSync,
  closeSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import t from 'tap'
import { KEYS, Server } from '../kit/server.ts'

const CONNECTIONS = 16
/** A start spends as much time waiting as it spends working. */
const STARTS_AT_ONCE = 3
const ENV = { RINGFENCE_SEGMENT_BYTES: '65536', RINGFENCE_SNAPSHOT_BYTES: '65536' }

/** What a client was told about one update. `whole` is false if the answer broke off. */
interface Told {
  readonly status: number | undefined
  readonly whole: boolean
  readonly retryAfter: string | undefined
}

function track(server: Server, agent: Agent, body: unknown): Promise<Told> {
  return new Promise((resolve) => {
    const headers = { authorization: KEYS.testPublishable, 'content-type': 'application/json' }
    const call = request(`${server.url}/v1/track`, { method: 'POST', agent, headers }, (response) => {
      response.resume()
      response.on('error', () => {})
      response.on('close', () => {
        const retryAfter = response.headers['retry-after']
        resolve({ status: response.statusCode, whole: response.complete, retryAfter })
      })
    })
    call.on('error', () => resolve({ status: undefined, whole: true, retryAfter: undefined }))
    call.end(JSON.stringify(body))
  })
}

/** Starts a server that must fail. Returns everything that the process wrote. */
async function refusal(data: string): Promise<string> {
  try {
    const server = await Server.start({ data, env: ENV })
    await server.dispose()
  } catch (error) {
    return (error as Error).message
  }
  return 'the server started'
}

/** Digest of every file by its path, except the lock, which each start opens. */
function contents(folder: string): Record<string, string> {
  const files: Record<string, string> = {}
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || entry.name === 'lock') continue
    const path = join(entry.parentPath, entry.name)
    files[relative(folder, path)] = createHash('sha256').update(readFileSync(path)).digest('hex')
  }
  return files
}

/** Changes the byte at `offset`; a negative offset counts from the end. */
function flipByte(path: string, offset: number): void {
  const descriptor = openSync(path, 'r+')
  const at = offset < 0 ? statSync(path).size + offset : offset
  const byte = Buffer.alloc(1)
  readSync(descriptor, byte, 0, 1, at)
  writeSync(descriptor, Buffer.from([byte[0]! ^ 0x10]), 0, 1, at)
  closeSync(descriptor)
}

function setVersion(file: string, version: number): void {
  const database = new Database(file)
  database.pragma(`user_version = ${version}`)
  database.close()
}

const folder = t.testdir({ data: {} })
const data = join(folder, 'data')
const segments = () =>
  readdirSync(join(data, 'log'))
    .filter((name) => name.endsWith('.seg'))
    .toSorted()
const snapshots = () => readdirSync(join(data, 'snapshots')).filter((name) => name.endsWith('.snap'))

/** One per partition: `<partition>-<position>.snap`. */
function newestSnapshots(): string[] {
  const newest = new Map<string, number>()
  for (const name of snapshots()) {
    const [partition = '', position] = name.split(/[-.]/)
    newest.set(partition, Math.max(newest.get(partition) ?? 0, Number(position)))
  }
  return Array.from(newest, ([partition, position]) => `${partition}-${position}.snap`)
}

/** The longitude of each device's last update that was answered with 200. */
const acknowledged = new Map<string, number>()

async function holdsAll(server: Server): Promise<string[]> {
  const missing: string[] = []
  const { body } = await server.api('GET', '/v1/users?limit=1000')
  // oxlint-disable-next-line typescript/no-explicit-any -- an answer
  const users = new Map<string, any>(body.users.map((user: any) => [user.deviceId, user]))
  for (const [deviceId, longitude] of acknowledged) {
    const found = users.get(deviceId)?.location.coordinates[0] ?? -1
    // A server that shuts down answers every update that it has accepted, so an update without an answer was not
    // applied.
    if (found !== longitude) missing.push(`${deviceId}: ${found}, not ${longitude}`)
  }
  return missing
}

t.test('SIGTERM under load: complete answers or none, exit code 0, nothing lost', async (t) => {
  const server = await Server.start({ data, env: ENV })
  t.teardown(() => server.dispose())
  // A list of these is larger than the buffer of any socket.
  const bulk = Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`k${i}`, 'x'.repeat(4000)]))
  const far = { type: 'circle', description: 'far', coordinates: [100, 45], radius: 100, metadata: bulk }
  for (let i = 0; i < 100; i++) await server.api('PUT', `/v1/geofences/bulk/${i}`, far)
  const metadata = { text: 'x'.repeat(4000), more: 'y'.repeat(4000) }
  const circle = { type: 'circle', description: 'here', coordinates: [0, 0], radius: 100, metadata }
  await server.api('PUT', '/v1/geofences/tag/here', circle)
  const replays = Array.from({ length: 999 }, (_, i) => ({
    deviceId: 'commuter',
    latitude: 0,
    longitude: (i % 2) / 100,
    accuracy: 5,
    updatedAtMs: Date.now() - 3_600_000 + i * 1000,
  }))
  t.equal((await server.api('POST', '/v1/track/replay', { replays })).body.events.length, 999)

  const told: Told[] = []
  const load = Array.from({ length: CONNECTIONS }, async (_, number) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    for (let i = 1; ; i++) {
      const longitude = Math.round(1e6 + i) / 1e6
      const deviceId = `device-${number}`
      const answer = await track(server, agent, {
        deviceId,
        latitude: 0,
        longitude,
        accuracy: 5,
        description: `${i}`,
      })
      told.push(answer)
      if (answer.status === 200) acknowledged.set(deviceId, longitude)
      else break
    }
    agent.destroy()
  })

  // The tests below need segments and snapshots that they can damage.
  while (snapshots().length < 64 || segments().length < 3) await sleep(10)

  t.comment('a second process on the folder')
  const second = await refusal(data)
  t.match(second, /exited with 1\n/)
  t.match(second, `${data} is in use by another process`)
  t.notMatch(second, /\n +at /, 'no stack trace')
  t.equal((await server.api('GET', '/readyz')).status, 200, 'the first goes on')

  t.comment('a list that its reader takes slowly')
  const reader = connect(server.port, '127.0.0.1')
  reader.write(
    `GET /v1/geofences?limit=1000 HTTP/1.1\r\nhost: here\r\nauthorization: ${KEYS.testSecret}\r\n\r\n`,
  )
  await new Promise((resolve) => reader.once('readable', resolve))
  let list = Buffer.alloc(0)
  const read = (async () => {
    await sleep(300)
    for await (const part of reader) list = Buffer.concat([list, part as Buffer])
  })()

  await server.stop()
  await Promise.all([...load, read])
  const head = list.indexOf('\r\n\r\n')
  const length = Number(/content-length: (\d+)/i.exec(list.subarray(0, head).toString())?.[1])
  t.ok(length > 5e6, 'a large list')
  t.equal(list.length - head - 4, length, 'the slow reader got all of it')

  t.ok(acknowledged.size === CONNECTIONS && told.length > 100, 'there was load')
  t.strictSame(
    told.filter(({ status, whole, retryAfter }) => !whole || (status === 503 && retryAfter === undefined)),
    [],
    'no half answer, and who is refused is told when to come again',
  )
  t.strictSame(
    told.filter(({ status }) => status !== 200 && status !== 503 && status !== undefined),
    [],
  )
  await server.restart()
  t.strictSame(await holdsAll(server), [])
  await server.stop()
})

/** How a data folder is damaged, and the message with which every start must then end. */
const DAMAGES: readonly (readonly [
  what: string,
  damage: (data: string) => void,
  message: () => RegExp | string,
])[] = [
  [
    'store.json of a newer format',
    (at) => {
      const file = join(at, 'store.json')
      writeFileSync(file, readFileSync(file, 'utf8').replace('"format": 1', '"format": 99'))
    },
    () => /store\.json: store format 99/,
  ],
  [
    'a byte in the middle of an old segment',
    (at) => flipByte(join(at, 'log', segments()[1]!), 30_000),
    () => `${segments()[1]}: frame`,
  ],
  [
    'a byte near the begin of the newest segment',
    (at) => flipByte(join(at, 'log', segments().at(-1)!), 70),
    () => `${segments().at(-1)}: frame`,
  ],
  [
    'a segment is gone',
    (at) => rmSync(join(at, 'log', segments()[1]!)),
    () => `${segments()[1]}: is missing`,
  ],
  [
    'the newest segment is gone',
    (at) => rmSync(join(at, 'log', segments().at(-1)!)),
    () => `${segments().at(-1)}: is missing`,
  ],
  [
    'registry.sqlite holds garbage',
    (at) => writeFileSync(join(at, 'registry.sqlite'), randomBytes(20_000)),
    () => /registry\.sqlite: is not a readable/,
  ],
  [
    'registry.sqlite of a newer format',
    (at) => setVersion(join(at, 'registry.sqlite'), 99),
    () => /registry\.sqlite has data format 99/,
  ],
  [
    'events.sqlite holds garbage',
    (at) => writeFileSync(join(at, 'events.sqlite'), randomBytes(20_000)),
    () => /events\.sqlite/,
  ],
  [
    'events.sqlite of a newer format',
    (at) => setVersion(join(at, 'events.sqlite'), 99),
    () => /events\.sqlite has format 99/,
  ],
]

t.test('a damaged or newer folder: the start names the file and changes nothing', async (t) => {
  const refused = async ([what, damage, message]: (typeof DAMAGES)[number], number: number) => {
    const copy = join(folder, `damaged-${number}`)
    cpSync(data, copy, { recursive: true })
    damage(copy)
    const before = contents(copy)
    const said = await refusal(copy)
    t.match(said, /^the server exited with 1\n/, what)
    t.match(said, message(), `${what}: it is named`)
    t.notMatch(said, /\n +at /, `${what}: no stack trace`)
    t.strictSame(contents(copy), before, `${what}: nothing is changed`)
  }
  for (let i = 0; i < DAMAGES.length; i += STARTS_AT_ONCE) {
    await Promise.all(
      DAMAGES.slice(i, i + STARTS_AT_ONCE).map((damage, number) => refused(damage, i + number)),
    )
  }
})

t.test('damaged snapshots are skipped in favour of earlier ones or the log', async (t) => {
  const copy = join(folder, 'snapshots')
  cpSync(data, copy, { recursive: true })
  // Damages the newest snapshot of every other partition. The older one, if there is one, stays intact.
  const damaged = newestSnapshots().filter((_, i) => i % 2 === 0)
  for (const name of damaged) flipByte(join(copy, 'snapshots', name), -1)
  const server = await Server.start({ data: copy, env: ENV })
  t.teardown(() => server.dispose())
  t.strictSame(
    damaged.filter((name) => !server.output.includes(name)),
    [],
    'each is told of',
  )
  t.strictSame(await holdsAll(server), [])
})
