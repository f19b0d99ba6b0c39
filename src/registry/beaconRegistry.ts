import type { Beacon } from '../model/beacon.ts'
import type { ScopeId } from '../model/scope.ts'
import type { Clock } from '../runtime/clock.ts'
import type { BeaconDefinition, BeaconRow } from './beaconRow.ts'
import { beaconOfRow, rowOfBeacon } from './beaconRow.ts'
import type { RegistryDatabase } from './database.ts'
import { RegistryDamaged } from './database.ts'
import type { Part } from './recordList.ts'
import type { ScopeStore } from './scopeStore.ts'

/** The pair is taken by another beacon of the scope. */
export class BeaconExists extends Error {
  override name = 'BeaconExists'
  readonly beacon: Beacon

  constructor(beacon: Beacon) {
    super(`A beacon with tag ${beacon.tag} and externalId ${beacon.externalId} exists already.`)
    this.beacon = beacon
  }
}

/**
 * Changes of the beacons of all scopes. As the registry, whose part it is: a change is applied to SQLite in one
 * transaction with the revision, then to memory, without yielding in between.
 */
export class BeaconRegistry {
  readonly #database: RegistryDatabase
  readonly #clock: Clock
  readonly #scope: (scope: ScopeId) => ScopeStore
  readonly #statements: Statements

  constructor(database: RegistryDatabase, clock: Clock, scope: (scope: ScopeId) => ScopeStore) {
    this.#database = database
    this.#clock = clock
    this.#scope = scope
    this.#statements = prepareStatements(database)
  }

  /** Fills the scopes' memory from the file, once. */
  load(): void {
    for (const row of this.#statements.all.iterate() as Iterable<BeaconRow>)
      this.#scope(row.scope).beacons.put(this.#decode(row))
  }

  /** @throws {BeaconExists} where the definition has a pair that is taken */
  create(scope: ScopeId, definition: BeaconDefinition): Beacon {
    this.#refuseTaken(scope, definition)
    return this.put(scope, definition).beacon
  }

  /**
   * Creates it, or replaces the definition of the one with its pair: `id` and `createdAt` stay. Without both tag and
   * externalId it is always a new one.
   */
  put(scope: ScopeId, definition: BeaconDefinition): { beacon: Beacon; created: boolean } {
    return this.putMany(scope, [definition])[0]!
  }

  /** {@link put} for many in one transaction: all or none. A pair that is given twice ends as the last one. */
  putMany(
    scope: ScopeId,
    definitions: readonly BeaconDefinition[],
    part?: Part,
  ): { beacon: Beacon; created: boolean }[] {
    if (definitions.length === 0) return []
    const { records } = this.#scope(scope).beacons
    const drafts = records.draft(definitions, this.#clock.now(), (definition, id, createdAt) =>
      this.#build(scope, definition, id, createdAt),
    )
    this.#write(
      scope,
      drafts.map(({ record }) => record),
      () => part?.alongside(drafts),
    )
    return drafts.map(({ record, created }) => ({ beacon: record, created }))
  }

  /**
   * Replaces the definition of the beacon with this id, its pair included; undefined when there is none.
   * @throws {BeaconExists} when another one has the new pair
   */
  replace(scope: ScopeId, id: string, definition: BeaconDefinition): Beacon | undefined {
    const before = this.#scope(scope).beacons.beacon(id)
    if (before === undefined) return undefined
    this.#refuseTaken(scope, definition, id)
    const beacon = this.#build(scope, definition, id, before.createdAt)
    this.#write(scope, [beacon])
    return beacon
  }

  /** Whether it was there. */
  delete(scope: ScopeId, id: string): boolean {
    const store = this.#scope(scope)
    if (store.beacons.beacon(id) === undefined) return false
    this.#database.write(() => this.#statements.remove.run(id))
    store.beacons.remove(id)
    store.revision = this.#database.revision
    return true
  }

  #refuseTaken(scope: ScopeId, { tag, externalId }: BeaconDefinition, except?: string): void {
    if (tag === undefined || externalId === undefined) return
    const holder = this.#scope(scope).beacons.records.byPair(tag, externalId)
    if (holder !== undefined && holder.id !== except) throw new BeaconExists(holder)
  }

  #build(scope: ScopeId, definition: BeaconDefinition, id: string, createdAt: number): Beacon {
    return { ...definition, id, scope, createdAt, updatedAt: Math.max(this.#clock.now(), createdAt) }
  }

  #write(scope: ScopeId, beacons: readonly Beacon[], alongside?: () => void): void {
    const store = this.#scope(scope)
    this.#database.write(() => {
      for (const beacon of beacons) this.#statements.put.run(rowOfBeacon(beacon))
      alongside?.()
    })
    for (const beacon of beacons) store.beacons.put(beacon)
    store.revision = this.#database.revision
  }

  #decode(row: BeaconRow): Beacon {
    try {
      return beaconOfRow(row)
    } catch (error) {
      throw new RegistryDamaged(this.#database.file, `beacon ${row.id} cannot be read.`, error)
    }
  }
}

type Statements = ReturnType<typeof prepareStatements>

function prepareStatements(database: RegistryDatabase) {
  return {
    // Rows were inserted in the order of createdAt; by rowid they come without being sorted.
    all: database.prepare('SELECT * FROM beacons ORDER BY rowid'),
    put: database.prepare(
      `INSERT INTO beacons (id, scope, tag, externalId, createdAt, updatedAt, definition)
       VALUES (@id, @scope, @tag, @externalId, @createdAt, @updatedAt, @definition)
       ON CONFLICT (id) DO UPDATE SET
         tag = excluded.tag, externalId = excluded.externalId, updatedAt = excluded.updatedAt,
         definition = excluded.definition`,
    ),
    remove: database.prepare('DELETE FROM beacons WHERE id = ?'),
  }
}
