/** Webhooks whose receivers fail, hang and restart, and servers that are killed meanwhile, with real processes and requests. */
import t from 'tap'
import { Receiver } from './webhookKit.ts'
import { INSIDE, OUTSIDE, create, isSigned, track, withGeofences } from './webhookServer.ts'
import { until } from '../kit/waiting.ts'

// Each test has its own server, and they wait more than they work.
t.jobs = 2

t.test(
  'a receiver that fails, hangs and restarts, a server that is killed: each event, in order per device',
  { buffered: true },
  async (t) => {
    const server = await withGeofences(t, {
      RINGFENCE_WEBHOOK_RETRY_SECONDS: '600',
      RINGFENCE_WEBHOOK_TIMEOUT_SECONDS: '1',
    })
    const receiver = await Receiver.start(t)
    const { _id, secret } = await create(server, { url: receiver.url, tags: ['store'] })
    let count = 0
    let hangs = 1
    const accepted: { deviceId: string; id: string; message: string }[] = []
    receiver.answer = (received, response) => {
      if (!isSigned(received, secret)) throw new Error('not signed')
      const turn = count++ % 9
      if (turn === 1) return void response.writeHead(500).end()
      if (turn === 3) return void response.destroy()
      if (turn === 5 && hangs-- > 0) return
      const { event } = received.json
      accepted.push({
        deviceId: event.user.deviceId,
        id: event._id,
        message: String(received.headers['webhook-id']),
      })
      response.end()
    }
    const devices = ['a', 'b', 'c', 'd', 'e']
    const move = async (rounds: number) => {
      for (let round = 0; round < rounds; round++) {
        for (const device of devices) {
          for (const place of [INSIDE, OUTSIDE]) await track(server, device, place)
        }
      }
    }
    await move(2)
    await server.kill9()
    await server.restart()
    await move(1)
    await server.kill9()
    await server.restart()
    await move(1)
    await server.stop()
    await receiver.down()
    hangs = 2
    await server.restart()
    await move(1)
    await until(
      async () => (await server.api('GET', `/v1/webhooks/${_id}`)).body.webhook.status === 'failing',
    )
    await receiver.up()
    const total = devices.length * 2 * 5
    const deliveries = async (query: string) =>
      (await server.api('GET', `/v1/webhooks/${_id}/deliveries?limit=1000${query}`)).body.deliveries
    await until(async () => (await deliveries('&status=delivered')).length >= total)
    const { body } = await server.api('GET', '/v1/events?limit=1000')
    const log = body.events
      .toReversed()
      .filter((event: { geofence: { tag: string } }) => event.geofence.tag === 'store')
    t.equal(log.length, total)
    for (const device of devices) {
      const expected = log
        .filter((event: { user: { deviceId: string } }) => event.user.deviceId === device)
        .map((event: { _id: string }) => event._id)
      const arrived = [...new Set(accepted.filter(({ deviceId }) => deviceId === device).map(({ id }) => id))]
      t.strictSame(arrived, expected, device)
    }
    t.ok(accepted.every(({ id, message }) => message === `msg_${id}`))
    t.ok(count > accepted.length, 'some had to be sent again')
    const all = await deliveries('')
    t.equal(all.length, total)
    const hung = all.filter((each: { attempts: { error?: string }[] }) =>
      each.attempts.some(({ error }) => error === 'no answer within 1 s'),
    )
    t.ok(hung.length > 0)
    t.match(hung[0], { status: 'delivered', attemptCount: Number, lastResponseBody: '' })
  },
)

t.test(
  'an endpoint that fails for too long is paused, and later continues where it was',
  { buffered: true },
  async (t) => {
    const server = await withGeofences(t, { RINGFENCE_WEBHOOK_RETRY_SECONDS: '2' })
    const receiver = await Receiver.start(t)
    receiver.answer = (_, response) => response.writeHead(500).end('x'.repeat(5000))
    const { _id } = await create(server, { url: receiver.url, tags: ['store'] })
    const record = async () => (await server.api('GET', `/v1/webhooks/${_id}`)).body.webhook
    await track(server, 'a', INSIDE)
    await until(async () => (await record()).status === 'paused')
    t.match(await record(), {
      reason: /^Every attempt failed for \d s; the last one: answered 500\.$/,
      pending: 1,
    })
    const metrics = await fetch(`${server.url}/metrics`).then((answer) => answer.text())
    t.match(metrics, /^ringfence_webhooks_paused 1$/m)
    t.match(server.output, /a webhook is paused until it is enabled again/)
    const sent = receiver.got.length
    await track(server, 'a', OUTSIDE)
    await server.kill9()
    await server.restart()
    t.match(await record(), { status: 'paused', pending: 1 })
    await track(server, 'a', INSIDE)
    const { body } = await server.api('GET', `/v1/webhooks/${_id}/deliveries`)
    t.equal(body.deliveries[0].lastResponseBody.length, 1024)
    t.equal(receiver.got.length, sent, 'nothing was sent while it was paused')
    receiver.answer = (_, response) => response.end()
    receiver.got.length = 0
    const enabled = await server.api('POST', `/v1/webhooks/${_id}/enable`)
    t.match(enabled.body.webhook, { status: 'active' })
    await until(() => receiver.got.length >= 3)
    t.same(
      receiver.got.map(({ json }) => json.event.type),
      ['user.entered_geofence', 'user.exited_geofence', 'user.entered_geofence'],
    )

    t.test('a disabled webhook skips events; enabled, it continues from that moment', async (t) => {
      await server.api('PATCH', `/v1/webhooks/${_id}`, { enabled: false })
      await track(server, 'a', OUTSIDE)
      t.equal((await record()).status, 'disabled')
      await server.api('POST', `/v1/webhooks/${_id}/enable`)
      receiver.got.length = 0
      const [, id] = await track(server, 'a', INSIDE)
      await until(() => receiver.got.length >= 1)
      t.ok(id)
      t.equal(receiver.got[0]!.json.event.type, 'user.entered_geofence')
    })

    t.test('one that says 410 is paused at once; redirects are not followed', async (t) => {
      receiver.got.length = 0
      receiver.answer = ({ path }, response) =>
        path === '/' ? response.writeHead(302, { location: '/elsewhere' }).end() : response.end()
      const moved = await server.api('POST', `/v1/webhooks/${_id}/test`)
      t.match(moved.body.test, { delivered: false, status: 302 })
      t.equal(receiver.got.length, 1)
      receiver.answer = (_, response) => response.writeHead(410).end()
      await track(server, 'a', OUTSIDE)
      await until(async () => (await record()).status === 'paused')
      t.match(await record(), { reason: /410/ })
    })
  },
)
