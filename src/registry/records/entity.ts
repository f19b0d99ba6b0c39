import type { TObject } from 'typebox'
import type { Fields } from '../../http/fields.ts'
import type { Role } from '../../model/role.ts'
import type { BulkChanges } from './fieldRules.ts'
import type { RowKind } from '../store/rowKind.ts'
import type { Pair } from './recordFields.ts'
import type { Referenced } from './recordList.ts'
import { recordOfRow, rowOfRecord, type RecordRow, type ScopedRecord } from './recordRows.ts'

/** How records of one kind are stored as rows. */
export interface StoredKind<R extends ScopedRecord> {
  /** The name of a record in sentences, such as `geofence`. */
  readonly singular: string
  readonly rows: RowKind
  /** Writes a row. If absent, it is {@link rowOfRecord}. */
  toRow?(record: R): object
  /**
   * The inverse of `toRow`. If absent, it is {@link recordOfRow}.
   * @throws if the row is not one that this process would write
   */
  fromRow?(row: RecordRow): R
}

/** What the routes of a kind of record look like: its schemas and texts. */
export interface EntityShape {
  /** The name of a record in sentences, such as `geofence`. */
  readonly singular: string
  /** The path under /v1/, and the member of a list's answer, such as `geofences`. */
  readonly plural: string
  /** The heading of its operations in the reference. */
  readonly tag: string
  /** The role that a person needs to change its records; `write` if absent. */
  readonly role?: Role
  /** How many records an environment may have; any number if absent. */
  readonly most?: number
  /**
   * What may be changed for all records that match a filter. If absent, records are only changed and deleted one by
   * one.
   */
  readonly changes?: BulkChanges
  /** The body of a definition that contains its pair. */
  readonly newBody: TObject
  /** The body of a definition whose pair is known from the path or from the record. */
  readonly body: TObject
  /** The schema of the result of {@link Entity.answer}. */
  readonly record: TObject
}

/**
 * A kind of record with a tag and an externalId that users create, read, replace and delete: its schemas, rules and
 * texts. {@link Collection} stores its records, and {@link collectionRoutes} serves them.
 */
export interface Entity<Definition extends Referenced, R extends ScopedRecord>
  extends StoredKind<R>, EntityShape {
  /**
   * Reads a definition from a body, a form or a row of a file.
   * @param known the pair, if the path contains it; a field that contradicts it is refused
   * @throws ApiError 400 naming the field
   */
  parse(fields: Fields, known?: Pair): Definition | Promise<Definition>
  /** The record as the API returns it. */
  answer(record: R): Record<string, unknown>
}

/** Any entity, for lists of them. */
export type AnyEntity = Entity<Referenced, ScopedRecord>

export function rowOf<R extends ScopedRecord>(kind: StoredKind<R>, record: R): object {
  return kind.toRow?.(record) ?? rowOfRecord(record)
}

export function recordOf<R extends ScopedRecord>(kind: StoredKind<R>, row: RecordRow): R {
  return kind.fromRow?.(row) ?? recordOfRow(row)
}
