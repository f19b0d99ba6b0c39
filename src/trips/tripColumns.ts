/** The columns of a table of trips, by row. With them, many trips can be searched without unpacking them. */
import { roomFor } from '../runtime/growth.ts'

const FIRST_ROWS = 64
/** The scope of a row without a trip. */
export const FREE = -1
/** How many times each row has. */
export const TIMES = 3

export class TripColumns {
  scopes = new Int32Array(FIRST_ROWS).fill(FREE)
  statuses = new Uint8Array(FIRST_ROWS)
  /** For each row, in turn: createdAt, updatedAt, and the time from which the expiration counts. */
  times = new Float64Array(FIRST_ROWS * TIMES)
  /** The bytes that are counted for each trip. */
  sizes = new Uint32Array(FIRST_ROWS)

  /** For how many rows there is room. */
  get rows(): number {
    return this.scopes.length
  }

  /** Makes room for a row. */
  reserve(row: number): void {
    if (row < this.rows) return
    const rows = roomFor(row + 1, this.rows)
    const scopes = new Int32Array(rows).fill(FREE)
    scopes.set(this.scopes)
    this.scopes = scopes
    const statuses = new Uint8Array(rows)
    statuses.set(this.statuses)
    this.statuses = statuses
    const times = new Float64Array(rows * TIMES)
    times.set(this.times)
    this.times = times
    const sizes = new Uint32Array(rows)
    sizes.set(this.sizes)
    this.sizes = sizes
  }
}
