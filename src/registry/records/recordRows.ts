import Type, { type TSchema } from 'typebox'
import type { ScopeId } from '../../model/scope.ts'
import type { RowKind } from '../store/rowKind.ts'
import type { Listed } from './recordList.ts'

/** A record of one scope. */
export interface ScopedRecord extends Listed {
  readonly scope: ScopeId
}

/** A row of a table of records: fields for look-ups have columns, the rest is JSON in `definition`. */
export interface RecordRow {
  readonly id: string
  readonly scope: ScopeId
  readonly tag?: string | null
  readonly externalId?: string | null
  /** In epoch milliseconds. */
  readonly createdAt: number
  /** In epoch milliseconds. */
  readonly updatedAt: number
  readonly definition: string
}

/** Whether records have a tag and externalId: all of them, some, or none. */
type Pairs = 'all' | 'some' | 'none'

const Id = Type.String({ pattern: '^[0-9a-f]{24}$' })
/** Metadata within a definition. */
export const StoredMetadata = Type.Record(
  Type.String(),
  Type.Union([Type.String(), Type.Number(), Type.Boolean()]),
)
/** The columns `id` and `scope`. */
export const ID_COLUMNS = { id: Id, scope: Type.Integer({ minimum: 0, maximum: 0xffff_ffff }) }
const PAIR_COLUMN: Readonly<Record<Pairs, TSchema>> = {
  all: Type.String(),
  some: Type.Union([Type.String(), Type.Null()]),
  none: Type.Never(),
}

/**
 * The rows of a kind of records.
 * @param name the name of the table
 * @param pairs whether records have a tag and externalId
 * @param definition the schema of the contents of the column `definition`
 */
export function recordRows(name: string, pairs: Pairs, definition: TSchema): RowKind {
  const pair = pairs === 'none' ? [] : ['tag', 'externalId']
  return {
    name,
    columns: ['id', 'scope', ...pair, 'createdAt', 'updatedAt', 'definition'],
    key: ['scope', 'id'],
    unique: ['id'],
    json: ['definition'],
    schema: Type.Object({
      ...ID_COLUMNS,
      ...Object.fromEntries(pair.map((column) => [column, PAIR_COLUMN[pairs]])),
      createdAt: Type.Number(),
      updatedAt: Type.Number(),
      definition,
    }),
    createTable: `
      CREATE TABLE IF NOT EXISTS ${name} (
        id TEXT NOT NULL UNIQUE,
        scope INTEGER NOT NULL,
        ${pair.map((column) => `${column} TEXT${pairs === 'all' ? ' NOT NULL' : ''},`).join(' ')}
        createdAt INTEGER NOT NULL,
        updatedAt INTEGER NOT NULL,
        definition TEXT NOT NULL
        ${pair.length > 0 ? ', UNIQUE (scope, tag, externalId)' : ''}
      )`,
  }
}

/** The inverse of {@link recordOfRow}, for records that consist of JSON values. */
export function rowOfRecord(record: ScopedRecord): RecordRow {
  const { id, scope, tag = null, externalId = null, createdAt, updatedAt, ...definition } = record
  return { id, scope, tag, externalId, createdAt, updatedAt, definition: JSON.stringify(definition) }
}

/** The inverse of {@link rowOfRecord}. Throws SyntaxError if the JSON was not written by us. */
export function recordOfRow<R extends ScopedRecord>({
  tag,
  externalId,
  definition,
  ...columns
}: RecordRow): R {
  const record = { ...columns, ...JSON.parse(definition) }
  if (typeof tag === 'string') record.tag = tag
  if (typeof externalId === 'string') record.externalId = externalId
  return record
}
