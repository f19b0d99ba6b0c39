import Type from 'typebox'
import type { Position } from '../../model/geofence.ts'
import type { ScopeId } from '../../model/scope.ts'
import { ID_COLUMNS } from '../records/recordRows.ts'
import type { RowKind } from '../store/rowKind.ts'

/** How a sync of geofences is configured, as it is written down. */
export interface SyncSettings {
  readonly enabled: boolean
  readonly protocol: 'http' | 's3'
  /** Absent with the other protocol. The query of an address is a secret: here it is `…`. */
  readonly http?: {
    readonly urls: readonly string[]
    readonly username?: string
    readonly passwordSet: boolean
    /** Names alone; the values are secret. */
    readonly headers: readonly string[]
  }
  readonly s3?: {
    readonly region: string
    readonly bucket: string
    readonly keys: readonly string[]
    readonly accessKeyId: string
    readonly secretAccessKeySet: boolean
    readonly endpoint?: string
    readonly pathStyle: boolean
  }
  /** `HH:mm` */
  readonly time: string
  /** IANA name. */
  readonly timeZone: string
  readonly deleteMissing: boolean
  readonly maxDeleteShare: number
  readonly emails: readonly string[]
  readonly notify: 'always' | 'failures'
  /** Everything secret, encrypted. */
  readonly sealed: string
  /** When the times of nightly runs were last changed, epoch milliseconds: none is missed before. */
  readonly scheduledSince: number
}

export type SyncTrigger = 'nightly' | 'save' | 'manual'
export type SyncStatus =
  | 'queued'
  | 'running'
  | 'succeeded'
  | 'partial'
  | 'failed'
  | 'canceled'
  | 'interrupted'

/** What became of one source in a run. */
export interface SyncSource {
  /** The URL, its query as `…`; or bucket/key. */
  readonly name: string
  /** Absent until it is known. */
  status?: 'read' | 'unchanged' | 'failed'
  httpStatus?: number
  bytes?: number
  etag?: string
  attempts: number
  error?: { readonly code: string; readonly message: string }
  rows: number
  created: number
  updated: number
  unchanged: number
  repeated: number
  refused: number
}

/** What a dry run would do to one geofence, and its approximate location. */
export interface SyncChange {
  readonly change: 'created' | 'updated' | 'deleted'
  readonly tag: string
  readonly externalId: string
  readonly description: string
  /** Longitude, latitude. */
  readonly center: Position
  /** Metres: the circle contains the area. */
  readonly radius: number
}

/** One run, as it is written down. */
export interface SyncRun {
  /** 24 hex. */
  readonly id: string
  readonly scope: ScopeId
  /** Epoch milliseconds, distinct within the scope. */
  readonly createdAt: number
  readonly trigger: SyncTrigger
  /** The key or person who asked for it; absent: the schedule. */
  readonly by?: string
  readonly force: boolean
  readonly dryRun: boolean
  /** The run that was interrupted, and that this one repeats. */
  readonly repeats?: string
  status: SyncStatus
  startedAt?: number
  finishedAt?: number
  /** Whoever does it; anybody else's writes are refused. */
  holder?: string
  /** Somebody wants it to end. */
  isCanceled?: boolean
  /** Why nothing was done, if that has no source. */
  message?: string
  sources: SyncSource[]
  deleted: number
  deletionHeld?: { readonly count: number; readonly of: number }
  notification?: {
    readonly status: 'sent' | 'waiting' | 'failed' | 'off' | 'notConfigured'
    readonly error?: string
  }
  /** For a dry run that has ended: the first of the changes that it would make. */
  changes?: readonly SyncChange[]
  /** Refused rows beyond those that are kept. */
  moreErrors: number
}

/** A refused row. */
export interface SyncRefusal {
  readonly source: string
  readonly line: number
  readonly row: number
  readonly column?: string | undefined
  readonly message: string
  readonly value?: string | undefined
}

/** What is known of a source that was taken whole. */
export interface SourceState {
  readonly etag?: string
  readonly lastModified?: string
  /** The sha256 of the unpacked content, hex. */
  readonly sha256: string
}

/** A geofence that a run wrote. */
export interface SyncMark {
  readonly scope: ScopeId
  /** The id of the geofence. */
  readonly id: string
  /** Ids of the sources that named it. */
  readonly sources: readonly string[]
  /** `updatedAt` of the geofence as the run wrote it: a later one is somebody else's. */
  readonly updatedAt: number
}

export interface SettingsRow {
  readonly scope: ScopeId
  readonly definition: string
}
export interface SourceRow {
  readonly scope: ScopeId
  readonly source: string
  readonly state: string
}
export interface RunRow {
  readonly id: string
  readonly scope: ScopeId
  readonly createdAt: number
  readonly record: string
  readonly errors: string
}
export interface MarkRow {
  readonly scope: ScopeId
  readonly id: string
  readonly sources: string
  readonly updatedAt: number
}

const { scope, id } = ID_COLUMNS

/** The rows of geofence syncs. */
export const SYNC_ROWS: readonly RowKind[] = [
  {
    name: 'syncSettings',
    columns: ['scope', 'definition'],
    key: ['scope'],
    json: ['definition'],
    schema: Type.Object({
      scope,
      definition: Type.Object({ enabled: Type.Boolean(), protocol: Type.Enum(['http', 's3']) }),
    }),
    createTable:
      'CREATE TABLE IF NOT EXISTS syncSettings (scope INTEGER PRIMARY KEY, definition TEXT NOT NULL)',
  },
  {
    name: 'syncSources',
    columns: ['scope', 'source', 'state'],
    key: ['scope', 'source'],
    json: ['state'],
    schema: Type.Object({
      scope,
      source: Type.String({ pattern: '^[0-9a-f]{16}$' }),
      state: Type.Object({ sha256: Type.String() }),
    }),
    createTable: `
      CREATE TABLE IF NOT EXISTS syncSources (
        scope INTEGER NOT NULL,
        source TEXT NOT NULL,
        state TEXT NOT NULL,
        PRIMARY KEY (scope, source)
      ) WITHOUT ROWID`,
  },
  {
    name: 'syncRuns',
    columns: ['id', 'scope', 'createdAt', 'record', 'errors'],
    key: ['scope', 'id'],
    unique: ['id'],
    json: ['record', 'errors'],
    schema: Type.Object({
      id,
      scope,
      createdAt: Type.Number(),
      record: Type.Object({ status: Type.String(), trigger: Type.String() }),
      errors: Type.Array(Type.Object({})),
    }),
    createTable: `
      CREATE TABLE IF NOT EXISTS syncRuns (
        id TEXT NOT NULL UNIQUE,
        scope INTEGER NOT NULL,
        createdAt INTEGER NOT NULL,
        record TEXT NOT NULL,
        errors TEXT NOT NULL
      )`,
  },
  {
    name: 'syncMarks',
    columns: ['scope', 'id', 'sources', 'updatedAt'],
    key: ['scope', 'id'],
    json: ['sources'],
    schema: Type.Object({
      scope,
      id,
      sources: Type.Array(Type.String()),
      updatedAt: Type.Number(),
    }),
    createTable: `
      CREATE TABLE IF NOT EXISTS syncMarks (
        scope INTEGER NOT NULL,
        id TEXT NOT NULL,
        sources TEXT NOT NULL,
        updatedAt INTEGER NOT NULL,
        PRIMARY KEY (scope, id)
      ) WITHOUT ROWID`,
  },
]
