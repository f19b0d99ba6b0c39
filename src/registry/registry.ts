import tzLookup from '@photostructure/tz-lookup'
import { shapeCenter } from '../geometry/shape.ts'
import type { Geofence, GeofenceProperties, Shape } from '../model/geofence.ts'
import type { ScopeId } from '../model/scope.ts'
import type { Settings } from '../model/settings.ts'
import { DEFAULT_SETTINGS } from '../model/settings.ts'
import type { Clock } from '../runtime/clock.ts'
import type { GeofenceIndex } from '../spatial/port.ts'
import { BeaconRegistry } from './beaconRegistry.ts'
import { RegistryDamaged, RegistryDatabase } from './database.ts'
import type { GeofenceDefinition, GeofenceRow } from './geofenceRow.ts'
import { asOf, dueAt, fromRow, toRow } from './geofenceRow.ts'
import { ImportHistory } from './importHistory.ts'
import type { KeySet } from './keys.ts'
import { Keys } from './keys.ts'
import type { RegistryView } from './port.ts'
import { Projects } from './projects.ts'
import type { Part } from './recordList.ts'
import { ScopeStore } from './scopeStore.ts'
import { WebhookRegistry } from './webhookRegistry.ts'

/** The pair is taken by another geofence of the scope. */
export class GeofenceExists extends Error {
  override name = 'GeofenceExists'
  readonly geofence: GeofenceProperties

  constructor(geofence: GeofenceProperties) {
    super(`A geofence with tag ${geofence.tag} and externalId ${geofence.externalId} exists already.`)
    this.geofence = geofence
  }
}

export interface RegistryOptions {
  /** The data folder; created when absent. */
  readonly folder: string
  readonly clock: Clock
  /** An empty geofence index for one scope. */
  readonly createIndex: () => GeofenceIndex
  /** Keys of a first project, made where there is none yet; absent: see {@link Registry.createFirstProject}. */
  readonly firstKeys?: KeySet | undefined
  /**
   * Told when a due date, or the projects' counts of requests, could not be written down; it is tried again. Reads follow
   * the dates regardless.
   */
  readonly onSweepFailure?: (error: unknown) => void
}

/** The longest sleep between two looks at the due dates: bounds the effect of a machine clock that jumps. */
const MAX_SLEEP_MS = 60_000

/**
 * Geofences, beacons, settings, projects, keys and webhooks of all scopes.
 *
 * Owns: the SQLite file (what a change returned from is durable) and its image in memory, from which everything is
 * read. Does not own: what is evaluated with it, and who may change it.
 *
 * 1. A change is applied to SQLite in one transaction with the revision, then to memory, without yielding in between:
 *    memory is never ahead of the disk, and whoever reads between two turns of the event loop sees one revision.
 * 2. Dates act by themselves: reads follow the clock, the sweep writes them down as changes of their own.
 */
export class Registry implements RegistryView {
  readonly keys: Keys
  readonly projects: Projects
  readonly beacons: BeaconRegistry
  readonly imports: ImportHistory
  readonly webhooks: WebhookRegistry
  readonly #database: RegistryDatabase
  readonly #clock: Clock
  readonly #createIndex: () => GeofenceIndex
  readonly #onSweepFailure: (error: unknown) => void
  readonly #scopes = new Map<ScopeId, ScopeStore>()
  readonly #statements: Statements
  /** When a date next does something; 0 until the first sweep has looked. */
  #nextDue = 0
  #timer: NodeJS.Timeout | undefined

  constructor(options: RegistryOptions) {
    this.#clock = options.clock
    this.#createIndex = options.createIndex
    this.#onSweepFailure = options.onSweepFailure ?? (() => {})
    this.#database = new RegistryDatabase(options.folder)
    try {
      this.#statements = prepareStatements(this.#database)
      this.keys = new Keys(this.#database, this.#clock)
      this.projects = new Projects(this.#database, this.#clock, this.#onSweepFailure)
      this.beacons = new BeaconRegistry(this.#database, this.#clock, (scope) => this.scope(scope))
      this.imports = new ImportHistory(this.#database, this.#clock)
      this.webhooks = new WebhookRegistry(this.#database, this.#clock)
      if (options.firstKeys !== undefined) this.createFirstProject(options.firstKeys)
      this.#load()
      this.sweep()
    } catch (error) {
      this.close()
      throw error
    }
  }

  get revision(): number {
    return this.#database.revision
  }

  /**
   * Makes the first project, where there is none yet, and returns its keys; undefined where there is one. Generated keys
   * can be shown only now: a start asks for them when it can no longer fail, else nobody would ever see them.
   */
  createFirstProject(keys?: KeySet): KeySet | undefined {
    return this.keys.projects().length > 0 ? undefined : this.keys.createProject('default', keys).keys
  }

  scope(scope: ScopeId): ScopeStore {
    let store = this.#scopes.get(scope)
    if (store === undefined) {
      store = new ScopeStore(this.#createIndex(), this.#clock, this.revision)
      this.#scopes.set(scope, store)
    }
    return store
  }

  /** @throws {GeofenceExists} */
  createGeofence(scope: ScopeId, definition: GeofenceDefinition): Geofence {
    this.sweep()
    const { tag, externalId } = definition
    const holder = this.scope(scope).records.byPair(tag, externalId)
    if (holder !== undefined) throw new GeofenceExists(holder)
    return this.putGeofence(scope, definition).geofence
  }

  /** Creates it, or replaces the definition of the one with its pair: `id` and `createdAt` stay. */
  putGeofence(scope: ScopeId, definition: GeofenceDefinition): { geofence: Geofence; created: boolean } {
    return this.putMany(scope, [definition])[0]!
  }

  /** {@link putGeofence} for many in one transaction: all or none. A pair that is given twice ends as the last one. */
  putMany(
    scope: ScopeId,
    definitions: readonly GeofenceDefinition[],
    part?: Part,
  ): { geofence: Geofence; created: boolean }[] {
    if (definitions.length === 0) return []
    this.sweep()
    const store = this.scope(scope)
    const drafts = store.records.draft(definitions, this.#clock.now(), (definition, id, createdAt) =>
      this.#build(scope, definition, id, createdAt),
    )
    const outcomes = drafts.map(({ record, created }) => ({ geofence: record, created }))
    this.#database.write(() => {
      for (const { geofence } of outcomes) this.#statements.put.run(toRow(geofence))
      part?.alongside(outcomes)
    })
    for (const { geofence } of outcomes) {
      store.put(geofence)
      this.#schedule(dueAt(geofence))
    }
    store.revision = this.revision
    return outcomes
  }

  /**
   * Replaces the definition of the geofence with this id, its pair included; undefined when there is none.
   * @throws {GeofenceExists} when another one has the new pair
   */
  replaceGeofence(scope: ScopeId, id: string, definition: GeofenceDefinition): Geofence | undefined {
    this.sweep()
    const store = this.scope(scope)
    const before = store.geofence(id)
    if (before === undefined) return undefined
    const other = store.geofenceByPair(definition.tag, definition.externalId)
    if (other !== undefined && other.id !== id) throw new GeofenceExists(other)
    const geofence = this.#build(scope, definition, id, before.createdAt)
    this.#database.write(() => this.#statements.put.run(toRow(geofence)))
    store.put(geofence)
    store.revision = this.revision
    this.#schedule(dueAt(geofence))
    return geofence
  }

  /** Whether it was there. */
  deleteGeofence(scope: ScopeId, id: string): boolean {
    const store = this.scope(scope)
    const geofence = store.geofence(id)
    if (geofence === undefined) return false
    this.#database.write(() => this.#statements.remove.run(id))
    store.remove(geofence)
    store.revision = this.revision
    return true
  }

  /** Changes the named settings; the rest stay. */
  updateSettings(scope: ScopeId, change: Partial<Settings>): Settings {
    const store = this.scope(scope)
    if (Object.keys(change).length === 0) return store.settings
    const settings: Settings = { ...store.settings, ...change }
    this.#database.write(() => this.#statements.putSettings.run(scope, JSON.stringify(settings)))
    store.settings = settings
    store.revision = this.revision
    return settings
  }

  /**
   * Writes down what `disableAfter` and `deleteAfter` have brought about by now, in one transaction. It runs by itself
   * when something is due.
   */
  sweep(): void {
    const now = this.#clock.now()
    if (now < this.#nextDue) return
    const due: { store: ScopeStore; before: GeofenceProperties; after: Geofence | undefined }[] = []
    let next = Infinity
    for (const store of this.#scopes.values()) {
      for (const before of store.dated()) {
        const date = dueAt(before) ?? Infinity
        if (date > now) {
          next = Math.min(next, date)
          continue
        }
        const after = asOf(before, now)
        due.push({ store, before, after: after && store.withShape({ ...after, updatedAt: now }) })
        next = Math.min(next, after?.deleteAfter ?? Infinity)
      }
    }
    if (due.length > 0) {
      this.#database.write(() => {
        for (const { before, after } of due) {
          if (after === undefined) this.#statements.remove.run(before.id)
          else this.#statements.put.run(toRow(after))
        }
      })
      for (const { store, before, after } of due) {
        if (after === undefined) store.remove(before)
        else store.put(after)
        store.revision = this.revision
      }
    }
    this.#nextDue = next
    this.#arm()
  }

  /** See {@link RegistryDatabase.freeze}. */
  freeze(): () => void {
    return this.#database.freeze()
  }

  close(): void {
    clearTimeout(this.#timer)
    // Not there where the opening failed.
    ;(this.projects as Projects | undefined)?.close()
    this.#database.close()
  }

  #build(scope: ScopeId, definition: GeofenceDefinition, id: string, createdAt: number): Geofence {
    const timeZone = timeZoneOf(definition.shape)
    const now = this.#clock.now()
    const geofence = { ...definition, id, scope, timeZone, createdAt, updatedAt: Math.max(now, createdAt) }
    // One that comes with its disableAfter behind it starts disabled; deleteAfter is left to the sweep.
    return geofence.enabled && geofence.disableAfter !== undefined && now >= geofence.disableAfter
      ? { ...geofence, enabled: false }
      : geofence
  }

  #load(): void {
    const { counts, geofences, settings } = this.#statements
    this.#database.readAll(() => {
      for (const { scope, count } of counts.all() as { scope: ScopeId; count: number }[]) {
        this.scope(scope).expect(count)
      }
      for (const row of geofences.iterate() as Iterable<GeofenceRow>)
        this.scope(row.scope).put(this.#decode(row))
      this.beacons.load()
      for (const row of settings.all() as { scope: ScopeId; definition: string }[]) {
        this.scope(row.scope).settings = { ...DEFAULT_SETTINGS, ...JSON.parse(row.definition) }
      }
    })
  }

  #decode(row: GeofenceRow): Geofence {
    try {
      return fromRow(row)
    } catch (error) {
      throw new RegistryDamaged(this.#database.file, `geofence ${row.id} cannot be read.`, error)
    }
  }

  #schedule(due: number | undefined): void {
    if (due === undefined || due >= this.#nextDue) return
    this.#nextDue = due
    this.#arm()
  }

  #arm(): void {
    clearTimeout(this.#timer)
    if (this.#nextDue !== Infinity) this.#sleep(this.#nextDue - this.#clock.now())
  }

  #sleep(milliseconds: number): void {
    this.#timer = setTimeout(() => this.#wake(), Math.min(Math.max(milliseconds, 1), MAX_SLEEP_MS))
    this.#timer.unref()
  }

  #wake(): void {
    try {
      this.sweep()
      this.#arm()
    } catch (error) {
      this.#onSweepFailure(error)
      this.#sleep(MAX_SLEEP_MS)
    }
  }
}

type Statements = ReturnType<typeof prepareStatements>

function prepareStatements(database: RegistryDatabase) {
  return {
    counts: database.prepare('SELECT scope, count(*) AS count FROM geofences GROUP BY scope'),
    // Rows were inserted in the order of createdAt; by rowid they come without being sorted.
    geofences: database.prepare('SELECT * FROM geofences ORDER BY rowid'),
    settings: database.prepare('SELECT scope, definition FROM settings'),
    put: database.prepare(
      `INSERT INTO geofences (id, scope, tag, externalId, createdAt, updatedAt, definition)
       VALUES (@id, @scope, @tag, @externalId, @createdAt, @updatedAt, @definition)
       ON CONFLICT (id) DO UPDATE SET
         tag = excluded.tag, externalId = excluded.externalId, updatedAt = excluded.updatedAt,
         definition = excluded.definition`,
    ),
    remove: database.prepare('DELETE FROM geofences WHERE id = ?'),
    putSettings: database.prepare(
      'INSERT INTO settings VALUES (?, ?) ON CONFLICT (scope) DO UPDATE SET definition = excluded.definition',
    ),
  }
}

/** IANA zone of a shape's centre. */
function timeZoneOf(shape: Shape): string {
  const [longitude, latitude] = shapeCenter(shape)
  return tzLookup(latitude, longitude)
}

/**
 * Opens or creates the registry of a data folder.
 * @throws {RegistryLocked} {@link RegistryDamaged} {@link RegistryTooNew}
 */
export function openRegistry(options: RegistryOptions): Registry {
  return new Registry(options)
}
