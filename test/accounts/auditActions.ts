/** Calls of people that the audit has: those that concern people, and those that change no record or wait for one. */
import { request, type ClientRequest } from 'node:http'
import type { Test } from 'tap'
import type { Server } from '../kit/server.ts'
import { until } from '../kit/waiting.ts'
import { Browser } from './kit.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- answers of every shape
type Json = any

const PASSWORD = 'correct horse battery'

/**
 * Does a call as `who`, an admin if absent.
 * @returns the entries that it caused, newest first, and its answer
 */
export type Entered = (
  operation: string,
  path: string,
  body?: unknown,
  who?: Browser,
) => Promise<{ readonly entries: Json[]; readonly answer: Json }>

/** Everything that somebody's account goes through, from its invitation to its end. */
export async function tryPeople(t: Test, server: Server, entered: Entered): Promise<void> {
  const is = (entries: Json[], actions: string[], what: string) =>
    t.same(entries.map(({ action }) => action).toSorted(), actions, what)
  const wanted = { email: 'new@example.com', name: 'New', role: 'read' }
  const made = await entered('POST /v1/accounts', '/v1/accounts', wanted)
  is(made.entries, ['account.created'], 'an account')
  const path = `/v1/accounts/${made.answer.account._id}`
  const again = await entered('POST /v1/accounts/{id}/invitation', `${path}/invitation`)
  is(again.entries, ['invitation.changed'], 'another link')
  t.match(again.entries[0], { target: wanted.email, after: { linkChanged: true } })
  const token = /#invitation=([^&]+)/.exec(again.answer.invitation.url)![1]!
  const person = new Browser(server.url)
  const accepted = await entered(
    'POST /v1/invitations/{token}',
    `/v1/invitations/${token}`,
    { password: PASSWORD },
    person,
  )
  const actions = new Set(accepted.entries.map(({ action }) => action))
  for (const action of ['account.changed', 'session.created']) t.ok(actions.has(action), action)
  t.notOk(JSON.stringify(accepted.entries).includes(token), 'the link is a secret')
  const other = new Browser(server.url)
  const signedIn = await entered(
    'POST /v1/sessions',
    '/v1/sessions',
    { ...wanted, password: PASSWORD },
    other,
  )
  t.match(
    signedIn.entries.find(({ action }) => action === 'session.created'),
    { after: { by: 'account', userAgent: 'Test' } },
  )
  const changed = await entered(
    'PUT /v1/account/password',
    '/v1/account/password',
    { current: PASSWORD, password: 'another horse battery' },
    person,
  )
  is(changed.entries, ['account.changed', 'session.deleted'], 'a password, which ends the other session')
  t.match(
    changed.entries.find(({ action }) => action === 'account.changed'),
    { actor: { kind: 'session', label: wanted.email }, after: { passwordSet: true, passwordChanged: true } },
  )
  const role = await entered('PATCH /v1/accounts/{id}', path, { role: 'write' })
  is(role.entries, ['account.changed'], 'a role')
  t.match(role.entries[0], { before: { role: 'read' }, after: { role: 'write' } })
  is(
    (await entered('DELETE /v1/sessions/current', '/v1/sessions/current', undefined, person)).entries,
    ['session.deleted'],
    'signing out',
  )
  await other.call('POST', '/v1/sessions', { email: wanted.email, password: 'another horse battery' })
  const current = (await other.call('GET', '/v1/sessions')).body.sessions.find((one: Json) => one.current)
  is(
    (await entered('DELETE /v1/sessions/{id}', `/v1/sessions/${current._id}`)).entries,
    ['session.deleted'],
    'a session of somebody else',
  )
  const gone = await entered('DELETE /v1/accounts/{id}', path)
  t.ok(
    gone.entries.some(({ action, before }) => action === 'account.deleted' && before.email === wanted.email),
    'an account',
  )
}

/**
 * Calls that test, send again or end something. The server may reach this machine with syncs and webhooks.
 * @param admin who did all of it
 */
export async function tryActions(t: Test, server: Server, entered: Entered, admin: Browser): Promise<void> {
  const one = async (operation: string, path: string, body?: unknown, action?: string): Promise<Json> => {
    const { entries } = await entered(operation, path, body)
    const wanted = action ?? operation.replaceAll(/\{(\w+)\}/g, ':$1')
    const found = entries.find((entry) => entry.action === wanted)
    t.match(found, { actor: { kind: 'session', label: 'admin@example.com' } }, operation)
    return found
  }
  const { webhook } = (await admin.call('POST', '/v1/webhooks', { url: 'https://127.0.0.1:1/' })).body
  const { _id } = webhook
  await one('POST /v1/webhooks/{id}/enable', `/v1/webhooks/${_id}/enable`)
  await one('POST /v1/webhooks/{id}/test', `/v1/webhooks/${_id}/test`)
  const since = { from: '2026-11-20T00:00:00.000Z' }
  await one('POST /v1/webhooks/{id}/redeliver', `/v1/webhooks/${_id}/redeliver`, since)
  await one('POST /v1/notifications/test', '/v1/notifications/test', { email: 'a@example.com' })

  // Nobody listens there, so the run tries again until it is canceled.
  const http = { urls: ['http://127.0.0.1:1/f.csv'], username: 'me', password: 'whisper' }
  const settings = { enabled: false, protocol: 'http', http }
  t.equal((await admin.call('PUT', '/v1/geofence-sync', settings)).status, 200)
  await one('POST /v1/geofence-sync/test', '/v1/geofence-sync/test', {})
  await one('POST /v1/geofence-sync/runs', '/v1/geofence-sync/runs', {}, 'syncRun.created')
  const run = (await admin.call('GET', '/v1/geofence-sync/runs')).body.runs[0]
  await one('POST /v1/geofence-sync/runs/{id}/cancel', `/v1/geofence-sync/runs/${run._id}/cancel`)

  for (const kind of ['geofences', 'beacons'] as const) {
    const path = `/v1/imports/${kind}`
    const upload = slowly(server, 'POST', path, admin, { 'content-type': 'text/csv' }, FILES[kind])
    const newest = async () => (await admin.call('GET', path)).body.imports[0]
    await until(async () => (await newest())?.status === 'running')
    const cancel = `${path}/${(await newest())._id}/cancel`
    const canceled = await one(`POST ${path}/{id}/cancel`, cancel, undefined, 'import.changed')
    t.match(canceled, { target: (await newest())._id })
    upload.destroy()
  }
  const osm = { 'content-type': 'application/octet-stream', 'content-length': '1000' }
  const upload = slowly(server, 'PUT', '/v1/map-regions/late', admin, osm, 'x')
  const imports = async () =>
    (await admin.call('GET', '/v1/map-regions/imports')).body.mapRegionImports.find(
      ({ name }: Json) => name === 'late',
    )
  await until(async () => (await imports())?.status === 'uploading')
  const cancel = `/v1/map-regions/imports/${(await imports())._id}/cancel`
  await one('POST /v1/map-regions/imports/{id}/cancel', cancel)
  upload.destroy()
  await until(async () => (await imports()).finishedAt !== undefined)
}

const ROWS = Array.from({ length: 700 }, (_, i) => i)
/** More rows than one commit takes. */
const FILES = {
  geofences:
    'description,tag,externalId,type,coordinates,radius\n' +
    ROWS.map((i) => `D,late,${i},circle,"[13,52]",50\n`).join(''),
  beacons:
    'description,type,uid,instance,coordinates,enabled\n' +
    ROWS.map((i) => `D,eddystone,${'a'.repeat(20)},${String(i).padStart(12, '0')},"[1,2]",true\n`).join(''),
}

/** Sends the beginning of a body, and then nothing. */
function slowly(
  server: Server,
  method: string,
  path: string,
  { cookie }: Browser,
  headers: Readonly<Record<string, string>>,
  begin: string,
): ClientRequest {
  const upload = request(server.url + path, {
    method,
    headers: { cookie, origin: server.url, 'x-ringfence-environment': 'test', ...headers },
  })
  upload.on('error', () => {})
  upload.write(begin)
  return upload
}
