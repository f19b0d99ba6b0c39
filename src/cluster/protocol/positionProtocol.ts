import type { ScopeId } from '../../model/scope.ts'
import type { LiveArea } from '../../spatial/liveAreas.ts'
import type { RemovedRecord } from '../../actor/command.ts'
import type { LivePosition } from '../../actor/port.ts'

/** The messages about positions between gateways and owners, as JSON. */

export interface LookQuestion {
  readonly scope: ScopeId
  readonly area: LiveArea
  /** The requested partitions. */
  readonly partitions: readonly number[]
  /** Whether positions are to have `metadata` and `geofenceIds`. */
  readonly records: boolean
}

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
