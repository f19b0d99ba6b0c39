import type { ScopeId } from '../../model/scope.ts'
import { nameHash } from '../../runtime/nameHash.ts'
import { RowChains } from '../../runtime/rowChains.ts'
import { RowIndex } from '../../runtime/rowIndex.ts'
import { PackedEntries, type EntryFields } from './packedEntries.ts'

/**
 * The name of a trip that may be active, or of one that was deleted. `changedAt` is when the entry was last written, by
 * the server's clock; `userId` is the user whose updates may move the trip.
 */
export interface TripEntry extends EntryFields {
  readonly scope: ScopeId
}

/** An entry as it was seen. */
export interface SeenEntry {
  readonly scope: ScopeId
  /** The `_id` of the trip. */
  readonly id: string
  /** See {@link ScopeTrips.versionOf}. */
  readonly version: number
}

const NONE = -1
const VERSIONS = 2 ** 32

/**
 * The names of one scope in memory.
 *
 * The obvious way keeps an object for each, and maps by id, name and user: some 350 bytes a trip. Here an entry is its
 * bytes, and look-ups are of rows: half as many, and nothing for the garbage collector.
 *
 * Invariants
 * - NAMES-1: Each row with an entry is in the look-up by id. Of those that are not deleted, the latest of its name is in
 *   that by name, and those of a user are in their chain.
 */
export class ScopeTrips {
  /** The scope of the entries, which is known from the first one. */
  #scope: ScopeId = 0
  readonly #entries = new PackedEntries()
  readonly #ids = new RowIndex()
  readonly #active = new RowIndex()
  /** The latest deleted trip of each name. */
  readonly #deleted = new RowIndex()
  readonly #users = new RowChains()
  readonly #freed: number[] = []
  #length = 0
  #activeNames = 0
  #version = 0
  /** The user who was looked up last, and the first row. An update looks its user up two or three times. */
  #lastUser: string | undefined
  #lastFirst = NONE

  /** Whether no trips can be moved, so that updates need not look further. */
  get isEmpty(): boolean {
    return this.#activeNames === 0
  }

  hasUser(userId: string): boolean {
    return this.#firstOf(userId) !== NONE
  }

  get(id: string): TripEntry | undefined {
    return this.#entryOf(this.#rowOf(id))
  }

  /**
   * Which writing the entry of a trip is, among those of this process: it is another one after each {@link put}. Undefined
   * if there is no entry.
   */
  versionOf(id: string): number | undefined {
    const row = this.#rowOf(id)
    return row === NONE ? undefined : this.#entries.version(row)
  }

  /** The trip of that name that may be active. */
  named(externalId: string): TripEntry | undefined {
    return this.#entryOf(this.#namedIn(this.#active, externalId))
  }

  /** When a trip of that name was last deleted, if that is remembered. */
  deletedAt(externalId: string): number | undefined {
    const row = this.#namedIn(this.#deleted, externalId)
    return row === NONE ? undefined : this.#entries.changedAt(row)
  }

  /** The trips of the user that may be active. */
  ofUser(userId: string): readonly TripEntry[] {
    return this.#rowsOf(userId).map((row) => this.#entries.get(row, this.#scope))
  }

  /** The ids in the order in which the trips were created, to the second. */
  idsOfUser(userId: string): readonly string[] {
    const first = this.#firstOf(userId)
    if (first === NONE) return NO_IDS
    // Most users have one.
    if (this.#users.next(first) === NONE) return [this.#entries.idOf(first)]
    return this.#rowsOf(userId)
      .map((row) => this.#entries.idOf(row))
      .sort()
  }

  idNamed(externalId: string): string | undefined {
    const row = this.#namedIn(this.#active, externalId)
    return row === NONE ? undefined : this.#entries.idOf(row)
  }

  hasName(id: string): boolean {
    const row = this.#rowOf(id)
    return row !== NONE && !this.#entries.isDeleted(row)
  }

  /** The entry of a trip that may be active, as it is now. */
  seen(id: string): SeenEntry | undefined {
    const row = this.#rowOf(id)
    if (row === NONE || this.#entries.isDeleted(row)) return undefined
    return { scope: this.#scope, id, version: this.#entries.version(row) }
  }

  /** All entries. Those that change in the meantime may be left out. */
  *all(): Iterable<TripEntry> {
    for (let row = 0; row < this.#length; row++)
      if (this.#entries.has(row)) yield this.#entries.get(row, this.#scope)
  }

  put(entry: TripEntry): void {
    this.remove(entry.id)
    this.#lastUser = undefined
    const { id, scope, externalId, userId, isDeleted } = entry
    this.#scope = scope
    const row = this.#freed.pop() ?? this.#length++
    this.#version = (this.#version + 1) % VERSIONS
    this.#entries.set(row, entry, this.#version)
    this.#ids.add(row, hashOf(id))
    if (isDeleted) {
      if ((this.deletedAt(externalId) ?? 0) <= entry.changedAt) this.#setNamed(this.#deleted, externalId, row)
      return
    }
    if (this.#setNamed(this.#active, externalId, row)) this.#activeNames++
    if (userId !== undefined)
      this.#users.add(row, hashOf(userId), (other) => this.#entries.isOfUser(other, userId))
  }

  remove(id: string): void {
    const entry = this.get(id)
    if (entry === undefined) return
    this.#lastUser = undefined
    const { externalId, userId, isDeleted } = entry
    const hash = hashOf(id)
    const slot = this.#slotOf(this.#ids, hash, (other) => this.#entries.idOf(other) === id)
    const row = this.#ids.row(slot)
    this.#ids.remove(slot)
    // Another entry may have taken the name.
    if (isDeleted) this.#removeNamed(this.#deleted, externalId, row)
    else {
      if (this.#removeNamed(this.#active, externalId, row)) this.#activeNames--
      if (userId !== undefined) this.#users.remove(row, hashOf(userId))
    }
    this.#entries.delete(row)
    this.#freed.push(row)
  }

  #entryOf(row: number): TripEntry | undefined {
    return row === NONE ? undefined : this.#entries.get(row, this.#scope)
  }

  #rowOf(id: string): number {
    const slot = this.#slotOf(this.#ids, hashOf(id), (row) => this.#entries.idOf(row) === id)
    return slot < 0 ? NONE : this.#ids.row(slot)
  }

  #firstOf(userId: string): number {
    if (userId !== this.#lastUser) {
      this.#lastFirst = this.#users.first(hashOf(userId), (row) => this.#entries.isOfUser(row, userId))
      this.#lastUser = userId
    }
    return this.#lastFirst
  }

  /** The rows of a user, the one that was written first first. */
  #rowsOf(userId: string): number[] {
    const rows: number[] = []
    for (let row = this.#firstOf(userId); row !== NONE; row = this.#users.next(row)) rows.push(row)
    return rows.reverse()
  }

  #slotOf(index: RowIndex, hash: number, isWanted: (row: number) => boolean): number {
    let slot = index.find(hash)
    while (slot >= 0 && !isWanted(index.row(slot))) slot = index.findAfter(slot, hash)
    return slot
  }

  #nameSlot(index: RowIndex, externalId: string): number {
    return this.#slotOf(index, hashOf(externalId), (row) => this.#entries.isNamed(row, externalId))
  }

  #namedIn(index: RowIndex, externalId: string): number {
    const slot = this.#nameSlot(index, externalId)
    return slot < 0 ? NONE : index.row(slot)
  }

  /** Gives a name to a row. Returns whether no other one had it. */
  #setNamed(index: RowIndex, externalId: string, row: number): boolean {
    const slot = this.#nameSlot(index, externalId)
    if (slot < 0) index.add(row, hashOf(externalId))
    else index.setRow(slot, row)
    return slot < 0
  }

  /** Takes the name of a row back, if it has it. */
  #removeNamed(index: RowIndex, externalId: string, row: number): boolean {
    const slot = this.#nameSlot(index, externalId)
    if (slot < 0 || index.row(slot) !== row) return false
    index.remove(slot)
    return true
  }
}

const NO_IDS: readonly string[] = []

/** The hash of a text. The scope need not be in it, because each has look-ups of its own. */
function hashOf(text: string): number {
  return nameHash(0, text)
}
