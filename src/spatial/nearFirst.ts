import type { Named } from './port.ts'

/** A result of a nearest search. */
export interface NearGeofence<T> {
  readonly geofence: T
  readonly slot: number
  /** In metres. */
  readonly distance: number
}

/** Inserts an item among the `limit` nearest, which are ordered by distance, then by id. */
export function insertNear<T extends Named>(
  nearest: NearGeofence<T>[],
  limit: number,
  one: NearGeofence<T>,
): void {
  let low = 0
  let high = nearest.length
  while (low < high) {
    const middle = (low + high) >> 1
    const other = nearest[middle]!
    if (
      other.distance < one.distance ||
      (other.distance === one.distance && other.geofence.id < one.geofence.id)
    ) {
      low = middle + 1
    } else {
      high = middle
    }
  }
  if (low === limit) return
  nearest.splice(low, 0, one)
  if (nearest.length > limit) nearest.pop()
}
