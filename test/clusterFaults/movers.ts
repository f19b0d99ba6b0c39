import { deviceHash } from '../../src/model/deviceHash.ts'
import { Device, eventText, type Circles } from '../crash/fleet.ts'
import type { Seeded } from '../crash/seeded.ts'

/**
 * A sender of updates. It repeats each update until it is acknowledged, and then sends the next one. All updates
 * carry a stream and a sequence, so a repeated update is applied once (G9).
 */
export interface Mover {
  readonly deviceId: string
  /** Its place by the last acknowledged update; undefined before the first. */
  readonly place: Place | undefined
  /** The events of all acknowledged updates, in the form of {@link textOf}. */
  readonly events: readonly string[]
  next(): Move
  /** Called when the last result of `next` is acknowledged. */
  applied(): void
  /** The part of an event that the mover can predict. */
  textOf(event: EventRecord): string
  /** What is wrong with its user's record, besides the location; undefined if nothing is. */
  // oxlint-disable-next-line typescript/no-explicit-any -- a user as JSON
  faultOf?(user: any): string | undefined
}

/** The body of POST /v1/track and the events that it must cause. */
export interface Move {
  readonly body: MoveBody
  readonly events: readonly string[]
}

interface MoveBody {
  readonly deviceId: string
  readonly latitude: number
  readonly longitude: number
  readonly accuracy: number
  readonly [field: string]: unknown
}

export interface Place {
  readonly longitude: number
  readonly latitude: number
  /** As sent; undefined if the server's time counts. */
  readonly updatedAt: string | undefined
}

/** The compared fields of an event, which are the same in the API, the stream and webhooks. */
export type EventRecord = Parameters<typeof eventText>[0] & {
  readonly _id: string
  readonly actualCreatedAt: string
  /** Absent where nobody has moved the trip that it is about. */
  readonly user?: { readonly deviceId?: string }
  readonly trip?: { readonly externalId: string; readonly status: string }
}

/** Walks among circles in its own time. The replay of fleet.ts predicts its events. */
export class Wanderer implements Mover {
  readonly #device: Device
  readonly #random: Seeded
  readonly #circles: Circles

  constructor(deviceId: string, random: Seeded, circles: Circles) {
    // Some random choices give a device without streams.
    do this.#device = new Device(deviceId, random)
    while (this.#device.streams.length === 0)
    this.#random = random
    this.#circles = circles
  }

  get deviceId(): string {
    return this.#device.deviceId
  }

  get place(): Place | undefined {
    const last = this.#device.last?.body
    return last && { longitude: last.longitude, latitude: last.latitude, updatedAt: last.updatedAt }
  }

  get events(): readonly string[] {
    return this.#device.events
  }

  next(): Move {
    const { body, events } = this.#device.next(this.#random, this.#circles)
    return { body: { accuracy: 1, ...body }, events }
  }

  applied(): void {
    this.#device.applied()
  }

  textOf(event: EventRecord): string {
    return eventText(event)
  }
}

/** Far from all circles of the wanderers. */
export const GATE = { latitude: 1, longitude: 1, radius: 100 } as const

/**
 * Enters or leaves the gate with each update. Its updates contain no time, so the time of the server that accepts
 * them counts.
 */
export class Commuter implements Mover {
  readonly deviceId: string
  readonly events: string[] = []
  place: Place | undefined
  #sent = 0

  constructor(deviceId: string) {
    this.deviceId = deviceId
  }

  next(): Move {
    const isIn = this.#sent % 2 === 0
    const body = {
      deviceId: this.deviceId,
      latitude: isIn ? GATE.latitude : GATE.latitude + 0.01,
      longitude: GATE.longitude,
      accuracy: 5,
      stream: this.deviceId,
      sequence: this.#sent,
    }
    return { body, events: [isIn ? 'user.entered_geofence' : 'user.exited_geofence'] }
  }

  applied(): void {
    const { body, events } = this.next()
    this.place = { latitude: body.latitude, longitude: body.longitude, updatedAt: undefined }
    this.events.push(...events)
    this.#sent++
  }

  textOf(event: EventRecord): string {
    return event.type
  }
}

/** A device name such as `<prefix>-12` that belongs to the given partition. */
export function nameIn(prefix: string, partition: number, partitions: number): string {
  for (let n = partition; ; n++) {
    const name = `${prefix}-${n}`
    if (deviceHash(name) % partitions === partition) return name
  }
}
