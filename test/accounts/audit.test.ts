/** Every change is in the audit, by whoever made it, without secrets; and what was deleted comes back from it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { QUEENS, writeStreets } from '../geodata/kit.ts'
import { KEYS, startServer } from '../kit/server.ts'
import { tryActions, tryPeople, type Entered } from './auditActions.ts'
import { Browser } from './kit.ts'
import { seedPeople } from './seeded.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- answers of every shape
type Json = any

const SQUARE = [
  [13.4, 52.5],
  [13.41, 52.5],
  [13.41, 52.51],
  [13.4, 52.5],
]
const CIRCLE = { type: 'circle', coordinates: [13.4, 52.5], radius: 100, description: 'Depot' }
const BEACON = {
  type: 'ibeacon',
  uuid: '00000000-0000-4000-8000-000000000001',
  major: '1',
  minor: '2',
  coordinates: [13.4, 52.5],
  description: 'Door',
  enabled: true,
}

/** Data, which the audit does not have: what devices and programs report, and what they say about it. */
const DATA = new Set([
  'POST /v1/track',
  'POST /v1/track/replay',
  'POST /v1/events',
  'PUT /v1/events/{id}/verification',
  'POST /v1/trips',
  'PATCH /v1/trips/{id}',
  'PATCH /v1/trips/{id}/update',
  'PUT /v1/trips/{id}/legs',
  'PATCH /v1/trips/{id}/legs/{legId}',
  'POST /v1/logs',
  'POST /v1/search/autocomplete/click',
])
/** These only read. */
const QUESTIONS = new Set([
  'POST /v1/route/match',
  'POST /v1/sync/region',
  'POST /v1/sessions/current/ticket',
])

t.test('each call that changes something is entered', async (t) => {
  const data = t.testdir({})
  const people = seedPeople(data)
  const server = await startServer(t, {
    data,
    env: { RINGFENCE_WEBHOOK_PRIVATE_ADDRESSES: '127.0.0.1', RINGFENCE_SYNC_PRIVATE_ADDRESSES: '127.0.0.1' },
  })
  const admin = new Browser(server.url)
  admin.cookie = `ringfence_session=${people.admin.token}`
  const audit = async (query = ''): Promise<Json[]> =>
    (await admin.call('GET', `/v1/audit?${query}`)).body.audit
  const tried = new Set<string>()
  const tryOne: Entered = async (operation, path, body, who = admin) => {
    tried.add(operation)
    const [newest] = await audit('limit=1')
    const answer = await who.call(operation.split(' ', 1)[0]!, path, body)
    t.ok(answer.status < 300, `${operation}: ${answer.status} ${JSON.stringify(answer.body.meta)}`)
    const entries = await audit()
    const end = entries.findIndex(({ _id }) => _id === newest?._id)
    return { entries: end < 0 ? entries : entries.slice(0, end), answer: answer.body }
  }
  /** Does it as admin, and returns the entries that it caused, newest first. */
  const entered = async (operation: string, path: string, body?: unknown): Promise<Json[]> =>
    (await tryOne(operation, path, body)).entries
  const one = async (operation: string, path: string, action: string, body?: unknown): Promise<Json> => {
    const entries = await entered(operation, path, body)
    t.same(
      entries.map((entry) => entry.action),
      [action],
      operation,
    )
    t.match(entries[0], { actor: { kind: 'session', label: /@/ }, ip: '127.0.0.1', requestId: /./ })
    return entries[0]
  }

  const made = await one('POST /v1/geofences', '/v1/geofences', 'geofence.created', {
    ...CIRCLE,
    tag: 'a',
    externalId: '1',
  })
  t.match(made, {
    target: 'a/1',
    live: false,
    before: undefined,
    after: { description: 'Depot', radius: 100 },
  })
  const id = made.after._id
  const changed = await one('PUT /v1/geofences/{id}', `/v1/geofences/${id}`, 'geofence.changed', {
    ...CIRCLE,
    radius: 200,
  })
  t.match(changed, { before: { radius: 100 }, after: { radius: 200 } })
  await one('PUT /v1/geofences/{tag}/{externalId}', '/v1/geofences/a/2', 'geofence.created', {
    type: 'polygon',
    coordinates: SQUARE,
    description: 'Square',
    metadata: { n: 1 },
    userIds: 'u1,u2',
    operatingHours: { Monday: [['09:00', '17:00']] },
  })
  const gone = await one('DELETE /v1/geofences/{tag}/{externalId}', '/v1/geofences/a/2', 'geofence.deleted')
  const back = await admin.call('PUT', '/v1/geofences/a/2', gone.before)
  t.equal(back.status, 200, 'restored from the entry')
  for (const field of ['geometry', 'metadata', 'userIds', 'operatingHours', 'description'])
    t.same(back.body.geofence[field], gone.before[field], field)
  await one('DELETE /v1/geofences/{id}', `/v1/geofences/${id}`, 'geofence.deleted')

  const beacon = await one('POST /v1/beacons', '/v1/beacons', 'beacon.created', {
    ...BEACON,
    tag: 'b',
    externalId: '1',
  })
  await one('PUT /v1/beacons/{id}', `/v1/beacons/${beacon.after._id}`, 'beacon.changed', {
    ...BEACON,
    description: 'Gate',
  })
  await one('PUT /v1/beacons/{tag}/{externalId}', '/v1/beacons/b/2', 'beacon.created', {
    ...BEACON,
    minor: '3',
  })
  await one('DELETE /v1/beacons/{id}', `/v1/beacons/${beacon.after._id}`, 'beacon.deleted')
  const door = await one('DELETE /v1/beacons/{tag}/{externalId}', '/v1/beacons/b/2', 'beacon.deleted')
  t.equal((await admin.call('PUT', '/v1/beacons/b/2', door.before)).status, 200)

  for (const [plural, singular] of [
    ['geofences', 'geofence'],
    ['beacons', 'beacon'],
  ] as const) {
    const { length } = (await admin.call('GET', `/v1/${plural}`)).body[plural]
    t.equal(length, 1)
    const path = `/v1/${plural}?all=true&expectedCount=1`
    const off = await one(`PATCH /v1/${plural}`, path, `${singular}.changed`, { enabled: false })
    t.match([off.before.enabled, off.after.enabled], [true, false])
    await one(`DELETE /v1/${plural}`, path, `${singular}.deleted`)
  }

  const set = await one('PATCH /v1/settings', '/v1/settings', 'settings.changed', { exitDelaySeconds: 30 })
  t.match([set.before.exitDelaySeconds, set.after.exitDelaySeconds], [0, 30])
  t.equal((await admin.call('PATCH', '/v1/settings', set.before)).status, 200, 'restored')
  for (const [operation, action] of [
    ['POST /v1/simulations', 'geofence.created'],
    ['DELETE /v1/simulations', 'geofence.deleted'],
  ] as const) {
    const body = operation.startsWith('POST') ? { devices: 1 } : undefined
    const city = await entered(operation, '/v1/simulations', body)
    t.equal(city.filter((entry) => entry.action === action && entry.actor.kind === 'session').length, 24)
  }
  const rotated = await entered('POST /v1/keys/{kind}/rotate', '/v1/keys/publishable/rotate')
  t.match(rotated, [{ action: 'key.changed', target: 'testPublishable', after: { lastFour: /^.{4}$/ } }])

  await server.api(
    'POST',
    '/v1/track',
    { deviceId: 'd', latitude: 1, longitude: 1, accuracy: 5 },
    KEYS.testSecret,
  )
  const user = await one('DELETE /v1/users/{id}', '/v1/users/d', 'DELETE /v1/users/:id')
  t.match(user, { target: 'd', live: false })
  const { event } = (await server.api('POST', '/v1/events', { name: 'x', deviceId: 'd' }, KEYS.testSecret))
    .body
  await one('DELETE /v1/events/{id}', `/v1/events/${event._id}`, 'DELETE /v1/events/:id')

  const webhook = await one('POST /v1/webhooks', '/v1/webhooks', 'webhook.created', {
    url: 'https://example.com/x',
  })
  t.match(webhook.after, { url: 'https://example.com/x', secretSet: true, secret: undefined })

  await t.test('people', async (t) => {
    await tryPeople(t, server, tryOne)
    const key = new Browser(server.url)
    await key.call('POST', '/v1/sessions', { key: KEYS.testSecret })
    t.match(await audit('action=session.created&limit=1'), [
      { actor: { kind: 'session' }, before: undefined, after: { by: 'key', userAgent: 'Test' } },
    ])
    t.equal((await key.call('GET', '/v1/audit')).status, 403, 'a session of a key may not')
  })

  await t.test('programs and commands', async (t) => {
    await server.api('PUT', '/v1/geofences/p/1', CIRCLE, KEYS.testSecret)
    t.match(await audit('target=p%2F1'), [
      { actor: { kind: 'key', label: KEYS.testSecret.slice(-4) }, action: 'geofence.created' },
    ])
    const [{ actor }] = await audit('target=p%2F1')
    t.ok((await audit(`actor=${encodeURIComponent(actor.id)}`)).every((each) => each.actor.id === actor.id))
    const rows = Array.from({ length: 120 }, (_, i) => `D,csv,${i},circle,"[13,52]",50`).join('\n')
    await server.api(
      'POST',
      '/v1/imports/geofences',
      `description,tag,externalId,type,coordinates,radius\n${rows}\n`,
      KEYS.testSecret,
      { 'content-type': 'text/csv' },
    )
    tried.add('POST /v1/imports/geofences')
    const rowsIn = (await audit('action=geofence.created&limit=1000')).filter(({ target }) =>
      target.startsWith('csv/'),
    )
    t.equal(new Set(rowsIn.map(({ target }) => target)).size, 120, 'each row of an import')
    t.match(rowsIn[0], { after: { description: 'D', radius: 50 }, actor: { kind: 'key' } }, 'with its values')
    t.match(
      (await audit('action=import.changed'))[0],
      { before: { status: 'running' }, after: { status: 'completed', rows: 120, created: 120 } },
      'and the import itself',
    )
    await server.api(
      'POST',
      '/v1/imports/beacons',
      `description,type,uid,instance,coordinates,enabled\nDoor,eddystone,${'a'.repeat(20)},${'b'.repeat(12)},"[1,2]",true\n`,
      KEYS.testSecret,
      { 'content-type': 'text/csv' },
    )
    tried.add('POST /v1/imports/beacons')
    t.match((await audit('action=import.changed'))[0], { after: { kind: 'beacons', created: 1 } })
    t.match(
      (await server.api('DELETE', '/v1/geofences?tag=csv&expectedCount=120', undefined, KEYS.testSecret))
        .body,
      { count: 120 },
    )
    const rowsOut = await audit('action=geofence.deleted&limit=120')
    t.equal(
      rowsOut.filter(({ target, before }) => target.startsWith('csv/') && before.radius === 50).length,
      120,
    )
  })

  await t.test(
    'long rows of an import are one entry without values, which would take long to write',
    async (t) => {
      const ring = Array.from({ length: 1000 }, (_, i) => {
        const angle = (2 * Math.PI * (i % 999)) / 999
        return [13 + 0.01 * Math.cos(angle), 52 + 0.01 * Math.sin(angle)]
      })
      const rows = Array.from(
        { length: 12 },
        (_, i) => `D,long,${i},polygon,"${JSON.stringify([ring])}"`,
      ).join('\n')
      const { body } = await server.api(
        'POST',
        '/v1/imports/geofences',
        `description,tag,externalId,type,coordinates\n${rows}\n`,
        KEYS.testSecret,
        { 'content-type': 'text/csv' },
      )
      t.equal(body.import.created, 12)
      const single = (await audit('action=geofence.created&limit=1000')).filter(({ target }) =>
        target.startsWith('long/'),
      )
      const many = (await audit('action=geofence.changedMany')).filter(({ after }) => after.count <= 12)
      const counted = many.reduce((sum, { after }) => sum + after.count, 0)
      t.equal(counted + single.length, 12, 'each row')
      t.notOk(JSON.stringify(many).includes('coordinates'))
    },
  )

  await t.test('hooks, webhooks and the settings of syncs, without their secrets', async (t) => {
    const hook = { geofence: { tag: 'a' }, endpoint: { url: 'https://example.com/h' } }
    const hooked = await one('PUT /v1/hooks/{tag}/{externalId}', '/v1/hooks/h/1', 'hook.created', hook)
    t.equal(hooked.target, 'h/1')
    const hookId = hooked.after._id
    await one('PUT /v1/hooks/{id}', `/v1/hooks/${hookId}`, 'hook.changed', { ...hook, detect: ['enter'] })
    await one('DELETE /v1/hooks/{tag}/{externalId}', '/v1/hooks/h/1', 'hook.deleted')
    const other = await one('POST /v1/hooks', '/v1/hooks', 'hook.created', {
      ...hook,
      tag: 'h',
      externalId: '2',
    })
    await one('DELETE /v1/hooks/{id}', `/v1/hooks/${other.after._id}`, 'hook.deleted')
    const webhookId = webhook.after._id
    await one('POST /v1/webhooks/{id}/rotate', `/v1/webhooks/${webhookId}/rotate`, 'webhook.changed')
    await one('PATCH /v1/webhooks/{id}', `/v1/webhooks/${webhookId}`, 'webhook.changed', {
      description: 'Mine',
    })
    await one('DELETE /v1/webhooks/{id}', `/v1/webhooks/${webhookId}`, 'webhook.deleted')
    const settings = {
      enabled: false,
      protocol: 'http',
      http: { urls: ['https://example.com/f.csv?token=hush'], username: 'me', password: 'whisper' },
    }
    const sync = await one('PUT /v1/geofence-sync', '/v1/geofence-sync', 'sync.created', settings)
    t.match(sync, { target: 'geofence-sync', after: { http: { username: 'me', passwordSet: true } } })
    t.notMatch(JSON.stringify(sync), /hush|whisper|sealed/)
  })

  await t.test(
    'what is deleted outside of the registry is entered first, and taken back if there is nothing',
    async (t) => {
      const before = (await audit('limit=1'))[0]._id
      for (const path of ['/v1/users/nobody', '/v1/events/nothing', '/v1/trips/nothing'])
        t.equal((await admin.call('DELETE', path)).status, 404, path)
      t.equal((await audit('limit=1'))[0]._id, before, 'nothing was deleted, and nothing is entered')
      await server.api('POST', '/v1/trips', { externalId: 'T', userId: 'u' }, KEYS.testSecret)
      await one('DELETE /v1/trips/{id}', '/v1/trips/T', 'DELETE /v1/trips/:id')
    },
  )

  await t.test('what tests, sends again or ends something', (t) => tryActions(t, server, tryOne, admin))

  await t.test('a map region, by whoever imports it', async (t) => {
    const operation = 'PUT /v1/map-regions/{name}'
    tried.add(operation)
    const path = join(t.testdir({}), 'town.osm.pbf')
    writeStreets(path, QUEENS)
    const put = (name: string) =>
      fetch(`${server.url}/v1/map-regions/${name}`, {
        method: 'PUT',
        headers: {
          cookie: admin.cookie,
          origin: server.url,
          'x-ringfence-environment': 'test',
          'content-type': 'application/octet-stream',
        },
        body: readFileSync(path),
      })
    t.equal((await put('NOT-A-NAME')).status, 400)
    t.equal((await put('town')).status, 202)
    t.match(await audit('limit=1'), [
      { action: 'PUT /v1/map-regions/:name', target: 'town', actor: { label: people.admin.email } },
    ])
    t.equal((await audit('target=NOT-A-NAME')).length, 0, 'what was refused is not entered')
  })

  await t.test('nothing is left out, and no secret is in', async (t) => {
    const document: Json = await (await fetch(`${server.url}/v1/openapi.json`)).json()
    const operations = Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
    for (const name of [...DATA, ...QUESTIONS]) t.ok(operations.includes(name), `${name} is there`)
    for (const name of operations)
      if (!name.startsWith('GET ') && !DATA.has(name) && !QUESTIONS.has(name))
        t.ok(tried.has(name), `${name} is tried`)
    const all = JSON.stringify(await audit('limit=1000'))
    for (const word of ['_sk_', '"digest"', '"hash"', '"salt"', 'whsec_', 'horse battery'])
      t.notOk(all.includes(word), word)
    const first = await audit('limit=2')
    t.same((await audit(`limit=1&before=${first[0]._id}`))[0], first[1], 'pages')
    const other = new Browser(server.url)
    other.cookie = `ringfence_session=${people.write.token}`
    t.equal((await other.call('GET', '/v1/audit')).status, 403)
  })
})
