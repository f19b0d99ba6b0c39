/** The client's calls to a real server and to a failing one, and the verification of webhooks. */
import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import t, { type Test } from 'tap'
import { apiTypes } from '../../sdk/generate.ts'
import { ConnectionError, Ringfence, RingfenceError, verifyWebhook } from '../../sdk/src/index.ts'
import { KEYS, startServer } from '../kit/server.ts'

const server = await startServer(t)

t.test('the committed types match the document', async (t) => {
  const { body } = await server.api('GET', '/v1/openapi.json', undefined, null)
  const committed = readFileSync(new URL('../../sdk/src/api.ts', import.meta.url), 'utf8')
  // Not t.equal, because for a difference it would print both texts.
  t.ok((await apiTypes(body)) === committed, '`npm run sdk:types` writes sdk/src/api.ts anew')
})

t.test('calls with every kind of parameter, and their errors', async (t) => {
  const client = new Ringfence({ url: `${server.url}/`, key: KEYS.testSecret })
  const circle = { type: 'circle', coordinates: [13.4, 52.5], radius: 100 }

  const geofence = await client.putGeofence('a/b', 'ä ?1', {
    ...circle,
    description: 'Store',
    metadata: { n: 1 },
  })
  t.match(geofence, { tag: 'a/b', externalId: 'ä ?1' }, 'a pair is encoded into the path')
  await client.putGeofence('other', '2', { ...circle, description: 'Other' })

  const { user, events } = await client.track({
    deviceId: 'phone',
    latitude: 52.5,
    longitude: 13.4,
    accuracy: 5,
  })
  t.equal(user.geofences.length, 2)
  t.same(
    events.map(({ type }) => type),
    ['user.entered_geofence', 'user.entered_geofence'],
  )

  const found = await client.get('/v1/search/geofences', {
    query: { near: '52.5,13.4', tags: 'a/b,none', metadata: { n: '1' }, limit: 5 },
  })
  t.same(
    found.geofences.map(({ _id }) => _id),
    [geofence._id],
    'lists and metadata are encoded into the query',
  )
  const { settings } = await client.patch('/v1/settings', { body: { dwellEvents: true } })
  t.equal(settings.dwellEvents, true)
  const csv = 'description,tag,externalId,type,coordinates,radius\nC,csv,1,circle,"[13,52]",50\n'
  await client.post('/v1/imports/geofences', { query: { fileName: 'c.csv' }, body: csv })
  t.match(
    await client.get('/v1/exports/geofences', { query: { format: 'csv', tag: 'csv' } }),
    /^description,/,
  )
  await client.delete('/v1/geofences/{id}', { params: { id: geofence._id } })

  await t.rejects(client.get('/v1/geofences/{id}', { params: { id: geofence._id } }), {
    name: 'RingfenceError',
    status: 404,
    message: 'Geofence not found.',
  })
  await t.rejects(client.track({ deviceId: 'phone', latitude: 91, longitude: 13.4, accuracy: 5 }), {
    status: 400,
    param: 'latitude',
    message: 'latitude: Invalid latitude. Valid range: [-90, 90].',
  })
  await t.rejects(client.get('/v1/users/{id}', { params: { id: '' } }), /params.id/)
  // @ts-expect-error -- a path that does not exist
  await t.rejects(client.get('/v1/nowhere'), { name: 'RingfenceError', status: 404 })
  // @ts-expect-error -- a parameter of the path is missing
  await t.rejects(client.get('/v1/users/{id}'), TypeError)
})

t.test('requests that may be sent twice are sent again while the server fails; others are not', async (t) => {
  const { url, seen, answer } = await failingServer(t)
  const client = new Ringfence({ url, key: 'prj_test_sk_x' })
  const failing = (status: number, times: number, headers: Record<string, string> = {}) => {
    let left = times
    answer((_, response) => {
      response.writeHead(left-- > 0 ? status : 200, { 'content-type': 'application/json', ...headers })
      response.end(status === 502 ? '<html>' : '{"meta":{"code":503,"message":"Busy."}}')
    })
  }
  failing(503, 2, { 'retry-after': '0' })
  await client.get('/v1/settings')
  t.equal(seen.splice(0).length, 3)

  failing(503, 9, { 'retry-after': '0' })
  await t.rejects(client.get('/v1/settings'), { status: 503, message: 'Busy.', retryAfter: 0 })
  t.equal(seen.splice(0).length, 4, 'four attempts at most')

  failing(503, 9, { 'retry-after': '3600' })
  await t.rejects(client.get('/v1/settings'), { name: 'RingfenceError', status: 503, retryAfter: 3600 })
  t.equal(seen.splice(0).length, 1, 'nobody waits for an hour')

  const update = { deviceId: 'd', latitude: 1, longitude: 1, accuracy: 1 }
  failing(429, 1, { 'retry-after': '0' })
  await t.rejects(client.track(update), { name: 'RingfenceError', status: 429 })
  t.equal(seen.splice(0).length, 1)
  failing(429, 1, { 'retry-after': '0' })
  await client.track({ ...update, stream: 's', sequence: 1 })
  t.equal(seen.splice(0).length, 2, 'an update with its number is applied once')

  failing(400, 9)
  await t.rejects(client.get('/v1/settings'), { name: 'RingfenceError', status: 400 })
  t.equal(seen.splice(0).length, 1)

  answer((request) => request.socket.destroy())
  await t.rejects(client.get('/v1/settings'), ConnectionError)
  t.equal(seen.splice(0).length, 4)

  const given = new AbortController()
  answer(() => given.abort(new Error('enough')))
  await t.rejects(client.get('/v1/settings', { signal: given.signal }), { message: 'enough' })
  failing(503, 9, { 'retry-after': '20' })
  const waiting = new AbortController()
  const waits = client.get('/v1/settings', { signal: waiting.signal })
  while (seen.length < 2) await new Promise((resolve) => setTimeout(resolve, 5))
  waiting.abort(new Error('enough of waiting'))
  await t.rejects(waits, { message: 'enough of waiting' })

  answer((_, response) => response.writeHead(413).end('too large'))
  const error = await client.patch('/v1/settings', { body: {} }).catch((e: unknown) => e)
  t.ok(error instanceof RingfenceError)
  t.match(error, { status: 413, message: '413 Payload Too Large' }, 'of a proxy that speaks no JSON')
})

t.test('with several servers, calls go to the next one when one fails', async (t) => {
  const [one, two] = [await failingServer(t), await failingServer(t)]
  const client = new Ringfence({ url: [`${one.url}/`, two.url], key: 'k' })
  const [used, other] = client.url === one.url ? [one, two] : [two, one]
  const ok: Handler = (_, response) => response.setHeader('content-type', 'application/json').end('{}')
  used.answer((request) => request.socket.destroy())
  other.answer(ok)
  await client.get('/v1/settings')
  await client.get('/v1/settings')
  t.same([used.seen.length, other.seen.length], [1, 2])
  t.equal(client.url, other.url)

  used.answer(ok)
  other.answer((_, response) => response.writeHead(503).end())
  await t.rejects(
    client.patch('/v1/settings', { body: {} }),
    { name: 'RingfenceError', status: 503 },
    'what may not be sent twice',
  )
  await client.patch('/v1/settings', { body: {} })
  t.equal(client.url, used.url, 'goes to the other one the next time')
  used.answer((_, response) => response.writeHead(400).end())
  await t.rejects(client.get('/v1/settings'), { name: 'RingfenceError', status: 400 })
  t.equal(client.url, used.url, 'a request that is wrong stays wrong')
  t.throws(() => new Ringfence({ url: [], key: 'k' }), TypeError)
})

t.test('webhooks are verified as Standard Webhooks says', async (t) => {
  const secret = `whsec_${Buffer.from('a secret of some bytes').toString('base64')}`
  const signer = new Webhook(secret)
  const body = JSON.stringify({ event: { _id: 'e', type: 'ü' } })
  const headersOf = (date: Date, text = body) => ({
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(Math.floor(date.getTime() / 1000)),
    'webhook-signature': signer.sign('msg_1', date, text),
  })
  const now = new Date()
  const headers = headersOf(now)
  t.same(await verifyWebhook(body, headers, secret), JSON.parse(body))
  t.same(await verifyWebhook(new TextEncoder().encode(body), new Headers(headers), secret), JSON.parse(body))
  const older = createHmac('sha256', 'another').update('x').digest('base64')
  const both = { ...headers, 'webhook-signature': `v1a,x v1,${older} v1,! ${headers['webhook-signature']}` }
  await t.resolves(verifyWebhook(body, both, secret), 'one of several signatures is enough')

  const ago = (seconds: number) => new Date(now.getTime() - seconds * 1000)
  await t.resolves(verifyWebhook(body, headersOf(ago(290)), secret))
  const refused: [string, Parameters<typeof verifyWebhook>, RegExp][] = [
    ['another body', [`${body} `, headers, secret], /No signature matches/],
    ['another secret', [body, headers, 'whsec_AAAA'], /No signature matches/],
    ['another id', [body, { ...headers, 'webhook-id': 'msg_2' }, secret], /No signature matches/],
    ['too old', [body, headersOf(ago(310)), secret], /too old/],
    ['from the future', [body, headersOf(ago(-310)), secret], /too old/],
    [
      'another time',
      [body, { ...headers, 'webhook-timestamp': String(now.getTime()) }, secret],
      /not a time/,
    ],
    ['no time', [body, { ...headers, 'webhook-timestamp': '1e9' }, secret], /not a time/],
    ['no signature', [body, { ...headers, 'webhook-signature': undefined }, secret], /is missing/],
    ['no headers', [body, new Headers(), secret], /webhook-id is missing/],
    ['an empty secret', [body, headers, ''], /whsec_/],
    ['no Base64', [body, headers, 'whsec_!'], /whsec_/],
  ]
  for (const [what, args, message] of refused)
    await t.rejects(verifyWebhook(...args), { name: 'WebhookVerificationError', message }, what)
})

type Handler = (request: IncomingMessage, response: ServerResponse) => void

/** A server that answers as the test says; `seen` are the requested paths. */
async function failingServer(
  t: Test,
): Promise<{ url: string; seen: string[]; answer: (how: Handler) => void }> {
  const seen: string[] = []
  let handler: Handler | undefined
  const failing = createServer((request, response) => {
    seen.push(request.url!)
    request.resume()
    handler?.(request, response)
  })
  await new Promise<void>((resolve) => failing.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    failing.closeAllConnections()
    failing.close()
  })
  const url = `http://127.0.0.1:${(failing.address() as AddressInfo).port}`
  return { url, seen, answer: (how) => (handler = how) }
}
