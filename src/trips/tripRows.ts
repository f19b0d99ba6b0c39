import type { FrameBytes, FrameWriter } from '../actor/commitCodec.ts'
import type { ScopeId } from '../model/scope.ts'
import { LOCATION_BYTES, type Trail, type TrailPoint } from './trail.ts'

/**
 * The rows of a commit that are about trips.
 *
 * ```
 * PUT      kind u8 · flags u8 · [locations u32 · location*] · the trip (tripCodec.ts)
 * REMOVED  kind u8 · scope u32 · `_id`
 * location time f64 · latitude f64 · longitude f64
 * ```
 * Little-endian. Of the flags, CLEARED says that all locations before are gone.
 */
const PUT = 1
const REMOVED = 2
const CLEARED = 1
const WITH_LOCATIONS = 2
const PUT_BYTES = 2
const REMOVED_BYTES = 5
const ID_LENGTH = 24

/** The number of the actor type in rows (actorTypes.ts). */
export const TRIP_TYPE = 1

/** What a row says. */
export type TripRow =
  | { readonly is: 'removed'; readonly scope: ScopeId; readonly id: string }
  | {
      readonly is: 'put'
      /** The trip (tripCodec.ts), within the row. */
      readonly packed: Buffer
      readonly isCleared: boolean
      readonly added: readonly TrailPoint[] | undefined
    }

export function writeTripPut(
  writer: FrameWriter,
  packed: Uint8Array,
  isCleared: boolean,
  locations: Trail | readonly TrailPoint[],
): void {
  const count = locations.length
  // Most rows have no location, or one.
  const head = count === 0 ? plain : count === 1 ? withOne : Buffer.allocUnsafe(headBytes(count))
  head[0] = PUT
  head[1] = (isCleared ? CLEARED : 0) | (count === 0 ? 0 : WITH_LOCATIONS)
  if (count > 0) {
    let at = head.writeUInt32LE(count, PUT_BYTES)
    for (const { time, latitude, longitude } of locations) {
      at = head.writeDoubleLE(time, at)
      at = head.writeDoubleLE(latitude, at)
      at = head.writeDoubleLE(longitude, at)
    }
  }
  writer.actorRow({ number: TRIP_TYPE }, head, packed)
}

/** The bytes of a row before the trip. */
function headBytes(locations: number): number {
  return locations === 0 ? PUT_BYTES : PUT_BYTES + 4 + locations * LOCATION_BYTES
}

const plain = Buffer.alloc(headBytes(0))
const withOne = Buffer.alloc(headBytes(1))

export function writeTripRemoved(writer: FrameWriter, scope: ScopeId, id: string): void {
  const data = Buffer.alloc(REMOVED_BYTES + ID_LENGTH)
  data[0] = REMOVED
  data.writeUInt32LE(scope, 1)
  data.write(id, REMOVED_BYTES, 'latin1')
  writer.actorRow({ number: TRIP_TYPE }, data)
}

export function readTripRow({ buffer }: FrameBytes, at: number, end: number): TripRow {
  if (buffer[at] === REMOVED) {
    const id = buffer.toString('latin1', at + REMOVED_BYTES, at + REMOVED_BYTES + ID_LENGTH)
    return { is: 'removed', scope: buffer.readUInt32LE(at + 1), id }
  }
  const flags = buffer[at + 1]!
  let from = at + PUT_BYTES
  let added: TrailPoint[] | undefined
  if ((flags & WITH_LOCATIONS) !== 0) {
    added = []
    const count = buffer.readUInt32LE(from)
    from += 4
    for (let i = 0; i < count; i++, from += LOCATION_BYTES) {
      added.push({
        time: buffer.readDoubleLE(from),
        latitude: buffer.readDoubleLE(from + 8),
        longitude: buffer.readDoubleLE(from + 16),
      })
    }
  }
  return { is: 'put', packed: buffer.subarray(from, end), isCleared: (flags & CLEARED) !== 0, added }
}
