import Type from 'typebox'
import type { RowKind } from '../store/rowKind.ts'

const KEY_COLUMNS = {
  project: Type.Integer({ minimum: 1 }),
  kind: Type.Enum(['testPublishable', 'livePublishable', 'testSecret', 'liveSecret']),
  digest: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  lastFour: Type.String(),
  createdAt: Type.Number(),
}

/** The rows of projects and their keys. */
export const PROJECT_ROWS: readonly RowKind[] = [
  {
    name: 'projects',
    columns: ['id', 'name', 'createdAt', 'disabled', 'quota'],
    key: ['id'],
    json: [],
    schema: Type.Object({
      id: Type.Integer({ minimum: 1 }),
      name: Type.String(),
      createdAt: Type.Number(),
      disabled: Type.Integer(),
      quota: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
    }),
  },
  {
    name: 'keys',
    columns: Object.keys(KEY_COLUMNS),
    key: ['project', 'kind'],
    json: [],
    schema: Type.Object(KEY_COLUMNS),
  },
  {
    name: 'oldKeys',
    columns: [...Object.keys(KEY_COLUMNS), 'validUntil'],
    key: ['project', 'kind', 'digest'],
    unique: ['digest'],
    json: [],
    schema: Type.Object({ ...KEY_COLUMNS, validUntil: Type.Number() }),
  },
  // Publishable keys are stored in full, because they are not secret. Keys that were made before this table are not in
  // it.
  {
    name: 'publishableKeys',
    columns: ['project', 'digestOfKey', 'text'],
    key: ['project', 'digestOfKey'],
    json: [],
    schema: Type.Object({
      project: KEY_COLUMNS.project,
      digestOfKey: KEY_COLUMNS.digest,
      text: Type.String({ maxLength: 128 }),
    }),
    createTable: `CREATE TABLE IF NOT EXISTS publishableKeys (
      project INTEGER NOT NULL, digestOfKey TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (project, digestOfKey)
    ) WITHOUT ROWID`,
  },
]
