import { newId } from '../../runtime/newId.ts'
import { nameHash } from '../../runtime/nameHash.ts'
import { RowIndex } from '../../runtime/rowIndex.ts'
import type { Change } from '../store/editLog.ts'

/** The reference of a definition. The pair counts if both parts are present. */
export interface Referenced {
  readonly tag?: string
  readonly externalId?: string
}

/** The common fields of all kinds of records. */
export interface Listed extends Referenced {
  /** 24 hex digits. */
  readonly id: string
  /** In epoch milliseconds. */
  readonly createdAt: number
  /** In epoch milliseconds. */
  readonly updatedAt: number
}

/** The filters of a list. Bounds are exclusive, in epoch milliseconds. */
export interface RecordFilter<T> {
  readonly tag?: string | undefined
  readonly externalId?: string | undefined
  /** The `_id` of an existing record. Only records after it are listed, whatever the filters are. */
  readonly before?: string | undefined
  readonly createdBefore?: number | undefined
  readonly createdAfter?: number | undefined
  readonly updatedBefore?: number | undefined
  readonly updatedAfter?: number | undefined
  /** A condition that is checked last. */
  readonly accept?: ((record: T) => boolean) | undefined
}

/** A page of a list. */
export interface RecordQuery<T> extends RecordFilter<T> {
  readonly limit: number
}

/** The result of a query. */
export interface RecordPage<T> {
  readonly records: T[]
  readonly hasMore: boolean
}

/** The planned result of a put. */
export interface Draft<T> {
  readonly record: T
  /** Whether it is a new record. Otherwise it replaces the one with its pair. */
  readonly created: boolean
}

/** What a put of many records must know if it is a part of something larger. */
export interface JointPut {
  /** Changes to be made together with the put; the outcomes are in the order of the definitions. */
  alongside(outcomes: readonly { readonly created: boolean; readonly record: Listed }[]): readonly Change[]
}

/** The slots of the records of one kind; a record keeps its slot while it exists. */
export interface RecordSlots<T> {
  readonly size: number
  /** The slot of a record; −1 if it is unknown. */
  slotOf(id: string): number
  get(slot: number): T
  /** In epoch milliseconds. */
  createdAt(slot: number): number
  /** In epoch milliseconds. */
  updatedAt(slot: number): number
  hasTag(slot: number, tag: string): boolean
  hasExternalId(slot: number, externalId: string): boolean
}

/**
 * The records of one kind in one scope, by pair and newest first. The records themselves are in slots, perhaps as
 * bytes; this list holds only numbers.
 *
 * Invariants
 * - RECORDS-1: `#places` holds a place in the order of creation for every slot in use. An entry of the order stands
 *   for its slot as long as the slot has that place.
 * - RECORDS-2: `#byPair` holds the records with a tag and an externalId, at most one for each pair.
 * - RECORDS-3: Creation times never decrease in the order. Records that share one are in the order in which they were
 *   created.
 */
export class RecordList<T extends Listed> {
  readonly #slots: RecordSlots<T>
  readonly #byPair = new RowIndex()
  #order = new Order(FIRST_ENTRIES)
  /** The places by slot; 0 if the slot is free. */
  #places = new Uint32Array(FIRST_ENTRIES)
  #lastPlace = 0
  #lastCreatedAt = 0

  constructor(slots: RecordSlots<T>) {
    this.#slots = slots
  }

  get size(): number {
    return this.#slots.size
  }

  has(id: string): boolean {
    return this.#slots.slotOf(id) >= 0
  }

  get(id: string): T | undefined {
    const slot = this.#slots.slotOf(id)
    return slot < 0 ? undefined : this.#slots.get(slot)
  }

  byPair(tag: string, externalId: string): T | undefined {
    const slot = this.slotOfPair(tag, externalId)
    return slot < 0 ? undefined : this.#slots.get(slot)
  }

  /** −1: no record has the pair. */
  slotOfPair(tag: string, externalId: string): number {
    const entry = this.#entryOf(tag, externalId)
    return entry < 0 ? -1 : this.#byPair.row(entry)
  }

  /** Does the same as {@link listSteps} in one step. */
  list(query: RecordQuery<T>): RecordPage<T> {
    const steps = this.listSteps(query)
    for (;;) {
      const step = steps.next()
      if (step.done) return step.value
    }
  }

  /**
   * A page, newest first, some records in each step. Records that are added between steps are left out.
   * @param asOf see {@link matching}
   */
  *listSteps(query: RecordQuery<T>, asOf?: (record: T) => T | undefined): Generator<void, RecordPage<T>> {
    const records: T[] = []
    for (const record of this.matching(query, asOf)) {
      if (record === undefined) yield
      else if (records.length === query.limit) return { records, hasMore: true }
      else records.push(record)
    }
    return { records, hasMore: false }
  }

  /**
   * The records that match, newest first, and undefined at points where others may have a turn. Records that are added
   * in the meantime are left out.
   * @param asOf returns the present state of a record; undefined if it no longer exists
   */
  *matching(
    query: RecordFilter<T>,
    asOf: (record: T) => T | undefined = (record) => record,
  ): Generator<T | undefined, void> {
    const { createdBefore = Infinity, createdAfter = -Infinity } = query
    const { updatedBefore = Infinity, updatedAfter = -Infinity } = query
    const store = this.#slots
    const { slots, places, end } = this.#order
    const last = query.before === undefined ? end : this.#positionOf(query.before)
    for (let i = last - 1; i >= 0; i--) {
      if (i % LOOKS_A_STEP === 0) yield undefined
      const slot = slots[i]!
      if (this.#places[slot] !== places[i]) continue
      const createdAt = store.createdAt(slot)
      if (createdAt >= createdBefore) continue
      if (createdAt <= createdAfter) break
      if (query.tag !== undefined && !store.hasTag(slot, query.tag)) continue
      if (query.externalId !== undefined && !store.hasExternalId(slot, query.externalId)) continue
      const updatedAt = store.updatedAt(slot)
      if (updatedAt >= updatedBefore || updatedAt <= updatedAfter) continue
      const record = asOf(store.get(slot))
      if (record === undefined || query.accept?.(record) === false) continue
      yield record
    }
  }

  /** The place of an existing record in the order of creation. Later records have a greater one. */
  placeOf(id: string): number {
    return this.#places[this.#slots.slotOf(id)]!
  }

  /**
   * All records, oldest first, that still exist when they are reached. Records that are added in the meantime are left
   * out.
   */
  *inOrder(): Generator<T> {
    // Growing and packing replace the order, so positions in this one stay valid.
    const { slots, places, end } = this.#order
    for (let i = 0; i < end; i++) {
      const slot = slots[i]!
      if (this.#places[slot] === places[i]) yield this.#slots.get(slot)
    }
  }

  /**
   * The records that putting the definitions will create or replace, in their order; nothing is changed yet. A
   * definition replaces the record with its pair, which may be from an earlier definition of the list; otherwise it
   * becomes a new record, created now. Its time is in the future only if the clock was set back since the last
   * record.
   * @param isShared whether no two records may have the same time of creation
   * @param build makes a record of a definition, an id and a creation time
   */
  draft<D extends Referenced, R extends T>(
    definitions: readonly D[],
    now: number,
    isShared: boolean,
    build: (definition: D, id: string, createdAt: number) => R,
  ): Draft<R>[] {
    const drafts: Draft<R>[] = []
    const drafted = new Map<string, T>()
    const createdAt = Math.max(this.#lastCreatedAt + Number(isShared), now)
    for (const definition of definitions) {
      const { tag, externalId } = definition
      const pair = tag === undefined || externalId === undefined ? undefined : `${tag}\0${externalId}`
      const before = pair === undefined ? undefined : (drafted.get(pair) ?? this.byPair(tag!, externalId!))
      const record = build(definition, before?.id ?? newId(now), before?.createdAt ?? createdAt)
      if (pair !== undefined) drafted.set(pair, record)
      drafts.push({ record, created: before === undefined })
    }
    return drafts
  }

  /** Makes room for this many records. */
  expect(count: number): void {
    this.#byPair.expect(count)
    if (count > this.#places.length) this.#resize(count)
    this.#order = this.#order.packed(this.#places, count)
  }

  /** Forgets the pair of a record, before the record is replaced or taken from its slot. */
  unpair(slot: number): void {
    const { tag, externalId } = this.#slots.get(slot)
    if (tag !== undefined && externalId !== undefined) this.#byPair.remove(this.#entryOf(tag, externalId))
  }

  /**
   * Must be called after a record was put into its slot. New ones must come in the order of createdAt, and no other
   * may have its pair.
   */
  added(slot: number, { tag, externalId, createdAt }: T): void {
    if (tag !== undefined && externalId !== undefined) this.#byPair.add(slot, hashOfPair(tag, externalId))
    if (slot >= this.#places.length) this.#resize(Math.max(slot + 1, 2 * this.#places.length))
    if (this.#places[slot] !== 0) return
    if (this.#order.isFull) this.#order = this.#order.packed(this.#places, FIRST_ENTRIES)
    this.#places[slot] = ++this.#lastPlace
    this.#order.add(slot, this.#lastPlace)
    this.#lastCreatedAt = Math.max(this.#lastCreatedAt, createdAt)
  }

  /** Must be called after the record in a slot was removed. */
  removed(slot: number): void {
    this.#places[slot] = 0
  }

  /** The position of an existing record in the order. */
  #positionOf(id: string): number {
    const place = this.#places[this.#slots.slotOf(id)]!
    const { places, end } = this.#order
    let low = 0
    let high = end
    while (low < high) {
      const middle = (low + high) >>> 1
      if (places[middle]! < place) low = middle + 1
      else high = middle
    }
    return low
  }

  /** The entry of a pair in the look-up; −1 if there is none. */
  #entryOf(tag: string, externalId: string): number {
    const hash = hashOfPair(tag, externalId)
    for (let entry = this.#byPair.find(hash); entry >= 0; entry = this.#byPair.findAfter(entry, hash)) {
      const slot = this.#byPair.row(entry)
      if (this.#slots.hasExternalId(slot, externalId) && this.#slots.hasTag(slot, tag)) return entry
    }
    return -1
  }

  #resize(slots: number): void {
    const places = new Uint32Array(slots)
    places.set(this.#places)
    this.#places = places
  }
}

const FIRST_ENTRIES = 64
/** How many records a list examines in one step. */
const LOOKS_A_STEP = 128

/** Slots in the order of creation, each with the place that it had. Places ascend. */
class Order {
  readonly slots: Int32Array
  readonly places: Uint32Array
  end = 0

  constructor(entries: number) {
    this.slots = new Int32Array(entries)
    this.places = new Uint32Array(entries)
  }

  get isFull(): boolean {
    return this.end === this.slots.length
  }

  add(slot: number, place: number): void {
    this.slots[this.end] = slot
    this.places[this.end++] = place
  }

  /**
   * The entries whose slots still have their places, with room for as many more, and for at least this many in all.
   */
  packed(placeOfSlot: Uint32Array, least: number): Order {
    let inUse = 0
    for (let i = 0; i < this.end; i++) if (placeOfSlot[this.slots[i]!] === this.places[i]) inUse++
    const order = new Order(Math.max(least, 2 * inUse))
    for (let i = 0; i < this.end; i++) {
      if (placeOfSlot[this.slots[i]!] === this.places[i]) order.add(this.slots[i]!, this.places[i]!)
    }
    return order
  }
}

function hashOfPair(tag: string, externalId: string): number {
  return nameHash(nameHash(0, tag), externalId)
}
