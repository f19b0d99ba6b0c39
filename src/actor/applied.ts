import type { Profile } from '../model/device.ts'
import type { Verdict } from '../model/fraud.ts'
import type { ScopeId } from '../model/scope.ts'
import type { ScopeView } from '../rules/port.ts'
import { ConcurrencyLimit } from '../runtime/concurrencyLimit.ts'
import { inSlices } from '../runtime/slices.ts'
import type { ShortcutOutcome } from './feedShortcut.ts'
import type { Outcome, UserParts } from './port.ts'
import { headRest, userHead, userHeadSteps, userJson } from './userRecord.ts'

/** The result of an update. The row of its record is `Partition.row`. */
export type Applied = Outcome

/** The events of an update that has none. The list of an update that has very many may be filled after its result is made. */
export const NO_EVENTS: readonly string[] = []

/**
 * The result of an update without events that moves no trips, for a submitter that does not want the user. Most results of
 * streams are like this, and an object for each would be alive whenever the garbage collector runs.
 */
export const UNEVENTFUL: Applied = {
  user: '',
  events: NO_EVENTS,
  repeated: false,
  feed: undefined,
  trips: undefined,
}

/**
 * The result for a submitter that wants the user. The user's text is made only if it is needed, because a writer of
 * bytes only needs its parts.
 */
export class AppliedForUser implements Applied {
  readonly parts: UserParts
  readonly events: readonly string[]
  readonly repeated: boolean
  readonly verdict: Verdict | undefined
  readonly feed: number | undefined
  readonly trips: ShortcutOutcome | undefined

  constructor(
    parts: UserParts,
    events: readonly string[],
    repeated: boolean,
    verdict?: Verdict,
    feed?: number,
    trips?: ShortcutOutcome,
  ) {
    this.parts = parts
    this.events = events
    this.repeated = repeated
    this.verdict = verdict
    this.feed = feed
    this.trips = trips
  }

  get user(): string {
    return userJson(this.parts)
  }
}

/**
 * The result for a submitter that wants a user in a crowd of geofences, whose text may have megabytes. It is made only
 * if it is requested. In a replay, it is made only for the last update, with the geofences as they are then.
 */
export class AppliedWithManyVisits implements Applied {
  readonly events: readonly string[]
  readonly repeated: boolean
  readonly verdict: Verdict | undefined
  readonly feed: number | undefined
  readonly trips: ShortcutOutcome | undefined
  readonly #user: UserAfterUpdate

  constructor(
    user: UserAfterUpdate,
    events: readonly string[],
    repeated: boolean,
    verdict?: Verdict,
    feed?: number,
    trips?: ShortcutOutcome,
  ) {
    this.#user = user
    this.events = events
    this.repeated = repeated
    this.verdict = verdict
    this.feed = feed
    this.trips = trips
  }

  get user(): string {
    const { profile, scope, view, now, tail } = this.#user
    return userHead(profile, scope, view, now) + headRest(profile, view) + tail
  }

  async userPieces(): Promise<readonly string[]> {
    const { profile, scope, view, now, tail } = this.#user
    const pieces = await longTextLimit.run(() => inSlices(userHeadSteps(profile, scope, view, now)))
    pieces.push(tail)
    return pieces
  }
}

/** The user's state after an update. */
interface UserAfterUpdate {
  readonly profile: Profile
  readonly scope: ScopeId
  readonly view: ScopeView
  readonly now: number
  /** The end of the JSON; see {@link userTail}. */
  readonly tail: string
}

/** With this many stays or more, the text of a user takes long if the geofences have as much metadata as they may. */
export const MANY_VISITS = 64
/**
 * How many users in crowds are written at a time. Each is held in memory until it is sent, and is written in turns with
 * everything else, so more at a time would not be ready sooner.
 */
const LONG_TEXTS_AT_ONCE = 2
const longTextLimit = new ConcurrencyLimit(LONG_TEXTS_AT_ONCE)
