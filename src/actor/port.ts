import type { ScopeId } from '../model/scope.ts'
import type { Update } from '../model/update.ts'
import type { ApiError } from '../runtime/errors.ts'
import type { LiveArea } from '../spatial/liveAreas.ts'
import type { CommandKind } from './command.ts'

/**
 * What everybody outside of the device actors may ask of them. Nobody reaches into devices: what is handed over, and what
 * comes back, are plain values, so the actors may be in this process or in others.
 *
 * Embedded technology: the actor host itself (src/actor/host.ts) takes in; hostUsers.ts and hostPositions.ts answer.
 * Distributed one: gateway.ts and remotePositions.ts ask the owners of the partitions over NATS, where partitionServer.ts and
 * positionServer.ts answer.
 * Their one contract suite is test/cluster/contract.ts.
 */

/** What an update came to. The strings are finished JSON. */
export interface Outcome {
  /** Empty where nobody wants it. */
  readonly user: string
  /** What {@link user} is put together of; absent where it came as a text. */
  readonly parts?: UserParts | undefined
  /** The pieces of {@link user}, made in turns with others; only there where it may be long. */
  readonly userPieces?: (() => Promise<readonly string[]>) | undefined
  readonly events: readonly string[]
  /** A resend: acknowledged, not evaluated (G9). Its events were told the first time, and are in the event log. */
  readonly repeated: boolean
}

/** A user's JSON as it was after an update, in parts: who writes bytes needs no text. */
export interface UserParts {
  /** Finished JSON up to the coordinates. */
  readonly head: string
  readonly longitude: number
  readonly latitude: number
  /** Metres; NaN for none. */
  readonly accuracy: number
  readonly foreground: boolean
  readonly stopped: boolean
  /** Time t, epoch milliseconds. */
  readonly updatedAt: number
  /** The server's clock, epoch milliseconds. */
  readonly receivedAt: number
}

/** Who submitted an update. One object may stand for many updates. */
export interface Submitter {
  /** Whether the limit of one update per second and device applies. */
  readonly rateLimited: boolean
  /** Whether {@link Outcome.user} is made, which costs more than most updates. */
  readonly wantsUser: boolean
  /** Whether {@link Outcome.events} is looked at; where not, it may be empty. */
  readonly wantsEvents: boolean
  /**
   * Whether its updates wait behind those of others, because they take long. Who takes them in sets it where one has, and
   * looks at it for each.
   */
  isBehind: boolean
  /** The update is durable. */
  applied(outcome: Outcome, update: Update): void
  /** The update was refused and changed nothing; or, with code 503, nobody could say in time whether it did. */
  refused(error: ApiError, update: Update): void
}

/** Takes in what changes devices. */
export interface Intake {
  /**
   * Whether more should come: little waits. Who has much to hand over, and can keep it, waits for that; nobody is refused
   * for it.
   */
  readonly hasRoom: boolean
  /**
   * Takes updates in, all or none.
   * @param bytes what the updates came in with, for the bound
   * @throws {ApiError} 503 when too much waits already
   */
  submit(updates: readonly Update[], bytes: number, submitter: Submitter): void
  /** As {@link submit}, for the one update of most requests. */
  submitOne(update: Update, bytes: number, submitter: Submitter): void
  /**
   * Has a command applied; resolves, once that is durable, to its result.
   * @param bytes what it came in with, for the bound
   * @throws {ApiError} 503 when too much waits already; it may reject so too, and may then have been applied
   */
  execute<A, R>(kind: CommandKind<A, R>, args: A, bytes: number): Promise<R>
}

/** A geofence as far as it matters for who is inside. */
export interface InsideGeofence {
  readonly id: string
  readonly userId: string | undefined
  readonly userIds: readonly string[] | undefined
}

/** A page of all; bounds are exclusive, epoch milliseconds. */
export interface UserList {
  readonly userId?: string | undefined
  readonly deviceId?: string | undefined
  /** The {@link FoundUser.order} in the list after which the page begins: that of `record`. */
  readonly after?: readonly number[] | undefined
  readonly createdBefore?: number | undefined
  readonly createdAfter?: number | undefined
  readonly updatedBefore?: number | undefined
  readonly updatedAfter?: number | undefined
  readonly limit: number
}

/** Who is near a point; degrees and metres. */
export interface UsersNear {
  readonly latitude: number
  readonly longitude: number
  readonly radiusMeters: number
  /** As `metadataMatcher` takes it. */
  readonly metadata?: Readonly<Record<string, string>> | undefined
  readonly limit: number
}

/** A question about the users of one scope. */
export type UserQuestion = { readonly scope: ScopeId } & (
  | {
      /** The record with that `_id`. */
      readonly ask: 'record'
      readonly id: string
    }
  | {
      /** The records with these `_id`s, in no order that says something; those that are not there are left out. */
      readonly ask: 'records'
      readonly ids: readonly string[]
    }
  | {
      /** The record with that `_id`, userId or deviceId; of several the latest updated. `explained`: and why it did what. */
      readonly ask: 'user' | 'explained'
      readonly id: string
    }
  | {
      /** The record of the device that the user was last seen on. */
      readonly ask: 'lastDevice'
      readonly userId: string
    }
  | { readonly ask: 'list'; readonly list: UserList }
  | { readonly ask: 'near'; readonly near: UsersNear }
  | { readonly ask: 'inside'; readonly geofence: InsideGeofence; readonly limit: number }
  | { readonly ask: 'inRange'; readonly beaconId: string; readonly limit: number }
)

/** A record in an answer. */
export interface FoundUser {
  /** Its place: compared number by number, the lower comes first. No two records have the same. */
  readonly order: readonly number[]
  /** `_id`. */
  readonly id: string
  readonly deviceId: string
  /** The record as the API answers it. */
  readonly user: string
  /** JSON of what `explained` asks for; empty elsewhere. */
  readonly explanation: string
}

export interface UserAnswer {
  /** In their order; a page ends early with the one that reaches PAGE_CHARACTERS (events/port.ts). */
  readonly users: readonly FoundUser[]
  readonly hasMore: boolean
}

/** Answers questions about users from committed state. */
export interface Users {
  /** @throws {ApiError} 503 when nobody answers for a part of the devices */
  ask(question: UserQuestion): Promise<UserAnswer>
}

/** Where a device is. */
export interface LivePosition {
  readonly scope: ScopeId
  readonly deviceId: string
  /** Of its latest record. */
  readonly recordId: string
  readonly userId: string | undefined
  readonly latitude: number
  readonly longitude: number
  /** Metres; NaN: unknown. */
  readonly accuracy: number
  /** Epoch milliseconds, time t. */
  readonly updatedAt: number
}

/** Who watches positions: told of them once they are durable. */
export interface PositionObserver {
  /** An update moved the device. The position is valid during the call, and where the device is now, whichever update it was. */
  moved(position: LivePosition): void
  /** A record is gone. */
  removed(scope: ScopeId, deviceId: string, recordId: string): void
}

/** Who looks at where devices are. */
export interface PositionViewer {
  /** Nobody looks any more. */
  readonly isEnded: boolean
  /** The position is valid during the call. */
  found(position: LivePosition): void
  /** Some have been found; updates may come in before more are. */
  pause(): void
}

/** Live positions of the devices of all scopes. */
export interface Positions {
  /** Undefined while nobody watches: then it costs nothing. */
  observer: PositionObserver | undefined
  /** Shows the devices that are in the area. What moves meanwhile the observer is told. */
  look(scope: ScopeId, area: LiveArea, viewer: PositionViewer): Promise<void>
}

/** Positions of which somebody is told always, beside whoever watches for a while. */
export interface CopiedPositions extends Positions {
  copier: PositionObserver | undefined
}
