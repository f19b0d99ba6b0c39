import tzLookup from '@photostructure/tz-lookup'
import { shapeCenter } from '../geometry/shape.ts'
import type { Geofence, GeofenceProperties, Shape } from '../model/geofence.ts'
import type { ScopeId } from '../model/scope.ts'
import type { Settings } from '../model/settings.ts'
import { DEFAULT_SETTINGS } from '../model/settings.ts'
import type { Clock } from '../runtime/clock.ts'
import type { GeofenceIndex } from '../spatial/port.ts'
import { BeaconRegistry } from './beaconRegistry.ts'
import { RegistryDamaged, RegistryDatabase, RegistryElsewhere } from './store/database.ts'
import { MAX_CHANGES, type Change, type EditLog } from './store/editLog.ts'
import type { GeofenceDefinition, GeofenceRow } from './geofences/geofenceRow.ts'
import { fromRow, toRow } from './geofences/geofenceRow.ts'
import { asOf, dueAt } from '../model/geofence.ts'
import { RegistryImage } from './store/image.ts'
import { ImportHistory } from './store/importHistory.ts'
import { isSameIsochrone, settled, withKnownArea, type IsochroneOutcome } from './geofences/isochrone.ts'
import type { KeySet } from './projects/keys.ts'
import { Keys } from './projects/keys.ts'
import { LocalEdits } from './store/localEdits.ts'
import type { RegistryView } from '../rules/port.ts'
import { Projects } from './projects/projects.ts'
import type { Part } from './records/recordList.ts'
import { ScopeStore } from './scopeStore.ts'
import type { UsageSums } from './projects/sharedUsage.ts'
import { WebhookRegistry } from './webhooks/webhookRegistry.ts'

/** The pair is taken by another geofence of the scope. */
export class GeofenceExists extends Error {
  override name = 'GeofenceExists'
  readonly geofence: GeofenceProperties

  constructor(geofence: GeofenceProperties) {
    super(`A geofence with tag ${geofence.tag} and externalId ${geofence.externalId} already exists.`)
    this.geofence = geofence
  }
}

/** What a registry lives with. */
export interface RegistrySurroundings {
  readonly clock: Clock
  /** An empty geofence index for one scope. */
  readonly createIndex: () => GeofenceIndex
  /**
   * Told when a due date, or the projects' counts of requests, could not be written down; it is tried again. Reads follow
   * the dates regardless.
   */
  readonly onSweepFailure?: (error: unknown) => void
  /** Where other processes count requests too. */
  readonly usage?: UsageSums
  /** Told of a start, now and then, how many of the geofences it has read. */
  readonly onProgress?: (read: number, total: number) => void
}

export interface RegistryOptions extends RegistrySurroundings {
  /** The data folder; created when absent. */
  readonly folder: string
  /** Keys of a first project, made where there is none yet; absent: see {@link Registry.createFirstProject}. */
  readonly firstKeys?: KeySet | undefined
}

/** A scope's settings as a row of the table `settings`. */
interface SettingsRow {
  readonly scope: ScopeId
  readonly definition: string
}

/** Geofences that are read between two words about it. */
const PROGRESS_ROWS = 1000
/** The longest sleep between two looks at the due dates: bounds the effect of a machine clock that jumps. */
const MAX_SLEEP_MS = 60_000

/**
 * Geofences, beacons, settings, projects, keys and webhooks of all scopes.
 *
 * Owns: what an edit may do, and the image in memory, from which everything is read. Does not own: how an edit becomes durable
 * and comes into the image ({@link EditLog}), what is evaluated with it, and who may change it.
 *
 * Invariants
 * - REGISTRY-1: A method that changes something is called within {@link edit}. Where the registry belongs to this
 *   process alone it may also be called directly, and the change is then complete when it returns.
 * - REGISTRY-2: Dates act by themselves: reads follow the clock, and the sweep writes the changes down as changes of
 *   their own.
 */
export class Registry implements RegistryView {
  readonly keys: Keys
  readonly projects: Projects
  readonly beacons: BeaconRegistry
  readonly imports: ImportHistory
  readonly webhooks: WebhookRegistry
  readonly #image: RegistryImage
  readonly #database: RegistryDatabase
  readonly #edits: EditLog
  readonly #clock: Clock
  readonly #createIndex: () => GeofenceIndex
  readonly #onSweepFailure: (error: unknown) => void
  readonly #scopes = new Map<ScopeId, ScopeStore>()
  /** When a date next does something; 0 until the first sweep has looked. */
  #nextDue = 0
  #timer: NodeJS.Timeout | undefined
  #onIsochrone: (geofence: GeofenceProperties) => void = () => {}

  /** @param image whose rows are what they should be; of memory there is nothing in it yet */
  constructor(image: RegistryImage, edits: EditLog, surroundings: RegistrySurroundings) {
    this.#image = image
    this.#database = image.database
    this.#edits = edits
    this.#clock = surroundings.clock
    this.#createIndex = surroundings.createIndex
    this.#onSweepFailure = surroundings.onSweepFailure ?? (() => {})
    this.#keepGeofences(image)
    this.#keepSettings(image)
    this.keys = new Keys(image, edits, this.#clock)
    this.projects = new Projects(image, edits, this.#clock, this.#onSweepFailure, surroundings.usage)
    try {
      this.beacons = new BeaconRegistry(image, edits, this.#clock, (scope) => this.scope(scope))
      this.imports = new ImportHistory(image, edits, this.#clock)
      this.webhooks = new WebhookRegistry(image, edits, this.#clock)
      this.#load(surroundings.onProgress ?? (() => {}))
    } catch (error) {
      this.close()
      throw error
    }
  }

  get revision(): number {
    return this.#database.revision
  }

  /** See {@link EditLog}. */
  edit<T>(work: () => T): Promise<T> {
    return this.#edits.edit(work)
  }

  /** Whether edits can be made. */
  get health(): EditLog['health'] {
    return this.#edits.health
  }

  /** Of the log that it follows, entries that nobody could read, by name, and why. They count as not there. */
  get unreadable(): ReadonlyMap<string, string> {
    return this.#image.unreadable.all
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
    const drafts = this.scope(scope).records.draft(
      definitions,
      this.#clock.now(),
      this.#edits.isShared,
      (definition, id, createdAt) => this.#build(scope, definition, id, createdAt),
    )
    const outcomes = drafts.map(({ record, created }) => ({ geofence: record, created }))
    const changes = outcomes.map(({ geofence }) => putOf(geofence))
    this.#edits.commit(part === undefined ? changes : [...changes, ...part.alongside(outcomes)])
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
    this.#edits.commit([putOf(geofence)])
    return geofence
  }

  /** Called with each isochrone that is put, from now on. */
  set onIsochrone(told: (geofence: GeofenceProperties) => void) {
    this.#onIsochrone = told
  }

  /** The isochrones of all scopes, as they are written down. */
  *isochrones(): Generator<GeofenceProperties> {
    for (const store of this.#scopes.values()) yield* store.isochrones()
  }

  /**
   * Notes what came of computing isochrones: of each its area, or why there is none, in which case it keeps the one that it has.
   * Nothing of those that were edited or deleted meanwhile.
   * @param outcomes of different geofences, of {@link MAX_CHANGES} at most
   */
  settleIsochrones(
    outcomes: readonly (readonly [before: GeofenceProperties, outcome: IsochroneOutcome])[],
  ): void {
    const changes: Change[] = []
    for (const [before, outcome] of outcomes) {
      const store = this.scope(before.scope)
      const geofence = store.records.get(before.id)
      if (geofence === undefined || !isSameIsochrone(geofence, before)) continue
      changes.push(putOf(settled(store.withShape(geofence), outcome, this.#clock.now())))
    }
    // Once: an edit that commits twice runs again, and finds the first of them as it was.
    if (changes.length > 0) this.#edits.commit(changes)
  }

  /** Whether it was there. */
  deleteGeofence(scope: ScopeId, id: string): boolean {
    if (this.scope(scope).geofence(id) === undefined) return false
    this.#edits.commit([removalOf(scope, id)])
    return true
  }

  /** Changes the named settings; the rest stay. */
  updateSettings(scope: ScopeId, change: Partial<Settings>): Settings {
    const store = this.scope(scope)
    if (Object.keys(change).length === 0) return store.settings
    const settings: Settings = { ...store.settings, ...change }
    const row: SettingsRow = { scope, definition: JSON.stringify(settings) }
    this.#edits.commit([{ kind: 'settings', key: `${scope}`, row, record: { scope, settings } }])
    return settings
  }

  /** Writes down what `disableAfter` and `deleteAfter` have brought about by now. It runs by itself when something is due. */
  sweep(): void {
    if (this.#clock.now() < this.#nextDue) return
    for (;;) {
      const { changes, next } = this.#dueChanges()
      if (changes.length === 0) {
        this.#nextDue = next
        return this.#arm()
      }
      const { revision } = this
      this.#edits.commit(changes)
      // In an edit that is yet to be made the dates are still due; it runs again.
      if (this.revision === revision) return
    }
  }

  /** See {@link RegistryDatabase.freeze}. */
  freeze(): () => void {
    return this.#database.freeze()
  }

  /** As {@link close}, once other processes know of the requests that were counted here, where that can be. */
  async stop(): Promise<void> {
    await this.projects.exchange()
    this.close()
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#edits.close()
    this.projects.close()
    this.#database.close()
  }

  #build(scope: ScopeId, wanted: GeofenceDefinition, id: string, createdAt: number): Geofence {
    const store = this.scope(scope)
    const before = store.records.get(id)
    const definition =
      before?.isochrone === undefined ? wanted : withKnownArea(wanted, store.withShape(before))
    const timeZone = timeZoneOf(definition.shape)
    const now = this.#clock.now()
    const geofence = { ...definition, id, scope, timeZone, createdAt, updatedAt: Math.max(now, createdAt) }
    // One that comes with its disableAfter behind it starts disabled; deleteAfter is left to the sweep.
    return geofence.enabled && geofence.disableAfter !== undefined && now >= geofence.disableAfter
      ? { ...geofence, enabled: false }
      : geofence
  }

  #load(onProgress: (read: number, total: number) => void): void {
    const order = this.#database.orderOfCreation
    const counts = this.#database.prepare('SELECT scope, count(*) AS count FROM geofences GROUP BY scope')
    // By rowid, where they lie in the order of creation, they come without being sorted.
    const geofences = this.#database.prepare(`SELECT * FROM geofences ORDER BY ${order}`)
    const settings = this.#database.prepare('SELECT scope, definition FROM settings')
    this.#database.readAll(() => {
      let total = 0
      for (const { scope, count } of counts.all() as { scope: ScopeId; count: number }[]) {
        this.scope(scope).expect(count)
        total += count
      }
      let read = 0
      for (const row of geofences.iterate() as Iterable<GeofenceRow>) {
        this.scope(row.scope).put(this.#decode(row))
        if (++read % PROGRESS_ROWS === 0) onProgress(read, total)
      }
      this.beacons.load()
      for (const row of settings.all() as SettingsRow[]) {
        this.scope(row.scope).settings = settingsOf(row)
      }
    })
  }

  #keepGeofences(image: RegistryImage): void {
    image.keep<GeofenceRow, Geofence>('geofences', {
      recordOf: fromRow,
      put: (geofence, revision) => {
        const store = this.scope(geofence.scope)
        store.put(geofence)
        store.revision = revision
        this.#schedule(dueAt(geofence))
        if (geofence.isochrone !== undefined) this.#onIsochrone(geofence)
      },
      remove: (key, revision) => {
        const [scope, id] = partsOf(key)
        const store = this.scope(scope)
        store.remove({ id })
        store.revision = revision
      },
      parked: (key) => {
        const [scope, id] = partsOf(key)
        const store = this.scope(scope)
        const geofence = store.records.get(id)
        return geofence && putOf({ ...store.withShape(geofence), tag: id, externalId: id })
      },
    })
  }

  #keepSettings(image: RegistryImage): void {
    const put = (scope: ScopeId, settings: Settings, revision: number): void => {
      const store = this.scope(scope)
      store.settings = settings
      store.revision = revision
    }
    image.keep<SettingsRow, { scope: ScopeId; settings: Settings }>('settings', {
      recordOf: (row) => ({ scope: row.scope, settings: settingsOf(row) }),
      put: ({ scope, settings }, revision) => put(scope, settings, revision),
      remove: (key, revision) => put(Number(key), DEFAULT_SETTINGS, revision),
    })
  }

  /** What dates have brought about that is not written down, or the first of it; and when there will be more. */
  #dueChanges(): { changes: Change[]; next: number } {
    const now = this.#clock.now()
    const changes: Change[] = []
    let next = Infinity
    for (const [scope, store] of this.#scopes) {
      for (const before of store.dated()) {
        const date = dueAt(before) ?? Infinity
        if (date > now) {
          next = Math.min(next, date)
          continue
        }
        const after = asOf(before, now)
        changes.push(
          after === undefined
            ? removalOf(scope, before.id)
            : putOf(store.withShape({ ...after, updatedAt: now })),
        )
        if (changes.length === MAX_CHANGES) return { changes, next: now }
      }
    }
    return { changes, next }
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
    this.#timer = setTimeout(() => this.sweepWhenDue(), Math.min(Math.max(milliseconds, 1), MAX_SLEEP_MS))
    this.#timer.unref()
  }

  /** Sweeps now, and from then on whenever something is due. */
  sweepWhenDue(): void {
    this.edit(() => this.sweep()).then(
      () => this.#arm(),
      (error) => {
        this.#onSweepFailure(error)
        this.#sleep(MAX_SLEEP_MS)
      },
    )
  }
}

function putOf(geofence: Geofence): Change {
  return {
    kind: 'geofences',
    key: `${geofence.scope}.${geofence.id}`,
    row: toRow(geofence),
    record: geofence,
  }
}

function removalOf(scope: ScopeId, id: string): Change {
  return { kind: 'geofences', key: `${scope}.${id}`, row: undefined }
}

/** Of the key of a geofence. */
function partsOf(key: string): [scope: ScopeId, id: string] {
  const dot = key.indexOf('.')
  return [Number(key.slice(0, dot)), key.slice(dot + 1)]
}

function settingsOf({ definition }: SettingsRow): Settings {
  return { ...DEFAULT_SETTINGS, ...JSON.parse(definition) }
}

/** IANA zone of a shape's centre. */
function timeZoneOf(shape: Shape): string {
  const [longitude, latitude] = shapeCenter(shape)
  return tzLookup(latitude, longitude)
}

/**
 * Opens or creates the registry of a data folder, this process's own.
 * @throws {RegistryLocked} {@link RegistryDamaged} {@link RegistryTooNew} {@link RegistryElsewhere}
 */
export function openRegistry(options: RegistryOptions): Registry {
  const database = new RegistryDatabase(options.folder)
  let registry: Registry | undefined
  try {
    if (database.origin !== undefined) throw new RegistryElsewhere(database.file)
    const image = new RegistryImage(database)
    registry = new Registry(image, new LocalEdits(image), options)
    if (options.firstKeys !== undefined) registry.createFirstProject(options.firstKeys)
    registry.sweep()
    return registry
  } catch (error) {
    if (registry === undefined) database.close()
    else registry.close()
    throw error
  }
}
