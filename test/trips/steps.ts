/** What clients of trips do, at random, and what must become of it, for any engine. */
import assert from 'node:assert/strict'
import type { Partition } from '../../src/actor/partition.ts'
import type { LogEvent } from '../../src/log/port.ts'
import { isEnded } from '../../src/model/trip.ts'
import type { Update } from '../../src/model/update.ts'
import type { Clock } from '../../src/runtime/clock.ts'
import type { FeedOutcome } from '../../src/trips/feedOutcome.ts'
import type { TripService, Wanted } from '../../src/trips/tripService.ts'
import type { TripFields } from '../../src/trips/tripFields.ts'
import type { Random } from '../actor/world.ts'
import { tripsOf } from './tripKit.ts'
import { aGeofence, MINUTE, NOON, type World } from '../actor/kit.ts'

/** The last one has legs; nobody knows the name of the last but one, whose trips are named by tripOptions. */
export const USERS = ['ann', 'bob', undefined, 'eve']
const WRONG_METERS = 4000
/** Often where the other geofence is, so that each run of a test enters it on the way. */
const METERS = [0, 60, 1000, WRONG_METERS, WRONG_METERS, 20_000, 80_000]
const STATUSES = ['pending', 'started', 'approaching', 'arrived', 'completed', 'canceled'] as const
const HOME = { tag: 'store', externalId: 'home' }
/** One of the notes of a call comes with this. Whoever is farther away than a few kilometres will be late. */
const LATE_NOTE = 2
const SCHEDULED_AT = NOON + 10 * MINUTE
const DEGREE_METERS = 111_195
const LEGS = [0.05, 0].map((longitude) => ({
  id: undefined,
  target: { form: 'coordinates', position: [longitude, 0], radius: 100 } as const,
  radius: undefined,
  stopDuration: undefined,
  metadata: undefined,
}))
const NO_FIELDS: TripFields = {
  userId: undefined,
  destination: undefined,
  mode: undefined,
  approachingThreshold: undefined,
  scheduledArrivalAt: undefined,
  metadata: undefined,
  legs: undefined,
}

export type Step =
  | { readonly kind: 'track'; readonly meters: number }
  | { readonly kind: 'patch'; readonly status: (typeof STATUSES)[number]; readonly note: number }
  | { readonly kind: 'post'; readonly note: number }
  | { readonly kind: 'leg'; readonly leg: number; readonly status: (typeof STATUSES)[number] }
  | { readonly kind: 'order'; readonly isWestFirst: boolean }
  | { readonly kind: 'delete' | 'remove' }

/** The settings and geofences that the steps need. */
export function furnish(world: World): void {
  world.set(0, { tripUpdateSeconds: 0, tripDelayThreshold: 5, tripWrongDestinationEvents: true })
  world.put(aGeofence(1, HOME))
  const shape = { kind: 'circle', center: [-WRONG_METERS / DEGREE_METERS, 0], radius: 100 } as const
  world.put(aGeofence(2, { ...HOME, externalId: 'another one', shape }))
}

export function drawStep(random: Random): Step {
  const dice = random.below(25)
  const note = random.below(3)
  if (dice < 14) return { kind: 'track', meters: random.pick(METERS) }
  if (dice < 17) return { kind: 'patch', status: random.pick(STATUSES), note }
  if (dice < 20) return { kind: 'post', note }
  if (dice < 22) return { kind: 'leg', leg: random.below(2), status: random.pick(STATUSES) }
  if (dice < 23) return { kind: 'order', isWestFirst: random.chance(0.5) }
  return { kind: random.chance(0.5) ? 'delete' : 'remove' }
}

/** What clients ask an engine. */
export interface TripEngine {
  readonly service: Pick<TripService, 'post' | 'patch' | 'legs' | 'remove' | 'find'>
  /** An update as POST /v1/track answers it. */
  track(update: Update): Promise<FeedOutcome>
  /** Removes the user's latest record. */
  removeUser(userId: string): Promise<void>
}

/** What came of something that was asked until it was answered. */
export interface Insisted<T> {
  /** Undefined: it was refused. */
  readonly answer: T | undefined
  /** It may have been done before, and the answer lost. */
  readonly isRepeated: boolean
}

interface ClientsParts {
  readonly clock: Clock
  readonly insist: <T>(work: (engine: TripEngine) => Promise<T>) => Promise<Insisted<T>>
  /** Resolves when trips have heard of everything. */
  readonly calm: () => Promise<void>
}

/** One client of each user. */
export class Clients {
  /** Events of answers. */
  readonly told: string[] = []
  readonly #parts: ClientsParts
  #sequence = 0

  constructor(parts: ClientsParts) {
    this.#parts = parts
  }

  /** Does something as the user of that index; returns what is told of the trip. */
  async do(index: number, step: Step): Promise<string> {
    const userId = USERS[index]
    const name = `order-${index}`
    const hasLegs = index === USERS.length - 1
    const note = (of: { readonly note: number }): Wanted => ({
      fields: {
        ...NO_FIELDS,
        metadata: { note: of.note },
        scheduledArrivalAt: of.note === LATE_NOTE ? SCHEDULED_AT : undefined,
      },
      wantsLocations: false,
    })
    const whole = (of: { readonly note: number }): Wanted => ({
      ...note(of),
      fields: { ...note(of).fields, userId, ...(hasLegs ? { legs: LEGS } : { destination: HOME }) },
    })
    switch (step.kind) {
      case 'track': {
        const update: Update = {
          scope: 0,
          deviceId: `phone-${index}`,
          userId,
          latitude: 0,
          longitude: -step.meters / DEGREE_METERS,
          accuracy: 5,
          foreground: true,
          stopped: false,
          replayed: false,
          receivedAt: this.#parts.clock.now(),
          ip: '192.0.2.1',
          // A resend is applied once (G9).
          stream: `stream-${index}`,
          sequence: ++this.#sequence,
          ...(userId === undefined && { tripOptions: { externalId: name, destination: HOME } }),
        }
        const answer = (await this.#parts.insist((engine) => engine.track(update))).answer!
        this.told.push(...answer.events)
        const trip = answer.trip === null ? undefined : JSON.parse(answer.trip)
        return JSON.stringify([trip?.status, trip?.externalId, trip?.eta, trip?.delay])
      }
      case 'patch':
        return this.#call(({ service }) =>
          service.patch(0, name, { ...note(step), status: step.status }, false),
        )
      case 'post':
        return this.#call(async ({ service }) => {
          const known = await service.find(0, name)
          // Legs without `_id` replace the open ones each time, which would be no repetition.
          const isActive = hasLegs && known !== undefined && !isEnded(known.status)
          return service.post(0, name, isActive ? note(step) : whole(step))
        })
      case 'leg':
        return this.#call(async ({ service }) => {
          const found = await service.find(0, name)
          const legs = found && (JSON.parse(found.trip).legs as { _id: string }[] | undefined)
          const leg = { legId: legs?.[step.leg]?._id ?? 'none', status: step.status }
          return service.legs(0, name, { leg, wantsLocations: false })
        })
      case 'order':
        return this.#call(async ({ service }) => {
          const found = await service.find(0, name)
          const legs = ((found && JSON.parse(found.trip).legs) ?? []) as KnownLeg[]
          const longitude = ({ destination }: KnownLeg) => destination.location.coordinates[0]
          const west = legs.toSorted((a, b) => longitude(a) - longitude(b)).map(({ _id }) => _id)
          const order = step.isWestFirst ? west : west.toReversed()
          return service.legs(0, name, { order, wantsLocations: false })
        })
      case 'delete': {
        // By its `_id`, because a repetition by name would find the trip that had the name before.
        const { answer } = await this.#parts.insist(({ service }) => service.find(0, name))
        if (answer !== undefined)
          await this.#parts.insist(({ service }) => service.remove(0, JSON.parse(answer.trip)._id))
        return ''
      }
      case 'remove':
        await this.#parts.insist((engine) => engine.removeUser(userId ?? `phone-${index}`))
        await this.#parts.calm()
        return ''
    }
  }

  /** A repeated call may have another answer: it changes nothing more, or it is no longer allowed. */
  async #call(work: (engine: TripEngine) => Promise<{ readonly trip: string }>): Promise<string> {
    const { answer, isRepeated } = await this.#parts.insist(work)
    if (isRepeated) return ''
    return answer === undefined ? 'refused' : JSON.parse(answer.trip).status
  }
}

interface KnownLeg {
  readonly _id: string
  readonly destination: { readonly location: { readonly coordinates: readonly [number, number] } }
}

/** How many events of each type there are. */
export function typesOf(events: Readonly<Record<string, readonly unknown[]>>): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const event of Object.values(events).flat()) {
    const { type } = event as { type: string }
    counts[type] = (counts[type] ?? 0) + 1
  }
  return counts
}

/** What must be the same, however often the process ended. */
export function historyOf(
  partitions: readonly Partition[],
  all: readonly LogEvent[],
  told: readonly string[],
) {
  const plain = (json: string): unknown =>
    JSON.parse(json, (key, value) => (key === '_id' || key.startsWith('currentLeg') ? undefined : value))
  const events = all.filter(({ type }) => type.includes('trip'))
  const ids = events.map(({ id }) => id)
  assert.equal(new Set(ids).size, ids.length, 'each event once')
  const known = new Set(ids)
  for (const json of told) assert.ok(known.has(JSON.parse(json)._id), 'what was told is in the log')
  const name = (json: string) => JSON.parse(json).trip.externalId as string
  const trips = tripsOf(partitions).map(({ estimate, user, ...trip }) => ({
    ...trip,
    id: '',
    heard: [],
    told: [],
    called: undefined,
    user: user && { ...user, id: '' },
    legs: trip.legs?.map((leg) => ({ ...leg, id: '' })),
    currentLegId: trip.legs?.findIndex(({ id }) => id === trip.currentLegId),
    estimate: estimate && {
      ...estimate,
      sections: estimate.sections.map((one) => ({ ...one, legId: '' })),
    },
  }))
  return {
    events: Object.fromEntries(
      USERS.map((_, i) => [
        i,
        events.filter(({ json }) => name(json) === `order-${i}`).map(({ json }) => plain(json)),
      ]),
    ),
    trips: trips.toSorted((a, b) =>
      `${a.externalId} ${a.createdAt}` < `${b.externalId} ${b.createdAt}` ? -1 : 1,
    ),
  }
}
