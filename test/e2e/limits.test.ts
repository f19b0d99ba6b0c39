/** Limits of a real server: rate limits that the operator has set, and projects that have reached a limit. */
import t, { type Test } from 'tap'
import type { Projects } from '../../src/registry/projects/projects.ts'
import { withRegistry } from '../../src/cli/registryCommands.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { KEYS, startServer, type HttpAnswer, type Server } from '../kit/server.ts'

const { testPublishable, livePublishable, testSecret, liveSecret } = KEYS
const AT = { latitude: 50, longitude: 10, accuracy: 5 }

/**
 * Sends all requests at once. Returns how many were answered with 200, and checks that all others were refused as
 * specified.
 */
async function passed(t: Test, requests: readonly (() => Promise<HttpAnswer>)[], perSecond: number) {
  const from = performance.now()
  const answers = await Promise.all(requests.map((send) => send()))
  const seconds = (performance.now() - from) / 1000
  const good = answers.filter(({ status }) => status === 200).length
  for (const { status, body, headers } of answers) {
    if (status !== 200)
      t.match({ status, meta: body.meta }, { status: 429, meta: { code: 429, type: 'second' } })
    if (status !== 200) t.equal(headers.get('retry-after'), '1')
  }
  t.ok(good >= perSecond, `${good} passed, a bucket of ${perSecond}`)
  t.ok(good <= perSecond * (seconds + 1) + 1, `${good} passed in ${seconds.toFixed(2)} s`)
  return good
}

t.test('rate limits are those of the table, with the changes of the operator', async (t) => {
  const server = await startServer(t, {
    env: {
      RINGFENCE_RATE_LIMITS: 'on',
      RINGFENCE_LIMITS:
        'GET /v1/context=2,GET /v1/search/users=3,POST /v1/sync/region=5,management=off,POST /v1/track=2',
    },
  })
  const get = (path: string, key: string) => () => server.api('GET', path, undefined, key)
  const times = <T>(count: number, one: T): T[] => Array.from({ length: count }, () => one)

  const context = get('/v1/context?coordinates=50,10', testPublishable)
  t.ok((await passed(t, times(30, context), 2)) < 30)
  const users = get('/v1/search/users?near=50,10', testSecret)
  t.ok((await passed(t, times(30, users), 3)) < 30)
  t.equal(
    (await server.api('GET', '/v1/search/users?near=50,10', undefined, liveSecret)).status,
    200,
    'another key',
  )
  t.ok((await passed(t, times(30, get('/v1/users', testSecret)), 30)) === 30, 'management=off')
  const verdict = () =>
    server.api('PUT', `/v1/events/${event._id}/verification`, { verification: 1 }, testPublishable)
  const { event } = (await server.api('POST', '/v1/events', { name: 'x', deviceId: 'd' })).body
  t.ok((await passed(t, times(60, verdict), 10)) < 60, 'nobody tries ids with an app’s key')
  const region = () => server.api('POST', '/v1/sync/region', { latitude: 50, longitude: 10 }, testPublishable)
  t.ok((await passed(t, times(30, region), 5)) < 30)
  const reverse = get('/v1/geocode/reverse?coordinates=50,10', testPublishable)
  t.ok((await passed(t, times(60, reverse), 10)) < 60)
  const config = get('/v1/config', testPublishable)
  t.equal(await passed(t, times(120, config), 120), 120, 'what every device asks for is not limited by key')

  const track = (deviceId: string) => () =>
    server.api('POST', '/v1/track', { ...AT, deviceId }, testPublishable)
  t.ok((await passed(t, times(30, track('one')), 2)) < 30, 'by device')
  const fleet = Array.from({ length: 60 }, (_, i) => track(`other ${i}`))
  t.equal(await passed(t, fleet, 60), 60)

  const { body } = await server.api('GET', '/v1/openapi.json', undefined, null)
  const { paths } = body
  t.match(
    paths['/v1/context'].get.responses[429].description,
    /At most 2 requests a second for each key\. .*Retry-After/,
  )
  t.match(paths['/v1/track'].post.responses[429].description, /At most 2 requests a second for each device\./)
  t.notOk(429 in paths['/v1/users'].get.responses)
  for (const [endpoint, limit] of Object.entries({
    'get route/distance': 100,
    'get route/matrix': 20,
    'post route/match': 10,
    'get route/directions': 10,
    'get route/optimize': 10,
    'get geocode/forward': 10,
    'get geocode/reverse': 10,
    'get search/autocomplete': 10,
    'get addresses/validate': 100,
    'get search/places': 150,
  })) {
    const [method, path] = endpoint.split(' ')
    const { description } = paths[`/v1/${path}`][method!].responses[429]
    t.match(description, `At most ${limit} requests a second for each key.`)
  }
  t.match(body.components.responses.Error402.description, 'Payment required')
})

t.test('trips: phones by address, servers as management, routes on their own', async (t) => {
  const server = await startServer(t, {
    env: { RINGFENCE_RATE_LIMITS: 'on', RINGFENCE_TRUSTED_PROXIES: '127.0.0.1' },
  })
  const create = (key: string, address: string) => () =>
    server.api('POST', '/v1/trips', { externalId: 'limited' }, key, { 'x-forwarded-for': address })
  const times = <T>(count: number, one: T): T[] => Array.from({ length: count }, () => one)
  t.ok((await passed(t, times(40, create(testPublishable, '192.0.2.1')), 10)) < 40)
  t.equal((await create(testPublishable, '192.0.2.2')()).status, 200, 'another address')
  t.equal(await passed(t, times(40, create(testSecret, '192.0.2.1')), 40), 40, 'a server')
  const { paths } = (await server.api('GET', '/v1/openapi.json', undefined, null)).body
  t.match(
    paths['/v1/trips/{id}/route'].get.responses[429].description,
    'At most 100 requests a second for each key.',
  )
})

t.test('an operator is told which limit is invalid', async (t) => {
  await t.rejects(startServer(t, { args: ['--limits', 'GET /v1/weather=1'] }), {
    message: /exited with 2\nringfence: --limits has no "GET \/v1\/weather"/,
  })
})

/** Changes something that only the operator may change, while no server runs. */
async function operate(server: Server, change: (projects: Projects) => void): Promise<void> {
  await server.stop()
  withRegistry(server.data, systemClock, ({ projects }) => change(projects))
  await server.restart()
}

t.test('a project over its quota, or disabled, is answered 402', async (t) => {
  const server = await startServer(t)
  const status = async (path: string, key: string | null) =>
    (await server.api('GET', path, undefined, key)).status
  t.equal(await status('/v1/users', testSecret), 200)
  t.equal(await status('/v1/users', testPublishable), 403)
  t.equal(await status('/v1/users', null), 401)
  await server.api('GET', '/v1/openapi.json')
  await operate(server, (projects) => {
    t.match(
      projects.list(),
      [{ requests: 1 }],
      'a stop writes the count down; what was refused or is open to all is not in it',
    )
    projects.setQuota(1, 3)
  })
  t.equal(await status('/v1/users', liveSecret), 200)
  t.equal((await server.api('GET', '/v1/search/geofences?near=91,0')).status, 400)
  const over = await server.api('POST', '/v1/track', '{', livePublishable)
  t.equal(over.status, 402)
  const month = new Date()
  month.setUTCMonth(month.getUTCMonth() + 1, 1)
  t.strictSame(over.body, {
    meta: {
      code: 402,
      message:
        'Payment required: the monthly quota of 3 requests is used up; it starts again on ' +
        `${month.toISOString().slice(0, 10)}.`,
    },
  })
  t.ok(over.headers.get('x-radar-request-id'))
  for (const path of ['/healthz', '/readyz', '/v1/openapi.json', '/docs', '/docs/guides/quickstart'])
    t.equal(await status(path, testSecret), 200, path)
  t.match(
    (await server.api('GET', '/metrics')).body,
    /requests_total\{method="POST",route="\/v1\/track",status="402"\} 1/,
  )

  await operate(server, (projects) => {
    t.match(projects.list(), [{ requests: 3 }])
    projects.setQuota(1, null)
    projects.setDisabled(1, true)
  })
  const disabled = await server.api('GET', '/v1/users')
  t.strictSame(disabled.body, { meta: { code: 402, message: 'Payment required: the project is disabled.' } })
  t.equal(await status('/v1/users', testPublishable), 403, 'keys come first')
})
