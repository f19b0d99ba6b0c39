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

  /** The rows of the trips that the record moved last. */
  ofRecord(scope: ScopeId, recordId: string): Iterable<number> {
    return chain(this.#records, scope, recordId, this.#ofRecord(scope, recordId))
  }

  /** Adds a row. */
  link(row: number, { scope, id, externalId, userId, user }: Trip): void {
    this.#ids.add(row, idHash(id))
    this.#names.add(row, nameHash(scope, externalId), this.#named(scope, externalId))
    this.#linkUser(row, scope, userId)
    this.#linkRecord(row, scope, user?.id)
  }

  /** The trip of a row is about to be another one, with the same `_id` and externalId. */
  relink(row: number, before: Trip, { scope, userId, user }: Trip): void {
    if (before.userId !== userId) {
      if (before.userId !== undefined) this.#users.remove(row, nameHash(scope, before.userId))
      this.#linkUser(row, scope, userId)
    }
    if (before.user?.id !== user?.id) {
      if (before.user !== undefined) this.#records.remove(row, nameHash(scope, before.user.id))
      this.#linkRecord(row, scope, user?.id)
    }
  }

  /** Removes a row. */
  unlink(row: number, { scope, id, externalId, userId, user }: Trip): void {
    this.#ids.remove(this.#slot(scope, id))
    this.#names.remove(row, nameHash(scope, externalId))
    if (userId !== undefined) this.#users.remove(row, nameHash(scope, userId))
    if (user !== undefined) this.#records.remove(row, nameHash(scope, user.id))
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
    return (row) => this.#trips.isOf(row, scope, (trip) => trip.user?.id === recordId)
  }
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
