import { pointDistance } from '../../geometry/distance.ts'
import type { Position } from '../../model/geofence.ts'

const DEGREE_METERS = 111_195
/** A number that is larger than the number of columns in any row. */
const COLUMNS = 2 ** 24

/**
 * Stores points in cells of some metres, to find out whether one of them is near. It does not work across the
 * antimeridian, where no street has house numbers.
 */
export class NearbyPoints<Value> {
  readonly #meters: number
  readonly #cells = new Map<number, { position: Position; value: Value }[]>()

  /**
   * Starts without points.
   * @param meters the distance that counts as near, at least 10
   */
  constructor(meters: number) {
    this.#meters = meters
  }

  add(position: Position, value: Value): void {
    const cell = this.#cellAt(this.#rowAt(position[1]), position[0])
    const points = this.#cells.get(cell)
    if (points === undefined) this.#cells.set(cell, [{ position, value }])
    else points.push({ position, value })
  }

  /** The value of the first point within the distance, in no particular order. */
  near([x, y]: Position): Value | undefined {
    const row = this.#rowAt(y)
    for (const near of [row, row - 1, row + 1]) {
      const width = this.#widthOf(near)
      for (const column of [x, x - width, x + width]) {
        for (const { position, value } of this.#cells.get(this.#cellAt(near, column)) ?? [])
          if (pointDistance(y, x, position[1], position[0]) <= this.#meters) return value
      }
    }
    return undefined
  }

  #rowAt(latitude: number): number {
    return Math.floor(((latitude + 90) * DEGREE_METERS) / this.#meters)
  }

  /**
   * The width of a cell in degrees of longitude. Cells are wider towards the poles, so that both of their edges are as
   * long as the distance.
   */
  #widthOf(row: number): number {
    const south = (row * this.#meters) / DEGREE_METERS - 90
    const north = south + this.#meters / DEGREE_METERS
    const outer = Math.min(89.9, Math.max(Math.abs(south), Math.abs(north)))
    // One per cent is added, because the Earth is not a sphere.
    return (1.01 * this.#meters) / (DEGREE_METERS * Math.cos((outer * Math.PI) / 180))
  }

  #cellAt(row: number, longitude: number): number {
    return row * COLUMNS + Math.floor((longitude + 540) / this.#widthOf(row))
  }
}
