import Type from 'typebox'
import type { ScopeId } from '../../model/scope.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { RegistryDatabase } from '../store/database.ts'
import type { Change, EditLog } from '../store/editLog.ts'
import type { RowKind } from '../store/rowKind.ts'
import { ID_COLUMNS } from '../records/recordRows.ts'
import type { RegistryReplica } from '../store/replica.ts'
import { ApiError } from '../../runtime/errors.ts'
import { newId } from '../../runtime/newId.ts'

/** The rows of the history of imports. */
export const IMPORT_ROWS: RowKind = {
  name: 'imports',
  columns: ['id', 'scope', 'kind', 'createdAt', 'record', 'errors'],
  key: ['scope', 'id'],
  unique: ['id'],
  json: ['record', 'errors'],
  schema: Type.Object({
    ...ID_COLUMNS,
    kind: Type.Enum(['geofences', 'beacons']),
    createdAt: Type.Number(),
    record: Type.Object({ status: Type.String(), rows: Type.Number() }),
    errors: Type.Array(Type.Object({})),
  }),
}

/** The kinds of records that can be imported. */
export type ImportKindName = 'geofences' | 'beacons'

/** A row that broke a rule. */
export interface RefusedRow {
  /** The line of the file where the row begins, counted from 1. */
  readonly line: number
  /** The row below the header, counted from 1. */
  readonly row: number
  /** The column; undefined if it concerns the row as a whole. */
  readonly column?: string | undefined
  readonly message: string
  /** The first 100 characters of the column's cell; undefined if the file has no such column. */
  readonly value?: string | undefined
}

/** Where and why an import ended before the end of its file. */
export interface Interruption {
  /** The line up to which the file was read; undefined if it is not known. */
  readonly line?: number | undefined
  readonly message: string
}

/** How an import ends. */
export type EndStatus = 'completed' | 'interrupted' | 'canceled'

/** Somebody has canceled the import. */
export class ImportCanceled extends Error {
  override readonly name = 'ImportCanceled'

  constructor() {
    super('It was canceled. The rows counted here were imported.')
  }
}

/** One import: the results of the rows of a file. */
export interface ImportRecord {
  /** 24 hex digits. */
  readonly id: string
  readonly scope: ScopeId
  readonly kind: ImportKindName
  /** In epoch milliseconds. It differs from that of all others of the scope and kind. */
  readonly createdAt: number
  readonly fileName?: string | undefined
  status: 'running' | EndStatus
  /** Whether somebody asked to end it. It ends after the rows that are being written. */
  readonly cancel?: true
  /** In epoch milliseconds. Undefined while it runs, or if the process ended during it. */
  finishedAt?: number | undefined
  /** Rows read so far: created, updated and refused ones. */
  rows: number
  created: number
  updated: number
  refused: number
  /** How many of the created records have no tag and externalId by which they could be found again. */
  createdWithoutPair: number
  /** How many rows were refused beyond those whose errors are stored. */
  moreErrors: number
  interruption?: Interruption | undefined
  /** Whether nothing is written: neither records nor this import. */
  readonly dryRun?: true
}

/** The number of refused rows whose reasons an import reports. */
export const MAX_ERRORS = 1000
/** How many imports are remembered for each kind and scope. */
const MAX_IMPORTS = 1000

interface Row {
  readonly id: string
  readonly scope: number
  readonly kind: ImportKindName
  readonly createdAt: number
  readonly record: string
}

/**
 * The history of imports, in the registry's file: the counts of a batch are written together with its records, so
 * that they agree however the process ends. An import that was running then is shown as interrupted.
 */
export class ImportHistory {
  readonly #edits: EditLog
  readonly #clock: Clock
  readonly #statements: ReturnType<typeof prepareStatements>
  /** The imports that run in this process. */
  readonly #running = new Set<string>()

  constructor(replica: RegistryReplica, edits: EditLog, clock: Clock) {
    this.#edits = edits
    this.#clock = clock
    this.#statements = prepareStatements(replica.database)
  }

  /** Adds a new, running import, and forgets the oldest beyond {@link MAX_IMPORTS}. */
  begin(scope: ScopeId, kind: ImportKindName, fileName: string | undefined): ImportRecord {
    const last = this.#statements.last.pluck().get(scope, kind) as number | null
    const record = newRecord(scope, kind, fileName, Math.max(this.#clock.now(), (last ?? 0) + 1))
    const beyond = this.#statements.beyond.pluck().all(scope, kind, MAX_IMPORTS - 1) as string[]
    this.#edits.commit([
      changeOf(record, []),
      ...beyond.map((id): Change => ({ kind: 'imports', key: `${scope}.${id}`, row: undefined })),
    ])
    this.#running.add(record.id)
    return record
  }

  /** The record of an import that only checks the file, for its answer. */
  dryRun(scope: ScopeId, kind: ImportKindName, fileName: string | undefined): ImportRecord {
    return { ...newRecord(scope, kind, fileName, this.#clock.now()), dryRun: true }
  }

  /** The change that stores the counts of a running import. */
  saved(record: ImportRecord): Change {
    return changeOf(record, [])
  }

  /**
   * Asks the process that makes an import to end it, within an edit.
   * @returns undefined if there is no such import
   * @throws ApiError 409 if it has ended
   */
  cancel(scope: ScopeId, kind: ImportKindName, id: string): ImportRecord | undefined {
    const found = this.get(scope, kind, id)
    if (found === undefined) return undefined
    const { record, errors } = found
    if (record.status !== 'running') throw new ApiError(409, 'The import has ended already.')
    const canceled = { ...record, cancel: true } as const
    this.#edits.commit([changeOf(canceled, errors)])
    return canceled
  }

  /** Whether somebody has asked to end a running import. */
  isCanceled({ scope, kind, id }: ImportRecord): boolean {
    return this.get(scope, kind, id)?.record.cancel === true
  }

  /** Ends it, with the refused rows. */
  finish(
    record: ImportRecord,
    errors: readonly RefusedRow[],
    status: EndStatus,
    interruption?: Interruption,
  ): void {
    record.status = status
    record.finishedAt = this.#clock.now()
    record.interruption = interruption
    this.#running.delete(record.id)
    if (!record.dryRun) this.#edits.commit([changeOf(record, errors)])
  }

  /** A page, newest first. Bounds are exclusive, in epoch milliseconds. */
  list(
    scope: ScopeId,
    kind: ImportKindName,
    page: { limit: number; createdBefore?: number | undefined; createdAfter?: number | undefined },
  ): { imports: ImportRecord[]; hasMore: boolean } {
    const { limit, createdBefore = Number.MAX_SAFE_INTEGER, createdAfter = -1 } = page
    const rows = this.#statements.list.all(scope, kind, createdBefore, createdAfter, limit + 1) as Row[]
    const imports = rows.slice(0, limit).map((row) => this.#fromRow(row))
    return { imports, hasMore: rows.length > limit }
  }

  get(
    scope: ScopeId,
    kind: ImportKindName,
    id: string,
  ): { record: ImportRecord; errors: readonly RefusedRow[] } | undefined {
    const row = this.#statements.get.get(scope, kind, id) as (Row & { errors: string }) | undefined
    return row && { record: this.#fromRow(row), errors: JSON.parse(row.errors) }
  }

  #fromRow({ record: json, ...columns }: Row): ImportRecord {
    const record: ImportRecord = { ...columns, ...JSON.parse(json) }
    // An import of another process cannot be judged from here, so it is shown as that process wrote it.
    const isOver = !this.#edits.isShared && !this.#running.has(record.id)
    if (record.status === 'running' && isOver) {
      record.status = 'interrupted'
      record.interruption = {
        message: 'The server stopped during the import. The rows counted here were imported.',
      }
    }
    return record
  }
}

function newRecord(
  scope: ScopeId,
  kind: ImportKindName,
  fileName: string | undefined,
  createdAt: number,
): ImportRecord {
  return {
    id: newId(createdAt),
    scope,
    kind,
    createdAt,
    fileName,
    status: 'running',
    rows: 0,
    created: 0,
    updated: 0,
    refused: 0,
    createdWithoutPair: 0,
    moreErrors: 0,
  }
}

function changeOf(record: ImportRecord, errors: readonly RefusedRow[]): Change {
  const { id, scope, kind, createdAt, ...rest } = record
  const row: Row = { id, scope, kind, createdAt, record: JSON.stringify(rest) }
  return { kind: 'imports', key: `${scope}.${id}`, row: { ...row, errors: JSON.stringify(errors) } }
}

function prepareStatements(database: RegistryDatabase) {
  const columns = 'id, scope, kind, createdAt, record'
  return {
    last: database.prepare('SELECT max(createdAt) FROM imports WHERE scope = ? AND kind = ?'),
    beyond: database.prepare(
      'SELECT id FROM imports WHERE scope = ? AND kind = ? ORDER BY createdAt DESC LIMIT -1 OFFSET ?',
    ),
    list: database.prepare(
      `SELECT ${columns} FROM imports
       WHERE scope = ? AND kind = ? AND createdAt < ? AND createdAt > ? ORDER BY createdAt DESC LIMIT ?`,
    ),
    get: database.prepare(`SELECT ${columns}, errors FROM imports WHERE scope = ? AND kind = ? AND id = ?`),
  }
}
