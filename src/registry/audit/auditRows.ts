import { randomBytes } from 'node:crypto'
import Type from 'typebox'
import type { RowKind } from '../store/rowKind.ts'

/** An entry of the audit, as its row has it. */
export interface AuditRow {
  /** 24 hex digits that begin with the time, so entries are in the order of their ids. */
  readonly id: string
  readonly project: number
  /** The `id` of the actor. */
  readonly actor: string
  readonly action: string
  readonly target: string
  /** An {@link AuditDetail} as JSON. */
  readonly detail: string
}

/** Who it was. */
export interface AuditActor {
  readonly kind: string
  readonly id: string
  readonly label: string
}

/** The rest of an entry. */
export interface AuditDetail {
  readonly actor: AuditActor
  readonly ip?: string | undefined
  readonly requestId?: string | undefined
  readonly live?: boolean | undefined
  readonly before?: unknown
  readonly after?: unknown
  /** `before.userIds`: members that were too long to be kept. */
  readonly leftOut?: readonly string[] | undefined
}

const TIME_DIGITS = 12
/** How many entries of one millisecond are told apart. */
const ORDERS = 0x1_0000

/**
 * The position of a mark in the id: {@link OF_MANY} for an entry of a commit with many changes, and {@link OF_FEW} for
 * any other.
 */
const MARK_AT = TIME_DIGITS + 4
const OF_FEW = '0'
const OF_MANY = '1'

/**
 * An id that begins with the time.
 * @param count how many entries this process has made before, so that ids of the same millisecond ascend
 * @param hasMany whether the commit had many changes: such entries are counted by themselves, so that an import leaves
 * the others in place
 */
export function auditId(now: number, count: number, hasMany: boolean): string {
  const order = (count % ORDERS).toString(16).padStart(4, '0')
  const mark = hasMany ? OF_MANY : OF_FEW
  return `${now.toString(16).padStart(TIME_DIGITS, '0')}${order}${mark}${randomBytes(4).toString('hex').slice(1)}`
}

/** Whether an id has the mark of a commit with many changes; see {@link auditId}. */
export function isOfMany(id: string): boolean {
  return id[MARK_AT] === OF_MANY
}

/** The time of an entry in epoch milliseconds. */
export function timeOfAuditId(id: string): number {
  return Number.parseInt(id.slice(0, TIME_DIGITS), 16)
}

/** The first id of a time. */
export function firstAuditId(time: number): string {
  return Math.max(0, time).toString(16).padStart(TIME_DIGITS, '0')
}

/** The rows of the audit. */
export const AUDIT_ROWS: RowKind = {
  name: 'audit',
  columns: ['id', 'project', 'actor', 'action', 'target', 'detail'],
  key: ['project', 'id'],
  json: ['detail'],
  schema: Type.Object({
    id: Type.String({ pattern: '^[0-9a-f]{24}$' }),
    project: Type.Integer({ minimum: 0 }),
    actor: Type.String(),
    action: Type.String(),
    target: Type.String(),
    detail: Type.Object({}),
  }),
  createTable: `
    CREATE TABLE IF NOT EXISTS audit (
      id TEXT NOT NULL,
      project INTEGER NOT NULL,
      actor TEXT NOT NULL,
      action TEXT NOT NULL,
      target TEXT NOT NULL,
      detail TEXT NOT NULL,
      PRIMARY KEY (project, id)
    ) WITHOUT ROWID`,
}
