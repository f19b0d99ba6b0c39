import { MEAN_RADIUS_METERS, RADIANS, surfaceDistance } from '../geometry/distance.ts'
import { Probe } from '../geometry/probe.ts'
import type { Beacon } from '../model/beacon.ts'
import { widen } from './cellGrid.ts'
import type { Box } from './cellGrid.ts'

/** A beacon, and its distance from the point of the query in metres. */
export interface NearBeacon {
  readonly beacon: Beacon
  readonly distance: number
}

/** The height of a row of cells in degrees. A search of 1 km touches three rows of three or four cells. */
const ROW_DEGREES = 0.01
const ROWS = 180 / ROW_DEGREES
const ROW_METERS = ROW_DEGREES * RADIANS * MEAN_RADIUS_METERS
/** A number that is larger than the number of columns in any row, so that a cell is one small integer. */
const ROW_STRIDE = 65_536
/** Looking up a cell costs about as much as measuring this many beacons. */
const LOOKUP_BEACONS = 4
/**
 * By how many metres a measured distance may be too short. The box must contain everything that measures within the
 * radius.
 */
const SLACK_METERS = 1

const NONE: readonly NearBeacon[] = []

/**
 * Beacons by position, because every update asks which ones are near.
 *
 * The naive way measures every beacon, and an R-tree must be rebuilt after an edit. Instead each beacon is linked
 * into the list of its cell of about a square kilometre, found by hashing. An edit touches one list, and a search the
 * few cells around its point. Rows of cells have equal heights in latitude, and rows nearer to a pole have fewer
 * columns, down to one at the pole. Cells give a superset; distances on the ellipsoid decide.
 */
export class BeaconGrid {
  readonly #slots = new Map<string, number>()
  readonly #beacons: (Beacon | undefined)[] = []
  readonly #freeSlots: number[] = []
  /** For each cell, the first slot of its list. */
  readonly #heads = new Map<number, number>()
  // For each slot: the Earth-centred position, the cell, and the neighbours in its list (−1 if there is none).
  #centers = new Float64Array(3 * 64)
  #cells = new Int32Array(64)
  #next = new Int32Array(64)
  #previous = new Int32Array(64)

  readonly #probe = new Probe()
  readonly #box: Box = { west: 0, south: 0, east: 0, north: 0 }

  get size(): number {
    return this.#slots.size
  }

  /** Adds a beacon, or replaces the one with its id. */
  put(beacon: Beacon): void {
    const known = this.#slots.get(beacon.id)
    const [longitude, latitude] = beacon.coordinates
    if (known !== undefined) {
      const [longitudeBefore, latitudeBefore] = this.#beacons[known]!.coordinates
      this.#beacons[known] = beacon
      if (longitude === longitudeBefore && latitude === latitudeBefore) return
      this.#unchain(known)
    }
    const slot = known ?? this.#freeSlots.pop() ?? this.#beacons.length
    this.#beacons[slot] = beacon
    this.#slots.set(beacon.id, slot)
    if (slot === this.#cells.length) this.#grow()
    const { x, y, z } = this.#probe.set(latitude, longitude)
    this.#centers[3 * slot] = x
    this.#centers[3 * slot + 1] = y
    this.#centers[3 * slot + 2] = z
    const row = rowOf(latitude)
    const columns = columnsOf(row)
    this.#chain(slot, row * ROW_STRIDE + (columnOf(longitude, columns) % columns))
  }

  /** Removes a beacon. Unknown ids are ignored. */
  remove(id: string): void {
    const slot = this.#slots.get(id)
    if (slot === undefined) return
    this.#unchain(slot)
    this.#slots.delete(id)
    this.#beacons[slot] = undefined
    this.#freeSlots.push(slot)
  }

  /**
   * The beacons within the radius that `accept` approves, nearest first. Those at the same distance are in the order
   * of ids.
   * @param limit at least 1
   */
  near(
    latitude: number,
    longitude: number,
    radiusMeters: number,
    limit: number,
    accept?: (beacon: Beacon) => boolean,
  ): readonly NearBeacon[] {
    if (this.#slots.size === 0) return NONE
    const found: NearBeacon[] = []
    this.#probe.set(latitude, longitude)
    const across = 2 * Math.ceil(radiusMeters / ROW_METERS) + 1
    if (across * across * LOOKUP_BEACONS > this.#slots.size) {
      for (let slot = 0; slot < this.#beacons.length; slot++) {
        if (this.#beacons[slot] !== undefined) this.#measure(slot, radiusMeters, limit, accept, found)
      }
      return found
    }
    const box = this.#box
    box.west = box.east = longitude
    box.south = box.north = latitude
    widen(box, radiusMeters + SLACK_METERS)
    const lastRow = rowOf(box.north)
    for (let row = rowOf(box.south); row <= lastRow; row++) {
      const columns = columnsOf(row)
      const first = columnOf(box.west, columns)
      const last = Math.min(columnOf(box.east, columns), first + columns - 1)
      for (let column = first; column <= last; column++) {
        // Columns wrap around at the antimeridian.
        const cell = row * ROW_STRIDE + ((column + columns) % columns)
        for (let slot = this.#heads.get(cell) ?? -1; slot >= 0; slot = this.#next[slot]!)
          this.#measure(slot, radiusMeters, limit, accept, found)
      }
    }
    return found
  }

  /** Inserts the beacon of a slot into the results, by distance from the probe. */
  #measure(
    slot: number,
    radiusMeters: number,
    limit: number,
    accept: ((beacon: Beacon) => boolean) | undefined,
    found: NearBeacon[],
  ): void {
    const { x, y, z } = this.#probe
    const centers = this.#centers
    const distance = surfaceDistance(
      x,
      y,
      z,
      centers[3 * slot]!,
      centers[3 * slot + 1]!,
      centers[3 * slot + 2]!,
    )
    if (distance > radiusMeters) return
    const full = found.length === limit
    if (full && distance > found[limit - 1]!.distance) return
    const beacon = this.#beacons[slot]!
    if (accept?.(beacon) === false) return
    let low = 0
    let high = found.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const other = found[middle]!
      if (other.distance < distance || (other.distance === distance && other.beacon.id < beacon.id))
        low = middle + 1
      else high = middle
    }
    if (low === limit) return
    if (full) found.pop()
    found.splice(low, 0, { beacon, distance })
  }

  #chain(slot: number, cell: number): void {
    const head = this.#heads.get(cell) ?? -1
    this.#cells[slot] = cell
    this.#next[slot] = head
    this.#previous[slot] = -1
    if (head >= 0) this.#previous[head] = slot
    this.#heads.set(cell, slot)
  }

  #unchain(slot: number): void {
    const next = this.#next[slot]!
    const previous = this.#previous[slot]!
    if (next >= 0) this.#previous[next] = previous
    if (previous >= 0) this.#next[previous] = next
    else if (next >= 0) this.#heads.set(this.#cells[slot]!, next)
    else this.#heads.delete(this.#cells[slot]!)
  }

  #grow(): void {
    const capacity = 2 * this.#cells.length
    this.#centers = grown(this.#centers, new Float64Array(3 * capacity))
    this.#cells = grown(this.#cells, new Int32Array(capacity))
    this.#next = grown(this.#next, new Int32Array(capacity))
    this.#previous = grown(this.#previous, new Int32Array(capacity))
  }
}

function grown<T extends Float64Array | Int32Array>(from: T, to: T): T {
  to.set(from)
  return to
}

/** The row of a latitude in degrees, −90 to 90. */
function rowOf(latitude: number): number {
  return Math.min(ROWS - 1, Math.floor((latitude + 90) / ROW_DEGREES))
}

/** How many columns the row has. At its narrowest they are as wide as high, or slightly wider. */
function columnsOf(row: number): number {
  const south = row * ROW_DEGREES - 90
  const poleward = Math.max(Math.abs(south), Math.abs(south + ROW_DEGREES))
  return Math.max(1, Math.floor((360 / ROW_DEGREES) * Math.cos(poleward * RADIANS)))
}

/** The column of a longitude in degrees. Beyond ±180, it is below 0, or `columns` and more. */
function columnOf(longitude: number, columns: number): number {
  return Math.floor(((longitude + 180) / 360) * columns)
}
