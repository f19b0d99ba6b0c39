import { nameIn, type EventRecord, type Move, type Mover, type Place } from './movers.ts'

/** Every update counts: see `furnish` in stage.ts, and tripUpdateSeconds, which must be 0. */
const STEP_MS = 40_000
const BEGAN = Math.floor(Date.now() / 1000) * 1000 - 30 * 86_400_000
/** Far from everything else. */
const HOME = { latitude: 0, longitude: 2 } as const
/** Where messengers never arrive, far from where couriers do. */
export const GOAL = {
  path: 'geofences/goals/far',
  body: { type: 'circle', description: 'far', coordinates: [2.5, 0], radius: 100 },
} as const
const DEGREE_METERS = 111_319.49
const NEAR_AFTER = 10
const THERE_AFTER = 13
/** "At 5,000 every other of the older half goes": of what a trip has kept, the second, the fourth, and so on. */
const MOST_LOCATIONS = 5000
/** Updates of a messenger for each of its trips. */
const PER_TRIP = 15

/** A trip as the updates of a device have moved it. */
export interface MovedTrip {
  readonly externalId: string
  /**
   * The times of its locations: those of all updates, because these are far enough apart, until there are so many that
   * the trip is thinned.
   */
  readonly locations: readonly string[]
}

/** The trip that the last acknowledged update of a mover has moved; undefined if it is on none. */
export function tripOf(mover: Mover): MovedTrip | undefined {
  return mover instanceof OnTrip ? mover.trip : undefined
}

/** Whether a mover is on a trip with each of its updates. */
export function isOnTrip(mover: Mover): boolean {
  return mover instanceof OnTrip
}

function textOf({ type, trip, createdAt }: EventRecord): string {
  return `${type} ${trip?.externalId} ${trip?.status} ${createdAt}`
}

abstract class OnTrip implements Mover {
  readonly deviceId: string
  readonly events: string[] = []
  place: Place | undefined
  trip: MovedTrip | undefined
  #locations: string[] = []
  #sent = 0

  constructor(deviceId: string) {
    this.deviceId = deviceId
  }

  next(): Move {
    const n = this.#sent
    const { meters, more, externalId, type, status } = this.step(n)
    const updatedAt = new Date(BEGAN + n * STEP_MS).toISOString()
    const body = {
      deviceId: this.deviceId,
      latitude: HOME.latitude,
      longitude: Number((HOME.longitude - meters / DEGREE_METERS).toFixed(7)),
      accuracy: 5,
      stopped: true,
      updatedAt,
      stream: this.deviceId,
      sequence: n + 1,
      ...more,
    }
    return {
      body,
      events: [
        textOf({ type: `user.${type}`, trip: { externalId, status }, createdAt: updatedAt } as EventRecord),
      ],
    }
  }

  applied(): void {
    const { body, events } = this.next()
    const { latitude, longitude } = body
    const { externalId, isFirst } = this.step(this.#sent)
    this.place = { latitude, longitude, updatedAt: body['updatedAt'] as string }
    this.events.push(...events)
    if (isFirst) this.#locations = []
    this.#locations.push(this.place.updatedAt!)
    if (this.#locations.length === MOST_LOCATIONS)
      this.#locations = this.#locations.filter((_, i) => i >= MOST_LOCATIONS / 2 || i % 2 === 0)
    this.trip = { externalId, locations: this.#locations }
    this.#sent++
  }

  textOf(event: EventRecord): string {
    return textOf(event)
  }

  /** What the update of that number is, and does. */
  protected abstract step(n: number): {
    readonly meters: number
    readonly more: object
    readonly externalId: string
    readonly isFirst: boolean
    readonly type: string
    readonly status: string
  }
}

/** On a trip that its user was given: it starts, comes near, arrives, and stays where it is. */
export class Courier extends OnTrip {
  /** The body of POST /v1/trips, to be sent before the first update. */
  get order(): object {
    // A point, because the order of a geofence's events and a trip's is not known (T4).
    const destination = { coordinates: [HOME.longitude, HOME.latitude] }
    return { externalId: this.#externalId, userId: this.#userId, legs: [{ destination }] }
  }

  get #userId(): string {
    return `user of ${this.deviceId}`
  }

  get #externalId(): string {
    return `order of ${this.deviceId}`
  }

  protected step(n: number) {
    const meters = n < NEAR_AFTER ? 20_000 - 100 * n : n < THERE_AFTER ? 1500 - 100 * (n - NEAR_AFTER) : n % 7
    const [type, status] =
      n === 0
        ? ['started_trip', 'started']
        : n < NEAR_AFTER
          ? ['updated_trip', 'started']
          : n === NEAR_AFTER
            ? ['approaching_trip_destination', 'approaching']
            : n < THERE_AFTER
              ? ['updated_trip', 'approaching']
              : n === THERE_AFTER
                ? ['arrived_at_trip_destination', 'arrived']
                : ['updated_trip', 'arrived']
    return {
      meters,
      more: { userId: this.#userId },
      externalId: this.#externalId,
      isFirst: n === 0,
      type: type!,
      status: status!,
    }
  }
}

/** Makes a new trip by tripOptions again and again. All are in one partition, so that their order is known. */
export class Messenger extends OnTrip {
  readonly #partition: number
  readonly #partitions: number

  constructor(deviceId: string, partition: number, partitions: number) {
    super(deviceId)
    this.#partition = partition
    this.#partitions = partitions
  }

  protected step(n: number) {
    const externalId = nameIn(
      `${this.deviceId}/${Math.floor(n / PER_TRIP)}`,
      this.#partition,
      this.#partitions,
    )
    const isFirst = n % PER_TRIP === 0
    return {
      meters: 50_000 + 100 * (n % PER_TRIP),
      more: {
        tripOptions: {
          externalId,
          metadata: { n },
          destinationGeofenceTag: 'goals',
          destinationGeofenceExternalId: 'far',
        },
      },
      externalId,
      isFirst,
      type: isFirst ? 'started_trip' : 'updated_trip',
      status: 'started',
    }
  }
}
