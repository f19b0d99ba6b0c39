/**
 * Sends updates over a hundred connections of the client, a third of them in each encoding, and kills the server
 * twice under full load. The result is compared with an undisturbed run: each update is applied once and in order,
 * and each event exists once (G1, G2, G3, G9).
 *
 * RINGFENCE_STREAM_UPDATES=1000000 node test/crash/streamMillion.slow.test.ts a million updates, half a minute
 * RINGFENCE_SEED=123 node test/crash/streamMillion.slow.test.ts repeats the same random choices
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { Ringfence } from '../../sdk/src/index.ts'
import { KEYS, Server } from '../kit/server.ts'
import { ENCODINGS, sdkEncoding, type Encoding } from '../kit/stream.ts'
import { KeptLog, type Committed } from './keptLog.ts'
import { Seeded } from './seeded.ts'
import { drawGeofences, updatesOf, type Load } from './streamLoad.ts'
import type { Order, Progress } from './streamLoadChild.ts'

const CONNECTIONS = 100
const SENDERS = 2
/** The fewest updates that must be in flight at a kill, because fewer would prove little. */
const LEAST_LOST = 500
const KILLS = 2
/** By chance, a kill may come before any update in flight was applied. Then there is another kill. */
const MOST_KILLS = 8
const POLL_MS = 20
const TELL_MS = 5000
/** The single event of this device ends the readers. */
const LAST_DEVICE = 'the last one'

const wanted = Number(process.env['RINGFENCE_STREAM_UPDATES'] ?? 80_000)
const seed = Number(process.env['RINGFENCE_SEED'] ?? Date.now() % 1e9)
const load: Load = {
  seed,
  connections: CONNECTIONS,
  updates: Math.ceil(wanted / CONNECTIONS),
  startedAt: Date.now() - 300 * 86_400_000,
}
const total = load.updates * CONNECTIONS

/** The result of a run. */
interface Outcome {
  readonly committed: Committed
  /** By deviceId, one record each; see {@link stripped}. */
  readonly users: ReadonlyMap<string, readonly string[]>
  /** Ids of the events that a reader received, in each encoding. */
  readonly told: readonly (readonly string[])[]
  readonly failures: readonly string[]
  readonly durable: number
  /** Updates that were sent and not acknowledged, at each kill. */
  readonly lost: readonly number[]
  /** Updates sent again since the first kill that the server had already applied. */
  readonly repeats: number
}

t.test(`${total} updates, RINGFENCE_SEED=${seed}`, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'ringfence-million-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  await prepare(join(folder, 'undisturbed'))
  cpSync(join(folder, 'undisturbed'), join(folder, 'killed'), { recursive: true })

  const random = new Seeded(seed)
  const undisturbed = await run(t, join(folder, 'undisturbed'))
  // A share of what is left each time, because the fast server may be far past a fixed position before it is checked
  // again.
  const killed = await run(t, join(folder, 'killed'), () => random.between(0.1, 0.4))
  t.comment(
    `${killed.committed.events.length} events; killed with ${killed.lost.join(' and ')} updates on their way, ` +
      `${killed.repeats} of which had been applied`,
  )
  t.ok(killed.lost.length >= KILLS, 'the server was killed while there was load')
  for (const lost of killed.lost) t.ok(lost >= LEAST_LOST, 'much was on its way')
  t.ok(killed.repeats > 0, 'some of what was sent again had been applied before')
  t.ok(undisturbed.committed.events.length > total / 100, 'one in a hundred updates makes an event, or more')

  for (const [name, outcome] of Object.entries({ undisturbed, killed })) {
    t.same(outcome.failures, [], `${name}: no promise was rejected`)
    t.equal(outcome.durable, total, `${name}: each promise was resolved`)
    t.same(misapplied(outcome.committed), [], `${name}: each update was applied once, in its order`)
    const ids = outcome.committed.events.map((json) => JSON.parse(json)._id as string)
    t.equal(new Set(ids).size, ids.length, `${name}: no event is twice in the log`)
    for (const [i, told] of outcome.told.entries())
      t.same(
        differences(new Map([['events', told]]), new Map([['events', ids]])),
        [],
        `${name}: the reader in ${ENCODINGS[i]} was told of each event once`,
      )
  }
  t.same(differences(byDevice(killed.committed.events), byDevice(undisturbed.committed.events)), [], 'events')
  t.same(differences(killed.users, undisturbed.users), [], 'users')
  if (!t.passing()) console.error(`RINGFENCE_SEED=${seed}`)
})

/** A store with geofences, so that they have the same ids in both runs. */
async function prepare(data: string): Promise<void> {
  const server = await Server.start({ data })
  const client = new Ringfence({ url: server.url, key: KEYS.testSecret })
  await client.patch('/v1/settings', { body: { dwellEvents: true, dwellThreshold: 3 } })
  for (const [externalId, definition] of drawGeofences(load))
    await client.putGeofence('area', externalId, definition)
  await client.putGeofence('area', 'far away', {
    type: 'circle',
    description: 'Where nobody else comes',
    coordinates: [90, 45],
    radius: 100,
  })
  await server.stop()
}

/**
 * @param nextKill chooses the part of the remaining updates after which the server is killed; without it, the server
 * is not killed
 */
async function run(t: Test, data: string, nextKill?: () => number): Promise<Outcome> {
  const env = { RINGFENCE_SEGMENT_BYTES: '4194304', RINGFENCE_SNAPSHOT_BYTES: '16777216' }
  const server = await Server.start({ data, env })
  t.teardown(() => server.dispose())
  const log = new KeptLog(data, `${data}-log`)
  const ended = new AbortController()
  t.teardown(() => ended.abort())
  const readers = await Promise.all(ENCODINGS.map((name) => reader(server, name, ended.signal)))
  const senders = Array.from({ length: SENDERS }, (_, i) => new Sender(t, server, i))

  const lost: number[] = []
  let repeats = 0
  let nextTell = Date.now()
  let killAt = nextKill === undefined ? Infinity : nextKill() * total
  for (;;) {
    log.keep()
    const { durable, isDone, rssBytes } = await progress(senders)
    if (Date.now() >= nextTell) {
      nextTell = Date.now() + TELL_MS
      t.comment(`${durable} of ${total} durable; ${megabytes(rssBytes)} of senders, ${serverMemory(server)}`)
    }
    if (isDone) break
    if (durable < killAt) {
      await sleep(POLL_MS)
      continue
    }
    if (lost.length > 0) repeats += await repeatsOf(server)
    if (lost.length >= KILLS && (repeats > 0 || lost.length === MOST_KILLS)) {
      killAt = Infinity
      continue
    }
    await server.kill9()
    log.ended()
    const left = await settled(senders)
    lost.push(left.sent - left.durable)
    t.comment(`killed at ${left.durable} durable and ${left.sent} sent`)
    killAt = left.durable + nextKill!() * (total - left.durable)
    await server.restart()
  }
  repeats += await repeatsOf(server)

  const client = new Ringfence({ url: server.url, key: KEYS.testSecret })
  const place = { latitude: 45, longitude: 90, accuracy: 5, updatedAt: load.startedAt }
  await client.track({ deviceId: LAST_DEVICE, ...place })
  const told = await Promise.all(readers.map(({ ids }) => ids))
  const { users } = await client.get('/v1/users', { query: { limit: 1000 } })
  const { durable, failures } = await progress(senders)
  for (const sender of senders) sender.end()
  ended.abort()
  await server.kill9()
  log.ended()
  return {
    committed: await log.read(),
    users: new Map(users.map((user) => [user.deviceId, [stripped(user)]])),
    told,
    failures,
    durable,
    lost,
    repeats,
  }
}

/** Reads events over a separate stream. `ids` resolves once {@link LAST_DEVICE} has made its event. */
async function reader(server: Server, name: Encoding, signal: AbortSignal) {
  const client = new Ringfence({ url: server.url, key: KEYS.testSecret })
  const events = client.stream({ encoding: sdkEncoding(name), signal }).events()
  await events.ready
  const read = async () => {
    const ids: string[] = []
    for await (const { _id, user } of events) {
      ids.push(_id)
      if (user?.deviceId === LAST_DEVICE) break
    }
    return ids
  }
  return { ids: read() }
}

/** A process that sends the load of its share of the connections. */
class Sender {
  readonly #child: ChildProcess
  /** Rejects when the process exits by itself. */
  readonly #exit: Promise<never>

  constructor(t: Test, { url }: Server, number: number) {
    const connections = Array.from({ length: CONNECTIONS }, (_, i) => i).filter((i) => i % SENDERS === number)
    const order: Order = { url, key: KEYS.testPublishable, load, connections }
    this.#child = fork(join(import.meta.dirname, 'streamLoadChild.ts'), [JSON.stringify(order)], {
      env: { ...process.env, NODE_OPTIONS: '' },
    })
    this.#exit = once(this.#child, 'exit').then(([code, signal]) => {
      throw new Error(`a sender has ended: ${code ?? signal}`)
    })
    // A process that is ended by end() is not an error.
    this.#exit.catch(() => {})
    t.teardown(() => this.end())
  }

  async ask(): Promise<Progress> {
    const answered = once(this.#child, 'message')
    this.#child.send('progress?')
    const [answer] = await Promise.race([answered, this.#exit])
    return answer
  }

  end(): void {
    this.#child.kill('SIGKILL')
  }
}

async function progress(senders: readonly Sender[]): Promise<Progress> {
  const all = await Promise.all(senders.map((sender) => sender.ask()))
  const sum = (read: (one: Progress) => number) => all.reduce((to, one) => to + read(one), 0)
  return {
    sent: sum(({ sent }) => sent),
    durable: sum(({ durable }) => durable),
    failures: all.flatMap(({ failures }) => failures),
    isDone: all.every(({ isDone }) => isDone),
    rssBytes: sum(({ rssBytes }) => rssBytes),
  }
}

/** Resolves once they have read what the server had sent before its end. */
async function settled(senders: readonly Sender[]): Promise<Progress> {
  for (let before = await progress(senders); ;) {
    await sleep(POLL_MS)
    const now = await progress(senders)
    if (now.durable === before.durable) return now
    before = now
  }
}

async function repeatsOf(server: Server): Promise<number> {
  const { body } = await server.api('GET', '/metrics')
  return Number(/^ringfence_repeated_updates_total (\d+)$/m.exec(body)![1])
}

/** Faults in the rows that were written for devices, as sentences. */
function misapplied({ times }: Committed): string[] {
  const expected = new Map<string, number[]>([[LAST_DEVICE, [load.startedAt]]])
  for (let connection = 0; connection < CONNECTIONS; connection++) {
    for (const { deviceId, updatedAt } of updatesOf(load, connection)) {
      const ofDevice = expected.get(deviceId)
      if (ofDevice === undefined) expected.set(deviceId, [updatedAt])
      else ofDevice.push(updatedAt)
    }
  }
  return differences(times, expected)
}

/** The events of each device in order. */
function byDevice(events: readonly string[]): Map<string, string[]> {
  const lists = new Map<string, string[]>()
  for (const json of events) {
    const event = JSON.parse(json)
    const { deviceId } = event.user
    const list = lists.get(deviceId)
    if (list === undefined) lists.set(deviceId, [stripped(event)])
    else list.push(stripped(event))
  }
  return lists
}

/** As JSON, without ids and without times of the server's clock. */
function stripped(record: object): string {
  const server = new Set(['_id', 'actualCreatedAt', 'actualUpdatedAt'])
  // For an event, `createdAt` is the update's time.
  if (!('type' in record)) server.add('createdAt')
  return JSON.stringify(record, (key, value: unknown) => (server.has(key) ? undefined : value))
}

/** The first differences between the lists of some names. */
function differences<T>(
  found: ReadonlyMap<string, readonly T[]>,
  expected: ReadonlyMap<string, readonly T[]>,
): string[] {
  const sentences: string[] = []
  for (const name of new Set([...expected.keys(), ...found.keys()])) {
    const is = found.get(name) ?? []
    const be = expected.get(name) ?? []
    let at = 0
    while (at < is.length && is[at] === be[at]) at++
    if (at === is.length && at === be.length) continue
    sentences.push(`${name}: item ${at} of ${is.length} is ${is[at]}, expected ${be[at]} of ${be.length}`)
  }
  return sentences.slice(0, 10)
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`
}

/** Only available on Linux. */
function serverMemory({ pid }: Server): string {
  try {
    const pages = Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1])
    return `${megabytes(pages * 4096)} of the server`
  } catch {
    return 'of the server unknown'
  }
}
