import { setTimeout as sleep } from 'node:timers/promises'
import type { HttpAnswer } from '../kit/server.ts'
import type { Load } from './load.ts'
import { tripOf } from './couriers.ts'
import type { Delivered } from './delivered.ts'
import { EventLedger } from './eventLedger.ts'
import type { EventRecord, Mover } from './movers.ts'
import type { Streams } from './streams.ts'

/** What is compared once everything that was sent is acknowledged. */
export interface Compared {
  readonly load: Load
  readonly streams: Streams
  readonly partitions: number
  /** The gateways, each as a function for `GET` requests. */
  readonly gateways: readonly ((path: string) => Promise<HttpAnswer>)[]
  /** What the webhook delivered. */
  readonly delivered: Delivered
  readonly fault: (sentence: string) => void
}

/** The numbers of things that were compared. */
export interface Totals {
  readonly devices: number
  readonly events: number
  /** Messages of the stream of events that were read in a second. */
  readonly eventsPerSecond: number
  /** Frames of all partitions. */
  readonly frames: number
  readonly owners: number
  /** Events that the webhook delivered again. */
  readonly redelivered: number
}

/**
 * Events are published, indexed and delivered after the answers. If nothing new comes for this long, no more is
 * expected.
 */
const GIVE_UP_MS = 20_000
const LOOK_AGAIN_MS = 100
const PAGE = 1000
const QUESTIONS_AT_ONCE = 8

/**
 * Checks G1 to G5 and G9 against what clients were told. The state of each device must be that of its last
 * acknowledged update. `EVENTS` must contain the events of all these updates in order, each once, and no others. The
 * indexes of the gateways and the webhook must have the same events. Each update has moved its trip once (T1).
 */
export async function compare(parts: Compared): Promise<Totals> {
  const { load, streams, gateways, delivered, fault } = parts
  await compareUsers(parts)
  await compareTrips(load.movers, gateways[0]!, fault)
  const expected = load.movers.reduce((sum, { events }) => sum + events.length, 0)
  await grown(() => streams.eventCount(), expected)
  const ledger = new EventLedger(load, fault)
  const { perSecond } = await streams.readEvents((event) => ledger.take(event), fault)
  ledger.finish()
  const { ids } = ledger
  for (const [i, get] of gateways.entries()) {
    let list: readonly string[] = []
    await grown(async () => (list = await listed(get)).length, ids.size)
    compareIds(`the list of gateway ${i + 1}`, list, ids, fault)
  }
  await grown(async () => delivered.ids.size, ids.size)
  compareIds('the webhook', [...delivered.ids], ids, fault)
  let frames = 0
  let owners = 0
  for (let partition = 0; partition < parts.partitions; partition++) {
    const found = await streams.checkPartition(partition, fault)
    frames += found.frames
    owners += found.owners
  }
  // A duplicate may come late.
  const count = await streams.eventCount()
  if (count !== ledger.count) fault(`G2 ${count} events are in EVENTS, ${ledger.count} were a moment ago`)
  return {
    devices: load.movers.length,
    events: ledger.count,
    eventsPerSecond: perSecond,
    frames,
    owners,
    redelivered: delivered.repeats,
  }
}

/** Waits until there are that many, or until no more come. */
async function grown(count: () => Promise<number>, expected: number): Promise<void> {
  let most = -1
  for (let until = performance.now() + GIVE_UP_MS; performance.now() < until; await sleep(LOOK_AGAIN_MS)) {
    const now = await count()
    if (now >= expected) return
    if (now > most) until = performance.now() + GIVE_UP_MS
    most = Math.max(most, now)
  }
}

async function compareUsers({ load, gateways, fault }: Compared): Promise<void> {
  const left = [...load.movers.entries()]
  const ask = async () => {
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      const [i, mover] = next
      const answer = await gateways[i % gateways.length]!(`users/${mover.deviceId}`)
      compareUser(mover, answer, fault)
    }
  }
  await Promise.all(Array.from({ length: QUESTIONS_AT_ONCE }, ask))
}

function compareUser(mover: Mover, { status, body }: HttpAnswer, fault: (s: string) => void): void {
  const { deviceId, place } = mover
  if (place === undefined || status !== 200) {
    fault(`G1 ${deviceId} is answered ${status} ${JSON.stringify(body)}`)
    return
  }
  const [longitude, latitude] = body.user.location.coordinates
  const { updatedAt = body.user.updatedAt } = place
  if (longitude !== place.longitude || latitude !== place.latitude || body.user.updatedAt !== updatedAt)
    fault(
      `G1 ${deviceId} is at ${longitude}, ${latitude} of ${body.user.updatedAt}; acknowledged is ${JSON.stringify(place)}`,
    )
  const wrong = mover.faultOf?.(body.user)
  if (wrong !== undefined) fault(wrong)
}

/** T1: each update has moved its trip once, so that the trip has exactly the locations that it must have kept. */
export async function compareTrips(
  movers: readonly Mover[],
  get: (path: string) => Promise<HttpAnswer>,
  fault: (s: string) => void,
): Promise<void> {
  for (const mover of movers) {
    const trip = tripOf(mover)
    if (trip === undefined) continue
    const { externalId, locations } = trip
    const { status, body } = await get(`trips/${encodeURIComponent(externalId)}`)
    if (status !== 200) fault(`T1 ${externalId} is answered ${status} ${JSON.stringify(body)}`)
    else {
      const found: string[] = body.trip.locations.map(({ updatedAt }: { updatedAt: string }) => updatedAt)
      const at = firstDifference(found, locations)
      if (at !== undefined)
        fault(
          `T1 location ${at} of the ${found.length} of ${externalId} is of ${found[at]}, expected ` +
            `${locations[at]} of ${locations.length}`,
        )
    }
  }
}

/** The first index at which two lists differ; undefined if they are the same. */
function firstDifference(some: readonly string[], others: readonly string[]): number | undefined {
  for (let i = 0; i < Math.max(some.length, others.length); i++) if (some[i] !== others[i]) return i
  return undefined
}

/** All ids of a gateway's list, from all its pages. */
async function listed(get: (path: string) => Promise<HttpAnswer>): Promise<string[]> {
  const ids: string[] = []
  for (let before = ''; ; before = `&before=${ids.at(-1)}`) {
    const { body } = await get(`events?limit=${PAGE}${before}`)
    ids.push(...body.events.map(({ _id }: EventRecord) => _id))
    if (!body.meta.hasMore) return ids
  }
}

function compareIds(
  what: string,
  found: readonly string[],
  expected: ReadonlySet<string>,
  fault: (s: string) => void,
): void {
  const has = new Set(found)
  const missing = [...expected].filter((id) => !has.has(id))
  if (missing.length > 0)
    fault(`${what} lacks ${missing.length} of ${expected.size} events, as ${missing[0]}`)
  if (has.size !== found.length) fault(`${what} has an event twice`)
  const more = found.filter((id) => !expected.has(id))
  if (more.length > 0) fault(`${what} has ${more.length} events that are not in EVENTS, as ${more[0]}`)
}
