import Type from 'typebox'
import type { Credentials } from '../http/credentials.ts'
import type { Fields } from '../http/fields.ts'
import { createdQuery, distinctPage, PageAnswers, PageQuery } from '../http/listQuery.ts'
import { route, type Answer, type Route } from '../http/route.ts'
import { Page } from '../http/schemas.ts'
import type { ScopeId } from '../model/scope.ts'
import { BooleanOrText, Id } from '../registry/records/recordSchemas.ts'
import { booleanField } from '../http/fields.ts'
import type { SyncRegistry } from '../registry/sync/syncRegistry.ts'
import { RunUnderWay } from '../registry/sync/syncRegistry.ts'
import type { SyncSettings } from '../registry/sync/syncRows.ts'
import type { Clock } from '../runtime/clock.ts'
import { ApiError, badParam, notFound } from '../runtime/errors.ts'
import type { Outgoing } from '../runtime/outgoing.ts'
import { SecretsUnreadable, type SecretBox } from './secretBox.ts'
import { parseSync, type OpenSettings } from './syncFields.ts'
import { sourcesOf, type Source } from './sourceRequest.ts'
import {
  OneRun,
  RunPage,
  runRecord,
  SavedAnswer,
  SYNC_NEEDS,
  SyncAnswer,
  SyncBody,
  syncRecord,
} from './syncRecord.ts'
import type { SyncRunner } from './syncRunner.ts'

const TAG = 'Geofence sync'
const UnderWay = Type.Object(
  { run: Type.Optional(Type.Object({ _id: Type.String() })) },
  { description: 'Conflict: a run is in progress, and this is its `_id`; or there are no settings.' },
)

export interface SyncRouteParts {
  readonly syncs: SyncRegistry
  readonly runner: Pick<SyncRunner, 'request' | 'cancel' | 'nextRunAt'>
  readonly box: SecretBox
  readonly outgoing: Pick<Outgoing, 'refusal'>
  readonly clock: Clock
  /** Tries a source. The sentence says what it contains. */
  readonly test: (source: Source) => Promise<{ readonly ok: boolean; readonly message: string }>
}

/** Nightly synchronisation of geofences with files that lie elsewhere. */
export function geofenceSyncRoutes(parts: SyncRouteParts): Route[] {
  return [...settingsRoutes(parts), ...runRoutes(parts)]
}

function settingsRoutes(parts: SyncRouteParts): Route[] {
  const { syncs, runner, box } = parts
  return [
    route({
      method: 'GET',
      path: '/v1/geofence-sync',
      auth: 'secret',
      tag: TAG,
      summary: 'Get the settings of the geofence sync',
      description: 'Without secrets, with the time of the next nightly run and with the last run.',
      answers: { 200: SyncAnswer },
      handler: (call) => {
        const { scope } = call.credentials!
        const last = syncs.last(scope)
        const sync = syncRecord(syncs.settings(scope), runner.nextRunAt(scope))
        return { body: { sync, ...(last && { lastRun: runRecord(last) }) } }
      },
    }),
    route({
      method: 'PUT',
      path: '/v1/geofence-sync',
      auth: 'secret',
      role: 'admin',
      tag: TAG,
      summary: 'Set up the geofence sync',
      description:
        'Replaces the settings. Secrets that are left out stay, and null removes them; if the host, endpoint or bucket is ' +
        'another, they must be given again. With `run` true, a run begins at once. A run under way keeps its settings.',
      body: Type.Object(
        {
          ...SyncBody.properties,
          run: Type.Optional(BooleanOrText('Default false. Whether a run begins at once.')),
        },
        { title: 'GeofenceSyncSettings', additionalProperties: false, allOf: SYNC_NEEDS },
      ),
      answers: { 200: SavedAnswer, 409: UnderWay },
      handler: (call) => {
        const { run, ...body } = call.body as Fields
        const isRun = booleanField({ run }, 'run') ?? false
        return save(parts, call.credentials!, body, isRun)
      },
    }),
    route({
      method: 'POST',
      path: '/v1/geofence-sync/test',
      auth: 'secret',
      role: 'admin',
      tag: TAG,
      summary: 'Try the sources of the geofence sync',
      description:
        'Reads the header and ten rows of each source, and changes nothing. If the body has settings, these are tried, ' +
        'with the stored secrets; otherwise the stored settings are tried.',
      body: Type.Object(
        { ...SyncBody.properties, protocol: Type.Optional(SyncBody.properties.protocol) },
        { title: 'GeofenceSyncTest', additionalProperties: false, allOf: SYNC_NEEDS },
      ),
      answers: {
        200: Type.Object({
          sources: Type.Array(
            Type.Object({ name: Type.String(), ok: Type.Boolean(), message: Type.String() }),
          ),
        }),
        409: Type.Object({}, { description: 'There are no settings.' }),
      },
      handler: async (call) => {
        const { scope } = call.credentials!
        const body = call.body as Fields
        const before = opened(syncs.settings(scope), scope, box)
        const protocol = body.protocol ?? before?.settings.protocol
        if (protocol === undefined) throw notSetUp()
        const tried = Object.keys(body).length === 0 ? before! : parseSync({ ...body, protocol }, before)
        const sources = sourcesOf(tried.settings, tried.secrets)
        const results = await Promise.all(
          sources.map(async (source) => ({ name: source.name, ...(await parts.test(source)) })),
        )
        return { body: { sources: results } }
      },
    }),
  ]
}

function runRoutes({ syncs, runner }: SyncRouteParts): Route[] {
  return [
    route({
      method: 'POST',
      path: '/v1/geofence-sync/runs',
      auth: 'secret',
      role: 'write',
      tag: TAG,
      summary: 'Run the geofence sync now',
      body: Type.Object({
        force: Type.Optional(
          BooleanOrText(
            'Default false. If true, the run also reads sources that have not changed, and deletes missing geofences however many there are.',
          ),
        ),
        dryRun: Type.Optional(
          BooleanOrText(
            'Default false. If true, the run only counts what it would do, and writes no geofence.',
          ),
        ),
      }),
      answers: { 202: OneRun, 409: UnderWay },
      handler: async (call) => {
        const { scope } = call.credentials!
        const body = call.body as Fields
        const force = booleanField(body, 'force') ?? false
        const dryRun = booleanField(body, 'dryRun') ?? false
        if (syncs.settings(scope) === undefined) throw notSetUp()
        const wanted = { trigger: 'manual', by: callerOf(call.credentials!), force, dryRun } as const
        return orConflict(async () => {
          const run = await runner.request(scope, wanted)
          return { status: 202, body: { run: runRecord(run) } }
        })
      },
    }),
    route({
      method: 'GET',
      path: '/v1/geofence-sync/runs',
      auth: 'secret',
      tag: TAG,
      summary: 'List runs of the geofence sync, newest first',
      description: 'The last 400 are kept.',
      query: Type.Object({ ...PageQuery, ...createdQuery('when it was asked for, by the server’s clock') }),
      meta: Page,
      answers: { 200: RunPage, ...PageAnswers },
      handler: (call) => {
        const { scope } = call.credentials!
        const page = syncs.list(
          scope,
          distinctPage(call.query, (id) => syncs.get(scope, id)?.run),
        )
        return { meta: { hasMore: page.hasMore }, body: { runs: page.runs.map((run) => runRecord(run)) } }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/geofence-sync/runs/:id',
      auth: 'secret',
      tag: TAG,
      summary: 'Get a run of the geofence sync with the rows that it refused',
      params: Id,
      answers: { 200: OneRun },
      handler: (call) => {
        const found = syncs.get(call.credentials!.scope, call.params.id)
        if (found === undefined) throw notFound('Run')
        return { body: { run: runRecord(found.run, found.errors) } }
      },
    }),
    route({
      method: 'POST',
      path: '/v1/geofence-sync/runs/:id/cancel',
      auth: 'secret',
      role: 'write',
      tag: TAG,
      summary: 'End a run of the geofence sync',
      description:
        'The run ends after the rows that are being written, and what it has written stays. A run that has already ended stays as it is.',
      params: Id,
      answers: { 200: OneRun },
      handler: async (call) => {
        const run = await runner.cancel(call.credentials!.scope, call.params.id)
        if (run === undefined) throw notFound('Run')
        return { body: { run: runRecord(run) } }
      },
    }),
  ]
}

function save(
  parts: SyncRouteParts,
  credentials: Credentials,
  body: Fields,
  isRun: boolean,
): Promise<Answer> {
  const { syncs, runner, box, outgoing, clock } = parts
  const { scope } = credentials
  return orConflict(async () => {
    const active = syncs.active(scope)
    if (isRun && active !== undefined) throw new RunUnderWay(active.id)
    const settings = await syncs.edit(() => {
      const stored = syncs.settings(scope)
      const { settings: parsed, secrets } = parseSync(body, opened(stored, scope, box))
      refusePrivate(outgoing, parsed.s3?.endpoint === undefined ? [] : [parsed.s3.endpoint], 's3.endpoint')
      refusePrivate(outgoing, secrets.urls ?? [], 'http.urls')
      const scheduledSince = isSameSchedule(stored, parsed) ? stored!.scheduledSince : clock.now()
      const kept: SyncSettings = { ...parsed, sealed: box.seal(scope, secrets), scheduledSince }
      syncs.save(scope, kept)
      return kept
    })
    const run = isRun
      ? await runner.request(scope, { trigger: 'save', by: callerOf(credentials) })
      : undefined
    const sync = syncRecord(settings, runner.nextRunAt(scope))
    return { body: { sync, ...(run && { run: runRecord(run) }) } }
  })
}

function notSetUp(): ApiError {
  return new ApiError(409, 'The geofence sync is not set up: PUT /v1/geofence-sync first.')
}

/** A night that passed under other times, or before they were set, was not missed. */
function isSameSchedule(before: SyncSettings | undefined, after: OpenSettings['settings']): boolean {
  return (
    before !== undefined &&
    before.enabled === after.enabled &&
    before.time === after.time &&
    before.timeZone === after.timeZone
  )
}

/** The settings with their secrets. Secrets that cannot be read any more count as missing. */
function opened(
  settings: SyncSettings | undefined,
  scope: ScopeId,
  box: SecretBox,
): OpenSettings | undefined {
  if (settings === undefined) return undefined
  try {
    return { settings, secrets: box.open(scope, settings.sealed) }
  } catch (error) {
    if (error instanceof SecretsUnreadable) return undefined
    throw error
  }
}

function refusePrivate(outgoing: Pick<Outgoing, 'refusal'>, urls: readonly string[], param: string): void {
  for (const url of urls) {
    if (outgoing.refusal(new URL(url).hostname) === undefined) continue
    throw badParam(
      param,
      'The address is not on the public internet; the operator may allow it (syncPrivateAddresses).',
    )
  }
}

function callerOf({ session, keyId }: Credentials): string {
  return session?.account?.email ?? keyId
}

async function orConflict(work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof RunUnderWay)) throw error
    return { status: 409, meta: { message: error.message }, body: { run: { _id: error.id } } }
  }
}
