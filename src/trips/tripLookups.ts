import type { ScopeId } from '../model/scope.ts'
import type { Trip } from '../model/trip.ts'
import { nameHash } from '../runtime/nameHash.ts'
import { RowChains } from '../runtime/rowChains.ts'
import { RowIndex } from '../runtime/rowIndex.ts'

/**
 * The rows of a table's trips by `_id`, externalId, user and record.
 *
 * Owns: the links between rows. Does not own: rows, and the trips in them.
 */

/** What look-ups ask about the trips that they find. */
export interface LookedUp {
  /** Whether a row has the trip of that scope and `_id`. */
  isTrip(row: number, scope: ScopeId, id: string): boolean
  /** Whether a row has a trip of that scope that matches. */
  isOf(row: number, scope: ScopeId, matches: (trip: Trip) => boolean): boolean
}

export class TripLookups {
  readonly #trips: LookedUp
  readonly #ids = new RowIndex()
  readonly #names = new RowChains()
  readonly #users = new RowChains()
  readonly #records = new RowChains()

  constructor(trips: LookedUp) {
    this.#trips = trips
  }

  /** The row of the trip with that `_id`; −1 if it is not here. */
  withId(scope: ScopeId, id: string): number {
    const slot = this.#slot(scope, id)
    return slot < 0 ? -1 : this.#ids.row(slot)
  }

  /** The rows of the trips with that externalId, the last one that was put first. */
  named(scope: ScopeId, externalId: string): Iterable<number> {
    return chain(this.#names, scope, externalId, this.#named(scope, externalId))
  }

  /** The rows of the trips of a user. */
  ofUser(scope: ScopeId, userId: string): Iterable<number> {
    return chain(this.#users, scope, userId, this.#ofUser(scope, userId))
  }

  /** The rows of the trips that the record moved last, or that had it as their user's latest. */
  ofRecord(scope: ScopeId, recordId: string): Iterable<number> {
    return chain(this.#records, scope, recordId, this.#ofRecord(scope, recordId))
  }

  /** The rows of the trips of a user that know no record of theirs, because there was none yet. */
  withoutRecord(scope: ScopeId, userId: string): Iterable<number> {
    return this.ofRecord(scope, anyRecordOf(userId))
  }

  /** Adds a row. */
  link(row: number, trip: Trip): void {
    const { scope, id, externalId, userId } = trip
    this.#ids.add(row, idHash(id))
    this.#names.add(row, nameHash(scope, externalId), this.#named(scope, externalId))
    this.#linkUser(row, scope, userId)
    this.#linkRecord(row, scope, recordOf(trip))
  }

  /** The trip of a row is about to be another one, with the same `_id` and externalId. */
  relink(row: number, before: Trip, after: Trip): void {
    const { scope, userId } = after
    if (before.userId !== userId) {
      if (before.userId !== undefined) this.#users.remove(row, nameHash(scope, before.userId))
      this.#linkUser(row, scope, userId)
    }
    const [was, is] = [recordOf(before), recordOf(after)]
    if (was !== is) {
      if (was !== undefined) this.#records.remove(row, nameHash(scope, was))
      this.#linkRecord(row, scope, is)
    }
  }

  /** Removes a row. */
  unlink(row: number, trip: Trip): void {
    const { scope, id, externalId, userId } = trip
    const record = recordOf(trip)
    this.#ids.remove(this.#slot(scope, id))
    this.#names.remove(row, nameHash(scope, externalId))
    if (userId !== undefined) this.#users.remove(row, nameHash(scope, userId))
    if (record !== undefined) this.#records.remove(row, nameHash(scope, record))
  }

  #linkUser(row: number, scope: ScopeId, userId: string | undefined): void {
    if (userId !== undefined) this.#users.add(row, nameHash(scope, userId), this.#ofUser(scope, userId))
  }

  #linkRecord(row: number, scope: ScopeId, recordId: string | undefined): void {
    if (recordId !== undefined)
      this.#records.add(row, nameHash(scope, recordId), this.#ofRecord(scope, recordId))
  }

  #slot(scope: ScopeId, id: string): number {
    const ids = this.#ids
    const hash = idHash(id)
    let slot = ids.find(hash)
    while (slot >= 0 && !this.#trips.isTrip(ids.row(slot), scope, id)) slot = ids.findAfter(slot, hash)
    return slot
  }

  #named(scope: ScopeId, externalId: string): (row: number) => boolean {
    return (row) => this.#trips.isOf(row, scope, (trip) => trip.externalId === externalId)
  }

  #ofUser(scope: ScopeId, userId: string): (row: number) => boolean {
    return (row) => this.#trips.isOf(row, scope, (trip) => trip.userId === userId)
  }

  #ofRecord(scope: ScopeId, recordId: string): (row: number) => boolean {
    return (row) => this.#trips.isOf(row, scope, (trip) => recordOf(trip) === recordId)
  }
}

/** The `_id` of the record whose removal concerns the trip. If it knows none, any record of its user does. */
function recordOf({ user, userId }: Trip): string | undefined {
  return user?.id ?? (userId === undefined ? undefined : anyRecordOf(userId))
}

/** A text that is no `_id`. */
function anyRecordOf(userId: string): string {
  return `of ${userId}`
}

/**
 * The last eight of the hexadecimal digits, which the server has drawn. So nobody can choose many that collide, and a hash
 * like that of names is not needed.
 */
function idHash(id: string): number {
  let hash = 0
  for (let i = id.length - 8; i < id.length; i++) {
    const code = id.charCodeAt(i)
    hash = (hash << 4) | (code < 58 ? code - 48 : code - 87)
  }
  return hash
}

function* chain(
  chains: RowChains,
  scope: ScopeId,
  name: string,
  isOfName: (row: number) => boolean,
): Generator<number> {
  for (let row = chains.first(nameHash(scope, name), isOfName); row >= 0; row = chains.next(row)) yield row
}
