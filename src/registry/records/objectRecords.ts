import { ObjectSlotStore } from '../../spatial/slotStore.ts'
import type { Listed, RecordSlots } from './recordList.ts'
import { RecordList } from './recordList.ts'
import type { RecordStore } from './recordStore.ts'

/** A list of records that are stored as objects: for kinds with thousands, not millions. */
export class ObjectRecords<T extends Listed> extends RecordList<T> implements RecordStore<T> {
  readonly #objects: ObjectSlotStore<T>

  constructor() {
    const objects = new ObjectSlotStore<T>()
    super(slotsOf(objects))
    this.#objects = objects
  }

  get records(): this {
    return this
  }

  whole(record: T): T {
    return record
  }

  /**
   * Adds a record, or replaces the one with its id. New ones must come in the order of createdAt, and no other may
   * have its pair.
   * @returns the record that it replaced
   */
  put(record: T): T | undefined {
    const before = this.get(record.id)
    if (before !== undefined) this.unpair(this.#objects.slotOf(record.id))
    this.added(this.#objects.put(record), record)
    return before
  }

  /** Removes and returns the record with that id; undefined if there is none. */
  remove(id: string): T | undefined {
    const before = this.get(id)
    if (before === undefined) return undefined
    const slot = this.#objects.slotOf(id)
    this.unpair(slot)
    this.#objects.remove(slot)
    this.removed(slot)
    return before
  }
}

function slotsOf<T extends Listed>(objects: ObjectSlotStore<T>): RecordSlots<T> {
  return {
    get size() {
      return objects.size
    },
    slotOf: (id) => objects.slotOf(id),
    get: (slot) => objects.get(slot),
    createdAt: (slot) => objects.get(slot).createdAt,
    updatedAt: (slot) => objects.get(slot).updatedAt,
    hasTag: (slot, tag) => objects.get(slot).tag === tag,
    hasExternalId: (slot, externalId) => objects.get(slot).externalId === externalId,
  }
}
