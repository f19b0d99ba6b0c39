import { Packr } from 'msgpackr'
import type { Senders } from '../../wire/senders.ts'
import type { RangedBeacon } from '../../model/beacon.ts'
import type { Metadata } from '../../model/metadata.ts'
import type { ScopeId } from '../../model/scope.ts'
import type { TripOptions } from '../../model/trip.ts'
import type { DeviceType } from '../../model/update.ts'
import { ApiError } from '../../runtime/errors.ts'
import type { Command, CommandKind } from '../../actor/command.ts'
import type { Outcome } from '../../actor/port.ts'
import { isLargeRow, LargeResult, largeOf, largeRow, type LargeRow } from './largeResult.ts'
import { readRows, RowWriter, type NumberedUpdate, type RemoteUpdate, type WholeRows } from './updateRows.ts'

/**
 * What gateways and the owners of partitions say to each other, as bytes (MessagePack). docs/protocol.md tells when.
 *
 * ```
 * request  [gateway, number, retried, registry revision, updates as of updateRows.ts, command*,
 *          does the gateway fetch large results?, does it take updates back?, do the updates wait behind others?]
 * command  [name of its kind, arguments as the kind encodes them]
 * reply    [update result*, command result*], or nothing: busy, ask again, or 0: the updates of the request still wait
 *          in place of the update results their number, where all are 0
 * result   of an update: 0: applied, nothing else wanted
 *          · [0 | 1 repeated, user, event*, passed?, failure reason*?, feed?]
 *          · [2, process, id, has events?, user or nothing: to be fetched, 0 | 1 repeated, passed?, failure reason*?,
 *            feed?]: it is fetched as of resultProtocol.ts
 *          · 3: not evaluated; the update is to be sent again in a request whose updates wait behind others
 *          · refusal
 *          of a command: [0, result] · refusal
 * refusal  [code, message, param, type, retryAfter]
 * ```
 */

export interface PartitionRequest<U = RemoteUpdate, C = Command | ApiError> {
  /** The name of the gateway. It is different after each start. */
  readonly gateway: string
  /**
   * The number of the request. It increases with each request of the gateway to the partition, and a repeated request
   * keeps it.
   */
  readonly number: number
  /** Whether it was sent before and the outcome is unknown. */
  readonly retried: boolean
  /**
   * The registry revision of the gateway. The updates were accepted with it, so they must not be evaluated with an
   * older one.
   */
  readonly revision: number
  readonly updates: readonly U[]
  /** The commands as the owner reads them. If it does not know a command's kind, there is an error in its place. */
  readonly commands: readonly C[]
  /** Whether the gateway fetches results that are too large for a reply. One of an older release does not. */
  readonly fetches: boolean
  /**
   * Whether the gateway takes updates back that would wait behind those of others, and whether it understands
   * {@link STILL_WAITING}. One of an older release does not.
   */
  readonly takesBack: boolean
  /** Whether the updates wait behind those of others. */
  readonly isBehind: boolean
}

/** In place of a result: the update was not evaluated, and is to be sent again behind those of others. */
export const TAKEN_BACK = 3
/** In place of a reply: the updates of the request still wait behind those of others. */
export const STILL_WAITING = 0

export type UpdateResult = 0 | typeof TAKEN_BACK | Outcome | LargeResult | ApiError

export interface PartitionReply {
  readonly updates: readonly UpdateResult[]
  /** For each command, a refusal or a result of its kind. */
  readonly commands: readonly unknown[]
}

const packr = new Packr({ useRecords: false, encodeUndefinedAsNil: true })

type Nil<T> = T | null | undefined

export function encodeRequest(
  request: Omit<PartitionRequest<NumberedUpdate, Command>, 'fetches' | 'takesBack'>,
): Uint8Array {
  const { gateway, number, retried, revision, updates, commands, isBehind } = request
  return packr.pack([
    gateway,
    number,
    retried,
    revision,
    rowWriter.write(updates, isBehind),
    commands.map(({ kind, args }) => [kind.name, kind.encode(args)]),
    true,
    true,
    isBehind,
  ])
}

/**
 * Reads a request.
 * @param kindOf returns the kind with that name
 * @param senders the senders of this host
 */
export function decodeRequest(
  bytes: Uint8Array,
  kindOf: (name: string) => CommandKind | undefined,
  senders: Senders,
): PartitionRequest {
  const row = packr.unpack(bytes) as [
    string,
    number,
    boolean,
    number,
    Uint8Array,
    [string, unknown][],
    boolean | undefined,
    boolean | undefined,
    boolean | undefined,
  ]
  const [gateway, number, retried, revision, rows, commands, fetches, takesBack, isBehind] = row
  return {
    gateway,
    number,
    retried,
    revision,
    fetches: fetches === true,
    takesBack: takesBack === true,
    isBehind: isBehind === true,
    updates: readRows(rows, wholeRows, senders),
    commands: commands.map(([name, args]) => {
      const kind = kindOf(name)
      return kind === undefined ? unknownKind(name) : { kind, args: kind.decode(args) }
    }),
  }
}

/**
 * Writes a reply.
 * @param reply undefined if the owner is busy
 */
export function encodeReply(reply: PartitionReply | undefined): Uint8Array {
  if (reply === undefined) return packr.pack(null)
  const { updates, commands } = reply
  return packr.pack([
    updates.every((result) => result === 0) ? updates.length : updates.map(resultRow),
    commands.map((result) => (result instanceof ApiError ? refusalRow(result) : [0, result])),
  ])
}

/** Says that the updates of a request still wait. */
export function encodeStillWaiting(): Uint8Array {
  return packr.pack(STILL_WAITING)
}

/** Reads a reply. Undefined means that the owner is busy. */
export function decodeReply(bytes: Uint8Array): PartitionReply | typeof STILL_WAITING | undefined {
  const whole = packr.unpack(bytes) as
    | [ResultRow[] | number, (readonly [0, unknown] | RefusalRow)[]]
    | typeof STILL_WAITING
    | null
  if (whole === null) return undefined
  if (whole === STILL_WAITING) return STILL_WAITING
  const [updates, commands] = whole
  return {
    updates: typeof updates === 'number' ? Array.from<0>({ length: updates }).fill(0) : updates.map(resultOf),
    commands: commands.map((row) => (row[0] === 0 ? row[1] : refusalOf(row as RefusalRow))),
  }
}

function unknownKind(name: string): ApiError {
  return new ApiError(
    503,
    `The process that has this partition does not know "${name}". It may be of an older release.`,
    {
      retryAfter: 1,
    },
  )
}

/** The data of an update that a row cannot hold. */
type WholeRow = readonly [
  bits: number,
  scope: ScopeId,
  deviceId: string,
  latitude: number,
  longitude: number,
  receivedAt: number,
  ip: string,
  stream: string,
  sequence: number,
  accuracy: Nil<number>,
  userId: Nil<string>,
  installId: Nil<string>,
  updatedAt: Nil<number>,
  deviceType: Nil<DeviceType>,
  deviceOS: Nil<string>,
  deviceMake: Nil<string>,
  deviceModel: Nil<string>,
  description: Nil<string>,
  /** It is JSON, because its keys may be any. */
  metadata: Nil<string>,
  beacons: Nil<string>,
  source: Nil<string>,
  /** It is JSON for the same reason as metadata. */
  tripOptions: Nil<string>,
]

const FOREGROUND = 1
const STOPPED = 2
const REPLAYED = 4
/** The bits from this one on are the update's claims. */
const CLAIMS_AT = 3

const wholeRows: WholeRows = {
  pack({ update, stream, sequence }) {
    const { metadata, beacons } = update
    const row: WholeRow = [
      (update.foreground ? FOREGROUND : 0) |
        (update.stopped ? STOPPED : 0) |
        (update.replayed ? REPLAYED : 0) |
        ((update.claims ?? 0) << CLAIMS_AT),
      update.scope,
      update.deviceId,
      update.latitude,
      update.longitude,
      update.receivedAt,
      update.ip,
      stream,
      sequence,
      update.accuracy,
      update.userId,
      update.installId,
      update.updatedAt,
      update.deviceType,
      update.deviceOS,
      update.deviceMake,
      update.deviceModel,
      update.description,
      metadata && JSON.stringify(metadata),
      beacons && JSON.stringify(beacons),
      update.source,
      update.tripOptions && JSON.stringify(update.tripOptions),
    ]
    return packr.pack(row)
  },
  unpack(bytes) {
    const row = packr.unpack(bytes) as WholeRow
    const [bits, scope, deviceId, latitude, longitude, receivedAt, ip, stream, sequence] = row
    const metadata = row[18]
    const beacons = row[19]
    const source = row[20]
    const tripOptions = row[21]
    return {
      scope,
      deviceId,
      latitude,
      longitude,
      receivedAt,
      ip,
      stream,
      sequence,
      foreground: (bits & FOREGROUND) !== 0,
      stopped: (bits & STOPPED) !== 0,
      replayed: (bits & REPLAYED) !== 0,
      claims: bits >>> CLAIMS_AT || undefined,
      accuracy: row[9] ?? undefined,
      userId: row[10] ?? undefined,
      installId: row[11] ?? undefined,
      updatedAt: row[12] ?? undefined,
      deviceType: row[13] ?? undefined,
      deviceOS: row[14] ?? undefined,
      deviceMake: row[15] ?? undefined,
      deviceModel: row[16] ?? undefined,
      description: row[17] ?? undefined,
      source: source ?? undefined,
      metadata: typeof metadata === 'string' ? (JSON.parse(metadata) as Metadata) : undefined,
      ...(typeof tripOptions === 'string' && { tripOptions: JSON.parse(tripOptions) as TripOptions }),
      beacons: typeof beacons === 'string' ? (JSON.parse(beacons) as RangedBeacon[]) : undefined,
    }
  },
}

const rowWriter = new RowWriter(wholeRows)

type OutcomeRow = readonly [
  repeated: 0 | 1,
  user: string,
  events: readonly string[],
  passed?: boolean | null,
  failureReasons?: readonly string[] | null,
  feed?: number,
]
type RefusalRow = readonly [
  code: number,
  message: string,
  param: Nil<string>,
  type: Nil<string>,
  retryAfter: Nil<number>,
]
type ResultRow = 0 | typeof TAKEN_BACK | OutcomeRow | LargeRow | RefusalRow

function resultRow(result: UpdateResult): ResultRow {
  if (result === 0 || result === TAKEN_BACK) return result
  if (result instanceof ApiError) return refusalRow(result)
  if (result instanceof LargeResult) return largeRow(result)
  const { repeated, user, events, verdict, feed } = result
  const known = repeated ? 1 : 0
  if (feed !== undefined)
    return [known, user, events, verdict?.passed ?? null, verdict?.failureReasons ?? null, feed]
  if (verdict === undefined) return [known, user, events]
  return [known, user, events, verdict.passed, verdict.failureReasons]
}

function resultOf(row: ResultRow): UpdateResult {
  if (row === 0 || row === TAKEN_BACK) return row
  const [first] = row
  if (isLargeRow(row)) return largeOf(row)
  if (first !== 0 && first !== 1) return refusalOf(row as RefusalRow)
  const [, user, events, passed, reasons, feed] = row as OutcomeRow
  const verdict = typeof passed === 'boolean' ? { passed, failureReasons: reasons ?? [] } : undefined
  return {
    repeated: first === 1,
    user,
    events,
    ...(verdict && { verdict }),
    ...(feed !== undefined && { feed }),
  }
}

function refusalRow({ code, message, param, type, retryAfter }: ApiError): RefusalRow {
  return [code, message, param, type, retryAfter]
}

function refusalOf([code, message, param, type, retryAfter]: RefusalRow): ApiError {
  return new ApiError(code, message, {
    ...(typeof param === 'string' && { param }),
    ...(typeof type === 'string' && { type }),
    ...(typeof retryAfter === 'number' && { retryAfter }),
  })
}
