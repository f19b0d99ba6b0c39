import type { ScopeId } from '../model/scope.ts'
import { CandidateCache } from '../rules/candidateCache.ts'
import type { SafeZone, ZoneLimits } from '../rules/safeZone.ts'
import { isNegative, KindZones } from './kindZones.ts'

/**
 * The numbers of the user records of one partition: 128 bytes a row, side by side.
 *
 * The obvious way is an array per field. Then an update of one of a hundred thousand devices, which reads and writes
 * about twenty fields of one row, waits for memory twenty times. Here a row is two cache lines: the first is the
 * zone, which is all that most updates read; the second has what every update writes.
 *
 * Owns: where a number is stored, growth. Does not own: which rows are in use, what the numbers mean.
 */

const FIRST_CAPACITY = 256
/** The cells of 8 bytes in a row, as a power of two. */
const CELLS = 4
/** The words of 4 bytes in a row, as a power of two. The last two cells are four words. */
const WORDS = 5

const ZONE_RADIUS = 0
const ZONE_REVISION = 1
const ZONE_UNTIL = 2
const ZONE_UNTIL_RECEIVED = 3
const ZONE_ACCURACY = 4
const ZONE_LATITUDE = 5
const ZONE_LONGITUDE = 6
const ZONE_COSINE = 7
const UPDATED_AT = 8
const LATITUDE = 9
const LONGITUDE = 10
const ACCURACY = 11
const RECEIVED_AT = 12
const NEXT_ALLOWED_AT = 13
const FLAGS = 28
const SCOPE = 29

/** The chains that contain a row, each identified by the word that holds the next row. */
export const OF_DEVICE = 30
export const OF_USER = 31

/** The scope of a free row. */
const NO_SCOPE = -1

export class DeviceColumns {
  #cells = new Float64Array(FIRST_CAPACITY << CELLS)
  /** The same memory as {@link #cells}, as words. */
  #words = new Int32Array(this.#cells.buffer)
  /** The creation times are separate, because only scans read them. */
  #created = new Float64Array(FIRST_CAPACITY)
  /** The sequence numbers are separate, because only streams that number their updates use them. */
  #sequences = new Float64Array(FIRST_CAPACITY)
  /**
   * What evaluations found about each device, at the revision of its zone. Separate, because only evaluations use it;
   * not durable.
   */
  readonly candidateCache = new CandidateCache(FIRST_CAPACITY)
  /**
   * The zones by kind. They are separate, because an update within its zone does not read them, and empty until something
   * besides geofences and beacons is turned on.
   */
  readonly kindZones = new KindZones()

  /** How many rows fit into the allocated memory. */
  protected get capacity(): number {
    return this.#created.length
  }

  /** Time t of the last update, epoch milliseconds. */
  updatedAt(row: number): number {
    return this.#cells[(row << CELLS) + UPDATED_AT]!
  }

  latitude(row: number): number {
    return this.#cells[(row << CELLS) + LATITUDE]!
  }

  longitude(row: number): number {
    return this.#cells[(row << CELLS) + LONGITUDE]!
  }

  /** In metres. NaN if the last update had none. */
  accuracy(row: number): number {
    return this.#cells[(row << CELLS) + ACCURACY]!
  }

  /** Server time of the last update, epoch milliseconds. */
  receivedAt(row: number): number {
    return this.#cells[(row << CELLS) + RECEIVED_AT]!
  }

  /** The FLAG_ bits of deviceTable.ts. */
  flags(row: number): number {
    return this.#words[(row << WORDS) + FLAGS]!
  }

  /** The server time of the first update, in epoch milliseconds. It repeats the profile's, for scans. */
  createdAt(row: number): number {
    return this.#created[row]!
  }

  /** The scope of the record; −1 if the row is free. */
  scope(row: number): ScopeId {
    return this.#words[(row << WORDS) + SCOPE]!
  }

  /**
   * Writes the fields that every update writes.
   * @param accuracy NaN if there is none
   */
  move(
    row: number,
    latitude: number,
    longitude: number,
    accuracy: number,
    updatedAt: number,
    receivedAt: number,
    flags: number,
  ): void {
    const cells = this.#cells
    const at = row << CELLS
    cells[at + UPDATED_AT] = updatedAt
    cells[at + LATITUDE] = latitude
    cells[at + LONGITUDE] = longitude
    cells[at + ACCURACY] = accuracy
    cells[at + RECEIVED_AT] = receivedAt
    this.#words[(row << WORDS) + FLAGS] = flags
  }

  /** The sequence number of the newest mark; −1 if the number in the profile counts. */
  sequence(row: number): number {
    return this.#sequences[row]!
  }

  setSequence(row: number, sequence: number): void {
    this.#sequences[row] = sequence
  }

  /** The sum of a number of each of the row's cache lines, which has no meaning. */
  protected anyOf(row: number): number {
    const at = row << CELLS
    return this.#cells[at + ZONE_RADIUS]! + this.#cells[at + UPDATED_AT]!
  }

  // The following fields are not durable: recovery leaves them empty, and the next full evaluation fills them.

  /** The radius of the zone in metres; 0 if there is no zone. */
  zoneRadius(row: number): number {
    return this.#cells[(row << CELLS) + ZONE_RADIUS]!
  }

  /** The registry revision with which the zone was made. */
  zoneRevision(row: number): number {
    return this.#cells[(row << CELLS) + ZONE_REVISION]!
  }

  /** The last time t of an update for which the zone is valid. */
  zoneUntil(row: number): number {
    return this.#cells[(row << CELLS) + ZONE_UNTIL]!
  }

  /** The server time from which the zone is no longer valid. */
  zoneUntilReceived(row: number): number {
    return this.#cells[(row << CELLS) + ZONE_UNTIL_RECEIVED]!
  }

  /** The worst accuracy for which the zone is valid, in metres. */
  zoneAccuracy(row: number): number {
    return Math.abs(this.#cells[(row << CELLS) + ZONE_ACCURACY]!)
  }

  /** Whether the zone is valid only for a device that neither stopped nor is in the foreground. */
  isZoneOnlyMoving(row: number): boolean {
    return isNegative(this.#cells[(row << CELLS) + ZONE_ACCURACY]!)
  }

  zoneLatitude(row: number): number {
    return this.#cells[(row << CELLS) + ZONE_LATITUDE]!
  }

  zoneLongitude(row: number): number {
    return this.#cells[(row << CELLS) + ZONE_LONGITUDE]!
  }

  /** See `zoneCosine` of safeZone.ts. */
  zoneCosine(row: number): number {
    return this.#cells[(row << CELLS) + ZONE_COSINE]!
  }

  setZone(
    row: number,
    latitude: number,
    longitude: number,
    cosine: number,
    zone: SafeZone,
    revision: number,
  ): void {
    const cells = this.#cells
    const at = row << CELLS
    cells[at + ZONE_RADIUS] = zone.radiusMeters
    cells[at + ZONE_REVISION] = revision
    cells[at + ZONE_UNTIL] = zone.until
    cells[at + ZONE_UNTIL_RECEIVED] = zone.untilReceived
    // A row is two cache lines, so its sign says whether the zone is only for moving devices.
    cells[at + ZONE_ACCURACY] = zone.onlyMoving ? -zone.accuracy : zone.accuracy
    cells[at + ZONE_LATITUDE] = latitude
    cells[at + ZONE_LONGITUDE] = longitude
    cells[at + ZONE_COSINE] = cosine
  }

  endZone(row: number): void {
    this.#cells[(row << CELLS) + ZONE_RADIUS] = 0
    this.kindZones.end(row)
  }

  /**
   * Stores the zones by kind, around the point of the device's zone.
   * @param limits undefined if there are none
   * @param time the time t of the update there
   */
  setKindZones(row: number, limits: readonly ZoneLimits[] | undefined, time: number): void {
    if (limits === undefined) this.kindZones.end(row)
    else this.kindZones.set(row, limits, this.zoneLatitude(row), time, this.capacity)
  }

  /** Ends the zone and that of places, because another place may be the first candidate now. What is left of others stays. */
  endZoneOfPlaces(row: number): void {
    this.#cells[(row << CELLS) + ZONE_RADIUS] = 0
    this.kindZones.endPlaces(row)
  }

  /** Server time from which the rate limit admits the device's next update. */
  nextAllowedAt(row: number): number {
    return this.#cells[(row << CELLS) + NEXT_ALLOWED_AT]!
  }

  setNextAllowedAt(row: number, time: number): void {
    this.#cells[(row << CELLS) + NEXT_ALLOWED_AT] = time
  }

  /** The next row in a chain, see {@link OF_DEVICE}; −1 if this is the last. */
  next(chain: number, row: number): number {
    return this.#words[(row << WORDS) + chain]!
  }

  setNext(chain: number, row: number, next: number): void {
    this.#words[(row << WORDS) + chain] = next
  }

  protected setCreatedAt(row: number, time: number): void {
    this.#created[row] = time
  }

  /** Takes a row for a record of the scope, without a zone and with its full rate. */
  protected take(row: number, scope: ScopeId): void {
    this.#words[(row << WORDS) + SCOPE] = scope
    this.endZone(row)
    this.candidateCache.forget(row)
    this.setNextAllowedAt(row, 0)
  }

  protected free(row: number): void {
    this.#words[(row << WORDS) + SCOPE] = NO_SCOPE
  }

  /** Doubles the memory until the row fits. */
  protected reserve(row: number): void {
    let { capacity } = this
    if (row < capacity) return
    while (row >= capacity) capacity *= 2
    const cells = new Float64Array(capacity << CELLS)
    cells.set(this.#cells)
    const created = new Float64Array(capacity)
    created.set(this.#created)
    const sequences = new Float64Array(capacity)
    sequences.set(this.#sequences)
    this.#cells = cells
    this.#words = new Int32Array(cells.buffer)
    this.#created = created
    this.#sequences = sequences
    this.candidateCache.resize(capacity)
  }
}
