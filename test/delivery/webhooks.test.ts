/** Webhooks as their receivers see them, with a real server and real requests. Failures: webhookFaults.slow.test.ts. */
import { Webhook as Verifier } from 'standardwebhooks'
import t from 'tap'
import { KEYS, startServer } from '../kit/server.ts'
import { Receiver } from './webhookKit.ts'
import { ENV, INSIDE, OUTSIDE, create, eventIds, isSigned, track, withGeofences } from './webhookServer.ts'
import { checkShapes, crossShapes } from './shapes.ts'
import { until } from '../kit/waiting.ts'

// Each test has its own server, and they wait more than they work.
t.jobs = 5

t.test('events contain the location of their geofences', { buffered: true }, async (t) => {
  const server = await startServer(t, { env: ENV })
  const receiver = await Receiver.start(t)
  for (const mode of ['single', 'multiple'] as const)
    await create(server, { url: `${receiver.url}/${mode}`, mode })
  await crossShapes(server, 'd1')
  const to = (path: string) =>
    receiver.got
      .filter((received) => received.path === path)
      .flatMap(({ json }) => json.events ?? [json.event])
  await until(() => to('/single').length >= 4 && to('/multiple').length >= 4)
  checkShapes(t, to('/single'))
  checkShapes(t, to('/multiple'))
})

t.test('an event goes out, signed, with the user as it stands', { buffered: true }, async (t) => {
  const server = await withGeofences(t)
  const receiver = await Receiver.start(t)
  const single = await create(server, { url: `${receiver.url}/single`, tags: 'store' })
  const multiple = await create(server, { url: `${receiver.url}/multiple`, mode: 'multiple' })
  const exits = await create(server, { url: `${receiver.url}/exits`, types: ['user.exited_geofence'] })
  const live = await server.api('POST', '/v1/webhooks', { url: `${receiver.url}/live` }, KEYS.liveSecret)
  const to = (path: string) => receiver.got.filter((received) => received.path === path)

  const ids = await track(server, 'd1', INSIDE, { userId: 'u1' })
  t.equal(ids.length, 2)
  await until(() => to('/single').length >= 1 && to('/multiple').length >= 1)
  const one = to('/single')[0]!
  const { body: record } = await server.api('GET', '/v1/users/u1')
  t.strictSame(one.json.user, record.user)
  const { body: event } = await server.api('GET', `/v1/events/${one.json.event._id}`)
  t.strictSame(one.json.event, event.event)
  t.equal(one.json.event.geofence.tag, 'store')
  t.match(one.headers, {
    'content-type': 'application/json',
    'webhook-id': `msg_${one.json.event._id}`,
    'user-agent': /^Ringfence\/\d/,
  })
  t.ok(isSigned(one, single.secret))
  t.throws(() => isSigned({ ...one, body: one.body.replace('u1', 'u2') }, single.secret))
  const both = to('/multiple')[0]!
  t.strictSame(eventIds(both), ids)
  t.strictSame(both.json.user, record.user)
  t.ok(isSigned(both, multiple.secret))

  const left = await track(server, 'd1', OUTSIDE, { userId: 'u1' })
  await until(() => to('/exits').length >= 2 && to('/single').length >= 2)
  t.strictSame(to('/exits').flatMap(eventIds), left)
  t.equal(to('/live').length, 0, 'environments are apart')

  t.test('the secret is shown once, and after its replacement both are valid for a day', async (t) => {
    const { body } = await server.api('GET', '/v1/webhooks')
    t.same(
      body.webhooks.map((each: { _id: string }) => each._id),
      [single._id, multiple._id, exits._id],
    )
    t.notOk(JSON.stringify(body).includes('whsec_'))
    t.equal(body.webhooks[0].secretLastFour, single.secret.slice(-4))
    const rotated = await server.api('POST', `/v1/webhooks/${single._id}/rotate`)
    t.match(rotated.body.webhook.secret, /^whsec_[A-Za-z0-9+/]{40}$/)
    const before = to('/single').length
    await track(server, 'd1', INSIDE, { userId: 'u1' })
    await until(() => to('/single').length > before)
    const last = to('/single').at(-1)!
    t.ok(isSigned(last, rotated.body.webhook.secret))
    t.ok(new Verifier(single.secret).verify(last.body, last.headers as Record<string, string>))
  })

  t.test('the test button sends now and shows the answer', async (t) => {
    receiver.answer = (_, response) => response.writeHead(418).end('a teapot')
    const { body } = await server.api('POST', `/v1/webhooks/${exits._id}/test`)
    t.match(body.test, { delivered: false, status: 418, error: 'answered 418', lastResponseBody: 'a teapot' })
    const sample = to('/exits').at(-1)!
    t.equal(sample.json.event.type, 'user.exited_geofence', 'of a type that it wants')
    t.ok(isSigned(sample, exits.secret))
    await server.api('PATCH', `/v1/webhooks/${exits._id}`, { url: 'http://127.0.0.1:1/' })
    const refused = await server.api('POST', `/v1/webhooks/${exits._id}/test`)
    t.match(refused.body.test, { delivered: false, error: 'the connection was refused' })
    t.notOk('status' in refused.body.test)
    receiver.answer = (_, response) => response.end()
  })

  t.test('the event of a deleted user is sent without the user', async (t) => {
    await server.api('PATCH', `/v1/webhooks/${exits._id}`, { url: `${receiver.url}/gone`, types: null })
    receiver.answer = ({ path }, response) => response.writeHead(path === '/gone' ? 503 : 200).end()
    await track(server, 'd2', INSIDE)
    await until(() => to('/gone').length > 0)
    t.ok(to('/gone')[0]!.json.user)
    await server.api('DELETE', '/v1/users/d2')
    receiver.answer = (_, response) => response.end()
    await until(async () => (await server.api('GET', `/v1/webhooks/${exits._id}`)).body.webhook.pending === 0)
    t.strictSame(Object.keys(to('/gone').at(-1)!.json), ['event'])
  })

  t.test('an event that is deleted while it waits is not sent', async (t) => {
    receiver.answer = ({ path }, response) => response.writeHead(path === '/single' ? 503 : 200).end()
    const before = to('/single').length
    await track(server, 'forgotten', INSIDE)
    await until(() => to('/single').length > before)
    await server.api('DELETE', `/v1/events/${to('/single').at(-1)!.json.event._id}`)
    // An attempt may have been in progress.
    await new Promise((resolve) => setTimeout(resolve, 100))
    const sent = to('/single').length
    const pending = async () => (await server.api('GET', `/v1/webhooks/${single._id}`)).body.webhook.pending
    await until(async () => (await pending()) === 0 || to('/single').length > sent)
    t.equal(to('/single').length, sent)
    const { body } = await server.api('GET', `/v1/webhooks/${single._id}/deliveries?limit=1`)
    t.match(body.deliveries, [{ deviceId: 'forgotten', status: 'dropped' }])
    receiver.answer = (_, response) => response.end()
  })

  t.test('deleting a webhook deletes its deliveries', async (t) => {
    t.equal((await server.api('DELETE', `/v1/webhooks/${single._id}`)).status, 200)
    for (const path of ['', '/deliveries'])
      t.equal((await server.api('GET', `/v1/webhooks/${single._id}${path}`)).status, 404)
    const before = to('/single').length
    await track(server, 'd3', INSIDE)
    await until(() => to('/multiple').some(({ json }) => json.user.deviceId === 'd3'))
    t.equal(to('/single').length, before)
  })
  t.equal(live.status, 200)
})

t.test('events are delivered again on request: one, or a time range', { buffered: true }, async (t) => {
  const server = await withGeofences(t)
  const receiver = await Receiver.start(t)
  const { _id } = await create(server, { url: receiver.url, tags: ['store'] })
  const redeliver = (body: object) => server.api('POST', `/v1/webhooks/${_id}/redeliver`, body)
  const list = async (query: string) =>
    (await server.api('GET', `/v1/webhooks/${_id}/deliveries?${query}`)).body
  const times: string[] = []
  for (const place of [INSIDE, OUTSIDE, INSIDE, OUTSIDE]) {
    times.push(new Date().toISOString())
    await track(server, 'a', place)
    await until(() => receiver.got.length >= times.length)
  }
  const ids = receiver.got.flatMap(eventIds)
  await until(async () => (await list('status=delivered')).deliveries.length === 4)
  const { deliveries } = await list('limit=1000')
  t.same(
    deliveries.map((each: { events: { _id: string }[] }) => each.events[0]!._id),
    ids.toReversed(),
  )

  receiver.got.length = 0
  const again = await redeliver({ deliveryId: deliveries[1]._id })
  t.match(again.body.delivery, { _id: deliveries[1]._id, status: 'pending' })
  await until(() => receiver.got.length >= 1)
  t.match(receiver.got[0], { headers: { 'webhook-id': `msg_${ids[2]}` } })
  await until(async () => (await list('status=delivered')).deliveries.length === 4)
  t.equal((await list('limit=1000')).deliveries[1].attemptCount, 2)

  receiver.got.length = 0
  t.equal((await redeliver({ from: times[1], to: times[3] })).status, 200)
  await until(() => receiver.got.length >= 2)
  t.same(receiver.got.flatMap(eventIds), [ids[1], ids[2]])
  await until(
    async () => (await server.api('GET', `/v1/webhooks/${_id}`)).body.webhook.redelivery === undefined,
  )
  receiver.got.length = 0
  await redeliver({ from: times[0] })
  await until(() => receiver.got.length >= 4)
  t.same(receiver.got.flatMap(eventIds), ids)

  t.test('the log is read page by page', async (t) => {
    await until(async () => (await list('status=delivered')).deliveries.length === 10)
    const whole = (await list('limit=1000')).deliveries.map((each: { _id: string }) => each._id)
    const pages: string[] = []
    for (let before = '', more = true; more;) {
      const { meta, deliveries: page } = await list(`limit=3${before && `&before=${before}`}`)
      pages.push(...page.map((each: { _id: string }) => each._id))
      before = page.at(-1)._id
      more = meta.hasMore
    }
    t.same(pages, whole)
    t.match((await list('before=nothing')).meta, { code: 404, param: 'before' })
    t.same((await list(`before=${whole.at(-1)}`)).deliveries, [])
    t.equal((await list('status=failed')).deliveries.length, 0)
    t.equal((await list(`createdBefore=${times[0]}`)).deliveries.length, 0)
  })
})

t.test('a wrong request is explained, and changes nothing', { buffered: true }, async (t) => {
  const server = await startServer(t, { env: { RINGFENCE_WEBHOOK_PRIVATE_ADDRESSES: '127.0.0.1' } })
  const { _id } = await create(server, { url: 'https://receiver.example/hook#part' })
  const CASES: readonly (readonly [
    method: string,
    path: string,
    body: unknown,
    code: number,
    param?: string,
  ])[] = [
    ...[
      '',
      'x',
      'ftp://a.example/',
      'javascript:1',
      'http://',
      'http://a:b@c.example/',
      `http://${'a'.repeat(3000)}`,
    ]
      .concat(['http://10.0.0.1/', 'http://[::1]/', 'http://2130706434/', 'http://169.254.169.254/'])
      .map((url) => ['POST', '', { url }, 400, 'url'] as const),
    [
      'POST',
      '',
      { url: 'http://a.example', tags: Array.from({ length: 101 }, (_, i) => `tag-${i}`) },
      400,
      'tags',
    ],
    ['PATCH', `/${_id}`, { url: 'http://127.0.0.2/' }, 400, 'url'],
    ['PATCH', `/${_id}`, { type: ['user.entered_geofence'] }, 400, 'type'],
    ['PATCH', '/nowhere', { enabled: false }, 404],
    ['POST', '/nowhere/test', {}, 404],
    ['POST', `/${_id}/redeliver`, {}, 400, 'from'],
    ['POST', `/${_id}/redeliver`, { from: 1, deliveryId: 'f'.repeat(24) }, 400, 'from'],
    ['POST', `/${_id}/redeliver`, { from: '2026-01-02', to: '2026-01-01' }, 400, 'from'],
    ['POST', `/${_id}/redeliver`, { deliveryId: 'f'.repeat(24) }, 404],
  ]
  for (const [method, path, body, code, param] of CASES) {
    const answer = await server.api(method, `/v1/webhooks${path}`, body)
    t.match(
      answer.body.meta,
      { code, ...(param && { param }) },
      `${method} ${path} ${JSON.stringify(body)?.slice(0, 80)}`,
    )
  }
  const refusal = await server.api('POST', '/v1/webhooks', { url: 'http://10.0.0.1/' })
  t.match(refusal.body.meta.message, / not on the public internet\. .* --webhook-private-addresses /)
  t.equal((await server.api('GET', '/v1/webhooks', undefined, KEYS.testPublishable)).status, 403)
  t.equal((await server.api('GET', `/v1/webhooks/${_id}`, undefined, KEYS.liveSecret)).status, 404)
  const { body } = await server.api('GET', '/v1/webhooks')
  t.match(body.webhooks, [{ _id, url: 'https://receiver.example/hook', enabled: true, mode: 'single' }])
  const changed = await server.api('PATCH', `/v1/webhooks/${_id}`, { description: 'ERP', tags: 'a, b' })
  t.match(changed.body.webhook, { description: 'ERP', tags: ['a', 'b'] })
  const cleared = await server.api('PATCH', `/v1/webhooks/${_id}`, { description: null, tags: null })
  t.notOk('description' in cleared.body.webhook || 'tags' in cleared.body.webhook)
  await server.api('PATCH', `/v1/webhooks/${_id}`, { description: 'ERP', tags: 'a' })
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const emptied = await server.api(
    'PATCH',
    `/v1/webhooks/${_id}`,
    'description=&tags=',
    KEYS.testSecret,
    form,
  )
  t.notOk('description' in emptied.body.webhook || 'tags' in emptied.body.webhook, 'an empty value in a form')
  const more = Array.from({ length: 20 }, () =>
    server.api('POST', '/v1/webhooks', { url: 'http://a.example' }),
  )
  const codes = (await Promise.all(more)).map(({ status }) => status)
  t.equal(codes.filter((status) => status === 200).length, 19)
  t.equal(codes.filter((status) => status === 409).length, 1)
  await server.kill9()
  await server.restart()
  t.equal((await server.api('GET', '/v1/webhooks')).body.webhooks.length, 20)
})
