import { evaluatedAccuracy } from '../geometry/confidence.ts'
import { Probe } from '../geometry/probe.ts'
import type { Update } from '../model/update.ts'
import type { ScopeView } from '../rules/port.ts'
import { ApiError, badParam } from '../runtime/errors.ts'
import { KeyedBound } from '../runtime/keyedBound.ts'

/**
 * The largest number of geofence evaluations of one replay: 1,000 updates in 100 geofences, or 120, which an SDK
 * buffers, in 800. Each may make an event, and takes some microseconds.
 */
export const MAX_MEETINGS = 100_000

/**
 * The largest number of events of one replay in the distributed engine: on two cores with a NATS server and the indexes of
 * all processes, some thousands are published in a second.
 */
export const MOST_PUBLISHED_EVENTS = 20_000

const probe = new Probe()

/**
 * Bounds the work of one replay before any of it is done. A single update is always accepted.
 * @param updates of one scope, in the order in which they are applied
 * @param mostEvents how many events they may cause
 * @returns how many events they may cause at most, except for dwells and for geofences in which the devices were before
 * @throws ApiError 400 that says how many of them may be sent at a time
 */
export function checkReplay(
  updates: readonly Update[],
  { index, settings }: ScopeView,
  mostEvents = Infinity,
): number {
  const slots: number[] = []
  const lastOf = new Map<string, ReadonlySet<number>>()
  let meetings = 0
  let events = 0
  for (let i = 0; i < updates.length; i++) {
    const { deviceId, latitude, longitude, accuracy } = updates[i]!
    const reach = settings.bufferEntries ? evaluatedAccuracy(accuracy) : 0
    slots.length = 0
    index.candidates(probe.set(latitude, longitude), reach, slots)
    meetings += slots.length
    if (mostEvents < Infinity) {
      events += differing(lastOf.get(deviceId), slots)
      lastOf.set(deviceId, new Set(slots))
    }
    if (i === 0) continue
    const first = `The first ${i + 1} of the ${updates.length} updates`
    const advice = `Send at most ${i} of them at a time.`
    if (meetings > MAX_MEETINGS) {
      const sentence =
        `${first} meet geofences ${meetings} times in all. ` +
        `At most ${MAX_MEETINGS} are allowed in one request. ${advice}`
      throw badParam('replays', sentence)
    }
    if (events > mostEvents) {
      const sentence =
        `${first} may cause ${events} events. ` +
        `At most ${mostEvents} are allowed in one request to this server. ${advice}`
      throw badParam('replays', sentence)
    }
  }
  return events
}

/** How many geofences only one of the two has: each of them may be entered or left. */
function differing(before: ReadonlySet<number> | undefined, now: readonly number[]): number {
  if (before === undefined) return now.length
  let common = 0
  for (const slot of now) if (before.has(slot)) common++
  return before.size + now.length - 2 * common
}

/** How many requests with as many events as allowed may be in progress at once. */
const AT_ONCE = 2
/** In seconds. */
const RETRY_AFTER_SECONDS = 2

/**
 * The events that all replays in progress may cause, for servers that must publish them within a time: beyond a bound,
 * a replay is refused before any of it is applied. So it does not wait behind others until it is answered 503 and
 * half of it is applied.
 */
export class ReplayRoom {
  /** How many events one replay may cause, and all replays of one key together. */
  readonly mostEvents: number
  readonly #bound: KeyedBound

  /** @param mostEvents Infinity for a server without such a bound */
  constructor(mostEvents: number) {
    this.mostEvents = mostEvents
    const most = { connection: Infinity, key: mostEvents, all: AT_ONCE * mostEvents }
    this.#bound = new KeyedBound('Events of replays', most)
  }

  /** How many events the replays in progress may cause. */
  get events(): number {
    return this.#bound.used
  }

  /**
   * Counts a replay.
   * @param events how many events it may cause
   * @returns a function to be called when it has ended
   * @throws ApiError 503
   */
  enter(key: string, events: number): () => void {
    const isFull = this.events > 0 && events > 0 && this.#bound.exceeded(key, 0, events) !== undefined
    if (isFull) {
      const sentence =
        `This replay may cause ${events} events, and others that are in progress ${this.events}, which is too much at once. ` +
        'Nothing of it was applied. Try again when they have ended, or send fewer updates at a time.'
      throw new ApiError(503, sentence, { retryAfter: RETRY_AFTER_SECONDS })
    }
    this.#bound.add(key, events)
    return () => this.#bound.add(key, -events)
  }
}
