import type { Profile } from '../model/device.ts'
import type { ScopeId } from '../model/scope.ts'
import type { ScopeView } from '../rules/port.ts'
import { ConcurrencyLimit } from '../runtime/concurrencyLimit.ts'
import type { Outcome, UserParts } from './port.ts'
import { userHead, userHeadPieces, userJson } from './userRecord.ts'

/** What an update came to. */
export interface Applied extends Outcome {
  /** Of the record, in its partition's table. */
  readonly row: number
}

/** With a user, whose text is made when it is asked for: who writes bytes needs only its parts. */
export class AppliedForUser implements Applied {
  readonly parts: UserParts
  readonly events: readonly string[]
  readonly repeated: boolean
  readonly row: number

  constructor(parts: UserParts, events: readonly string[], repeated: boolean, row: number) {
    this.parts = parts
    this.events = events
    this.repeated = repeated
    this.row = row
  }

  get user(): string {
    return userJson(this.parts)
  }
}

/**
 * With a user who stays in a crowd of geofences, whose text may have megabytes: it is made when it is asked for, which of a
 * replay is the last one only, with the geofences as they are by then.
 */
export class AppliedInCrowd implements Applied {
  readonly events: readonly string[]
  readonly repeated: boolean
  readonly row: number
  readonly #user: CrowdedUser

  constructor(user: CrowdedUser, events: readonly string[], repeated: boolean, row: number) {
    this.#user = user
    this.events = events
    this.repeated = repeated
    this.row = row
  }

  get user(): string {
    const { profile, scope, view, now, tail } = this.#user
    return userHead(profile, scope, view, now) + tail
  }

  async userPieces(): Promise<readonly string[]> {
    const { profile, scope, view, now, tail } = this.#user
    const pieces = await crowdLimit.run(() => userHeadPieces(profile, scope, view, now))
    pieces.push(tail)
    return pieces
  }
}

/** A user as it was after an update. */
interface CrowdedUser {
  readonly profile: Profile
  readonly scope: ScopeId
  readonly view: ScopeView
  readonly now: number
  /** See {@link userTail}. */
  readonly tail: string
}

/** From so many stays on the text of a user takes long, if the geofences have the most metadata. */
export const CROWD = 64
/** Users in crowds that are written at one time: each is held in memory until it is out. */
const CROWDED_AT_ONCE = 8
const crowdLimit = new ConcurrencyLimit(CROWDED_AT_ONCE)
