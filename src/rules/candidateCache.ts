import { MAX_RADIUS_METERS, MAX_ZONE_LATITUDE, movedMeters, zoneCosine } from './safeZone.ts'

/**
 * What the last look into the index found about each device: neighbour lists, as simulations of molecules keep them (L. Verlet,
 * Computer "experiments" on classical fluids, Physical Review 159, 1967).
 *
 * The naive way asks the index at every evaluation: for the cells of each size, the list of each cell, and the bounds of ten
 * geofences, all of them somewhere else in memory. But a device is mostly where it was, but for some metres. So the nearest
 * geofences are remembered with their distances, and how far around there is no other: after a way of so many metres
 * each distance has changed by no more than those, and no other geofence is nearer than what is left of that.
 *
 * Owns: the memory, 64 bytes a row, and its bounds. Does not own: how long it holds, which is as long as the registry
 * stays at the revision of the row's zone (deviceColumns.ts); what is made of it (facts.ts).
 */

/** Numbers of 8 bytes of a row, as a shift: the first two are the point that was looked from. */
const POINTS = 3
/** Words of 4 bytes of a row, as a shift. */
const WORDS = 4
const COSINE = 4
const RADIUS = 5
const STAYS = 6
const SLOTS = 8
const METERS = 12

/** Stays of a device, the first ones, whose slots are remembered too. */
export const MOST_STAYS = 2
/** Geofences that are remembered: in a city mostly all within a block. */
const MOST_CANDIDATES = 4
const NOTHING = -1

/** Distances may be off by a tenth of a percent and a millimetre, and are kept in single precision. */
const ERROR_SHARE = 0.002
const ERROR_METERS = 0.01
/** With less left of what was looked at, it is looked anew: a zone ends there. */
const LEAST_LEFT = 1 / 3

/** The geofences about a point. */
export class CachedCandidates {
  count = 0
  readonly slots = new Int32Array(MOST_CANDIDATES)
  /** Signed metres to each one's boundary, as they were where was looked from; or less, where that was far enough. */
  readonly meters = new Float64Array(MOST_CANDIDATES)
  /** Metres by which each may be off now, up or down. */
  readonly error = new Float64Array(MOST_CANDIDATES)
}

export class CandidateCache {
  private points = new Float64Array()
  /** The same memory. */
  private words = new Int32Array()
  private floats = new Float32Array()

  constructor(rows: number) {
    this.resize(rows)
  }

  /** Makes room for so many rows, no fewer than before. */
  resize(rows: number): void {
    const points = new Float64Array(rows << POINTS)
    points.set(this.points)
    this.points = points
    this.words = new Int32Array(points.buffer)
    this.floats = new Float32Array(points.buffer)
  }

  forget(row: number): void {
    this.floats[(row << WORDS) + RADIUS] = 0
    this.forgetStays(row)
  }

  /**
   * Notes what lies about a point.
   * @param radius metres: what else there is, is farther away
   * @param slots of geofences, each once
   * @param meters signed, to the boundary of each; or no more than that, and beyond what was asked about
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
    const { words, floats } = this
    const at = row << WORDS
    const first = at + METERS
    let kept = 0
    let reach = Math.min(radius, MAX_RADIUS_METERS)
    for (let i = 0; i < count; i++) {
      const distance = meters[i]!
      let place = kept
      if (kept === MOST_CANDIDATES) {
        // The farthest makes room, and nothing is known from there on.
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
    this.points[row << POINTS] = latitude
    this.points[(row << POINTS) + 1] = longitude
    floats[at + COSINE] = zoneCosine(latitude)
    floats[at + RADIUS] = Math.abs(latitude) > MAX_ZONE_LATITUDE ? 0 : reach
  }

  /**
   * What is known of the geofences about a point.
   * @param reach metres around it that matter
   * @param found set to them
   * @returns metres, > 0: no other geofence is within `reach` of a point that is no farther away than that; −1: too
   * little is known, and it is to be looked anew
   */
  recall(row: number, latitude: number, longitude: number, reach: number, found: CachedCandidates): number {
    const { points, words, floats } = this
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

  /** Where the index has the geofence of one of the first stays; −1: it is not known. */
  stay(row: number, place: number): number {
    return place < MOST_STAYS ? this.words[(row << WORDS) + STAYS + place]! : NOTHING
  }

  /** @param slots of all stays in their order, −1 for what is not known */
  setStays(row: number, count: number, slots: readonly number[]): void {
    for (let i = 0; i < MOST_STAYS; i++)
      this.words[(row << WORDS) + STAYS + i] = i < count ? slots[i]! : NOTHING
  }

  forgetStays(row: number): void {
    this.words.fill(NOTHING, (row << WORDS) + STAYS, (row << WORDS) + STAYS + MOST_STAYS)
  }
}
