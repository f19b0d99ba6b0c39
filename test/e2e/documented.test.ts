/** Statements of the OpenAPI document about answers and bodies that the server once did not follow. */
import { connect } from 'node:net'
import t from 'tap'
import { KEYS } from '../kit/server.ts'
import { startApi, type Json } from './contract.ts'

const api = await startApi(t)
const CIRCLE = { description: 'x', type: 'circle', coordinates: [13.4, 52.5], radius: 100 }

t.test('the radius of search users: the error names both ranges, whichever limit is exceeded', async (t) => {
  for (const radius of ['-1', '0', '0.5', '99.9', '10000.1', '20000', '1e300']) {
    const { status, body } = await api.call('GET', `/v1/search/users?near=52.5,13.4&radius=${radius}`)
    t.match({ status, ...body.meta }, { status: 400, param: 'radius' }, radius)
    t.equal(body.meta.message, 'radius: Invalid radius. Valid range: [100, 10000], in metres.', radius)
  }
  for (const radius of ['-1', '0', '0.99', '10000.1', '1e300']) {
    const { status, body } = await api.call(
      'GET',
      `/v1/search/users?near=52.5,13.4&mode=car&radius=${radius}`,
    )
    t.match({ status, ...body.meta }, { status: 400, param: 'radius' }, radius)
    t.equal(body.meta.message, 'radius: Invalid radius. Valid range: [1, 10000], in minutes.', radius)
  }
  for (const radius of ['100', '10000', ''])
    t.equal((await api.call('GET', `/v1/search/users?near=52.5,13.4&radius=${radius}`)).status, 200, radius)
})

t.test('exports: a file of GeoJSON is the object that the document describes', async (t) => {
  await api.circle('shop/1', [13.4, 52.5], 100)
  // Without routing, the isochrone has no area.
  const isochrone = { ...CIRCLE, type: 'isochrone', mode: 'car', radius: 5 }
  t.equal((await api.call('PUT', '/v1/geofences/shop/2', isochrone)).status, 200)
  const beacon = {
    description: 'b',
    type: 'eddystone',
    uid: 'edd1ebeac04e5defa017',
    instance: '0bdb87539b67',
  }
  t.equal((await api.call('POST', '/v1/beacons', { ...beacon, coordinates: [13.4, 52.5] })).status, 200)
  for (const [kind, count] of [
    ['geofences', 2],
    ['beacons', 1],
  ] as const) {
    const { status, body } = await api.call('GET', `/v1/exports/${kind}?format=geojson`)
    t.equal(status, 200)
    t.equal(JSON.parse(body).features.length, count)
    t.equal((await api.call('GET', `/v1/exports/${kind}`)).status, 200)
    const { content } = api.operationOf('GET', `/v1/exports/${kind}`)!.definition.responses[200]
    const collection = api.resolve(content['application/geo+json'].schema)
    t.match(collection, { type: 'object', required: ['type', 'features'] })
    t.match(content['text/csv'].schema, { type: 'string' })
  }
})

t.test(
  'PATCH /v1/settings: an empty body changes nothing and an unknown name is refused, as the document says',
  async (t) => {
    const { requestBody } = api.operationOf('PATCH', '/v1/settings')!.definition
    t.equal(requestBody.required, false)
    const schema: Json = api.resolve(requestBody.content['application/json'].schema)
    t.equal(schema.additionalProperties, false)
    const { body: before } = await api.call('GET', '/v1/settings')
    for (const body of [undefined, '', {}]) {
      const { status, body: after } = await api.call('PATCH', '/v1/settings', body)
      t.equal(status, 200)
      t.strictSame(after.settings, before.settings)
    }
    const { status, body } = await api.call('PATCH', '/v1/settings', { dwellTreshold: 5 })
    t.match({ status, ...body.meta }, { status: 400, param: 'dwellTreshold', message: /No such field/ })
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const asForm = await api.call('PATCH', '/v1/settings', 'dwellTreshold=5', undefined, form)
    t.match({ status: asForm.status, ...asForm.body.meta }, { status: 400, param: 'dwellTreshold' })
  },
)

t.test('answers of the HTTP library itself are documented for each operation', async (t) => {
  const raw = (text: string) =>
    new Promise<string>((resolve, reject) => {
      const socket = connect(api.server.port, '127.0.0.1')
      let answer = ''
      socket.on('data', (bytes) => (answer += bytes))
      socket.on('close', () => resolve(answer))
      socket.on('error', reject)
      socket.write(text)
    })
  const head = (lines: string) => `GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${lines}\r\n`
  const headers = (count: number) => Array.from({ length: count }, (_, i) => `A${i}: 1\r\n`).join('')
  for (const [request, status] of [
    [head(`A: ${'x'.repeat(33_000)}\r\n`), 431],
    // With Host and Connection, 99.
    [head(headers(97)), 431],
    ['GET /healthz HTTP/1.0\r\n\r\n', 505],
  ] as const) {
    const answer = await raw(request)
    t.ok(answer.startsWith(`HTTP/1.1 ${status} `), answer.slice(0, 80))
    t.match(answer, /<h1>/)
    for (const { path, definition } of api.operations)
      t.ok(api.resolve(definition.responses[status]).content['text/html'], `${path} ${status}`)
  }
  t.match(await raw(head(headers(96))), /^HTTP\/1\.1 200 /, '98 headers are not too many')
  const post = `POST /v1/track HTTP/1.1\r\nHost: x\r\nAuthorization: ${KEYS.testPublishable}\r\n`
  for (const broken of [
    `${post}Transfer-Encoding: chunked\r\n\r\n+5\r\nabcde\r\n0\r\n\r\n`,
    `${post}Content-Length: -1\r\n\r\n`,
  ]) {
    const answer = await raw(broken)
    t.match(answer, /^HTTP\/1\.1 400 /)
    t.match(answer, /<h1>/)
  }
  for (const { path, definition } of api.operations)
    t.match(api.resolve(definition.responses[400]).description, /Content-Length.*HTML/, `${path} 400`)
})

// The last, because it replaces a key.
t.test('a body is documented as required exactly if the server refuses a request without one', async (t) => {
  const bodies = api.withoutPeople.filter(
    ({ definition }) => definition.requestBody?.content['application/json'],
  )
  t.ok(bodies.length > 15)
  for (const { method, path, definition } of bodies) {
    const place = path.replaceAll(/\{\w+\}/g, path.includes('/keys/') ? 'publishable' : 'x')
    // Without the expected count, that would be refused first.
    const isBulk = method === 'PATCH' && ['/v1/geofences', '/v1/beacons'].includes(path)
    const { status, body } = await api.call(method, isBulk ? `${place}?tag=x&expectedCount=0` : place)
    // If no parameter is required, the server looks for the record, or accepts the request.
    t.equal(
      definition.requestBody.required,
      status === 400,
      `${method} ${path}: ${JSON.stringify(body.meta)}`,
    )
    if (status === 400) t.equal(body.meta.message, 'body: Required.', path)
  }
})
