import Type from 'typebox'
import type { ScopeId } from '../../model/scope.ts'
import { DEFAULT_SETTINGS, type Settings } from '../../model/settings.ts'
import { ownTurn } from '../../runtime/slices.ts'
import { numbered } from './segmentSettings.ts'
import { ID_COLUMNS } from '../records/recordRows.ts'
import type { RegistryDatabase } from '../store/database.ts'
import type { EditLog } from '../store/editLog.ts'
import type { RegistryReplica } from '../store/replica.ts'
import type { RowKind } from '../store/rowKind.ts'

/** A scope's settings as a row. */
interface SettingsRow {
  readonly scope: ScopeId
  readonly definition: string
}

/** The rows of settings. */
export const SETTINGS_ROWS: RowKind = {
  name: 'settings',
  columns: ['scope', 'definition'],
  key: ['scope'],
  json: ['definition'],
  schema: Type.Object({ scope: ID_COLUMNS.scope, definition: Type.Object({}) }),
}

/** The memory with the settings of a scope. */
export interface SettingsStore {
  settings: Settings
  revision: number
}

/** The settings of all scopes. */
export class SettingsRegistry {
  readonly #database: RegistryDatabase
  readonly #edits: EditLog
  readonly #store: (scope: ScopeId) => SettingsStore

  constructor(replica: RegistryReplica, edits: EditLog, store: (scope: ScopeId) => SettingsStore) {
    this.#database = replica.database
    this.#edits = edits
    this.#store = store
    const put = (scope: ScopeId, settings: Settings, revision: number): void => {
      const kept = store(scope)
      kept.settings = settings
      kept.revision = revision
    }
    replica.keep<SettingsRow, { scope: ScopeId; settings: Settings }>('settings', {
      recordOf: (row) => ({ scope: row.scope, settings: settingsOf(row) }),
      put: ({ scope, settings }, revision) => put(scope, settings, revision),
      remove: (key, revision) => put(Number(key), DEFAULT_SETTINGS, revision),
    })
  }

  /** Fills the memory from the file, once. */
  load(): void {
    const all = this.#database.prepare('SELECT scope, definition FROM settings')
    for (const row of all.all() as SettingsRow[]) this.#store(row.scope).settings = settingsOf(row)
  }

  of(scope: ScopeId): Settings {
    return this.#store(scope).settings
  }

  /** Makes an edit in a turn of its own; see {@link EditLog}. Edits are made in the order of the calls. */
  async edit<T>(work: () => T): Promise<T> {
    await ownTurn()
    return this.#edits.edit(work)
  }

  /** Changes the named settings. All others stay. */
  update(scope: ScopeId, change: Partial<Settings>): Settings {
    const before = this.of(scope)
    if (Object.keys(change).length === 0) return before
    const segments = change.segments && numbered(change.segments, before)
    const settings: Settings = { ...before, ...change, ...segments }
    const row: SettingsRow = { scope, definition: JSON.stringify(settings) }
    this.#edits.commit([{ kind: 'settings', key: `${scope}`, row, record: { scope, settings } }])
    return settings
  }
}

function settingsOf({ definition }: SettingsRow): Settings {
  return { ...DEFAULT_SETTINGS, ...JSON.parse(definition) }
}
