import type { Beacon } from '../model/beacon.ts'
import type { ScopeId } from '../model/scope.ts'
import type { Clock } from '../runtime/clock.ts'
import type { BeaconDefinition, BeaconRow } from './beacons/beaconRow.ts'
import { beaconOfRow, rowOfBeacon } from './beacons/beaconRow.ts'
import type { RegistryDatabase } from './store/database.ts'
import { RegistryDamaged } from './store/database.ts'
import type { Change, EditLog } from './store/editLog.ts'
import type { RegistryImage } from './store/image.ts'
import type { Part } from './records/recordList.ts'
import type { ScopeStore } from './scopeStore.ts'

/** The pair is taken by another beacon of the scope. */
export class BeaconExists extends Error {
  override name = 'BeaconExists'
  readonly beacon: Beacon

  constructor(beacon: Beacon) {
    super(`A beacon with tag ${beacon.tag} and externalId ${beacon.externalId} already exists.`)
    this.beacon = beacon
  }
}

/** The beacons of all scopes: edits of them, and their image in the memory of the scopes. */
export class BeaconRegistry {
  readonly #database: RegistryDatabase
  readonly #clock: Clock
  readonly #scope: (scope: ScopeId) => ScopeStore
  readonly #edits: EditLog

  constructor(image: RegistryImage, edits: EditLog, clock: Clock, scope: (scope: ScopeId) => ScopeStore) {
    this.#database = image.database
    this.#edits = edits
    this.#clock = clock
    this.#scope = scope
    image.keep<BeaconRow, Beacon>('beacons', {
      recordOf: beaconOfRow,
      put: (beacon, revision) => {
        const store = scope(beacon.scope)
        store.beacons.put(beacon)
        store.revision = revision
      },
      remove: (key, revision) => {
        const [scopeText, id] = key.split('.')
        const store = scope(Number(scopeText))
        store.beacons.remove(id!)
        store.revision = revision
      },
      parked: (key) => {
        const [scopeText, id] = key.split('.')
        const beacon = scope(Number(scopeText)).beacons.beacon(id!)
        return beacon && putOf({ ...beacon, tag: id!, externalId: id! })
      },
    })
  }

  /** Fills the scopes' memory from the file, once. */
  load(): void {
    const all = this.#database.prepare(`SELECT * FROM beacons ORDER BY ${this.#database.orderOfCreation}`)
    for (const row of all.iterate() as Iterable<BeaconRow>)
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
    const drafts = records.draft(
      definitions,
      this.#clock.now(),
      this.#edits.isShared,
      (definition, id, createdAt) => this.#build(scope, definition, id, createdAt),
    )
    const changes = drafts.map(({ record }) => putOf(record))
    this.#edits.commit(part === undefined ? changes : [...changes, ...part.alongside(drafts)])
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
    this.#edits.commit([putOf(beacon)])
    return beacon
  }

  /** Whether it was there. */
  delete(scope: ScopeId, id: string): boolean {
    if (this.#scope(scope).beacons.beacon(id) === undefined) return false
    this.#edits.commit([{ kind: 'beacons', key: `${scope}.${id}`, row: undefined }])
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

  #decode(row: BeaconRow): Beacon {
    try {
      return beaconOfRow(row)
    } catch (error) {
      throw new RegistryDamaged(this.#database.file, `beacon ${row.id} cannot be read.`, error)
    }
  }
}

function putOf(beacon: Beacon): Change {
  return {
    kind: 'beacons',
    key: `${beacon.scope}.${beacon.id}`,
    row: rowOfBeacon(beacon),
    record: beacon,
  }
}
