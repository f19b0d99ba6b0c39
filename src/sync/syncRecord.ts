import Type from 'typebox'
import { BooleanOrText, ListOrText, NumberOrText } from '../registry/records/recordSchemas.ts'
import { neededBy } from '../http/needs.ts'
import { DateTime, Text } from '../http/schemas.ts'
import { isoDate } from '../model/isoDate.ts'
import { isLive } from '../model/scope.ts'
import type { SyncRefusal, SyncRun, SyncSettings } from '../registry/sync/syncRows.ts'

const Count = (description?: string) => Type.Integer({ minimum: 0, ...(description && { description }) })

/** As syncFields.ts holds them. */
const MAX_WORD_LENGTH = 256
const MAX_SECRET_LENGTH = 2048

const Secret = (description: string) =>
  Type.Optional(Type.Union([Type.String({ maxLength: MAX_SECRET_LENGTH }), Type.Null()], { description }))

const HttpBody = Type.Object(
  {
    urls: ListOrText(
      '1 to 20 addresses, http or https, without a user name. A query that is given as `…` stays as it is.',
    ),
    username: Type.Optional(Text(MAX_WORD_LENGTH, 'The user name of basic authentication.')),
    password: Secret('Secret. If it is left out, it stays the same; null removes it.'),
    headers: Type.Optional(
      Type.Union(
        [
          Type.Record(
            Type.String(),
            Type.Union([Type.String({ maxLength: MAX_SECRET_LENGTH }), Type.Null()]),
          ),
          Type.Null(),
        ],
        {
          description:
            'At most 10 headers; the values are secret. A header that is left out stays the same; null removes it, or all headers.',
        },
      ),
    ),
  },
  { additionalProperties: false, description: 'The settings of a source with the protocol http.' },
)

const S3Body = Type.Object(
  {
    region: Text(MAX_WORD_LENGTH, 'The region of the bucket.'),
    bucket: Text(MAX_WORD_LENGTH, 'The name of the bucket.'),
    keys: ListOrText('1 to 20 names of objects.'),
    accessKeyId: Text(MAX_WORD_LENGTH, 'The id of the access key.'),
    secretAccessKey: Secret('Secret. If it is left out, it stays the same.'),
    endpoint: Type.Optional(Text(2048, 'Only for storage other than AWS: http(s)://HOST:PORT.')),
    pathStyle: Type.Optional(
      BooleanOrText('Whether the bucket is in the path. Default: true with an endpoint.'),
    ),
  },
  { additionalProperties: false, description: 'The settings of a source with the protocol s3.' },
)

/** The members that a protocol requires. */
export const SYNC_NEEDS = neededBy('protocol', { http: { required: ['http'] }, s3: { required: ['s3'] } })

/**
 * The body of settings, for requests. syncFields.ts reads it. No other fields are allowed, because a mistyped one
 * would have no effect.
 */
export const SyncBody = Type.Object(
  {
    enabled: Type.Optional(
      BooleanOrText(
        'Default true. If false, there are no nightly runs; you can still start a run by a call.',
      ),
    ),
    protocol: Text(64, '`http` or `s3`.'),
    http: Type.Optional(HttpBody),
    s3: Type.Optional(S3Body),
    time: Type.Optional(Text(5, 'HH:mm of the nightly run; default 03:00.')),
    timeZone: Type.Optional(Text(64, 'IANA name; default UTC.')),
    deleteMissing: Type.Optional(
      BooleanOrText(
        'Default false. Whether geofences are deleted that a run wrote and that no source names any more.',
      ),
    ),
    maxDeleteShare: Type.Optional(
      NumberOrText(
        'Default 0.1. If more than this share of all geofences written by runs would be deleted, nothing is deleted until a run with `force`.',
      ),
    ),
    emails: Type.Optional(ListOrText('At most 10 e-mail addresses that are told how runs end.')),
    notify: Type.Optional(Text(64, '`always` (default) or `failures`.')),
  },
  { title: 'GeofenceSyncDefinition', additionalProperties: false, allOf: SYNC_NEEDS },
)

/** The settings as users see them, without secrets. */
const SyncSchema = Type.Object(
  {
    enabled: Type.Boolean(),
    protocol: Type.Optional(
      Type.Enum(['http', 's3'], { description: 'Absent if there are no settings yet.' }),
    ),
    http: Type.Optional(
      Type.Object({
        urls: Type.Array(Type.String(), { description: 'A query, which may be secret, is shown as `…`.' }),
        username: Type.Optional(Type.String()),
        passwordSet: Type.Boolean(),
        headers: Type.Array(Type.String(), { description: 'Names.' }),
      }),
    ),
    s3: Type.Optional(
      Type.Object({
        region: Type.String(),
        bucket: Type.String(),
        keys: Type.Array(Type.String()),
        accessKeyId: Type.String(),
        secretAccessKeySet: Type.Boolean(),
        endpoint: Type.Optional(Type.String()),
        pathStyle: Type.Boolean(),
      }),
    ),
    time: Type.String(),
    timeZone: Type.String(),
    deleteMissing: Type.Boolean(),
    maxDeleteShare: Type.Number(),
    emails: Type.Array(Type.String()),
    notify: Type.Enum(['always', 'failures']),
    nextRunAt: Type.Optional(DateTime),
  },
  { title: 'GeofenceSync' },
)

const Counts = {
  rows: Count('Rows below the header.'),
  created: Count(),
  updated: Count(),
  unchanged: Count('Rows that agree with the existing geofence.'),
  repeated: Count('Rows that do not count, because a later row has the same tag and externalId.'),
  refused: Count(),
}

/** A run, for the reference. */
const RunSchema = Type.Object(
  {
    _id: Type.String(),
    live: Type.Boolean(),
    trigger: Type.Enum(['nightly', 'save', 'manual']),
    by: Type.Optional(Type.String({ description: 'The key or person; absent for nightly runs.' })),
    force: Type.Boolean(),
    dryRun: Type.Boolean(),
    repeats: Type.Optional(Type.String({ description: 'The interrupted run that this one begins again.' })),
    status: Type.Enum(['queued', 'running', 'succeeded', 'partial', 'failed', 'canceled', 'interrupted']),
    message: Type.Optional(Type.String({ description: 'Why nothing was done, if no source is the reason.' })),
    createdAt: DateTime,
    startedAt: Type.Optional(DateTime),
    finishedAt: Type.Optional(DateTime),
    sources: Type.Array(
      Type.Object({
        name: Type.String({ description: 'The URL with its query as `…`, or bucket/key.' }),
        status: Type.Optional(Type.Enum(['read', 'unchanged', 'failed'])),
        httpStatus: Type.Optional(Type.Integer()),
        bytes: Type.Optional(Count('Unpacked.')),
        etag: Type.Optional(Type.String()),
        attempts: Count(),
        error: Type.Optional(Type.Object({ code: Type.String(), message: Type.String() })),
        ...Counts,
      }),
    ),
    ...Counts,
    deleted: Count(),
    deletionHeld: Type.Optional(
      Type.Object(
        { count: Count(), of: Count() },
        {
          description:
            'How many geofences would have been deleted (`count`) of all that runs wrote (`of`). This is a larger share than maxDeleteShare, so nothing was deleted.',
        },
      ),
    ),
    notification: Type.Optional(
      Type.Object({
        status: Type.Enum(['sent', 'waiting', 'failed', 'off', 'notConfigured']),
        error: Type.Optional(Type.String()),
      }),
    ),
    errors: Type.Optional(
      Type.Array(
        Type.Object({
          source: Type.String(),
          line: Type.Integer(),
          row: Type.Integer(),
          column: Type.Optional(Type.String()),
          message: Type.String(),
          value: Type.Optional(Type.String()),
        }),
        {
          description:
            'The first 1,000 refused rows. Only in the response about a single run that has ended.',
        },
      ),
    ),
    moreErrors: Type.Optional(Count('Refused rows beyond those in errors.')),
    changes: Type.Optional(
      Type.Array(
        Type.Object({
          change: Type.Enum(['created', 'updated', 'deleted']),
          tag: Type.String(),
          externalId: Type.String(),
          description: Type.String(),
          center: Type.Array(Type.Number(), { description: 'Longitude and latitude in degrees.' }),
          radius: Type.Number({
            description: 'Radius in metres of a circle around the centre that contains the area.',
          }),
        }),
        {
          description:
            'What a dry run would do: the first 300. Only in the response about a single run that has ended.',
        },
      ),
    ),
  },
  { title: 'GeofenceSyncRun' },
)

export const OneRun = Type.Object({ run: RunSchema })
export const RunPage = Type.Object({ runs: Type.Array(RunSchema) })
export const SyncAnswer = Type.Object({ sync: SyncSchema, lastRun: Type.Optional(RunSchema) })
export const SavedAnswer = Type.Object({ sync: SyncSchema, run: Type.Optional(RunSchema) })

const NONE = {
  enabled: false,
  time: '03:00',
  timeZone: 'UTC',
  deleteMissing: false,
  maxDeleteShare: 0.1,
  emails: [],
  notify: 'always',
}

/** Settings as the API returns them. */
export function syncRecord(settings: SyncSettings | undefined, nextRunAt: number | undefined) {
  if (settings === undefined) return NONE
  const { sealed: _, scheduledSince: __, ...shown } = settings
  return { ...shown, nextRunAt: timeOf(nextRunAt) }
}

/** A run as the API returns it, with its refused rows if they are given. */
export function runRecord(run: SyncRun, errors?: readonly SyncRefusal[]) {
  const { id, scope, createdAt, startedAt, finishedAt, sources, moreErrors } = run
  const { trigger, by, force, dryRun, repeats, status, message, deleted, deletionHeld, notification } = run
  const sum = (name: 'rows' | 'created' | 'updated' | 'unchanged' | 'repeated' | 'refused') =>
    sources.reduce((all, source) => all + source[name], 0)
  return {
    _id: id,
    live: isLive(scope),
    trigger,
    by,
    force,
    dryRun,
    repeats,
    status,
    message,
    createdAt: isoDate(createdAt),
    startedAt: timeOf(startedAt),
    finishedAt: timeOf(finishedAt),
    sources,
    rows: sum('rows'),
    created: sum('created'),
    updated: sum('updated'),
    unchanged: sum('unchanged'),
    repeated: sum('repeated'),
    refused: sum('refused'),
    deleted,
    deletionHeld,
    notification,
    errors,
    moreErrors: errors === undefined ? undefined : moreErrors,
    changes: errors === undefined ? undefined : run.changes,
  }
}

function timeOf(at: number | undefined): string | undefined {
  return at === undefined ? undefined : isoDate(at)
}
