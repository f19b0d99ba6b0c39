/** People in the distributed engine: roles, tickets and changes on every gateway. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { WebSocket } from 'ws'
import { Cluster } from '../../cluster/cluster.ts'
import { ROLES, type Role } from '../../src/model/role.ts'
import { command } from '../cli/command.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { KEYS } from '../kit/server.ts'
import { until } from '../kit/waiting.ts'
import { Browser, PASSWORD } from './kit.ts'
import { walkRoles } from './walk.ts'

const skip = await skipWithout(NATS_SERVER)

t.test('people on two gateways', { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'ringfence-people-'))
  const cluster = await Cluster.start({
    folder,
    nats: 1,
    gateways: 2,
    actors: 1,
    deliveries: 1,
    env: {
      RINGFENCE_KEYS: Object.values(KEYS).join(','),
      RINGFENCE_RATE_LIMITS: 'off',
      RINGFENCE_PARTITIONS: '8',
    },
  })
  t.teardown(async () => {
    if (!t.passing()) for (const { output } of cluster.members) console.error(output)
    await cluster.kill()
    rmSync(folder, { recursive: true, force: true })
  })
  const [one, two] = cluster.gateways.map(({ options }) => options.url) as [string, string]
  const [gateway] = cluster.gateways

  const person = async (role: Role): Promise<Browser> => {
    const line = ['accounts', 'add', `${role}@example.com`, role]
    const { output } = await command([...line, '--data', gateway!.options.env.RINGFENCE_DATA!])
    const token = /#invitation=([\w-]+)/.exec(output)![1]
    const browser = new Browser(one)
    const { status } = await browser.call('POST', `/v1/invitations/${token}`, { password: PASSWORD })
    t.equal(status, 200, output)
    return browser
  }
  const browsers = {} as Record<Role, Browser>
  for (const role of ROLES) browsers[role] = await person(role)
  const byKey = new Browser(one)
  await byKey.call('POST', '/v1/sessions', { key: KEYS.testSecret })

  /** The same session, on the other gateway. */
  const elsewhere = (browser: Browser): Browser => {
    const other = new Browser(two)
    other.cookie = browser.cookie
    return other
  }

  await t.test('a change on one gateway is in the audit of the other', async (t) => {
    const circle = { type: 'circle', coordinates: [13.4, 52.5], radius: 100, description: 'Depot' }
    t.equal((await browsers.write.call('PUT', '/v1/geofences/audit/1', circle)).status, 200)
    t.equal(
      (await browsers.write.call('PUT', '/v1/geofences/audit/1', { ...circle, radius: 50 })).status,
      200,
    )
    await browsers.write.call('POST', '/v1/track', {
      deviceId: 'gone',
      latitude: 1,
      longitude: 1,
      accuracy: 5,
    })
    t.equal((await browsers.write.call('DELETE', '/v1/users/gone')).status, 200)
    const admin = elsewhere(browsers.admin)
    const entries = async (query: string) => (await admin.call('GET', `/v1/audit?${query}`)).body.audit
    await until(async () => (await entries('target=gone')).length >= 1)
    t.match(await entries('target=gone'), [
      { action: 'DELETE /v1/users/:id', actor: { label: 'write@example.com' } },
    ])
    t.match(await entries('target=audit%2F1'), [
      { action: 'geofence.changed', before: { radius: 100 }, after: { radius: 50 } },
      { action: 'geofence.created', actor: { kind: 'session', label: 'write@example.com' } },
    ])
  })

  await t.test('a record of 700 kB is changed and deleted, and the audit says what it lacks', async (t) => {
    const userIds = Array.from({ length: 10_000 }, (_, i) => `user-${'x'.repeat(58)}-${i}`)
    const area = { description: 'Yard', type: 'circle', coordinates: [13, 52], radius: 100, userIds }
    const path = '/v1/geofences/long/1'
    for (const radius of [100, 200])
      t.equal((await browsers.admin.call('PUT', path, { ...area, radius })).status, 200)
    t.equal((await browsers.admin.call('DELETE', path)).status, 200)
    const { body } = await browsers.admin.call('GET', '/v1/audit?target=long%2F1')
    t.same(
      body.audit.map(({ action, leftOut }: { action: string; leftOut: string[] }) => [action, leftOut]),
      [
        ['geofence.deleted', ['before.userIds']],
        ['geofence.changed', ['before.userIds', 'after.userIds']],
        ['geofence.created', ['after.userIds']],
      ],
    )
  })

  await t.test('map regions are not imported over HTTP, because each process has its own', async (t) => {
    const answer = await fetch(`${one}/v1/map-regions/town`, {
      method: 'PUT',
      headers: { authorization: KEYS.liveSecret, 'content-type': 'application/octet-stream' },
      body: 'x',
    })
    t.equal(answer.status, 409)
    t.match(await answer.json(), { meta: { message: /npm run region -- import/ } })
    t.match((await browsers.admin.call('GET', '/v1/map-regions/imports')).body, { mapRegionImports: [] })
  })

  await t.test('statistics count the updates of both gateways', async (t) => {
    const updates = async (browser: Browser): Promise<number> => {
      const { stats } = (await browser.call('GET', '/v1/stats?step=3600')).body
      return stats.intervals.reduce((sum: number, { updates: count }: { updates: number }) => sum + count, 0)
    }
    const before = await updates(browsers.admin)
    for (const browser of [browsers.admin, elsewhere(browsers.admin)])
      for (const deviceId of ['s1', 's2']) {
        const update = { deviceId, latitude: 2, longitude: 2, accuracy: 5 }
        t.equal((await browser.call('POST', '/v1/track', update)).status, 200)
      }
    // The minute that has begun counts from the next one on, unless the hour of the answer has all of it.
    t.equal(await updates(browsers.admin), before + 4)
    t.equal(await updates(elsewhere(browsers.admin)), before + 4, 'whichever answers')
  })

  await t.test('roles and endpoints', async (t) => {
    await until(async () => (await elsewhere(byKey).call('GET', '/v1/settings')).status === 200)
    await walkRoles(t, two, {
      read: browsers.read.cookie,
      write: browsers.write.cookie,
      admin: browsers.admin.cookie,
      key: byKey.cookie,
    })
  })

  await t.test('a ticket of one gateway opens one stream of another', async (t) => {
    const open = async (url: string, ticket: string): Promise<WebSocket | number> => {
      const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/stream`, [
        'ringfence.json',
        `ringfence.ticket.${ticket}`,
      ])
      return Promise.race([
        once(socket, 'open').then(() => socket),
        once(socket, 'unexpected-response').then(([request, answer]) => {
          request.destroy()
          return answer.statusCode as number
        }),
      ])
    }
    let socket: WebSocket | undefined
    // A gateway that hears nothing of the other one for three seconds, as on a starved machine, refuses the ticket, and the
    // page gets another one.
    while (socket === undefined) {
      const { ticket } = (await browsers.read.call('POST', '/v1/sessions/current/ticket')).body
      const sockets = await Promise.all([open(two, ticket), open(two, ticket), open(one, ticket)])
      const opened = sockets.filter((each): each is WebSocket => typeof each !== 'number')
      const refused = sockets.filter((each) => typeof each === 'number')
      if (opened.length > 0) t.equal(opened.length, 1)
      t.strictSame(refused, Array(3 - opened.length).fill(401))
      socket = opened[0]
    }
    const closed = once(socket, 'close')
    const answered = Promise.race([
      once(socket, 'message'),
      closed.then(([code, reason]) => assert.fail(`closed instead of answered: ${code} ${reason}`)),
    ])
    socket.send('{"type":"ping"}')
    t.match(JSON.parse(String((await answered)[0])), { type: 'pong' })
    await browsers.read.call('DELETE', '/v1/sessions/current')
    t.match(await closed, [4401], 'it ends with the session, which was ended on another gateway')
  })

  await t.test('a role counts on the other gateway too, within a second', async (t) => {
    const { body } = await browsers.admin.call('GET', '/v1/accounts')
    const { _id } = body.accounts.find(({ role }: { role: string }) => role === 'write')
    const other = elsewhere(browsers.write)
    t.equal((await other.call('GET', '/v1/settings')).status, 200)
    t.match(await browsers.admin.call('PATCH', `/v1/accounts/${_id}`, { disabled: true }), { status: 200 })
    await until(async () => (await other.call('GET', '/v1/settings')).status === 401)
    t.pass()
  })
})
