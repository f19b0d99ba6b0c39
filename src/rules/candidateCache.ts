import { MAX_RADIUS_METERS, MAX_ZONE_LATITUDE, movedMeters, zoneCosine } from './safeZone.ts'

/**
 * The candidates that the last index query found for each device. These are neighbour lists as molecular dynamics
 * simulations use them (L. Verlet, Computer "experiments" on classical fluids, Physical Review 159, 1967).
 *
 * The naive way queries the index at every evaluation: the cells of each size, the list of each cell, and the bounds
 * of ten geofences, all in different places in memory. But most devices have moved only a few metres. So the cache
 * keeps the nearest geofences with their distances, and the radius within which there is no other. After the device
 * has moved m metres, each distance has changed by at most m, and every other geofence is farther away than the
 * radius less m.
 *
 * Owns: the memory, 64 bytes a row, and its limits. Does not own: how long an entry is valid, which is while the
 * registry stays at the revision of the row's zone (deviceColumns.ts); what is done with the candidates
 * (geofenceFinder.ts).
 */

/** The base-2 logarithm of the number of 8-byte numbers in a row. The first two are the point of the query. */
const POINTS = 3
/** The base-2 logarithm of the number of 4-byte words in a row. */
const WORDS = 4
const COSINE = 4
const RADIUS = 5
const STAYS = 6
const SLOTS = 8
const METERS = 12

/** The slots of this many stays of a device, the first ones, are cached too. */
export const MOST_STAYS = 2
/** How many candidates a row has. In a city, that is usually all within a block. */
const MOST_CANDIDATES = 4
const NOTHING = -1

/** Measured distances may be off by 0.1 % and a millimetre, and they are stored in single precision. */
const ERROR_SHARE = 0.002
const ERROR_METERS = 0.01
/** When less than this share of the radius is left, the index is queried again. The safe zone ends there. */
const LEAST_LEFT = 1 / 3

/** The geofences around a point. */
export class CachedCandidates {
  count = 0
  readonly slots = new Int32Array(MOST_CANDIDATES)
  /**
   * The signed distances in metres from the point of the query to the boundaries. A value may be a lower bound if that
   * was enough.
   */
  readonly meters = new Float64Array(MOST_CANDIDATES)
  /** How far each distance may be off now in either direction, in metres. */
  readonly error = new Float64Array(MOST_CANDIDATES)
}

export class CandidateCache {
  #points = new Float64Array()
  /** A view of the same memory as `floats`. */
  #words = new Int32Array()
  #floats = new Float32Array()

  constructor(rows: number) {
    this.resize(rows)
  }

  /** Grows to this many rows. It never shrinks. */
  resize(rows: number): void {
    const points = new Float64Array(rows << POINTS)
    points.set(this.#points)
    this.#points = points
    this.#words = new Int32Array(points.buffer)
    this.#floats = new Float32Array(points.buffer)
  }

  /** A number of the row, which has no meaning. */
  anyOf(row: number): number {
    return this.#points[row << POINTS]!
  }

  forget(row: number): void {
    this.#floats[(row << WORDS) + RADIUS] = 0
    this.forgetStays(row)
  }

  /**
   * Stores the candidates around a point.
   * @param radius in metres; all other geofences are farther away than this
   * @param slots slots of geofences, each once
   * @param meters signed distances to their boundaries; or lower bounds that are beyond the reach of the query
   */
  remember(
    row: number,
    latitude: number,
    longitude: number,
    radius: number,
    count: number,
    slots: readonly number[],
    meters: readonly number[],
  ): void {
    const words = this.#words
    const floats = this.#floats
    const at = row << WORDS
    const first = at + METERS
    let kept = 0
    let reach = Math.min(radius, MAX_RADIUS_METERS)
    for (let i = 0; i < count; i++) {
      const distance = meters[i]!
      let place = kept
      if (kept === MOST_CANDIDATES) {
        // The farthest candidate is dropped, so nothing is known beyond its distance.
        const farthest = floats[first + kept - 1]!
        reach = Math.min(reach, Math.max(distance, farthest))
        if (distance >= farthest) continue
        place--
      } else kept++
      for (; place > 0 && floats[first + place - 1]! > distance; place--) {
        floats[first + place] = floats[first + place - 1]!
        words[at + SLOTS + place] = words[at + SLOTS + place - 1]!
      }
      floats[first + place] = distance
      words[at + SLOTS + place] = slots[i]!
    }
    if (kept < MOST_CANDIDATES) words[at + SLOTS + kept] = NOTHING
    this.#points[row << POINTS] = latitude
    this.#points[(row << POINTS) + 1] = longitude
    floats[at + COSINE] = zoneCosine(latitude)
    floats[at + RADIUS] = Math.abs(latitude) > MAX_ZONE_LATITUDE ? 0 : reach
  }

  /**
   * Reads the candidates around a point.
   * @param reach how many metres around the point matter
   * @param found receives the candidates
   * @returns metres, more than 0: for every point within this distance, no other geofence is within `reach`; −1 if the
   * cache does not know enough, and the index must be queried
   */
  recall(row: number, latitude: number, longitude: number, reach: number, found: CachedCandidates): number {
    const points = this.#points
    const words = this.#words
    const floats = this.#floats
    const at = row << WORDS
    const radius = floats[at + RADIUS]!
    const point = row << POINTS
    const moved = movedMeters(points[point]!, points[point + 1]!, floats[at + COSINE]!, latitude, longitude)
    const left = radius * (1 - ERROR_SHARE) - ERROR_METERS - moved - reach
    if (!(left > radius * LEAST_LEFT)) return NOTHING
    let count = 0
    while (count < MOST_CANDIDATES && words[at + SLOTS + count]! !== NOTHING) {
      const meters = floats[at + METERS + count]!
      found.slots[count] = words[at + SLOTS + count]!
      found.meters[count] = meters
      found.error[count++] = Math.abs(meters) * ERROR_SHARE + ERROR_METERS + moved
    }
    found.count = count
    return left
  }

  /** The slot of the geofence of one of the first stays; −1 if it is not known. */
  stay(row: number, place: number): number {
    return place < MOST_STAYS ? this.#words[(row << WORDS) + STAYS + place]! : NOTHING
  }

  /**
   * Stores the slots of stays.
   * @param slots those of all stays in their order; −1 if a slot is not known
   */
  setStays(row: number, count: number, slots: readonly number[]): void {
    for (let i = 0; i < MOST_STAYS; i++)
      this.#words[(row << WORDS) + STAYS + i] = i < count ? slots[i]! : NOTHING
  }

  forgetStays(row: number): void {
    this.#words.fill(NOTHING, (row << WORDS) + STAYS, (row << WORDS) + STAYS + MOST_STAYS)
  }
}
