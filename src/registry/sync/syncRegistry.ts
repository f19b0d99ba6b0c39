import type { ScopeId } from '../../model/scope.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { RegistryDatabase } from '../store/database.ts'
import type { Change, EditLog } from '../store/editLog.ts'
import type { RegistryReplica } from '../store/replica.ts'
import type {
  MarkRow,
  RunRow,
  SettingsRow,
  SourceRow,
  SourceState,
  SyncMark,
  SyncRefusal,
  SyncRun,
  SyncSettings,
} from './syncRows.ts'

/** How many runs are remembered for each scope. */
const MAX_RUNS = 400

/** Another process does the run now, or the run has ended, so its changes must not be written. */
export class RunLost extends Error {
  override readonly name = 'RunLost'
}

/** A run is under way in the scope. */
export class RunUnderWay extends Error {
  override readonly name = 'RunUnderWay'
  readonly id: string

  constructor(id: string) {
    super(`The run ${id} is under way.`)
    this.id = id
  }
}

/**
 * Settings, runs and marks of geofence syncs as rows of the registry.
 *
 * Owns: that a scope has one run at a time, that only its holder writes, what is remembered of sources and geofences.
 * Does not own: what a run does.
 *
 * Invariants
 * - SYNC-1: A scope has at most one run that is queued or running, because each is begun within an edit that sees the
 *   others.
 * - SYNC-2: A change of a running run is made by its holder alone: {@link held} checks it within the same edit.
 */
export class SyncRegistry {
  readonly #edits: EditLog
  readonly #clock: Clock
  readonly #statements: ReturnType<typeof prepareStatements>
  readonly #settings = new Map<ScopeId, SyncSettings>()
  /** The runs that are queued or running. */
  readonly #active = new Map<ScopeId, SyncRun>()
  /** Called after each change of settings or of the runs under way, from now on. */
  changed = (): void => {}

  constructor(replica: RegistryReplica, edits: EditLog, clock: Clock) {
    this.#edits = edits
    this.#clock = clock
    this.#statements = prepareStatements(replica.database)
    replica.keep<SettingsRow, { scope: ScopeId; settings: SyncSettings }>('syncSettings', {
      recordOf: (row) => ({ scope: row.scope, settings: JSON.parse(row.definition) }),
      put: ({ scope, settings }) => {
        this.#settings.set(scope, settings)
        this.changed()
      },
      remove: (key) => this.#settings.delete(Number(key)),
    })
    replica.keep<RunRow, SyncRun>('syncRuns', {
      recordOf: runOf,
      put: (run) => {
        if (isActive(run)) this.#active.set(run.scope, run)
        else this.#forget(run.scope, run.id)
        this.changed()
      },
      remove: (key) => {
        const [scope, id] = key.split('.') as [string, string]
        this.#forget(Number(scope), id)
      },
    })
  }

  /** Fills the memory from the file, once. */
  load(): void {
    for (const row of this.#statements.settings.all() as SettingsRow[])
      this.#settings.set(row.scope, JSON.parse(row.definition))
    for (const row of this.#statements.activeRuns.all() as RunRow[]) this.#active.set(row.scope, runOf(row))
  }

  /** Does what {@link EditLog} describes. */
  edit<T>(work: () => T): Promise<T> {
    return this.#edits.edit(work)
  }

  /** Does what {@link EditLog} describes. */
  get isShared(): boolean {
    return this.#edits.isShared
  }

  settings(scope: ScopeId): SyncSettings | undefined {
    return this.#settings.get(scope)
  }

  /** The scopes that have settings. */
  get scopes(): Iterable<[ScopeId, SyncSettings]> {
    return this.#settings.entries()
  }

  save(scope: ScopeId, settings: SyncSettings): void {
    const row: SettingsRow = { scope, definition: JSON.stringify(settings) }
    this.#edits.commit([{ kind: 'syncSettings', key: `${scope}`, row, record: { scope, settings } }])
  }

  /** The run of a scope that is queued or running. */
  active(scope: ScopeId): SyncRun | undefined {
    return this.#active.get(scope)
  }

  get allActive(): readonly SyncRun[] {
    return [...this.#active.values()]
  }

  /**
   * Queues a run, and forgets the oldest beyond {@link MAX_RUNS}. A run whose id exists is not queued again.
   * @param interrupted the run of the scope that was found without anybody who does it
   * @returns the run
   * @throws {RunUnderWay}
   */
  begin(begun: Omit<SyncRun, 'createdAt'>, interrupted?: SyncRun): SyncRun {
    const { scope } = begun
    const active = this.#active.get(scope)
    if (active !== undefined && active.id !== interrupted?.id) throw new RunUnderWay(active.id)
    const known = this.get(scope, begun.id)
    if (known !== undefined) return known.run
    const last = this.#statements.lastCreated.pluck().get(scope) as number | null
    const run: SyncRun = { ...begun, createdAt: Math.max(this.#clock.now(), (last ?? 0) + 1) }
    const beyond = this.#statements.beyond.pluck().all(scope, MAX_RUNS - 1) as string[]
    this.#edits.commit([
      ...beyond.map((id): Change => ({ kind: 'syncRuns', key: `${scope}.${id}`, row: undefined })),
      ...(interrupted === undefined ? [] : [changeOf(interrupted, [])]),
      changeOf(run, []),
    ])
    return run
  }

  /** The change that stores a run; its caller has checked that it may. */
  saved(run: SyncRun, errors: readonly SyncRefusal[] = []): Change {
    return changeOf(run, errors)
  }

  /** The change that notes whether the e-mail about a run was sent; none if the run is forgotten. */
  toldChange(scope: ScopeId, id: string, notification: NonNullable<SyncRun['notification']>): Change[] {
    const found = this.get(scope, id)
    return found === undefined ? [] : [changeOf({ ...found.run, notification }, found.errors)]
  }

  /** Writes a run. */
  store(run: SyncRun, errors: readonly SyncRefusal[] = []): void {
    this.#edits.commit([changeOf(run, errors)])
  }

  /** Within an edit. @throws {RunLost} unless the run is this holder's */
  held(run: SyncRun): SyncRun {
    const active = this.#active.get(run.scope)
    if (active?.id !== run.id || active.holder !== run.holder)
      throw new RunLost('Another process does the run.')
    return active
  }

  commit(changes: readonly Change[]): void {
    this.#edits.commit(changes)
  }

  has(scope: ScopeId, id: string): boolean {
    return this.#statements.has.get(scope, id) !== undefined
  }

  get(scope: ScopeId, id: string): { run: SyncRun; errors: readonly SyncRefusal[] } | undefined {
    const row = this.#statements.get.get(scope, id) as RunRow | undefined
    return row && { run: runOf(row), errors: JSON.parse(row.errors) }
  }

  /** The newest run. */
  last(scope: ScopeId): SyncRun | undefined {
    return this.list(scope, { limit: 1 }).runs[0]
  }

  /** Newest first; bounds are exclusive, epoch milliseconds. */
  list(
    scope: ScopeId,
    page: { limit: number; createdBefore?: number | undefined; createdAfter?: number | undefined },
  ): { runs: SyncRun[]; hasMore: boolean } {
    const { limit, createdBefore = Number.MAX_SAFE_INTEGER, createdAfter = -1 } = page
    const rows = this.#statements.list.all(scope, createdBefore, createdAfter, limit + 1) as RunRow[]
    return { runs: rows.slice(0, limit).map(runOf), hasMore: rows.length > limit }
  }

  sourceState(scope: ScopeId, source: string): SourceState | undefined {
    const row = this.#statements.source.get(scope, source) as SourceRow | undefined
    return row && JSON.parse(row.state)
  }

  /** @param state undefined: it was not taken whole */
  sourceChange(scope: ScopeId, source: string, state: SourceState | undefined): Change {
    const row: SourceRow | undefined = state && { scope, source, state: JSON.stringify(state) }
    return { kind: 'syncSources', key: `${scope}.${source}`, row }
  }

  mark(scope: ScopeId, id: string): SyncMark | undefined {
    const row = this.#statements.mark.get(scope, id) as MarkRow | undefined
    return row && markOf(row)
  }

  /** The marks of a scope after an id, in the order of ids. */
  marksAfter(scope: ScopeId, after: string, limit: number): SyncMark[] {
    return (this.#statements.marks.all(scope, after, limit) as MarkRow[]).map(markOf)
  }

  markChange({ scope, id, sources, updatedAt }: SyncMark): Change {
    const row: MarkRow = { scope, id, sources: JSON.stringify(sources), updatedAt }
    return { kind: 'syncMarks', key: `${scope}.${id}`, row }
  }

  /**
   * The change of the mark of a geofence whose own date acted: that is nobody's edit. None if somebody else wrote it
   * last.
   */
  dateChange(
    before: { readonly scope: ScopeId; readonly id: string; readonly updatedAt: number },
    updatedAt: number,
  ): Change[] {
    const mark = this.mark(before.scope, before.id)
    return mark?.updatedAt === before.updatedAt ? [this.markChange({ ...mark, updatedAt })] : []
  }

  unmarkChange(scope: ScopeId, id: string): Change {
    return { kind: 'syncMarks', key: `${scope}.${id}`, row: undefined }
  }

  #forget(scope: ScopeId, id: string): void {
    if (this.#active.get(scope)?.id === id) this.#active.delete(scope)
  }
}

function isActive({ status }: SyncRun): boolean {
  return status === 'queued' || status === 'running'
}

function runOf({ id, scope, createdAt, record }: RunRow): SyncRun {
  return { id, scope, createdAt, ...JSON.parse(record) }
}

function markOf({ scope, id, sources, updatedAt }: MarkRow): SyncMark {
  return { scope, id, sources: JSON.parse(sources), updatedAt }
}

function changeOf(run: SyncRun, errors: readonly SyncRefusal[]): Change {
  const { id, scope, createdAt, ...rest } = run
  const row: RunRow = { id, scope, createdAt, record: JSON.stringify(rest), errors: JSON.stringify(errors) }
  return { kind: 'syncRuns', key: `${scope}.${id}`, row }
}

function prepareStatements(database: RegistryDatabase) {
  const columns = 'id, scope, createdAt, record'
  return {
    settings: database.prepare('SELECT scope, definition FROM syncSettings'),
    activeRuns: database.prepare(
      `SELECT ${columns} FROM syncRuns WHERE json_extract(record, '$.status') IN ('queued', 'running')`,
    ),
    lastCreated: database.prepare('SELECT max(createdAt) FROM syncRuns WHERE scope = ?'),
    beyond: database.prepare(
      'SELECT id FROM syncRuns WHERE scope = ? ORDER BY createdAt DESC LIMIT -1 OFFSET ?',
    ),
    list: database.prepare(
      `SELECT ${columns} FROM syncRuns
       WHERE scope = ? AND createdAt < ? AND createdAt > ? ORDER BY createdAt DESC LIMIT ?`,
    ),
    get: database.prepare(`SELECT ${columns}, errors FROM syncRuns WHERE scope = ? AND id = ?`),
    has: database.prepare('SELECT 1 FROM syncRuns WHERE scope = ? AND id = ?'),
    source: database.prepare('SELECT state FROM syncSources WHERE scope = ? AND source = ?'),
    mark: database.prepare('SELECT scope, id, sources, updatedAt FROM syncMarks WHERE scope = ? AND id = ?'),
    marks: database.prepare(
      'SELECT scope, id, sources, updatedAt FROM syncMarks WHERE scope = ? AND id > ? ORDER BY id LIMIT ?',
    ),
  }
}
