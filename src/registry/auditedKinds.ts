import type { Account, AccountRow, Session, SessionRow } from './people/rows.ts'
import { accountOfRow, sessionOfRow } from './people/rows.ts'
import type { Geofence } from '../model/geofence.ts'
import { DEFAULT_SETTINGS, publicSettings, type Settings } from '../model/settings.ts'
import { isLive, projectOf, type ScopeId } from '../model/scope.ts'
import type { AuditedKind, Described } from './audit/auditedEdits.ts'
import { BEACONS } from './beacons/beaconEntity.ts'
import { GEOFENCES } from './geofences/geofenceEntity.ts'
import { HOOKS } from './hooks/hookEntity.ts'
import { recordOf, type StoredKind } from './records/entity.ts'
import type { RecordRow, ScopedRecord } from './records/recordRows.ts'
import type { RegistryReplica } from './store/replica.ts'
import type { SyncRun, SyncSettings } from './sync/syncRows.ts'
import type { ImportRecord } from './transfer/importHistory.ts'
import { WEBHOOKS } from './webhooks/webhookRegistry.ts'

/**
 * How the audit shows the rows of the registry, by kind. Kinds that are not listed are not entered: counts, names of
 * trips, what a sync remembers of its sources.
 */
export function auditedKinds(replica: RegistryReplica): ReadonlyMap<string, AuditedKind> {
  const emailOf = (account: string): Pick<Account, 'email' | 'project'> | undefined =>
    replica.database.prepare('SELECT email, project FROM accounts WHERE id = ?').get(account) as never
  const kinds: Readonly<Record<string, AuditedKind>> = {
    geofences: {
      ...recordKind(GEOFENCES, shownGeofence),
      // Two thousand corners, or ten thousand users, need not be read again.
      describe: (row, record) =>
        describeRecord(
          (record as Geofence | undefined) ?? recordOf(GEOFENCES, row as RecordRow),
          shownGeofence,
        ),
    },
    beacons: recordKind(BEACONS, (beacon) => {
      const answer = BEACONS.answer(beacon)
      return { ...answer, coordinates: (answer['geometry'] as { coordinates: unknown }).coordinates }
    }),
    webhooks: recordKind(WEBHOOKS, ({ secret: _secret, previousSecret, id, scope: _scope, ...webhook }) => ({
      _id: id,
      ...webhook,
      secretSet: true,
      // After a rotation, the earlier secret also signs for a while.
      previousSecretUntil: previousSecret?.until,
    })),
    hooks: recordKind(HOOKS, (hook) => HOOKS.answer(hook)),
    settings: {
      singular: 'settings',
      initial: publicSettings(DEFAULT_SETTINGS) as object as never,
      // A megabyte of segments and mappings need not be read again.
      describe(row, record) {
        const { scope, definition } = row as { readonly scope: ScopeId; readonly definition: string }
        const known = record as { readonly settings: Settings } | undefined
        const settings = known?.settings ?? { ...DEFAULT_SETTINGS, ...JSON.parse(definition) }
        return { ...placeOf(scope), target: 'settings', value: publicSettings(settings) as object as never }
      },
    },
    imports: {
      singular: 'import',
      describe(row) {
        const { id, scope, kind, record } = row as {
          id: string
          scope: ScopeId
          kind: string
          record: string
        }
        const { status, fileName, cancel, ...counts } = JSON.parse(record) as ImportRecord
        // While the run is in progress, each of its commits has other counts.
        const known = status === 'running' ? {} : { ...countsOf(counts) }
        return { ...placeOf(scope), target: id, value: { kind, fileName, status, cancel, ...known } }
      },
    },
    syncSettings: {
      singular: 'sync',
      describe(row) {
        const { scope, definition } = row as { readonly scope: ScopeId; readonly definition: string }
        const { sealed: _sealed, scheduledSince: _since, ...value } = JSON.parse(definition) as SyncSettings
        return { ...placeOf(scope), target: 'geofence-sync', value }
      },
    },
    syncRuns: {
      singular: 'syncRun',
      isFixed: true,
      describe(row) {
        const { id, scope, record } = row as { id: string; scope: ScopeId; record: string }
        const { trigger, force, dryRun } = JSON.parse(record) as SyncRun
        return { ...placeOf(scope), target: id, value: { trigger, force, dryRun } }
      },
    },
    projects: {
      singular: 'project',
      describe(row) {
        const { id, name, disabled, quota } = row as never as Record<string, unknown>
        return { project: Number(id), target: `${id}`, value: { name, disabled: disabled !== 0, quota } }
      },
    },
    keys: { singular: 'key', describe: describeKey },
    oldKeys: { singular: 'oldKey', describe: describeKey },
    accounts: {
      singular: 'account',
      describe(row) {
        const { project, email, name, role, disabled, password } = accountOfRow(row as AccountRow)
        const passwordSet = password !== undefined
        // A password that is only hashed again keeps its salt.
        const secret = password && { name: 'password', text: password.salt }
        return { project, target: email, value: { email, name, role, disabled, passwordSet }, secret }
      },
    },
    invitations: {
      singular: 'invitation',
      describe(row) {
        const { account, digest } = row as { readonly account: string; readonly digest: string }
        const invited = emailOf(account)
        if (invited === undefined) return undefined
        const { email, project } = invited
        return { project, target: email, value: { email }, secret: { name: 'link', text: digest } }
      },
    },
    sessions: {
      singular: 'session',
      isFixed: true,
      describe: (row) => {
        const session = sessionOfRow(row as SessionRow)
        return describeSession(session, session.account && emailOf(session.account)?.email)
      },
    },
  }
  return new Map(Object.entries(kinds))
}

function recordKind<R extends ScopedRecord>(
  kind: StoredKind<R>,
  show: (record: R) => Readonly<Record<string, unknown>>,
): AuditedKind {
  return {
    singular: kind.singular,
    place: (row) => placeOf((row as RecordRow).scope),
    describe: (row) => describeRecord(recordOf(kind, row as RecordRow), show),
  }
}

function describeRecord<R extends ScopedRecord>(
  record: R,
  show: (record: R) => Readonly<Record<string, unknown>>,
): Described {
  const { id, scope, tag, externalId } = record
  const target = tag === undefined || externalId === undefined ? id : `${tag}/${externalId}`
  const { updatedAt: _updatedAt, ...value } = show(record)
  return { ...placeOf(scope), target, value }
}

function shownGeofence(geofence: Geofence): Readonly<Record<string, unknown>> {
  return { ...GEOFENCES.answer(geofence), ...areaOf(geofence) }
}

/** The area in the form of a definition, so that a PUT makes it again. */
function areaOf({ shape, isochrone }: Geofence): object {
  if (isochrone !== undefined) return { coordinates: isochrone.destination, radius: isochrone.minutes }
  return shape.kind === 'circle'
    ? { coordinates: shape.center, radius: shape.radius }
    : { coordinates: shape.ring }
}

function countsOf({
  rows,
  created,
  updated,
  refused,
}: Pick<ImportRecord, 'rows' | 'created' | 'updated' | 'refused'>) {
  return { rows, created, updated, refused }
}

function describeKey(row: object): Described {
  const { project, kind, lastFour, validUntil } = row as never as Record<string, unknown>
  return { project: Number(project), target: String(kind), value: { kind, lastFour, validUntil } }
}

function describeSession(session: Session, email: string | undefined): Described {
  const { id, project, ip, userAgent, account } = session
  const label = email ?? 'key'
  return {
    project,
    target: email ?? id,
    value: { by: account === undefined ? 'key' : 'account', ip, userAgent },
    actor: { kind: 'session', id: account ?? id, label },
  }
}

function placeOf(scope: ScopeId) {
  return { project: projectOf(scope), live: isLive(scope) }
}
