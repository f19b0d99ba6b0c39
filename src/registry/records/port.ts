import type { ScopeId } from '../../model/scope.ts'
import type { Referenced } from './recordList.ts'
import type { ScopedRecord } from './recordRows.ts'
import type { RecordStore } from './recordStore.ts'

/** Another record of the scope has the pair. */
export class RecordExists extends Error {
  override readonly name = 'RecordExists'
  readonly record: Referenced

  constructor(singular: string, record: Referenced) {
    super(`A ${singular} with tag ${record.tag} and externalId ${record.externalId} already exists.`)
    this.record = record
  }
}

/** The result of a put. */
export interface PutOutcome<R> {
  readonly record: R
  /** False if it replaced the record with the same tag and externalId. */
  readonly created: boolean
}

/**
 * The records of one kind in all scopes, for the routes that read and edit them. `Collection` (collection.ts)
 * implements it. Whatever changes records is called within {@link edit}.
 */
export interface EditableRecords<D extends Referenced, R extends L, L extends ScopedRecord = R> {
  /** The store with the records of a scope, for reading. */
  store(scope: ScopeId): RecordStore<R, L>
  /** Makes an edit, and resolves once it is durable. */
  edit<T>(work: () => T): Promise<T>
  /**
   * Creates a record.
   * @throws {RecordExists} if the definition has a pair that is taken
   */
  create(scope: ScopeId, definition: D): R
  /**
   * Creates a record, or replaces the definition of the record with its pair, whose `id` and `createdAt` stay. Without
   * both tag and externalId, it is always a new record.
   */
  put(scope: ScopeId, definition: D): PutOutcome<R>
  /**
   * Replaces the definition of the record with this id, including its pair. Returns undefined if there is none.
   * @throws {RecordExists} if another record has the new pair
   */
  replace(scope: ScopeId, id: string, definition: D): R | undefined
  /** Deletes a record. Returns whether it existed. */
  delete(scope: ScopeId, id: string): boolean
  /**
   * The first of these records that one transaction may concern.
   * @param from the index of the first one
   * @param most how many records there may be; there are fewer if they are long
   */
  firstPart(scope: ScopeId, ids: readonly string[], from: number, most: number): readonly string[]
  /**
   * Gives these records, of which some may be gone, the members of the patch, all or none. Undefined members are
   * removed.
   * @returns how many records there were
   */
  patchMany(
    scope: ScopeId,
    ids: readonly string[],
    patch: Partial<D>,
    isWanted: (record: L) => boolean,
  ): number
  /** Deletes these records, of which some may be gone: all or none. Returns how many there were. */
  removeMany(scope: ScopeId, ids: readonly string[], isWanted: (record: L) => boolean): number
}
