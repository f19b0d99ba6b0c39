import { setTimeout as sleep } from 'node:timers/promises'
import type { HttpAnswer } from '../kit/server.ts'
import type { Load } from './load.ts'
import { tripOf } from './couriers.ts'
import type { EventRecord, Mover } from './movers.ts'
import type { Streams } from './streams.ts'

/** What is compared once everything that was sent is acknowledged. */
export interface Compared {
  readonly load: Load
  readonly streams: Streams
  readonly partitions: number
  /** The gateways, each as a function for `GET` requests. */
  readonly gateways: readonly ((path: string) => Promise<HttpAnswer>)[]
  /** Ids of events that the webhook delivered, some of them more than once. */
  readonly delivered: () => readonly string[]
  readonly fault: (sentence: string) => void
}

/** The numbers of things that were compared. */
export interface Totals {
  readonly devices: number
  readonly events: number
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
  const events = await streams.events(fault)
  const ids = compareEvents(load, events, fault)
  for (const [i, get] of gateways.entries()) {
    await grown(async () => (await listed(get)).length, ids.size)
    compareIds(`the list of gateway ${i + 1}`, await listed(get), ids, fault)
  }
  await grown(async () => new Set(delivered()).size, ids.size)
  const brought = delivered()
  compareIds('the webhook', [...new Set(brought)], ids, fault)
  let frames = 0
  let owners = 0
  for (let partition = 0; partition < parts.partitions; partition++) {
    const found = await streams.checkPartition(partition, fault)
    frames += found.frames
    owners += found.owners
  }
  // A duplicate may come late.
  const count = await streams.eventCount()
  if (count !== events.length) fault(`G2 ${count} events are in EVENTS, ${events.length} were a moment ago`)
  return {
    devices: load.movers.length,
    events: events.length,
    frames,
    owners,
    redelivered: brought.length - new Set(brought).size,
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

/** T1: each update has moved its trip once. */
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
    else if (body.trip.locations.length !== locations)
      fault(`T1 ${externalId} has ${body.trip.locations.length} locations, expected ${locations}`)
  }
}

/** @returns the ids */
function compareEvents(
  { movers, answered }: Load,
  events: readonly EventRecord[],
  fault: (s: string) => void,
): Set<string> {
  const byDevice = new Map<string, EventRecord[]>(movers.map(({ deviceId }) => [deviceId, []]))
  const ids = new Set<string>()
  for (const event of events) {
    if (ids.has(event._id)) fault(`G2 event ${event._id} is twice in EVENTS`)
    ids.add(event._id)
    // A call on a trip that nobody has moved.
    if (event.user?.deviceId === undefined) continue
    const list = byDevice.get(event.user.deviceId)
    if (list === undefined) fault(`event ${event._id} is of ${event.user.deviceId}, which nobody sent`)
    else list.push(event)
  }
  for (const id of answered) if (!ids.has(id)) fault(`G5 event ${id} was answered, and is not in EVENTS`)
  for (const mover of movers) {
    const found = byDevice.get(mover.deviceId)!
    const texts = found.map((event) => mover.textOf(event))
    const differs = Array.from({ length: Math.max(texts.length, mover.events.length) }, (_, i) => i).find(
      (i) => texts[i] !== mover.events[i],
    )
    if (differs !== undefined)
      fault(
        `G2, G3 event ${differs} of the ${texts.length} of ${mover.deviceId} is ${texts[differs]}, expected ` +
          `${mover.events[differs]} of ${mover.events.length}`,
      )
    const isBack = found.findIndex(({ createdAt }, i) => i > 0 && createdAt < found[i - 1]!.createdAt)
    if (isBack > 0)
      fault(`G3 the time of event ${isBack} of ${mover.deviceId} is before that of the one before`)
  }
  return ids
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
