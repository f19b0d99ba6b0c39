/**
 * No answer of the server says what a host name resolves to, or whether a name exists that only its own network knows: a name
 * with a private address fails like one that does not exist (issue 12, item 6). These are all the ways in which users can
 * make the server connect to a name: webhooks, hooks and the sources of the geofence sync.
 */
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { startServer } from '../kit/server.ts'
import { until } from '../kit/waiting.ts'
import type { Json } from './contract.ts'

const REASON = 'there is no such host, or it is not on the public internet'
const PLACE = { latitude: 52.5219, longitude: 13.4132, accuracy: 10 }

// It listens on the address that `localhost` has, and counts who comes.
let visitors = 0
const inside = createServer((socket) => {
  visitors++
  socket.destroy()
}).listen(0, '127.0.0.1')
await once(inside, 'listening')
t.teardown(() => inside.close())
const closed = createServer().listen(0, '127.0.0.1')
await once(closed, 'listening')
const [open, refusing] = [inside, closed].map((server) => (server.address() as AddressInfo).port)
closed.close()

/** By what a scan would like to know of them. */
const HOSTS = {
  'a private address, where somebody listens': `localhost:${open}`,
  'a private address, where nobody listens': `localhost:${refusing}`,
  'no address': `no-such-host.invalid:${open}`,
}
const names = Object.keys(HOSTS)
const server = await startServer(t)
await server.api('PUT', '/v1/geofences/store/1', {
  description: 'x',
  type: 'circle',
  coordinates: [PLACE.longitude, PLACE.latitude],
  radius: 100,
})

/** Each of the answers, which must be equal, without its times, ids and the name that the user has written. */
function areEqual(t: Test, answers: readonly Json[], message: string): void {
  const plain = answers.map((answer, i) =>
    JSON.stringify(answer)
      .replaceAll(Object.values(HOSTS)[i]!, 'HOST')
      .replaceAll(
        /"(_id|at|createdAt|updatedAt|since|nextAttemptAt|secretLastFour|secret)":"[^"]*"/g,
        '"$1":""',
      )
      .replaceAll(/"(latency)":\d+/g, '"$1":0'),
  )
  plain.forEach((text, i) => {
    t.equal(text, plain.at(-1), `${message}: ${names[i]}`)
    t.notMatch(text, /127\.0|::1|ENOTFOUND|EAI_|ECONN|getaddrinfo/, `${message}: ${names[i]}`)
  })
}

/** The webhooks to each host, by protocol. */
const webhooks: Record<string, string[]> = { http: [], https: [] }

t.test('webhooks: the test button', async (t) => {
  for (const [protocol, ids] of Object.entries(webhooks)) {
    const tests = []
    for (const host of Object.values(HOSTS)) {
      const { body } = await server.api('POST', '/v1/webhooks', { url: `${protocol}://${host}/hook` })
      ids.push(body.webhook._id)
      const { status, body: answer } = await server.api('POST', `/v1/webhooks/${body.webhook._id}/test`)
      t.equal(status, 200)
      t.match(answer.test, { delivered: false, error: REASON })
      tests.push(answer)
    }
    areEqual(t, tests, protocol)
  }
})

t.test('webhooks and hooks: what they say of themselves after an event', async (t) => {
  const endpoints = (host: string) => ({
    http: { url: `http://${host}/hook` },
    nats: { url: `nats://${host}`, subject: 'a' },
  })
  const hooks: Record<string, string[]> = { http: [], nats: [] }
  for (const [i, host] of Object.values(HOSTS).entries())
    for (const [protocol, endpoint] of Object.entries(endpoints(host))) {
      const path = `/v1/hooks/${protocol}/${i}`
      t.equal((await server.api('PUT', path, { geofence: { tag: 'store' }, endpoint })).status, 200, path)
      hooks[protocol]!.push(path)
    }
  t.equal((await server.api('POST', '/v1/track', { deviceId: 'd', ...PLACE })).body.events.length, 1)
  const failing = async (path: string) => {
    let record: Json
    await until(async () => {
      const { webhook, hook } = (await server.api('GET', path)).body
      record = webhook ?? hook
      return record.status === 'failing'
    })
    t.equal(record.reason, REASON, path)
    return record
  }
  for (const [protocol, ids] of Object.entries(webhooks)) {
    const records = []
    const attempts = []
    for (const id of ids) {
      records.push(await failing(`/v1/webhooks/${id}`))
      const { deliveries } = (await server.api('GET', `/v1/webhooks/${id}/deliveries`)).body
      attempts.push(deliveries.map((delivery: Json) => delivery.attempts[0]))
    }
    areEqual(t, records, `webhooks, ${protocol}`)
    areEqual(t, attempts, `deliveries, ${protocol}`)
  }
  for (const [protocol, paths] of Object.entries(hooks)) {
    const records = []
    for (const path of paths) records.push({ ...(await failing(path)), externalId: '' })
    areEqual(t, records, `hooks, ${protocol}`)
  }
})

t.test('the sources of a sync', async (t) => {
  for (const protocol of ['http', 'https']) {
    const urls = Object.values(HOSTS).map((host) => `${protocol}://${host}/a.csv`)
    const { status, body } = await server.api('POST', '/v1/geofence-sync/test', {
      protocol: 'http',
      http: { urls },
    })
    t.equal(status, 200)
    areEqual(t, body.sources, protocol)
  }
})

t.test('an address that is written is refused at once, and nobody was connected to', async (t) => {
  const { status, body } = await server.api('POST', '/v1/webhooks', { url: `http://127.0.0.1:${open}/` })
  t.match({ status, ...body.meta }, { status: 400, param: 'url' })
  t.equal(visitors, 0)
})
