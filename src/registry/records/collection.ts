import type { ScopeId } from '../../model/scope.ts'
import type { Clock } from '../../runtime/clock.ts'
import { ownTurn } from '../../runtime/slices.ts'
import { RegistryDamaged, type RegistryDatabase } from '../store/database.ts'
import type { Change, EditLog } from '../store/editLog.ts'
import type { RegistryReplica } from '../store/replica.ts'
import { recordOf, rowOf, type StoredKind } from './entity.ts'
import { ObjectRecords } from './objectRecords.ts'
import { RecordExists, type EditableRecords, type PutOutcome } from './port.ts'
import type { JointPut, Referenced } from './recordList.ts'
import type { RecordRow, ScopedRecord } from './recordRows.ts'
import type { RecordStore } from './recordStore.ts'

/** The dependencies of a collection. */
export interface CollectionParts<R extends L, L extends ScopedRecord = R> {
  readonly replica: RegistryReplica
  readonly edits: EditLog
  readonly clock: Clock
  /** Returns the store of a scope's records in memory. If absent, the collection has its own lists. */
  readonly store?: (scope: ScopeId) => RecordStore<R, L>
  /** Called after each change of a record of the scope. */
  readonly changed?: (scope: ScopeId, revision: number) => void
}

/** How many bytes of records one transaction concerns, if it need not concern all: to write or delete a megabyte takes milliseconds. */
const MAX_PART_BYTES = 256 * 1024
/** How many rows are read between two reports of the progress. */
const PROGRESS_ROWS = 1000

/**
 * The records of one kind in all scopes.
 *
 * Owns: what an edit of a record may do, and that the stores in memory follow the rows. Does not own: how an edit
 * becomes durable ({@link EditLog}), and what a definition must be ({@link Entity.parse}).
 *
 * Whatever changes records is called within {@link edit}; see {@link EditLog}.
 */
export class Collection<
  D extends Referenced,
  R extends L,
  L extends ScopedRecord = R,
> implements EditableRecords<D, R, L> {
  protected readonly edits: EditLog
  protected readonly clock: Clock
  readonly #kind: StoredKind<R>
  readonly #database: RegistryDatabase
  readonly #stores = new Map<ScopeId, RecordStore<R, L>>()
  /** How long stored definitions are. SQLite knows that without reading them. */
  readonly #sizes
  readonly #createStore: (scope: ScopeId) => RecordStore<R, L>

  constructor(kind: StoredKind<R>, parts: CollectionParts<R, L>) {
    const { replica, edits, clock, changed = () => {} } = parts
    this.#kind = kind
    this.#database = replica.database
    this.#sizes = this.#database
      .prepare(`SELECT octet_length(definition) FROM ${kind.rows.name} WHERE scope = ? AND id = ?`)
      .pluck()
    this.edits = edits
    this.clock = clock
    this.#createStore = parts.store ?? (() => new ObjectRecords<R>() as unknown as RecordStore<R, L>)
    replica.keep<RecordRow, R>(kind.rows.name, {
      recordOf: (row) => recordOf(kind, row),
      put: (record, revision) => {
        this.store(record.scope).put(record)
        changed(record.scope, revision)
        this.afterPut(record)
      },
      remove: (key, revision) => {
        const { scope, id } = partsOf(key)
        this.store(scope).remove(id)
        changed(scope, revision)
      },
      displaced: (key) => {
        if (!kind.rows.columns.includes('tag')) return undefined
        const { scope, id } = partsOf(key)
        const store = this.store(scope)
        const record = store.records.get(id)
        return record && this.putOf({ ...store.whole(record), tag: id, externalId: id })
      },
    })
  }

  /** Fills the stores from the file, once, within {@link RegistryDatabase.readAll}. */
  load(onProgress: (read: number, total: number) => void = () => {}): void {
    const { name } = this.#kind.rows
    const counts = this.#database.prepare(`SELECT scope, count(*) AS count FROM ${name} GROUP BY scope`)
    // They need not be sorted, because the order of rowid is the order of creation.
    const all = this.#database.prepare(`SELECT * FROM ${name} ORDER BY ${this.#database.orderOfCreation}`)
    let total = 0
    for (const { scope, count } of counts.all() as { scope: ScopeId; count: number }[]) {
      this.store(scope).expect(count)
      total += count
    }
    let read = 0
    for (const row of all.iterate() as Iterable<RecordRow>) {
      this.store(row.scope).put(this.#decode(row))
      if (++read % PROGRESS_ROWS === 0) onProgress(read, total)
    }
  }

  /** The store with the records of a scope, for reading. */
  store(scope: ScopeId): RecordStore<R, L> {
    let store = this.#stores.get(scope)
    if (store === undefined) this.#stores.set(scope, (store = this.#createStore(scope)))
    return store
  }

  /** The records of all scopes, those of a scope in the order of their creation. */
  *all(): Generator<R> {
    for (const store of this.#stores.values()) yield* store.inOrder()
  }

  /**
   * Makes an edit; see {@link EditLog}. It has a turn of its own, because reading the request and writing the answer may
   * take as long. Edits are made in the order of the calls.
   */
  async edit<T>(work: () => T): Promise<T> {
    await ownTurn()
    return this.edits.edit(work)
  }

  /**
   * Creates a record.
   * @throws {RecordExists} if the definition has a pair that is taken
   */
  create(scope: ScopeId, definition: D): R {
    this.beforeEdit()
    const { tag, externalId } = definition
    if (tag !== undefined && externalId !== undefined) {
      const holder = this.store(scope).records.byPair(tag, externalId)
      if (holder !== undefined) throw new RecordExists(this.#kind.singular, holder)
    }
    return this.put(scope, definition).record
  }

  /**
   * Creates a record, or replaces the definition of the record with its pair, whose `id` and `createdAt` stay. Without
   * both tag and externalId, it is always a new record.
   */
  put(scope: ScopeId, definition: D): PutOutcome<R> {
    return this.putMany(scope, [definition])[0]!
  }

  /**
   * Does {@link put} for many definitions in one transaction, all or none. If a pair is given twice, the last one
   * counts.
   */
  putMany(scope: ScopeId, definitions: readonly D[], joint?: JointPut): PutOutcome<R>[] {
    if (definitions.length === 0) return []
    this.beforeEdit()
    const outcomes = this.store(scope).records.draft(
      definitions,
      this.clock.now(),
      this.edits.isShared,
      (definition, id, createdAt) => this.build(scope, definition, id, createdAt),
    )
    const changes = outcomes.map(({ record }) => this.putOf(record))
    this.edits.commit(joint === undefined ? changes : [...changes, ...joint.alongside(outcomes)])
    return outcomes
  }

  /**
   * Replaces the definition of the record with this id, including its pair. Returns undefined if there is none.
   * @throws {RecordExists} if another record has the new pair
   */
  replace(scope: ScopeId, id: string, definition: D): R | undefined {
    this.beforeEdit()
    const store = this.store(scope)
    const before = store.get(id)
    if (before === undefined) return undefined
    const { tag, externalId } = definition
    if (tag !== undefined && externalId !== undefined) {
      const holder = store.byPair(tag, externalId)
      if (holder !== undefined && holder.id !== id) throw new RecordExists(this.#kind.singular, holder)
    }
    return this.save(this.build(scope, definition, id, before.createdAt))
  }

  /** Writes a whole record: a new one, or one that replaces the record with its id. */
  save(record: R): R {
    this.edits.commit([this.putOf(record)])
    return record
  }

  /** Deletes a record. Returns whether it existed. */
  delete(scope: ScopeId, id: string): boolean {
    if (this.store(scope).get(id) === undefined) return false
    this.edits.commit([this.removalOf(scope, id)])
    return true
  }

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
  ): number {
    this.beforeEdit()
    const store = this.store(scope)
    const now = this.clock.now()
    const changes = this.#wanted(scope, ids, isWanted).map((record) => {
      const members = { ...store.whole(record), ...patch, updatedAt: Math.max(now, record.createdAt) }
      const present = Object.entries(members).filter(([, value]) => value !== undefined)
      return this.putOf(Object.fromEntries(present) as unknown as R)
    })
    if (changes.length > 0) this.edits.commit(changes)
    return changes.length
  }

  /** Deletes these records, of which some may be gone: all or none. Returns how many there were. */
  removeMany(scope: ScopeId, ids: readonly string[], isWanted: (record: L) => boolean): number {
    const changes = this.#wanted(scope, ids, isWanted).map(({ id }) => this.removalOf(scope, id))
    if (changes.length > 0) this.edits.commit(changes)
    return changes.length
  }

  /**
   * The first of these records that one transaction may concern: at most so many, and not much more than
   * {@link MAX_PART_BYTES} together, unless one has more.
   * @param from the index of the first one
   */
  firstPart(scope: ScopeId, ids: readonly string[], from: number, most: number): readonly string[] {
    let end = from
    for (let bytes = 0; end < ids.length && end - from < most; end++) {
      bytes += (this.#sizes.get(scope, ids[end]!) as number | undefined) ?? 0
      if (bytes > MAX_PART_BYTES && end > from) break
    }
    return ids.slice(from, end)
  }

  /** Deletes records that exist, and makes the other changes together with it, all or none. */
  deleteMany(scope: ScopeId, ids: readonly string[], alongside: readonly Change[]): void {
    this.edits.commit([...ids.map((id) => this.removalOf(scope, id)), ...alongside])
  }

  /** Called before an edit reads the records. */
  protected beforeEdit(): void {}

  /** Called after a record was put into its store, except for those of {@link load}. */
  protected afterPut(_record: R): void {}

  /** Makes a record of a definition. */
  protected build(scope: ScopeId, definition: D, id: string, createdAt: number): R {
    const updatedAt = Math.max(this.clock.now(), createdAt)
    return { ...definition, id, scope, createdAt, updatedAt } as unknown as R
  }

  protected putOf(record: R): Change {
    const { name } = this.#kind.rows
    return { kind: name, key: `${record.scope}.${record.id}`, row: rowOf(this.#kind, record), record }
  }

  protected removalOf(scope: ScopeId, id: string): Change {
    return { kind: this.#kind.rows.name, key: `${scope}.${id}`, row: undefined }
  }

  #wanted(scope: ScopeId, ids: readonly string[], isWanted: (record: L) => boolean): L[] {
    const store = this.store(scope)
    return ids.map((id) => store.get(id)).filter((record) => record !== undefined && isWanted(record)) as L[]
  }

  #decode(row: RecordRow): R {
    try {
      return recordOf(this.#kind, row)
    } catch (error) {
      const sentence = `${this.#kind.singular} ${row.id} cannot be read.`
      throw new RegistryDamaged(this.#database.file, sentence, error)
    }
  }
}

function partsOf(key: string): { scope: ScopeId; id: string } {
  const dot = key.indexOf('.')
  return { scope: Number(key.slice(0, dot)), id: key.slice(dot + 1) }
}
