import type { Metadata } from '../../model/metadata.ts'
import type { ScopeId } from '../../model/scope.ts'
import type { LiveArea } from '../../spatial/liveAreas.ts'
import type { RemovedRecord } from '../../actor/command.ts'
import type { LivePosition } from '../../actor/port.ts'
import type { AnswerFormat } from './answerPieces.ts'

/** The messages about positions between gateways and owners, as JSON; answers to looks are as of answerPieces.ts. */

export interface LookQuestion {
  readonly scope: ScopeId
  readonly area: LiveArea
  /** The requested partitions. */
  readonly partitions: readonly number[]
  /** Whether positions are to have `metadata` and `geofenceIds`. */
  readonly records: boolean
  /** Whether the answer may come in pieces. A gateway of an older release reads only whole ones. */
  readonly inPieces?: boolean
}

/** An answer as a whole, for a gateway of an older release. */
export interface LookAnswer {
  /** The partitions that the answer is for. */
  readonly partitions: readonly number[]
  readonly found: readonly LivePosition[]
}

/** Movements since the last message, with the newest position of each device. */
export interface PositionNews {
  readonly moved: readonly LivePosition[]
  readonly removed: readonly RemovedRecord[]
}

/** A gateway that wants {@link PositionNews}. */
export interface Interest {
  readonly gateway: string
  /** As in {@link LookQuestion}. */
  readonly records: boolean
}

type PositionRow = readonly [
  scope: ScopeId,
  deviceId: string,
  recordId: string,
  userId: string | null,
  latitude: number,
  longitude: number,
  accuracy: number,
  updatedAt: number,
  /** It is JSON, because its keys may be any. */
  metadata?: string | null,
  geofenceIds?: readonly string[],
]

/** Found positions in the answers of hosts. */
export const LOOK_FORMAT: AnswerFormat<null, LivePosition, PositionRow> = {
  headOf: () => null,
  readHead: () => null,
  rowsOf({ scope, deviceId, recordId, userId = null, metadata, geofenceIds, ...numbers }) {
    const { latitude, longitude, accuracy, updatedAt } = numbers
    const row = [scope, deviceId, recordId, userId, latitude, longitude, accuracy, updatedAt] as const
    if (geofenceIds === undefined) return [row]
    return [[...row, metadata === undefined ? null : JSON.stringify(metadata), geofenceIds]]
  },
  read(row, found) {
    const [scope, deviceId, recordId, userId, latitude, longitude, accuracy, updatedAt, json, geofenceIds] =
      row
    const position = { scope, deviceId, recordId, userId: userId ?? undefined, latitude, longitude }
    const numbers = { accuracy, updatedAt }
    if (geofenceIds === undefined) return void found.push({ ...position, ...numbers })
    const metadata = typeof json === 'string' ? (JSON.parse(json) as Metadata) : undefined
    found.push({ ...position, ...numbers, metadata, geofenceIds })
  },
  charactersOf: ({ 8: metadata, 9: geofenceIds }) =>
    POSITION_CHARACTERS + (metadata?.length ?? 0) + ID_CHARACTERS * (geofenceIds?.length ?? 0),
}

const POSITION_CHARACTERS = 150
const ID_CHARACTERS = 25

/** A gateway that has not repeated its {@link Interest} for this long wants nothing more. */
export const INTEREST_MS = 6000

/** A position as it is sent. Fields that change rarely are included only if somebody reads them. */
export function sentPosition(position: LivePosition, records: boolean): LivePosition {
  const { scope, deviceId, recordId, userId, latitude, longitude, accuracy, updatedAt } = position
  const sent = { scope, deviceId, recordId, userId, latitude, longitude, accuracy, updatedAt }
  return records ? { ...sent, metadata: position.metadata, geofenceIds: position.geofenceIds } : sent
}

/** Writes a message. JSON writes an unknown accuracy, which is NaN, as null. */
export function encodeJson(value: LookQuestion | LookAnswer | PositionNews | Interest): Uint8Array {
  return Buffer.from(JSON.stringify(value))
}

export function decodeJson<T>(bytes: Uint8Array): T {
  return JSON.parse(Buffer.from(bytes).toString(), (key, value) =>
    key === 'accuracy' && value === null ? Number.NaN : value,
  ) as T
}
