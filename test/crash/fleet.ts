/**
 * What devices send and which events must result: a replay in the plane, as simple as possible.
 *
 * All circles lie within 3 km of 0° 0′, where a degree has a constant length. Positions stay away from every
 * boundary, so that no answer depends on how exactly a distance is computed.
 */
import type { Seeded } from './seeded.ts'

/** WGS84 at the equator, metres per degree. */
const LONGITUDE_DEGREE = 111_319.49
const LATITUDE_DEGREE = 110_574.28
/** Edge of the square that devices walk in, metres. */
const EDGE = 3000
/** Minutes, for circles without a dwell time. */
export const PROJECT_DWELL = 3
const START = Date.now() - 30 * 86_400_000

/** A geofence as its client knows it. */
export interface Circle {
  readonly externalId: string
  /** The server's `_id`. */
  readonly id: string
  readonly x: number
  readonly y: number
  readonly radius: number
  readonly dwellThreshold: number | undefined
  readonly enabled: boolean
}

/** By `_id`. */
export type Circles = ReadonlyMap<string, Circle>

interface Visit {
  readonly id: string
  readonly enteredAt: number
  readonly dwelled: boolean
}

/** An update, and the result of applying it. */
export interface Sent {
  readonly body: {
    readonly deviceId: string
    readonly latitude: number
    readonly longitude: number
    readonly updatedAt: string
    readonly stream?: string
    readonly [field: string]: unknown
  }
  readonly visits: readonly Visit[]
  /** See {@link eventText}; in order. */
  readonly events: readonly string[]
}

/** Everything in an event that the replay can predict, as one line. */
export function eventText(event: {
  readonly type: string
  readonly geofence: { readonly _id: string }
  readonly createdAt: string
  readonly duration?: number
  readonly location: { readonly coordinates: readonly number[] }
}): string {
  const { type, geofence, createdAt, duration = '', location } = event
  return `${type} ${geofence._id} ${createdAt} ${duration} ${location.coordinates.join()}`
}

/** The body of PUT /v1/geofences/:tag/:externalId. */
export function circleBody(circle: Omit<Circle, 'id'>) {
  const [longitude, latitude] = degrees(circle.x, circle.y)
  return {
    type: 'circle',
    description: circle.externalId,
    coordinates: [longitude, latitude],
    radius: circle.radius,
    enabled: circle.enabled,
    dwellThreshold: circle.dwellThreshold ?? null,
  }
}

/** Circles that overlap. On average a point lies in nearly one of them. */
export function drawCircles(random: Seeded, count: number): Omit<Circle, 'id'>[] {
  return Array.from({ length: count }, (_, i) => ({
    externalId: `circle-${i}`,
    x: random.integer(0, EDGE),
    y: random.integer(0, EDGE),
    radius: random.integer(60, 400),
    dwellThreshold: random.chance(0.5) ? random.integer(1, 5) : undefined,
    enabled: true,
  }))
}

/** One device and its client, which sends one update at a time and repeats it until it is acknowledged. */
export class Device {
  readonly deviceId: string
  /** If empty, the device sends no (stream, sequence). */
  readonly streams: readonly string[]
  /** The events of all applied updates. */
  readonly events: string[] = []
  /** All applied updates. */
  readonly history: Sent[] = []
  /** How many of the events an earlier check has found in the log. */
  checked = 0
  last: Sent | undefined
  inFlight: Sent | undefined
  /** Updates that were applied before and will be sent again. */
  resends: Sent[] = []
  readonly #userId: string | undefined
  readonly #lastOfStream = new Map<string, Sent>()
  #sequence = 0
  #time: number
  #x: number
  #y: number
  /** How many of the next updates hardly move. */
  #staying = 0

  constructor(deviceId: string, random: Seeded) {
    this.deviceId = deviceId
    this.streams = Array.from({ length: random.integer(0, 4) }, (_, i) => `${deviceId}/${i}`)
    this.#userId = random.chance(0.3) ? `user of ${deviceId}` : undefined
    this.#time = START + random.integer(0, 60_000)
    this.#x = random.between(0, EDGE)
    this.#y = random.between(0, EDGE)
  }

  /** Chooses the next update at random and makes it the one in flight. */
  next(random: Seeded, circles: Circles): Sent {
    this.#move(random, circles)
    this.#time += random.integer(1000, 60_000)
    const [longitude, latitude] = degrees(this.#x, this.#y)
    const stream = this.streams.length === 0 ? undefined : random.pick(this.streams)
    const body = {
      deviceId: this.deviceId,
      ...(this.#userId !== undefined && { userId: this.#userId }),
      latitude,
      longitude,
      accuracy: 1,
      updatedAt: new Date(this.#time).toISOString(),
      ...(random.chance(0.1) && { description: `update ${this.#sequence}` }),
      ...(stream !== undefined && { stream, sequence: this.#sequence }),
    }
    this.#sequence += random.integer(1, 3)
    this.inFlight = { body, ...this.#replay(circles, body) }
    return this.inFlight
  }

  /** The update in flight was applied. */
  applied(): void {
    const sent = this.inFlight!
    this.inFlight = undefined
    this.#take(sent)
  }

  /** Keeps only the first `updates` updates, because the server's data is that of an earlier moment. */
  rewind(updates: number): void {
    const history = this.history.splice(0).slice(0, updates)
    this.events.length = 0
    this.checked = 0
    this.last = undefined
    this.inFlight = undefined
    this.resends = []
    this.#lastOfStream.clear()
    for (const sent of history) this.#take(sent)
  }

  /** An acknowledged update, whose repetition must change nothing. */
  oldUpdate(random: Seeded): Sent | undefined {
    return this.#lastOfStream.size === 0 ? undefined : random.pick([...this.#lastOfStream.values()])
  }

  #take(sent: Sent): void {
    this.last = sent
    this.history.push(sent)
    this.events.push(...sent.events)
    if (sent.body.stream !== undefined) this.#lastOfStream.set(sent.body.stream, sent)
  }

  #move(random: Seeded, circles: Circles): void {
    if (this.#staying === 0 && random.chance(0.1)) this.#staying = random.integer(5, 15)
    const reach = this.#staying > 0 || random.chance(0.3) ? 8 : 500
    if (this.#staying > 0) this.#staying--
    for (let tries = 0; ; tries++) {
      // An edit may have put a boundary right here, and then only a long step leads away from it.
      const way = tries < 20 ? reach : 500
      const x = Math.min(EDGE, Math.max(0, this.#x + random.between(-way, way)))
      const y = Math.min(EDGE, Math.max(0, this.#y + random.between(-way, way)))
      if (!isClear(circles, x, y)) continue
      this.#x = x
      this.#y = y
      return
    }
  }

  #replay(
    circles: Circles,
    { latitude, longitude, updatedAt }: Sent['body'],
  ): Pick<Sent, 'visits' | 'events'> {
    const time = this.#time
    const text = (name: string, id: string, duration?: number) =>
      eventText({
        type: `user.${name}_geofence`,
        geofence: { _id: id },
        createdAt: updatedAt,
        ...(duration !== undefined && { duration }),
        location: { coordinates: [longitude, latitude] },
      })
    const before = this.last?.visits ?? []
    const visits: Visit[] = []
    const exits: string[] = []
    const entries: string[] = []
    const dwells: string[] = []
    for (const visit of before) {
      const { id, enteredAt, dwelled } = visit
      const circle = circles.get(id)
      if (circle === undefined || !circle.enabled) continue
      const stayed = time - enteredAt
      if (boundaryDistance(circle, this.#x, this.#y) > 0) {
        exits.push(text('exited', id, stayed / 60_000))
      } else if (!dwelled && stayed > (circle.dwellThreshold ?? PROJECT_DWELL) * 60_000) {
        dwells.push(text('dwelled_in', id))
        visits.push({ ...visit, dwelled: true })
      } else visits.push(visit)
    }
    for (const id of [...circles.keys()].toSorted()) {
      const circle = circles.get(id)!
      if (!circle.enabled || before.some((visit) => visit.id === id)) continue
      if (boundaryDistance(circle, this.#x, this.#y) > 0) continue
      entries.push(text('entered', id))
      visits.push({ id, enteredAt: time, dwelled: false })
    }
    return { visits, events: [...exits, ...entries, ...dwells] }
  }
}

function isClear(circles: Circles, x: number, y: number): boolean {
  for (const circle of circles.values()) {
    if (Math.abs(boundaryDistance(circle, x, y)) < 1 + circle.radius * 0.005) return false
  }
  return true
}

function boundaryDistance(circle: Circle, x: number, y: number): number {
  return Math.hypot(x - circle.x, y - circle.y) - circle.radius
}

/** Longitude and latitude, rounded to a ten-millionth of a degree. */
function degrees(x: number, y: number): [number, number] {
  return [Number((x / LONGITUDE_DEGREE).toFixed(7)), Number((y / LATITUDE_DEGREE).toFixed(7))]
}
