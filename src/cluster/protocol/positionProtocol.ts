import type { ScopeId } from '../../model/scope.ts'
import type { LiveArea } from '../../spatial/liveAreas.ts'
import type { RemovedRecord } from '../../actor/command.ts'
import type { LivePosition } from '../../actor/port.ts'

/** What gateways and owners tell each other of positions, as JSON. */

export interface LookQuestion {
  readonly scope: ScopeId
  readonly area: LiveArea
  /** Those that are asked for. */
  readonly partitions: readonly number[]
}

export interface LookAnswer {
  /** Those that it is for. */
  readonly partitions: readonly number[]
  readonly found: readonly LivePosition[]
}

/** What has happened since the last; of each device where it is now. */
export interface PositionNews {
  readonly moved: readonly LivePosition[]
  readonly removed: readonly RemovedRecord[]
}

/** A gateway that wants {@link PositionNews}. */
export interface Interest {
  readonly gateway: string
}

/** Accuracy that is not known is NaN, which JSON writes as null. */
export function encodeJson(value: LookQuestion | LookAnswer | PositionNews | Interest): Uint8Array {
  return Buffer.from(JSON.stringify(value))
}

export function decodeJson<T>(bytes: Uint8Array): T {
  return JSON.parse(Buffer.from(bytes).toString(), (key, value) =>
    key === 'accuracy' && value === null ? Number.NaN : value,
  ) as T
}
