import Type from 'typebox'
import type { ScopeId } from '../../model/scope.ts'
import { MAX_TRIPS_OF_USER } from '../../model/trip.ts'
import type { Clock } from '../../runtime/clock.ts'
import { badParam } from '../../runtime/errors.ts'
import { ID_COLUMNS } from '../records/recordRows.ts'
import type { RegistryDatabase } from '../store/database.ts'
import type { EditLog } from '../store/editLog.ts'
import type { RegistryReplica } from '../store/replica.ts'
import type { RowKind } from '../store/rowKind.ts'
import type { TripNames } from './port.ts'
import type { ScopeTrips, SeenEntry, TripEntry } from './scopeTrips.ts'

interface TripRow {
  readonly id: string
  readonly scope: ScopeId
  readonly externalId: string
  readonly userId: string | null
  readonly changedAt: number
  readonly isDeleted: 0 | 1
}

/** The rows of the directory of trips. */
export const TRIP_ROWS: RowKind = {
  name: 'trips',
  columns: ['id', 'scope', 'externalId', 'userId', 'changedAt', 'isDeleted'],
  key: ['scope', 'id'],
  unique: ['id'],
  json: [],
  schema: Type.Object({
    ...ID_COLUMNS,
    externalId: Type.String(),
    userId: Type.Union([Type.String(), Type.Null()]),
    changedAt: Type.Number(),
    isDeleted: Type.Integer({ minimum: 0, maximum: 1 }),
  }),
  createTable: `
    CREATE TABLE IF NOT EXISTS trips (
      id TEXT NOT NULL UNIQUE,
      scope INTEGER NOT NULL,
      externalId TEXT NOT NULL,
      userId TEXT,
      changedAt INTEGER NOT NULL,
      isDeleted INTEGER NOT NULL
    )`,
}

/**
 * The directory of trips as rows of the registry.
 *
 * Owns: that a name belongs to one trip at a time, the number of a user's trips. Does not own: the trips, which are
 * in the partitions that their ids name.
 *
 * Invariants
 * - TRIP-NAMES-1: A change is an edit of the registry, which decides on the newest state (compare-and-set). So of two
 *   trips with one externalId, one is refused.
 */
export class TripDirectory implements TripNames {
  readonly #database: RegistryDatabase
  readonly #edits: EditLog
  readonly #clock: Clock
  readonly #scope: (scope: ScopeId) => ScopeTrips

  constructor(replica: RegistryReplica, edits: EditLog, clock: Clock, scope: (scope: ScopeId) => ScopeTrips) {
    this.#database = replica.database
    this.#edits = edits
    this.#clock = clock
    this.#scope = scope
    replica.keep<TripRow, TripEntry>('trips', {
      recordOf: entryOf,
      put: (entry) => scope(entry.scope).put(entry),
      remove: (key) => {
        const [ofScope, id] = key.split('.') as [string, string]
        scope(Number(ofScope)).remove(id)
      },
    })
  }

  /** Fills the memory from the file, once. */
  load(): void {
    for (const row of this.#database.prepare('SELECT * FROM trips').iterate() as Iterable<TripRow>)
      this.#scope(row.scope).put(entryOf(row))
  }

  of(scope: ScopeId): Omit<ScopeTrips, 'put' | 'remove'> {
    return this.#scope(scope)
  }

  get revision(): number {
    return this.#database.revision
  }

  edit<T>(work: () => T): Promise<T> {
    return this.#edits.edit(work)
  }

  reserve(scope: ScopeId, externalId: string, userId: string | undefined, newId: () => string): TripEntry {
    const known = this.#scope(scope).named(externalId)
    if (known !== undefined) return known
    this.#checkRoom(scope, userId)
    return this.#put({ id: newId(), scope, externalId, userId })
  }

  renew(scope: ScopeId, id: string): TripEntry | undefined {
    const entry = this.#scope(scope).get(id)
    return entry === undefined || entry.isDeleted ? undefined : this.#put(entry)
  }

  hold(scope: ScopeId, id: string, externalId: string, userId: string | undefined): void {
    const known = this.#scope(scope).named(externalId)
    if (known?.id === id) return void this.#put(known)
    if (known !== undefined) throw badParam('status', 'Another active trip has its externalId.')
    this.#checkRoom(scope, userId)
    this.#put({ id, scope, externalId, userId })
  }

  assign(scope: ScopeId, id: string, userId: string | undefined): void {
    const entry = this.#scope(scope).get(id)
    if (entry === undefined || entry.isDeleted || entry.userId === userId) return
    this.#checkRoom(scope, userId)
    this.#put({ ...entry, userId })
  }

  release(scope: ScopeId, id: string, seen?: number): void {
    const names = this.#scope(scope)
    if (!names.hasName(id) || (seen !== undefined && names.versionOf(id) !== seen)) return
    this.#edits.commit([{ kind: 'trips', key: `${scope}.${id}`, row: undefined }])
  }

  bury(scope: ScopeId, id: string, externalId: string): void {
    this.#put({ id, scope, externalId }, true)
  }

  remove(seen: readonly SeenEntry[]): void {
    const changes = seen
      .filter(({ scope, id, version }) => this.#scope(scope).versionOf(id) === version)
      .map(({ scope, id }) => ({ kind: 'trips', key: `${scope}.${id}`, row: undefined }))
    if (changes.length > 0) this.#edits.commit(changes)
  }

  #checkRoom(scope: ScopeId, userId: string | undefined): void {
    if (userId === undefined || this.#scope(scope).ofUser(userId).length < MAX_TRIPS_OF_USER) return
    throw badParam('userId', `This user has ${MAX_TRIPS_OF_USER} active trips, which is the limit.`)
  }

  #put(entry: Omit<TripEntry, 'changedAt' | 'isDeleted'>, isDeleted = false): TripEntry {
    const record: TripEntry = { ...entry, changedAt: this.#clock.now(), isDeleted }
    const { id, scope, externalId, userId = null, changedAt } = record
    const row: TripRow = { id, scope, externalId, userId, changedAt, isDeleted: isDeleted ? 1 : 0 }
    this.#edits.commit([{ kind: 'trips', key: `${scope}.${id}`, row, record }])
    return record
  }
}

function entryOf({ id, scope, externalId, userId, changedAt, isDeleted }: TripRow): TripEntry {
  return { id, scope, externalId, userId: userId ?? undefined, changedAt, isDeleted: isDeleted === 1 }
}
