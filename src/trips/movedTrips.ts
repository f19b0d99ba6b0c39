import type { MovingTexts } from '../actor/feedShortcut.ts'
import type { GeofenceProperties } from '../model/geofence.ts'
import type { Trip } from '../model/trip.ts'

/**
 * The trips of one partition that moved lately, unpacked.
 *
 * A device on a trip moves it every few seconds. Unpacking it for each move took a seventh of the time of an update.
 * Keeping all trips unpacked would take several times the memory of their bytes, and work of the garbage collector.
 * So those that moved lately are kept in two generations. A trip that did not move during a whole generation is kept in
 * its packed form only.
 *
 * Owns: which trips are kept. Does not own: their bytes, which the table has of all trips.
 *
 * Invariants
 * - MOVED-1: A trip that is kept equals its bytes, which are those of the trip without its course (tripCourses.ts).
 * - MOVED-2: What it keeps is bounded by `maxBytes`.
 */
export class MovedTrips {
  /** The limit for both generations together, in approximate bytes. */
  maxBytes = Infinity
  #young = new Map<number, KeptTrip>()
  #old = new Map<number, KeptTrip>()
  #youngBytes = 0

  get(row: number): Trip | undefined {
    return this.kept(row)?.trip
  }

  /** A trip that is kept, with what was found out about it. */
  kept(row: number): KeptTrip | undefined {
    return this.#young.get(row) ?? this.#old.get(row)
  }

  /**
   * The same for a trip that has moved again, without a change of its bytes.
   */
  movedAgain(row: number): KeptTrip | undefined {
    const kept = this.#young.get(row)
    if (kept !== undefined) return kept
    const old = this.#old.get(row)
    if (old === undefined) return undefined
    if (this.#youngBytes + old.bytes > this.maxBytes / 2) this.turn()
    this.#old.delete(row)
    this.#young.set(row, old)
    this.#youngBytes += old.bytes
    return old
  }

  /**
   * Keeps a trip that has moved, or is about to, instead of the one before in this row.
   * @param packedBytes the length of its packed form
   * @returns undefined if there is no room for it
   */
  put(row: number, trip: Trip, packedBytes: number): KeptTrip | undefined {
    const bytes = OBJECT_BYTES + packedBytes * BYTES_PER_PACKED
    // It alone is too much.
    if (bytes > this.maxBytes / 2) {
      this.delete(row)
      return undefined
    }
    let kept = this.#young.get(row)
    const before = kept?.bytes ?? 0
    if (this.#youngBytes + bytes - before > this.maxBytes / 2) {
      this.turn()
      kept = undefined
    }
    if (kept !== undefined) {
      this.#youngBytes += bytes - before
      kept.trip = trip
      kept.bytes = bytes
      kept.geofence = kept.texts = undefined
      return kept
    }
    this.#old.delete(row)
    kept = { trip, bytes, geofence: undefined, revision: 0, texts: undefined }
    this.#young.set(row, kept)
    this.#youngBytes += bytes
    return kept
  }

  delete(row: number): void {
    const kept = this.#young.get(row)
    if (kept === undefined) this.#old.delete(row)
    else {
      this.#young.delete(row)
      this.#youngBytes -= kept.bytes
    }
  }

  /** Begins a new generation. Those that did not move in the last one are forgotten. */
  turn(): void {
    this.#old = this.#young
    this.#young = new Map()
    this.#youngBytes = 0
  }
}

/** The approximate size of the objects of a trip without its texts, and the additional size for each byte of its packed form. */
const OBJECT_BYTES = 1000
/** The texts of its JSON are twice as long. */
const BYTES_PER_PACKED = 5

/** A trip that is kept. */
export interface KeptTrip {
  trip: Trip
  bytes: number
  /** The geofence to which it goes, as it was when the trip's destination was last compared with it. */
  geofence: GeofenceProperties | undefined
  /** The revision of the scope at which that was. */
  revision: number
  /** The parts of its JSON that do not change when it moves. */
  texts: MovingTexts | undefined
}
