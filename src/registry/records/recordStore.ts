import type { Listed, RecordFilter, RecordList, RecordPage, RecordQuery } from './recordList.ts'

/**
 * The records of one kind in one scope, in memory. Owns no durability: a {@link Collection} changes it after SQLite.
 * What it lists may be less than the whole record: of a geofence, everything except its shape.
 */
export interface RecordStore<R extends L, L extends Listed = R> {
  /** The records as stored. */
  readonly records: RecordList<L>
  /** The present state of a record; undefined if there is none. */
  get(id: string): L | undefined
  byPair(tag: string, externalId: string): L | undefined
  /** A page, newest first by createdAt, some records in each step. */
  listSteps(query: RecordQuery<L>): Generator<void, RecordPage<L>>
  /** The records that match, newest first, and undefined at points where others may have a turn. */
  matching(query: RecordFilter<L>): Generator<L | undefined, void>
  /** The complete record for one that is in the store. */
  whole(record: L): R
  /** All stored records that exist when they are reached, oldest first. */
  inOrder(): Iterable<R>
  /** Makes room for this many records. */
  expect(count: number): void
  /** Adds a record, or replaces the one with its id. New ones must come in the order of createdAt. */
  put(record: R): void
  /** Removes a record. Unknown ids are ignored. */
  remove(id: string): void
}
