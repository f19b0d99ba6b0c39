import type { Metadata, WantedMetadata } from '../model/metadata.ts'
import type { Verdict } from '../model/fraud.ts'
import type { ScopeId } from '../model/scope.ts'
import type { Update } from '../model/update.ts'
import type { ApiError } from '../runtime/errors.ts'
import type { LiveArea } from '../spatial/liveAreas.ts'
import type { CommandKind } from './command.ts'
import type { ShortcutOutcome } from './feedShortcut.ts'

/**
 * The interface of the device actors for all other code. Nobody accesses devices directly: arguments and results are
 * plain values, so the actors may be in this process or in others.
 *
 * Embedded technology: the actor host itself (src/actor/host.ts) is the intake; hostUsers.ts and hostPositions.ts
 * answer. Distributed: gateway.ts and remotePositions.ts ask the owners of the partitions over NATS, where
 * partitionServer.ts and positionServer.ts answer. Their common contract suite is test/cluster/contract.ts.
 */

/** The result of an update. The strings are finished JSON. */
export interface Outcome {
  /** Finished JSON. It is empty if nobody wants it. */
  readonly user: string
  /** The parts of {@link user}. They are absent if the user came as a text. */
  readonly parts?: UserParts | undefined
  /** Makes the pieces of {@link user} in turns with others. It is only present if the user may be long. */
  readonly userPieces?: (() => Promise<readonly string[]>) | undefined
  /** Where the user is kept elsewhere until it is fetched: to be called by whoever does not want it. */
  readonly forget?: (() => void) | undefined
  readonly events: readonly string[]
  /**
   * Whether the update was sent again. Then it is acknowledged but not evaluated (G9). Its events were returned the
   * first time, and are in the event log.
   */
  readonly repeated: boolean
  /** The verdict on a verified update, if fraud is judged. */
  readonly verdict?: Verdict | undefined
  /**
   * The number of the row that reports the update to the device's trips (feedTable.ts). If it is negative or 0, the
   * update was reported before, and its absolute value is how many rows the feed has had. It is absent if the update
   * moves no trip.
   */
  readonly feed?: number | undefined
  /** What the update did to its trips, if they were moved in the same commit; otherwise absent, and the dispatcher of trips knows. */
  readonly trips?: ShortcutOutcome | undefined
}

/**
 * Finished JSON of a user from the beacons to the coordinates. Users with the same text share it. Its text is not kept beside
 * its bytes, because it would take twice as much memory as they do.
 */
export interface HeadRest {
  /** Each character stands for a byte of the JSON in UTF-8. */
  readonly bytes: string
  /** Whether all characters of the JSON are ASCII, so that its bytes are also its text. */
  readonly isAscii: boolean
}

/** A user's JSON after an update, in parts, because a writer of bytes needs no text. */
export interface UserParts {
  /** Finished JSON up to the beacons. */
  readonly head: string
  /** Whether each character of {@link head} stands for a byte of the JSON in UTF-8. Then answers copy it. */
  readonly areBytes?: boolean | undefined
  /** What follows it. */
  readonly rest: HeadRest
  readonly longitude: number
  readonly latitude: number
  /** In metres. NaN if there is none. */
  readonly accuracy: number
  readonly foreground: boolean
  readonly stopped: boolean
  /** The time t, in epoch milliseconds. */
  readonly updatedAt: number
  /** The server's time, in epoch milliseconds. */
  readonly receivedAt: number
}

/** The submitter of updates. One object may stand for many updates. */
export interface Submitter {
  /** Whether the limit of one update per second and device applies. */
  readonly rateLimited: boolean
  /** Whether {@link Outcome.user} is made, which costs more than most updates. */
  readonly wantsUser: boolean
  /** Whether {@link Outcome.events} is read; if not, it may be empty. */
  readonly wantsEvents: boolean
  /**
   * Whether its updates wait behind those of others because they take long. The intake sets it after an expensive
   * update, and checks it for each.
   */
  isBehind: boolean
  /** Takes updates back that would wait behind those of others; absent: they wait in the intake. */
  readonly takenBack?: TakenBack | undefined
  /** Called when the update is durable. */
  applied(outcome: Outcome, update: Update): void
  /**
   * Called when the update was refused and has changed nothing. With code 503, it could not be found out in time
   * whether it has.
   */
  refused(error: ApiError, update: Update): void
}

/**
 * Updates that their submitter has taken back, to submit them again behind those of others. All later updates of their
 * devices must come back as well, so that they stay in order (G3).
 */
export interface TakenBack {
  /** Whether updates of the device come back from now on. */
  has(deviceId: string): boolean
  /** From now on, updates of the device come back. */
  add(deviceId: string): void
  /** Takes an update that was not evaluated. */
  take(update: Update): void
}

/** Accepts what changes devices. */
export interface Intake {
  /**
   * Whether more should come, because little waits. A submitter that has much, and can keep it, waits for this;
   * nobody is refused because of it.
   */
  readonly hasRoom: boolean
  /**
   * Accepts updates, all or none.
   * @param bytes in which the updates came, for the bound
   * @throws {ApiError} 503 if too much waits already
   */
  submit(updates: readonly Update[], bytes: number, submitter: Submitter): void
  /** Like {@link submit}, for the single update of most requests. */
  submitOne(update: Update, bytes: number, submitter: Submitter): void
  /**
   * Has a command applied; resolves to its result once that is durable.
   * @param bytes in which it came, for the bound
   * @throws {ApiError} 503 if too much waits already. It may also reject with 503 later, and may have been applied
   * then
   */
  execute<A, R>(kind: CommandKind<A, R>, args: A, bytes: number): Promise<R>
}

/** The fields of a geofence that matter for who is inside. */
export interface InsideGeofence {
  readonly id: string
  readonly userId: string | undefined
  readonly userIds: readonly string[] | undefined
}

/** The order of a list of users. Without members: newest first by creation. */
export interface UserOrder {
  readonly sortBy?: 'createdAt' | 'updatedAt' | undefined
  readonly isAscending?: boolean | undefined
}

/** A page of all users. Bounds are exclusive, in epoch milliseconds. */
export interface UserList extends UserOrder {
  readonly userId?: string | undefined
  readonly deviceId?: string | undefined
  /** Only users who are in the place with this `_id`. */
  readonly placeId?: string | undefined
  /** Only users who belong to the segment with this externalId. */
  readonly segment?: string | undefined
  /** Only users whose userId, deviceId or description contains this text, in upper or lower case. */
  readonly text?: string | undefined
  /** Whether the answer is to have `total`. */
  readonly wantsTotal?: boolean | undefined
  /** The {@link FoundUser.order} of the record, computed with the same order, after which the page begins. */
  readonly after?: readonly number[] | undefined
  readonly createdBefore?: number | undefined
  readonly createdAfter?: number | undefined
  readonly updatedBefore?: number | undefined
  readonly updatedAfter?: number | undefined
  readonly limit: number
}

/** A question about who is near a point, in degrees and metres. */
export interface UsersNear {
  readonly latitude: number
  readonly longitude: number
  readonly radiusMeters: number
  readonly metadata?: WantedMetadata | undefined
  /** Only records that were updated later than this, in epoch milliseconds. */
  readonly updatedAfter?: number | undefined
  /**
   * Only records whose last location is at least this accurate, in metres. A record without an accuracy is found, too.
   */
  readonly maxAccuracy?: number | undefined
  readonly limit: number
}

/** A question about the users of one scope. */
export type UserQuestion = { readonly scope: ScopeId } & (
  | {
      /** Asks for the record with that `_id`. */
      readonly ask: 'record'
      readonly id: string
      /** The order in which the record's rank is returned. */
      readonly order?: UserOrder | undefined
    }
  | {
      /** Asks for the records with these `_id`s. They come in no particular order, without those that do not exist. */
      readonly ask: 'records'
      readonly ids: readonly string[]
    }
  | {
      /**
       * Asks for the record with that `_id`, userId or deviceId. If there are several, it is the one that was updated
       * last. With `explained`, the answer also says why it did what it did.
       */
      readonly ask: 'user' | 'explained'
      readonly id: string
    }
  | {
      /** The record of the device on which the user was last seen. */
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
  /**
   * The rank of the record. Ranks are compared number by number, and the lower one comes first. No two records have
   * the same.
   */
  readonly order: readonly number[]
  /** The record's `_id`. */
  readonly id: string
  readonly deviceId: string
  /** The record as the API returns it: JSON, in several pieces if it may have megabytes. */
  readonly user: readonly string[]
  /** The JSON for `explained`, in pieces; otherwise there are none. */
  readonly explanation: readonly string[]
}

export interface UserAnswer {
  /** The records in order. A page ends early with the record that reaches PAGE_CHARACTERS (events/port.ts). */
  readonly users: readonly FoundUser[]
  readonly hasMore: boolean
  /** How many records match on all pages, if the question asks for it. */
  readonly total?: number | undefined
}

/** Answers questions about users from committed state. */
export interface Users {
  /**
   * Answers a question.
   * @throws {ApiError} 503 if nobody answers for a part of the devices
   */
  ask(question: UserQuestion): Promise<UserAnswer>
}

/** The position of a device. */
export interface LivePosition {
  readonly scope: ScopeId
  readonly deviceId: string
  /** The id of its latest record. */
  readonly recordId: string
  readonly userId: string | undefined
  readonly latitude: number
  readonly longitude: number
  /** In metres. NaN means that it is unknown. */
  readonly accuracy: number
  /** The time t, in epoch milliseconds. */
  readonly updatedAt: number
  /** The metadata of its latest record. It is absent if only positions are known. */
  readonly metadata?: Metadata | undefined
  /** The `_id`s of the geofences that its latest record is in. They are absent if only positions are known. */
  readonly geofenceIds?: readonly string[] | undefined
  /** The number under which {@link CommittedPositions} show the record for as long as it exists. */
  readonly handle?: number | undefined
}

/** An observer of positions; called once they are durable. */
export interface PositionObserver {
  /** Whether it reads `metadata` and `geofenceIds`; otherwise they may be missing. */
  readonly wantsRecords?: boolean
  /**
   * An update moved the device of the record with this handle.
   * @returns whether that is all that it needs now; otherwise {@link moved} must follow
   */
  stirred?(handle: number): boolean
  /**
   * An update moved the device. The position is valid during the call. It is the device's present position, whichever
   * update led to it.
   */
  moved(position: LivePosition): void
  /** A record was removed. */
  removed(scope: ScopeId, deviceId: string, recordId: string): void
}

/** Receives the positions of a look. */
export interface PositionViewer {
  /** The viewer needs no more. */
  readonly isEnded: boolean
  /** The same as in {@link PositionObserver}. */
  readonly wantsRecords?: boolean
  /** The position is valid during the call. */
  found(position: LivePosition): void
  /** Called when some were found. Updates may be processed before more are found. */
  pause(): void
}

/** The positions of records in this process, for whoever does not need each of them at once. */
export interface CommittedPositions {
  /** Calls `read` when positions can be read: now, or as soon as the commit in flight is durable. */
  whenCommitted(read: () => void): void
  /** Whether the record exists. */
  has(handle: number): boolean
  /**
   * The position of a record, valid until the next call. If the record was removed by the last commit, only the numbers
   * can be read.
   */
  at(handle: number): LivePosition
}

/** Live positions of the devices of all scopes. */
export interface Positions {
  /** Undefined while nobody watches, so that it costs nothing. It must be set again when it wants more or less. */
  observer: PositionObserver | undefined
  /** Undefined if the records are in other processes; then positions have no handles. */
  readonly committed?: CommittedPositions | undefined
  /** Shows the devices in the area. The observer gets movements that happen in the meantime. */
  look(scope: ScopeId, area: LiveArea, viewer: PositionViewer): Promise<void>
}

/** Positions with a permanent observer, besides the one that observes only for a while. */
export interface CopiedPositions extends Positions {
  copier: PositionObserver | undefined
}

/** The position of a device when another one moved near it. */
export interface MetDevice {
  readonly deviceId: string
  readonly latitude: number
  readonly longitude: number
}

/** Receives the pairs of devices that may be near each other. */
export interface RoamViewer {
  /** The viewer needs no more. */
  readonly isEnded: boolean
  /**
   * An update has moved a device, and the other one may be near it, or may have been before. For each update this is
   * called for all of these.
   */
  met(position: LivePosition, other: MetDevice): void
  /** A device was removed. */
  gone(deviceId: string): void
  /** Something may have been missed: the positions of known pairs must be looked up. */
  interrupted(): void
}

/** Devices that may be near each other, and where devices are. */
export interface Roams {
  /** Whether it can be asked now. */
  readonly isConnected: boolean
  /**
   * Informs the viewer of devices that are within this distance of each other, in metres, until it has ended.
   * @throws {ApiError} 503
   */
  roam(scope: ScopeId, meters: number, viewer: RoamViewer): Promise<void>
  /**
   * The present position of each device; undefined for a device that is not there.
   * @throws {ApiError} 503
   */
  locate(scope: ScopeId, deviceIds: readonly string[]): Promise<readonly (LivePosition | undefined)[]>
}
