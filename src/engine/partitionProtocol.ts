import { Packr } from 'msgpackr'
import type { Conversion } from '../model/event.ts'
import type { RangedBeacon } from '../model/beacon.ts'
import type { Metadata } from '../model/metadata.ts'
import type { ScopeId } from '../model/scope.ts'
import type { DeviceType, Update } from '../model/update.ts'
import { ApiError } from '../runtime/errors.ts'
import type { Outcome, UserAnswer, UserQuestion } from './port.ts'

/**
 * What gateways and the owners of partitions say to each other, as bytes (MessagePack). docs/protocol.md tells when.
 *
 * ```
 * request  [gateway, number, retried, registry revision, update*, conversion*, removal*]
 * update   [flags, scope, deviceId, latitude, longitude, receivedAt, ip, stream, sequence, accuracy, userId, …]
 * reply    [update result*, conversion result*, removed*], or nothing: busy, ask again
 * result   0: applied, nothing else wanted · [0 | 1 repeated, user, event*] · [code, message, param, type, retryAfter]
 * question [registry revision, partition*, JSON]
 * answer   [partition*, user*, hasMore]
 * ```
 */

/** Wanted of an update beside what it says. */
export interface Wanted {
  readonly rateLimited: boolean
  readonly wantsUser: boolean
  readonly wantsEvents: boolean
}

/** An update as it came from a gateway. */
export interface RemoteUpdate extends Update {
  /** Of the {@link Wanted} that go with it, for those that go together. */
  readonly flags: number
  /** Among the updates of its request. */
  readonly place: number
}

export interface Removal {
  readonly scope: ScopeId
  readonly recordId: string
}

export interface PartitionRequest<U = RemoteUpdate> {
  /** Who asks: another name with each start of a gateway. */
  readonly gateway: string
  /** Ascends with each request of the gateway to the partition; one that is asked again keeps its own. */
  readonly number: number
  /** It was asked before, and it is not known what came of it. */
  readonly retried: boolean
  /** Of the gateway: what was evaluated by it there must not be evaluated by less. */
  readonly revision: number
  readonly updates: readonly U[]
  readonly conversions: readonly Conversion[]
  readonly removals: readonly Removal[]
}

/** An update that goes out: numbered by the gateway where it is not by its sender. */
export interface NumberedUpdate {
  readonly update: Update
  readonly wanted: Wanted
  readonly stream: string
  readonly sequence: number
}

export type UpdateResult = 0 | Outcome | ApiError

export interface PartitionReply {
  readonly updates: readonly UpdateResult[]
  /** JSON of the event. */
  readonly conversions: readonly (string | ApiError)[]
  readonly removals: readonly boolean[]
}

const packr = new Packr({ useRecords: false, encodeUndefinedAsNil: true })

const FOREGROUND = 1
const STOPPED = 2
const REPLAYED = 4
const LIMITED = 8
const WANTS_USER = 16
const WANTS_EVENTS = 32
const WANTED = LIMITED | WANTS_USER | WANTS_EVENTS

type Nil<T> = T | null | undefined

type UpdateRow = readonly [
  flags: number,
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
  /** JSON, for its keys may be any. */
  metadata: Nil<string>,
  beacons: Nil<string>,
]

export function encodeRequest(request: PartitionRequest<NumberedUpdate>): Uint8Array {
  const { gateway, number, retried, revision, updates, conversions, removals } = request
  return packr.pack([
    gateway,
    number,
    retried,
    revision,
    updates.map(updateRow),
    conversions.map((conversion) => JSON.stringify(conversion)),
    removals.map(({ scope, recordId }) => [scope, recordId]),
  ])
}

export function decodeRequest(bytes: Uint8Array): PartitionRequest {
  const [gateway, number, retried, revision, updates, conversions, removals] = packr.unpack(bytes) as [
    string,
    number,
    boolean,
    number,
    UpdateRow[],
    string[],
    [ScopeId, string][],
  ]
  return {
    gateway,
    number,
    retried,
    revision,
    updates: updates.map(updateOf),
    conversions: conversions.map((json) => JSON.parse(json) as Conversion),
    removals: removals.map(([scope, recordId]) => ({ scope, recordId })),
  }
}

/** What the owner is to make of updates with these flags. */
export function wantedOf(flags: number): Wanted {
  return {
    rateLimited: (flags & LIMITED) !== 0,
    wantsUser: (flags & WANTS_USER) !== 0,
    wantsEvents: (flags & WANTS_EVENTS) !== 0,
  }
}

/** @param reply undefined: busy */
export function encodeReply(reply: PartitionReply | undefined): Uint8Array {
  if (reply === undefined) return packr.pack(null)
  const { updates, conversions, removals } = reply
  return packr.pack([
    updates.map(resultRow),
    conversions.map((one) => (typeof one === 'string' ? one : refusalRow(one))),
    removals,
  ])
}

/** Undefined: busy. */
export function decodeReply(bytes: Uint8Array): PartitionReply | undefined {
  const whole = packr.unpack(bytes) as [ResultRow[], (string | RefusalRow)[], boolean[]] | null
  if (whole === null) return undefined
  const [updates, conversions, removals] = whole
  return {
    updates: updates.map(resultOf),
    conversions: conversions.map((one) => (typeof one === 'string' ? one : refusalOf(one))),
    removals,
  }
}

/** A question to all who have some of the partitions. */
export interface SharedQuestion {
  readonly revision: number
  /** Those that it is about. */
  readonly partitions: readonly number[]
  readonly question: UserQuestion
}

/** What one host answers, of all partitions that it has of those asked about. */
export interface SharedAnswer {
  readonly partitions: readonly number[]
  readonly answer: UserAnswer
}

export function encodeQuestion({ revision, partitions, question }: SharedQuestion): Uint8Array {
  return packr.pack([revision, partitions, JSON.stringify(question)])
}

export function decodeQuestion(bytes: Uint8Array): SharedQuestion {
  const [revision, partitions, json] = packr.unpack(bytes) as [number, number[], string]
  return { revision, partitions, question: JSON.parse(json) as UserQuestion }
}

export function encodeAnswer({ partitions, answer }: SharedAnswer): Uint8Array {
  const users = answer.users.map(({ order, id, deviceId, user, explanation }) => [
    order,
    id,
    deviceId,
    user,
    explanation,
  ])
  return packr.pack([partitions, users, answer.hasMore])
}

export function decodeAnswer(bytes: Uint8Array): SharedAnswer {
  const [partitions, rows, hasMore] = packr.unpack(bytes) as [
    number[],
    [number[], string, string, string, string][],
    boolean,
  ]
  const users = rows.map(([order, id, deviceId, user, explanation]) => ({
    order,
    id,
    deviceId,
    user,
    explanation,
  }))
  return { partitions, answer: { users, hasMore } }
}

function updateRow({ update, wanted, stream, sequence }: NumberedUpdate): UpdateRow {
  const flags =
    (update.foreground ? FOREGROUND : 0) |
    (update.stopped ? STOPPED : 0) |
    (update.replayed ? REPLAYED : 0) |
    (wanted.rateLimited ? LIMITED : 0) |
    (wanted.wantsUser ? WANTS_USER : 0) |
    (wanted.wantsEvents ? WANTS_EVENTS : 0)
  const { metadata, beacons } = update
  const row: UpdateRow = [
    flags,
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
  ]
  let end = row.length
  while (row[end - 1] === undefined) end--
  // What ends early is shorter; what is read beyond is undefined.
  return (end < row.length ? row.slice(0, end) : row) as unknown as UpdateRow
}

function updateOf(row: UpdateRow, place: number): RemoteUpdate {
  const [flags, scope, deviceId, latitude, longitude, receivedAt, ip, stream, sequence] = row
  const metadata = row[18]
  const beacons = row[19]
  return {
    flags: flags & WANTED,
    place,
    scope,
    deviceId,
    latitude,
    longitude,
    receivedAt,
    ip,
    stream,
    sequence,
    foreground: (flags & FOREGROUND) !== 0,
    stopped: (flags & STOPPED) !== 0,
    replayed: (flags & REPLAYED) !== 0,
    accuracy: row[9] ?? undefined,
    userId: row[10] ?? undefined,
    installId: row[11] ?? undefined,
    updatedAt: row[12] ?? undefined,
    deviceType: row[13] ?? undefined,
    deviceOS: row[14] ?? undefined,
    deviceMake: row[15] ?? undefined,
    deviceModel: row[16] ?? undefined,
    description: row[17] ?? undefined,
    metadata: typeof metadata === 'string' ? (JSON.parse(metadata) as Metadata) : undefined,
    beacons: typeof beacons === 'string' ? (JSON.parse(beacons) as RangedBeacon[]) : undefined,
  }
}

type OutcomeRow = readonly [repeated: 0 | 1, user: string, events: readonly string[]]
type RefusalRow = readonly [
  code: number,
  message: string,
  param: Nil<string>,
  type: Nil<string>,
  retryAfter: Nil<number>,
]
type ResultRow = 0 | OutcomeRow | RefusalRow

function resultRow(result: UpdateResult): ResultRow {
  if (result === 0) return 0
  if (result instanceof ApiError) return refusalRow(result)
  return [result.repeated ? 1 : 0, result.user, result.events]
}

function resultOf(row: ResultRow): UpdateResult {
  if (row === 0) return 0
  const [first] = row
  if (first !== 0 && first !== 1) return refusalOf(row as RefusalRow)
  const [, user, events] = row as OutcomeRow
  return { repeated: first === 1, user, events }
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
