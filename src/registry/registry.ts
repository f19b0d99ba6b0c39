import { ACCOUNT_ROWS } from './people/rows.ts'
import { People } from './people/people.ts'
import type { ScopeId } from '../model/scope.ts'
import { CachedOffsets } from '../model/zoneOffsets.ts'
import type { Atlas } from '../rules/atlas.ts'
import type { RegistryView } from '../rules/port.ts'
import type { Clock } from '../runtime/clock.ts'
import type { GeofenceIndex } from '../spatial/port.ts'
import { SharedTexts } from '../spatial/sharedTexts.ts'
import { Audit } from './audit/audit.ts'
import { AuditedEdits } from './audit/auditedEdits.ts'
import { AUDIT_ROWS } from './audit/auditRows.ts'
import { auditedKinds } from './auditedKinds.ts'
import { BEACONS, type Beacons } from './beacons/beaconEntity.ts'
import { GEOFENCES } from './geofences/geofenceEntity.ts'
import { Geofences } from './geofences/geofences.ts'
import { HOOKS } from './hooks/hookEntity.ts'
import { HookRegistry } from './hooks/hookRegistry.ts'
import type { KeySet } from './projects/keys.ts'
import { Keys } from './projects/keys.ts'
import { PROJECT_ROWS } from './projects/projectRows.ts'
import { Projects } from './projects/projects.ts'
import type { UsageSums } from './projects/sharedUsage.ts'
import { NotificationRegistry } from './notifications/notificationRegistry.ts'
import { NOTIFICATION_ROWS } from './notifications/notificationRows.ts'
import { Collection } from './records/collection.ts'
import type { AnyEntity, Entity } from './records/entity.ts'
import type { Referenced } from './records/recordList.ts'
import type { ScopedRecord } from './records/recordRows.ts'
import { ScopeStore } from './scopeStore.ts'
import { SETTINGS_ROWS, SettingsRegistry } from './settings/settingsRegistry.ts'
import { RegistryDatabase, RegistryElsewhere } from './store/database.ts'
import type { EditLog } from './store/editLog.ts'
import { RegistryReplica } from './store/replica.ts'
import { LocalEdits } from './store/localEdits.ts'
import type { RowKind } from './store/rowKind.ts'
import { SyncRegistry } from './sync/syncRegistry.ts'
import { SYNC_ROWS } from './sync/syncRows.ts'
import { IMPORT_ROWS, ImportHistory } from './transfer/importHistory.ts'
import { TRIP_ROWS, TripDirectory } from './trips/tripDirectory.ts'
import { WEBHOOKS, WebhookRegistry } from './webhooks/webhookRegistry.ts'

/**
 * The kinds of rows of a registry, in an order in which each kind refers only to kinds before it.
 * @param collections see {@link RegistrySurroundings.collections}
 */
export function registryRows(collections: readonly AnyEntity[] = []): RowKind[] {
  return [
    ...PROJECT_ROWS,
    ...ACCOUNT_ROWS,
    AUDIT_ROWS,
    SETTINGS_ROWS,
    GEOFENCES.rows,
    BEACONS.rows,
    WEBHOOKS.rows,
    HOOKS.rows,
    ...collections.map(({ rows }) => rows),
    IMPORT_ROWS,
    TRIP_ROWS,
    ...SYNC_ROWS,
    NOTIFICATION_ROWS,
  ]
}

/** The surroundings of a registry. */
export interface RegistrySurroundings {
  readonly clock: Clock
  /**
   * Creates an empty geofence index for one scope.
   * @param texts those of all scopes of the registry
   */
  readonly createIndex: (texts: SharedTexts) => GeofenceIndex
  /** What the engine knows about the world. If absent, it knows nothing. */
  readonly atlas?: Atlas | undefined
  /**
   * Called when counts of requests, or the times of sessions' last uses, could not be stored. Another attempt follows.
   */
  readonly onUsageFailure?: (error: unknown) => void
  /** The sums of requests, if other processes count requests, too. */
  readonly usage?: UsageSums
  /** Collections besides the registry's own kinds; {@link Registry.collection} has their records. */
  readonly collections?: readonly AnyEntity[]
  /** Called from time to time during a start with the number of geofences that were read. */
  readonly onProgress?: (read: number, total: number) => void
}

export interface RegistryOptions extends RegistrySurroundings {
  /** The path of the data folder, which is created if it does not exist. */
  readonly folder: string
  /**
   * The keys of a first project, which is created if there is none. If absent, see
   * {@link Registry.createFirstProject}.
   */
  readonly firstKeys?: KeySet | undefined
}

/**
 * Geofences, beacons, settings, projects, keys, people, webhooks, hooks, the names of trips, syncs and waiting e-mails
 * of all scopes.
 *
 * Owns: what an edit may do, and the replica in memory, from which everything is read. Does not own: how an edit
 * becomes durable and comes into the replica ({@link EditLog}), what is evaluated with it, and who may change it.
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
  readonly people: People
  readonly audit: Audit
  readonly settings: SettingsRegistry
  readonly geofences: Geofences
  readonly beacons: Beacons
  readonly imports: ImportHistory
  readonly webhooks: WebhookRegistry
  readonly hooks: HookRegistry
  readonly trips: TripDirectory
  readonly syncs: SyncRegistry
  readonly notifications: NotificationRegistry
  readonly #replica: RegistryReplica
  readonly #database: RegistryDatabase
  readonly #edits: EditLog
  readonly #clock: Clock
  readonly #createIndex: (texts: SharedTexts) => GeofenceIndex
  readonly #texts = new SharedTexts()
  readonly #zones = new CachedOffsets()
  readonly #atlas: Atlas | undefined
  readonly #scopes = new Map<ScopeId, ScopeStore>()
  readonly #collections: ReadonlyMap<AnyEntity, Collection<Referenced, ScopedRecord>>

  /**
   * Takes over a replica.
   * @param replica has complete rows, and nothing in memory yet
   */
  constructor(replica: RegistryReplica, log: EditLog, surroundings: RegistrySurroundings) {
    const { clock, createIndex, collections = [], onUsageFailure = () => {}, onProgress } = surroundings
    const edits = new AuditedEdits(log, replica, auditedKinds(replica), clock)
    this.audit = new Audit(replica, edits, clock)
    this.#replica = replica
    this.#database = replica.database
    this.#edits = edits
    this.#clock = clock
    this.#createIndex = createIndex
    this.#atlas = surroundings.atlas
    const changed = (scope: ScopeId, revision: number): void => {
      this.scope(scope).revision = revision
    }
    const parts = { replica, edits, clock }
    this.settings = new SettingsRegistry(replica, edits, (scope) => this.scope(scope))
    this.geofences = new Geofences({
      ...parts,
      changed,
      store: (scope) => this.scope(scope).geofences,
      scopes: () => this.#scopes.keys(),
      texts: this.#texts,
    })
    this.beacons = new Collection(BEACONS, { ...parts, changed, store: (scope) => this.scope(scope).beacons })
    this.webhooks = new WebhookRegistry(parts)
    this.hooks = new HookRegistry({ ...parts, changed: () => this.hooks.follower?.changed() })
    this.trips = new TripDirectory(replica, edits, clock, (scope) => this.scope(scope).trips)
    this.#collections = new Map(collections.map((entity) => [entity, new Collection(entity, parts)]))
    this.keys = new Keys(replica, edits, clock)
    this.projects = new Projects(replica, edits, clock, onUsageFailure, surroundings.usage)
    this.people = new People({ replica, edits, clock, keys: this.keys, troubled: onUsageFailure })
    try {
      this.imports = new ImportHistory(replica, edits, clock)
      this.syncs = new SyncRegistry(replica, edits, clock)
      this.notifications = new NotificationRegistry(replica, edits, clock)
      this.geofences.alongsideDate = (before, updatedAt) => this.syncs.dateChange(before, updatedAt)
      this.#database.readAll(() => {
        this.people.load()
        this.geofences.load(onProgress)
        const more = [this.syncs, this.notifications, ...this.#collections.values()]
        for (const kind of [this.beacons, this.webhooks, this.hooks, this.settings, this.trips, ...more])
          kind.load()
      })
    } catch (error) {
      this.close()
      throw error
    }
  }

  get revision(): number {
    return this.#database.revision
  }

  /** Makes an edit; see {@link EditLog}. It waits until what dates have made due is stored. */
  async edit<T>(work: () => T): Promise<T> {
    await this.geofences.storeDue()
    return this.#edits.edit(work)
  }

  /** Whether edits can be made. */
  get health(): EditLog['health'] {
    return this.#edits.health
  }

  /** Entries of the log that could not be read, by name, with the reason. They count as absent. */
  get unreadable(): ReadonlyMap<string, string> {
    return this.#replica.unreadable.all
  }

  /**
   * Creates the first project if there is none, and returns its keys; undefined if there is one. Generated keys can
   * be shown only now, so a start calls this when it can no longer fail.
   */
  createFirstProject(keys?: KeySet): KeySet | undefined {
    return this.keys.projects().length > 0 ? undefined : this.keys.createProject('default', keys).keys
  }

  scope(scope: ScopeId): ScopeStore {
    let store = this.#scopes.get(scope)
    if (store === undefined) {
      const index = this.#createIndex(this.#texts)
      store = new ScopeStore(index, this.#clock, this.revision, this.#atlas, this.#zones)
      this.#scopes.set(scope, store)
    }
    return store
  }

  /** The scopes that are in memory. */
  get scopes(): Iterable<ScopeId> {
    return this.#scopes.keys()
  }

  /** The records of one of {@link RegistrySurroundings.collections}. */
  collection<D extends Referenced, R extends ScopedRecord>(entity: Entity<D, R>): Collection<D, R> {
    return this.#collections.get(entity as AnyEntity) as unknown as Collection<D, R>
  }

  /** Keeps the file unchanged; see {@link RegistryDatabase.freeze}. */
  freeze(): () => void {
    return this.#database.freeze()
  }

  /**
   * Does the same as {@link close}, after telling other processes about the requests that were counted here, if
   * possible.
   */
  async stop(): Promise<void> {
    await this.projects.exchange()
    this.close()
  }

  close(): void {
    this.#edits.close()
    this.projects.close()
    this.#database.close()
  }
}

/**
 * Opens or creates the registry of a data folder, for this process alone.
 * @throws {RegistryLocked} {@link RegistryDamaged} {@link RegistryTooNew} {@link RegistryElsewhere}
 */
export function openRegistry(options: RegistryOptions): Registry {
  const database = new RegistryDatabase(options.folder)
  let registry: Registry | undefined
  try {
    if (database.origin !== undefined) throw new RegistryElsewhere(database.file)
    const replica = new RegistryReplica(database, registryRows(options.collections))
    registry = new Registry(replica, new LocalEdits(replica), options)
    if (options.firstKeys !== undefined) registry.createFirstProject(options.firstKeys)
    registry.geofences.sweep()
    return registry
  } catch (error) {
    if (registry === undefined) database.close()
    else registry.close()
    throw error
  }
}
