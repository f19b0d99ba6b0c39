import { RowBytes } from '../runtime/rowBytes.ts'
import { isFarEnough, LOCATION_BYTES, Trail, type TrailPoint } from './trail.ts'

/**
 * The locations of a table's trips, by row. Most trips have a few, which are bytes one after the other: an object and a
 * list for one location would take two hundred bytes besides its own. Trips with more have a {@link Trail}.
 *
 * Owns: the form in which locations are kept. Does not own: which are added, and that those of a trail are thinned.
 */

/** Up to this number they are bytes, which are copied for each location that is added. */
const FEW = 8

export class Trails {
  readonly #few = new RowBytes()
  readonly #many = new Map<number, Trail>()
  readonly #scratch = new Uint8Array(FEW * LOCATION_BYTES)
  readonly #scratchView = new DataView(this.#scratch.buffer)

  has(row: number): boolean {
    return this.#few.has(row) || this.#many.has(row)
  }

  /** The locations of a trip as they are now; undefined if it has none. */
  get(row: number): Trail | undefined {
    const many = this.#many.get(row)
    if (many !== undefined || !this.#few.has(row)) return many
    const trail = new Trail()
    const view = this.#few.view(row)
    const end = this.#endOf(row)
    for (let at = this.#few.start(row); at < end; at += LOCATION_BYTES) trail.add(pointAt(view, at))
    return trail
  }

  /** Whether a location is far enough from the last one, in time or space, to be kept. */
  wants(row: number, point: TrailPoint): boolean {
    const many = this.#many.get(row)
    if (many !== undefined) return many.wants(point)
    if (!this.#few.has(row)) return true
    return isFarEnough(pointAt(this.#few.view(row), this.#endOf(row) - LOCATION_BYTES), point)
  }

  /** Adds a location that {@link wants} has accepted. */
  add(row: number, point: TrailPoint): void {
    const many = this.#many.get(row)
    if (many !== undefined) return many.add(point)
    const length = this.memory(row)
    const scratch = this.#scratch
    if (length === scratch.length) {
      const trail = this.get(row)!
      trail.add(point)
      this.#few.delete(row)
      this.#many.set(row, trail)
      return
    }
    if (length > 0) scratch.set(this.#few.bytes(row))
    this.#scratchView.setFloat64(length, point.time, true)
    this.#scratchView.setFloat64(length + 8, point.latitude, true)
    this.#scratchView.setFloat64(length + 16, point.longitude, true)
    this.#few.set(row, scratch, length + LOCATION_BYTES)
  }

  delete(row: number): void {
    this.#few.delete(row)
    this.#many.delete(row)
  }

  /** The approximate memory of the locations of a trip in bytes. */
  memory(row: number): number {
    return this.#many.get(row)?.memory ?? (this.#few.has(row) ? this.#few.length(row) : 0)
  }

  #endOf(row: number): number {
    return this.#few.start(row) + this.#few.length(row)
  }
}

function pointAt(view: DataView, at: number): TrailPoint {
  return {
    time: view.getFloat64(at, true),
    latitude: view.getFloat64(at + 8, true),
    longitude: view.getFloat64(at + 16, true),
  }
}
