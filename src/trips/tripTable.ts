import type { ActorTable } from '../actor/actorType.ts'
import type { FrameBytes, FrameWriter } from '../actor/commitCodec.ts'
import { MemoryShare, type DeviceMemory } from '../actor/deviceMemory.ts'
import type { ScopeId } from '../model/scope.ts'
import { isEnded, TRIP_STATUSES, type Trip, type TripStatus } from '../model/trip.ts'
import { RowBytes } from '../runtime/rowBytes.ts'
import type { CourseBefore } from './machine/plainMove.ts'
import { lifeBegan } from './machine/status.ts'
import { MovedTrips, type KeptTrip } from './movedTrips.ts'
import { OldestTrips } from './oldestTrips.ts'
import { isPackedId, isPackedOfUser, packedId, packedWithoutTold } from './packedTrip.ts'
import type { Trail, TrailPoint } from './trail.ts'
import { Trails } from './trails.ts'
import { packTrip, unpackTrip } from './tripCodec.ts'
import { FREE, TIMES, TripColumns } from './tripColumns.ts'
import { courseOf, onCourse, TripCourses, type Course } from './tripCourses.ts'
import { TripLookups } from './tripLookups.ts'
import type { TripRef } from './tripRef.ts'
import { readTripRow, writeTripMoved, writeTripPut, writeTripRemoved } from './tripRows.ts'

/**
 * The trips of one partition. They are packed as bytes. Beside them are columns of the fields by which many trips are
 * searched, what has changed since they were packed (tripCourses.ts), and their locations.
 *
 * Owns: rows, what a row of a commit does. Does not own: look-ups (tripLookups.ts), what happens to a trip, which trips there
 * may be.
 */

/** The bytes of a trip besides its data and locations: columns and links. */
const TRIP_BYTES = 220
/** The share of trips that move in what a partition may have unpacked. */
const MOVED_SHARE = 1 / 8

/** What happens to the locations in a change. */
export interface TrailChange {
  readonly isCleared?: boolean
  /** The location of an update that moved the trip. It is kept if it is far enough from the last one. */
  readonly added?: TrailPoint | undefined
}

const NO_CHANGE: TrailChange = {}

export class TripTable implements ActorTable {
  /** How many rows were ever used. Some of them may be free. */
  length = 0
  /** How many trips there are. */
  count = 0
  /** How many trips have not ended. */
  active = 0

  readonly #packed = new RowBytes()
  readonly #trails = new Trails()
  readonly #freed: number[] = []
  readonly #columns = new TripColumns()
  readonly #lookups = new TripLookups({
    isTrip: (row, scope, id) => this.#columns.scopes[row] === scope && this.#hasId(row, id),
    isOf: (row, scope, matches) => this.#columns.scopes[row] === scope && matches(this.#base(row)),
  })
  readonly #moved = new MovedTrips()
  /** What has changed of trips since they were packed. */
  readonly #courses = new TripCourses()
  /** The trip that was unpacked last, and the same on its course. Each update looks at the same trip several times. */
  #lastRow = -1
  #lastBase: Trip | undefined
  #last: Trip | undefined
  readonly #oldest = new OldestTrips()
  /** Rows with events that could be told again, or with calls that could come again. */
  readonly #told = new Set<number>()
  readonly #memory = new MemoryShare()

  /** From now on, the memory of its trips is counted here, and no longer in the object before. */
  countIn(memory: DeviceMemory): void {
    this.#memory.countIn(memory)
  }

  /** Whether there is room; see {@link DeviceMemory.hasRoom}. */
  hasRoom(scope: ScopeId): boolean {
    return this.#memory.hasRoom(scope)
  }

  exists(row: number): boolean {
    return row < this.length && this.#columns.scopes[row] !== FREE
  }

  scope(row: number): ScopeId {
    return this.#columns.scopes[row]!
  }

  status(row: number): TripStatus {
    return TRIP_STATUSES[this.#columns.statuses[row]!]!
  }

  isActive(row: number): boolean {
    return !isEnded(this.status(row))
  }

  createdAt(row: number): number {
    return this.#columns.times[row * TIMES]!
  }

  updatedAt(row: number): number {
    return this.#columns.times[row * TIMES + 1]!
  }

  /** The time from which the expiration counts; see `lifeBegan`. */
  #lifeBegan(row: number): number {
    return this.#columns.times[row * TIMES + 2]!
  }

  /**
   * The rows of the active trips whose time is up. While there are none, this only looks at a time for each scope.
   * @param dueBefore the time until which the life of a trip of that scope must have begun for that, in epoch milliseconds;
   * −Infinity if its trips do not expire
   * @param most how many are wanted at most
   */
  due(dueBefore: (scope: ScopeId) => number, most: number): number[] {
    const due: number[] = []
    if (!this.#oldest.mayBeDue(dueBefore)) return due
    this.#oldest.clear()
    for (let row = 0; row < this.length; row++) {
      if (!this.exists(row) || !this.isActive(row)) continue
      const scope = this.scope(row)
      const began = this.#lifeBegan(row)
      this.#oldest.add(scope, began)
      if (due.length < most && began <= dueBefore(scope)) due.push(row)
    }
    return due
  }

  /** The scope and `_id` of a trip, which is not unpacked for them. */
  ref(row: number): TripRef {
    return { scope: this.scope(row), id: packedId(this.#packed.buffer(row), this.#packed.start(row)) }
  }

  #hasId(row: number, id: string): boolean {
    if (row === this.#lastRow && this.#lastBase !== undefined) return this.#lastBase.id === id
    return isPackedId(this.#packed.buffer(row), this.#packed.start(row), id)
  }

  /** Whether a trip belongs to this user, or to none if it is undefined. The trip is not unpacked for it. */
  isOfUser(row: number, userId: string | undefined): boolean {
    return isPackedOfUser(this.#packed.buffer(row), this.#packed.start(row), userId)
  }

  get(row: number): Trip {
    const base = this.#base(row)
    if (this.#last !== undefined) return this.#last
    const course = this.#courses.get(row)
    return (this.#last = course === undefined ? base : onCourse(base, course))
  }

  /** The trip as it was last written whole. */
  #base(row: number): Trip {
    if (row !== this.#lastRow || this.#lastBase === undefined) {
      this.#lastBase = this.#moved.get(row) ?? unpackTrip(this.#packed.bytes(row))
      this.#lastRow = row
      this.#last = undefined
    }
    return this.#lastBase
  }

  /**
   * A trip that moves, as it was last written whole. It stays unpacked for a while.
   * @returns undefined if there is no room for it
   */
  moving(row: number): KeptTrip | undefined {
    return this.#moved.movedAgain(row) ?? this.#moved.put(row, this.#base(row), this.#packed.length(row))
  }

  /** A trip as it was last written whole, if it is unpacked. */
  unpacked(row: number): Trip | undefined {
    return this.#moved.get(row)
  }

  /** What its last update has left since it was written whole; undefined if there was none. */
  courseBefore(row: number): CourseBefore | undefined {
    return this.#courses.before(row)
  }

  /**
   * Stores the bytes of a trip. What was unpacked before is not that trip any more.
   * @param moved the trip, if it has moved
   */
  #setPacked(row: number, packed: Uint8Array, moved?: Trip): void {
    this.#packed.set(row, packed, packed.length)
    this.#courses.clear(row)
    if (moved === undefined) this.#moved.delete(row)
    else this.#moved.put(row, moved, packed.length)
    this.#forgetLast(row)
  }

  #forgetLast(row: number): void {
    if (row === this.#lastRow) this.#lastBase = this.#last = undefined
  }

  limitUnpacked(bytes: number): void {
    this.#moved.maxBytes = bytes * MOVED_SHARE
  }

  /** Packs the trips that have not moved since the call before. To be called from time to time. */
  packResting(): void {
    this.#moved.turn()
  }

  /** The locations of a trip; undefined if it has none. */
  trail(row: number): Trail | undefined {
    return this.#trails.get(row)
  }

  hasTrail(row: number): boolean {
    return this.#trails.has(row)
  }

  /** The row of the trip with that `_id`; −1 if it is not here. */
  find(scope: ScopeId, id: string): number {
    return this.#lookups.withId(scope, id)
  }

  /** The rows of the trips with that externalId, the last one that was put first. */
  named(scope: ScopeId, externalId: string): Iterable<number> {
    return this.#lookups.named(scope, externalId)
  }

  /** The rows of the trips of a user. */
  ofUser(scope: ScopeId, userId: string): Iterable<number> {
    return this.#lookups.ofUser(scope, userId)
  }

  /** The rows of the trips that the record moved last, or that had it as their user's latest. */
  ofRecord(scope: ScopeId, recordId: string): Iterable<number> {
    return this.#lookups.ofRecord(scope, recordId)
  }

  /** The rows of the trips of a user that know no record of theirs, because there was none yet. */
  withoutRecord(scope: ScopeId, userId: string): Iterable<number> {
    return this.#lookups.withoutRecord(scope, userId)
  }

  /** Stores a trip, and writes the row that makes this durable. */
  put(writer: FrameWriter, trip: Trip, change: TrailChange = NO_CHANGE): void {
    const row = this.find(trip.scope, trip.id)
    const added = change.added !== undefined && this.#wants(row, change) ? change.added : undefined
    const isCleared = change.isCleared === true && row >= 0 && this.#trails.has(row)
    if (row >= 0 && !isCleared) {
      const base = this.#base(row)
      const course = courseOf(base, trip)
      if (course !== undefined) {
        writeTripMoved(writer, trip, course, added !== undefined)
        this.#setCourse(row, course, added)
        if (change.added !== undefined) this.#moved.put(row, base, this.#packed.length(row))
        return
      }
    }
    const packed = packTrip(trip)
    writeTripPut(writer, packed, isCleared, added === undefined ? [] : [added])
    // Only a trip that an update moved has the members of an unpacked one, because it is made from one.
    const isMoved = row >= 0 && change.added !== undefined
    this.#set(row, trip, packed, isCleared, added === undefined ? undefined : [added], isMoved)
  }

  /**
   * Stores the course of a trip that has moved and did not change otherwise, and writes the row that makes this durable.
   * @param kept the trip ({@link moving})
   */
  putCourse(writer: FrameWriter, row: number, { trip }: KeptTrip, course: Course): void {
    const { movedAt: time, latitude, longitude } = course
    const place = { time, latitude, longitude }
    const added = this.#trails.wants(row, place) ? place : undefined
    writeTripMoved(writer, trip, course, added !== undefined)
    this.#setCourse(row, course, added)
  }

  #setCourse(row: number, course: Course, added: TrailPoint | undefined): void {
    this.#courses.set(row, course)
    this.#columns.times[row * TIMES + 1] = course.updatedAt
    if (row === this.#lastRow) this.#last = undefined
    if (added === undefined) return
    const before = this.#trails.memory(row)
    this.#trails.add(row, added)
    const more = this.#trails.memory(row) - before
    this.#size(row, this.#columns.scopes[row]!, this.#columns.sizes[row]! + more)
  }

  #wants(row: number, { isCleared, added }: TrailChange): boolean {
    return isCleared === true || row < 0 || this.#trails.wants(row, added!)
  }

  /** Removes a trip, and writes the row that makes this durable. */
  remove(writer: FrameWriter, row: number): void {
    const { scope, id } = this.get(row)
    writeTripRemoved(writer, scope, id)
    this.#delete(row)
  }

  readRow(bytes: FrameBytes, at: number, end: number): void {
    const read = readTripRow(bytes, at, end)
    if (read.is === 'removed') {
      const row = this.find(read.scope, read.id)
      if (row >= 0) this.#delete(row)
      return
    }
    if (read.is === 'moved') {
      const { scope, id, course, isKept } = read
      const { movedAt: time, latitude, longitude } = course
      const row = this.find(scope, id)
      if (row >= 0) this.#setCourse(row, course, isKept ? { time, latitude, longitude } : undefined)
      return
    }
    const { packed, isCleared, added } = read
    const trip = unpackTrip(packed)
    this.#set(this.find(trip.scope, trip.id), trip, packed, isCleared, added)
  }

  writeAll(writer: FrameWriter): void {
    for (let row = 0; row < this.length; row++) {
      if (!this.exists(row)) continue
      writeTripPut(writer, this.#packed.bytes(row), false, this.#trails.get(row) ?? [])
      const course = this.#courses.get(row)
      if (course !== undefined) writeTripMoved(writer, this.ref(row), course, false)
    }
  }

  /**
   * Forgets the events that could be told again, and the calls, for trips that have not changed since a time. The events take more
   * memory than everything else about a trip at rest. Rows that were written before still contain them. It yields
   * after each trip.
   */
  *forgetTold(before: number): Generator<void> {
    let left = this.#told.size
    let isAnyForgotten = false
    for (const row of this.#told) {
      // Rows that are added in the meantime have just changed.
      if (left-- === 0) break
      if (this.updatedAt(row) < before) {
        this.#forget(row)
        isAnyForgotten = true
      }
      yield
    }
    // What they had is free in the middle of the others' bytes.
    if (isAnyForgotten) yield* this.#packed.compact()
  }

  #forget(row: number): void {
    this.#told.delete(row)
    const packed = packedWithoutTold(this.#packed.bytes(row))
    this.#packed.set(row, packed, packed.length)
    this.#moved.delete(row)
    this.#forgetLast(row)
    this.#count(row, this.scope(row), packed.length)
  }

  /**
   * Stores a trip in a row.
   * @param row −1 for a new one
   * @param isMoved whether it stays unpacked for a while
   */
  #set(
    row: number,
    trip: Trip,
    packed: Uint8Array,
    isCleared: boolean,
    added: readonly TrailPoint[] | undefined,
    isMoved = false,
  ): void {
    const isNew = row < 0
    const at = isNew ? this.#take(trip) : row
    if (!isNew) this.#lookups.relink(at, this.get(at), trip)
    this.#setPacked(at, packed, isMoved ? trip : undefined)
    if (isCleared) this.#trails.delete(at)
    for (const point of added ?? []) this.#trails.add(at, point)
    const wasActive = !isNew && this.isActive(at)
    this.#columns.statuses[at] = TRIP_STATUSES.indexOf(trip.status)
    this.active += Number(this.isActive(at)) - Number(wasActive)
    this.#columns.times[at * TIMES] = trip.createdAt
    this.#columns.times[at * TIMES + 1] = trip.updatedAt
    const began = lifeBegan(trip)
    this.#columns.times[at * TIMES + 2] = began
    if (this.isActive(at)) this.#oldest.add(trip.scope, began)
    if (trip.told.length > 0 || trip.called !== undefined) this.#told.add(at)
    else this.#told.delete(at)
    this.#count(at, trip.scope, packed.length)
    if (isNew) this.#lookups.link(at, trip)
  }

  #take(trip: Trip): number {
    const row = this.#freed.pop() ?? this.length++
    this.#columns.reserve(row)
    this.#courses.expect(this.#columns.rows)
    this.#columns.scopes[row] = trip.scope
    this.count++
    return row
  }

  #delete(row: number): void {
    const trip = this.get(row)
    this.#lookups.unlink(row, trip)
    if (this.isActive(row)) this.active--
    this.#size(row, trip.scope, 0)
    this.#told.delete(row)
    this.#packed.delete(row)
    this.#moved.delete(row)
    this.#forgetLast(row)
    this.#courses.clear(row)
    this.#trails.delete(row)
    this.#columns.scopes[row] = FREE
    this.#freed.push(row)
    this.count--
  }

  #count(row: number, scope: ScopeId, packedBytes: number): void {
    this.#size(row, scope, TRIP_BYTES + packedBytes + this.#trails.memory(row))
  }

  #size(row: number, scope: ScopeId, bytes: number): void {
    const more = bytes - this.#columns.sizes[row]!
    this.#columns.sizes[row] = bytes
    this.#memory.add(scope, more)
  }
}
