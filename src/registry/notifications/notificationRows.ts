import Type from 'typebox'
import type { ScopeId } from '../../model/scope.ts'
import { ID_COLUMNS } from '../records/recordRows.ts'
import type { RowKind } from '../store/rowKind.ts'

/** The causes of e-mails. */
export type NotificationCause = 'run' | 'webhook' | 'quota' | 'disk' | 'test'

/** The state of an e-mail as it is shown. */
export interface NotificationState {
  readonly status: 'sent' | 'waiting' | 'failed' | 'off' | 'notConfigured'
  readonly error?: string
}

/** An e-mail that waits, or that was sent lately. */
export interface Notification {
  /** 24 hex digits that follow from the cause, so that each cause has one e-mail. */
  readonly id: string
  /** The scope; 0 if it is about the server itself. */
  readonly scope: ScopeId
  readonly createdAt: number
  readonly cause: NotificationCause
  /** The run of a geofence sync that it is about. */
  readonly run?: string
  /** All addresses, for the header. */
  readonly to: readonly string[]
  /** The addresses that no mail server has accepted or refused yet. */
  readonly pending: readonly string[]
  /** Why addresses were refused for good, one sentence each. */
  readonly refusals: readonly string[]
  readonly subject: string
  /** Empty once it was sent. */
  readonly text: string
  readonly attempts: number
  /** Absent if nothing more is done. */
  readonly nextAttemptAt?: number
}

export interface NotificationRow {
  readonly scope: ScopeId
  readonly id: string
  readonly createdAt: number
  readonly record: string
}

export const NOTIFICATION_ROWS: RowKind = {
  name: 'notifications',
  columns: ['scope', 'id', 'createdAt', 'record'],
  key: ['scope', 'id'],
  json: ['record'],
  schema: Type.Object({
    ...ID_COLUMNS,
    createdAt: Type.Number(),
    record: Type.Object({ cause: Type.String(), to: Type.Array(Type.String()), subject: Type.String() }),
  }),
  createTable: `
    CREATE TABLE IF NOT EXISTS notifications (
      scope INTEGER NOT NULL,
      id TEXT NOT NULL,
      createdAt INTEGER NOT NULL,
      record TEXT NOT NULL,
      PRIMARY KEY (scope, id)
    ) WITHOUT ROWID`,
}
