/** Hooks as their receivers see them: a real server, real HTTP and NATS servers, real subscribers. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  credsAuthenticator,
  nkeyAuthenticator,
  nkeys,
  type NodeConnectionOptions,
} from '@nats-io/transport-node'
import { Webhook as Verifier } from 'standardwebhooks'
import t, { type Test } from 'tap'
import { makeCertificates, withoutOpenssl } from '../kit/certificates.ts'
import fc from '../kit/fastCheck.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { natsServer, type NatsServer } from '../kit/nats.ts'
import { natsOperator } from '../kit/natsCredentials.ts'
import { KEYS, startServer, type Server } from '../kit/server.ts'
import { until } from '../kit/waiting.ts'
import { Receiver } from './webhookKit.ts'

t.jobs = 4

const skip = await skipWithout(NATS_SERVER)
const ENV = { RINGFENCE_WEBHOOK_PRIVATE_ADDRESSES: '127.0.0.0/8,::1' }
const SECRET = `whsec_${Buffer.alloc(30, 7).toString('base64')}`
const PLACE: Position = [13.4132, 52.5219]
const FAR: Position = [13.5, 52.6]

type Position = readonly [longitude: number, latitude: number]
// oxlint-disable-next-line typescript/no-explicit-any -- tests look into bodies of every shape
type Json = any

async function circle(server: Server, pair: string, coordinates: Position, radius = 100): Promise<void> {
  const body = { description: pair, type: 'circle', coordinates, radius }
  await server.good('PUT', `/v1/geofences/${pair}`, body)
}

/** The events of the answer. */
async function track(server: Server, deviceId: string, place: Position, more: object = {}): Promise<Json[]> {
  const [longitude, latitude] = place
  const update = { deviceId, longitude, latitude, accuracy: 5, ...more }
  return (await server.good('POST', '/v1/track', update)).events
}

async function put(server: Server, pair: string, body: object): Promise<Json> {
  return (await server.good('PUT', `/v1/hooks/${pair}`, body)).hook
}

async function hookOf(server: Server, pair: string): Promise<Json> {
  return (await server.api('GET', `/v1/hooks/${pair}`)).body.hook
}

const idsOf = (received: readonly { json: Json }[]) => received.map(({ json }) => json.event._id)

t.test('over HTTP: the events of the geofence, signed, in order, with filters', async (t) => {
  const server = await startServer(t, { env: ENV })
  const receiver = await Receiver.start(t)
  for (const pair of ['store/1', 'store/2', 'depot/1']) await circle(server, pair, PLACE)
  const hook = await put(server, 'erp/1', {
    description: 'ERP',
    geofence: { tag: 'store', externalId: '1' },
    endpoint: { url: `${receiver.url}/one`, secret: SECRET },
  })
  t.match(hook, {
    tag: 'erp',
    externalId: '1',
    enabled: true,
    detect: ['enter', 'exit'],
    status: 'active',
    pending: 0,
    endpoint: { url: `${receiver.url}/one`, secrets: ['secret'] },
  })
  t.notMatch(JSON.stringify(hook), SECRET)
  await put(server, 'erp/2', {
    geofence: { tag: 'store' },
    detect: 'exit',
    deviceIds: ['b'],
    endpoint: { url: `${receiver.url}/two` },
  })
  const made: Json[] = []
  for (const place of [PLACE, FAR, PLACE])
    for (const device of ['a', 'b']) made.push(...(await track(server, device, place)))
  const wanted = (filter: (event: Json) => boolean) => made.filter(filter).map(({ _id }) => _id)
  const got = (path: string) => receiver.got.filter((one) => one.path === path)
  const ones = wanted(({ geofence }) => geofence.tag === 'store' && geofence.externalId === '1')
  const twos = wanted(
    ({ geofence, type, user }) =>
      geofence.tag === 'store' && type === 'user.exited_geofence' && user.deviceId === 'b',
  )
  t.equal(ones.length, 6)
  t.equal(twos.length, 2)
  await until(async () => got('/one').length >= ones.length && got('/two').length >= twos.length)
  t.strictSame(idsOf(got('/one')).toSorted(), ones.toSorted())
  t.strictSame(idsOf(got('/two')).toSorted(), twos.toSorted())
  for (const device of ['a', 'b']) {
    const of = (event: Json) => event.user.deviceId === device
    const arrived = got('/one').filter(({ json }) => of(json.event))
    const order = made.filter((event) => of(event) && ones.includes(event._id)).map(({ _id }) => _id)
    t.strictSame(idsOf(arrived), order, 'in order')
  }
  const byId = new Map(made.map((event) => [event._id, event]))
  for (const { json, body, headers } of got('/one')) {
    t.strictSame(json.hook, { _id: hook._id, tag: 'erp', externalId: '1' })
    t.match(json.event, byId.get(json.event._id))
    t.equal(headers['webhook-id'], `${hook._id}.msg_${json.event._id}`)
    new Verifier(SECRET).verify(body, headers as Record<string, string>)
  }
  t.notOk(got('/two')[0]!.headers['webhook-signature'], 'not signed without a secret')
  await until(async () => (await hookOf(server, 'erp/1')).pending === 0)
  t.ok((await hookOf(server, 'erp/1')).lastDeliveredAt)

  // What happens while it is off, or after it was deleted, is not sent.
  await put(server, 'erp/2', { geofence: { tag: 'store' }, enabled: false, endpoint: { url: receiver.url } })
  t.match(await hookOf(server, 'erp/2'), { status: 'disabled' })
  t.equal((await server.api('DELETE', '/v1/hooks/erp/1')).status, 200)
  const before = receiver.got.length
  await track(server, 'b', FAR)
  await put(server, 'erp/3', { geofence: { tag: 'store' }, endpoint: { url: `${receiver.url}/three` } })
  await track(server, 'b', PLACE)
  await until(async () => got('/three').length >= 2)
  t.equal(receiver.got.length, before + 2)
  t.strictSame(
    (await server.api('GET', '/v1/hooks?tag=erp')).body.hooks.map((one: Json) => one.externalId),
    ['3', '2'],
  )
})

t.test('a hook continues after kill -9, and its id is the same for a message that is repeated', async (t) => {
  const server = await startServer(t, { env: ENV })
  const receiver = await Receiver.start(t)
  await circle(server, 'store/1', PLACE)
  await put(server, 'erp/1', { geofence: { tag: 'store' }, endpoint: { url: receiver.url } })
  const [first] = await track(server, 'a', PLACE)
  await until(async () => receiver.got.length >= 1)
  // The answer may still be on its way: without it, the first message would be sent again.
  await until(async () => (await hookOf(server, 'erp/1')).pending === 0)
  await receiver.down()
  const [second] = await track(server, 'a', FAR)
  await until(async () => (await hookOf(server, 'erp/1')).status === 'failing')
  t.match(await hookOf(server, 'erp/1'), { reason: 'the connection was refused', pending: 1 })
  await server.kill9()
  await server.restart()
  t.match(await hookOf(server, 'erp/1'), { pending: 1 })
  await receiver.up()
  // The same definition again: what waits is sent at once.
  await put(server, 'erp/1', { geofence: { tag: 'store' }, endpoint: { url: `${receiver.url}/again` } })
  await until(async () => receiver.got.length >= 2)
  t.strictSame(idsOf(receiver.got), [first._id, second._id])
})

/** Where the walks go: around places at which planar geometry goes wrong. */
const CORNERS: readonly Position[] = [
  [180, 0],
  [-180, 65],
  [179.9995, -17],
  [0, 89.9995],
  [120, -89.9995],
  [13.4132, 52.5219],
]

/** A user that may only publish to its subject, in a server that only speaks TLS. */
async function leastRights(
  t: Test,
): Promise<{ nats: NatsServer; client: NodeConnectionOptions; ca: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'ringfence-hooks-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const { ca, certificate, key } = await makeCertificates(folder)
  const reader = { user: 'reader', pass: 'reads' }
  const client = { ...reader, tls: { caFile: ca } }
  const nats = await natsServer(t, {
    client: { ...client },
    config: `
      tls { cert_file: "${certificate}", key_file: "${key}" }
      accounts { A { jetstream: enabled, users: [
        { user: reader, password: reads }
        { user: hooks, password: publishes, permissions: {
          publish: { allow: ["hooks.>"] }, subscribe: { allow: ["_INBOX.hooks.>"] } } }
      ] } }`,
  })
  return { nats, client, ca: readFileSync(ca, 'utf8') }
}

t.test(
  'property: what a NATS subscriber gets equals the events, also at ±180 and the poles',
  {
    skip: skip || withoutOpenssl(),
  },
  async (t) => {
    const { nats, ca } = await leastRights(t)
    const port = nats.address.split(':')[1]
    const server = await startServer(t, { env: ENV })
    const reader = await nats.client()
    await (await nats.manager()).streams.add({ name: 'HOOKS', subjects: ['hooks.stream'] })
    const got: { subject: string; id: string; json: Json }[] = []
    const subscription = reader.subscribe('hooks.>')
    void (async () => {
      for await (const { subject, headers, data } of subscription)
        got.push({ subject, id: headers!.get('Nats-Msg-Id'), json: JSON.parse(Buffer.from(data).toString()) })
    })()
    await reader.flush()
    for (const [i, center] of CORNERS.entries()) await circle(server, `walk/${i}`, center, 150)
    const identity = { user: 'hooks', password: 'publishes', tlsCa: ca }
    const url = `tls://localhost:${port}`
    for (const [pair, more] of [
      ['walk/core', { subject: 'hooks.core' }],
      ['walk/stream', { subject: 'hooks.stream', jetStream: true }],
    ] as const) {
      const hook = await put(server, pair, {
        geofence: { tag: 'walk' },
        endpoint: { url, ...identity, ...more },
      })
      t.notMatch(JSON.stringify(hook), 'publishes')
    }
    // About 0 to 300 metres around a corner, across the antimeridian and the poles.
    const step = fc.record({
      corner: fc.nat(CORNERS.length - 1),
      east: fc.double({ min: -300, max: 300, noNaN: true }),
      north: fc.double({ min: -300, max: 300, noNaN: true }),
    })
    const walk = fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.array(step, { minLength: 1, maxLength: 12 }))
    const made: Json[] = []
    await fc.assert(
      fc.asyncProperty(walk, async ([device, steps]) => {
        for (const each of steps) made.push(...(await track(server, device, placeOf(each))))
      }),
      { numRuns: 30 },
    )
    // Edits around a standing device, a quick visit, and a deleted user.
    await circle(server, 'walk/new', PLACE, 200)
    made.push(...(await track(server, 'a', PLACE)), ...(await track(server, 'a', FAR)))
    t.ok(made.length > 20, `${made.length} events`)
    const ids = made.map(({ _id }) => _id)
    for (const subject of ['hooks.core', 'hooks.stream']) {
      const messages = () => distinct(got.filter((one) => one.subject === subject))
      await until(async () => messages().length >= made.length)
      t.strictSame(
        messages()
          .map(({ json }) => json.event._id)
          .toSorted(),
        ids.toSorted(),
        subject,
      )
      for (const device of ['a', 'b', 'c']) {
        const of = (event: Json) => event.user.deviceId === device
        const events = messages().map(({ json }) => json.event)
        t.strictSame(
          events.filter(of).map(({ _id }) => _id),
          made.filter(of).map(({ _id }) => _id),
          `the order of ${device} at ${subject}`,
        )
      }
    }
    const byId = new Map(made.map((event) => [event._id, event]))
    for (const { json } of got) t.match(json.event, byId.get(json.event._id))
    t.equal((await nats.messages('HOOKS')).length, made.length, 'stored once each')

    // The server is gone for a moment: nothing is lost.
    await nats.kill9()
    const [late] = await track(server, 'a', PLACE)
    await until(async () => (await hookOf(server, 'walk/stream')).status === 'failing')
    await nats.start()
    await put(server, 'walk/stream', {
      geofence: { tag: 'walk' },
      endpoint: { url, ...identity, subject: 'hooks.stream', jetStream: true, tlsCa: `${ca}\n` },
    })
    await until(async () => (await nats.messages('HOOKS')).length >= made.length + 2)
    t.match(
      (await nats.messages('HOOKS'))
        .slice(-2)
        .map(({ data }) => JSON.parse(Buffer.from(data).toString()).event._id),
      [late._id],
    )
    for (const secret of ['publishes', 'PRIVATE KEY']) t.notMatch(server.output, secret, 'not in the log')
  },
)

/** Messages without those that were repeated. */
function distinct<T extends { readonly id: string }>(messages: readonly T[]): T[] {
  return [...new Map(messages.toReversed().map((one) => [one.id, one])).values()].toReversed()
}

function placeOf({ corner, east, north }: { corner: number; east: number; north: number }): Position {
  const METERS = 111_000
  const [longitude, latitude] = CORNERS[corner]!
  let lat = latitude + north / METERS
  let lon = longitude + east / (METERS * Math.max(0.001, Math.cos((latitude * Math.PI) / 180)))
  if (Math.abs(lat) > 90) {
    lat = Math.sign(lat) * 180 - lat
    lon += 180
  }
  lon = ((((lon + 180) % 360) + 360) % 360) - 180
  return [lon, lat]
}

t.test('why a NATS server takes no messages is said in the record, without secrets', { skip }, async (t) => {
  const nats = await natsServer(t, {
    config: `accounts { A { users: [ { user: hooks, password: publishes, permissions: {
      publish: { allow: ["hooks.>"] }, subscribe: { allow: ["_INBOX.hooks.>"] } } } ] } }`,
    client: { user: 'hooks', pass: 'publishes' },
  })
  const server = await startServer(t, { env: ENV })
  await circle(server, 'store/1', PLACE)
  const url = `nats://${nats.address}`
  const user = { user: 'hooks', password: 'publishes' }
  const endpoints = {
    password: { url, user: 'hooks', password: 'wrong', subject: 'hooks.a' },
    subject: { url, ...user, subject: 'others.a' },
    stream: { url, ...user, subject: 'hooks.a', jetStream: true },
    tls: { url: `tls://localhost:${nats.address.split(':')[1]}`, ...user, subject: 'hooks.a' },
    nobody: { url: 'nats://127.0.0.1:9', subject: 'hooks.a' },
  }
  for (const [name, endpoint] of Object.entries(endpoints))
    await put(server, `why/${name}`, { geofence: { tag: 'store' }, endpoint })
  await track(server, 'a', PLACE)
  const reasons: Record<string, string> = {}
  for (const name of Object.keys(endpoints)) {
    await until(async () => (await hookOf(server, `why/${name}`)).status === 'failing')
    reasons[name] = (await hookOf(server, `why/${name}`)).reason
  }
  t.strictSame(reasons, {
    password: 'the server refuses the credentials',
    subject: 'the server does not allow this user to publish to the subject',
    stream: 'no stream has the subject',
    tls: 'the server does not offer TLS',
    nobody: 'the connection was refused',
  })
  for (const secret of ['publishes', 'wrong']) t.notMatch(server.output, secret, 'not in the log')
})

t.test(
  'a token, a credentials file, an nkey and a client certificate: messages arrive, and without them none',
  { skip: skip || withoutOpenssl() },
  async (t) => {
    const server = await startServer(t, { env: ENV })
    await circle(server, 'store/1', PLACE)
    const operator = natsOperator()
    const user = nkeys.createUser()
    const seed = Buffer.from(user.getSeed()).toString()
    const folder = mkdtempSync(join(tmpdir(), 'ringfence-hooks-'))
    t.teardown(() => rmSync(folder, { recursive: true, force: true }))
    const files = await makeCertificates(folder)
    const pem = (file: string) => readFileSync(file, 'utf8')
    const tls = { tlsCa: pem(files.ca), tlsCertificate: pem(files.certificate), tlsKey: pem(files.key) }
    const mayAll = { authenticator: credsAuthenticator(Buffer.from(operator.credentials({}))) }
    const mayPublish = { pub: { allow: ['hooks.a'] }, sub: { allow: ['_INBOX.hooks.>'] } }
    const certificates = { caFile: files.ca, certFile: files.certificate, keyFile: files.key }
    const cases: readonly [name: string, config: string, client: NodeConnectionOptions, identity: object][] =
      [
        ['token', 'authorization { token: "the token" }', { token: 'the token' }, { token: 'the token' }],
        ['credentials', operator.config, mayAll, { credentials: operator.credentials(mayPublish) }],
        [
          'nkey',
          `authorization { users: [ { nkey: ${user.getPublicKey()} } ] }`,
          { authenticator: nkeyAuthenticator(user.getSeed()) },
          { credentials: seed },
        ],
        [
          'certificate',
          `tls { cert_file: "${files.certificate}", key_file: "${files.key}", ca_file: "${files.ca}", verify_and_map: true }
           authorization { users: [ { user: "CN=server" } ] }`,
          { tls: certificates },
          tls,
        ],
      ]
    const servers = await Promise.all(
      cases.map(async ([name, config, client, identity]) => {
        const nats = await natsServer(t, { config, client })
        const scheme = name === 'certificate' ? 'tls' : 'nats'
        const url = `${scheme}://localhost:${nats.address.split(':')[1]}`
        await (await nats.manager()).streams.add({ name: 'HOOKS', subjects: ['hooks.*'] })
        const geofence = { tag: 'store' }
        const endpoint = { url, subject: 'hooks.a', jetStream: true }
        const hook = await put(server, `good/${name}`, { geofence, endpoint: { ...endpoint, ...identity } })
        const without = name === 'certificate' ? { tlsCa: tls.tlsCa } : {}
        await put(server, `bad/${name}`, { geofence, endpoint: { ...endpoint, ...without } })
        for (const secret of Object.values(identity).filter((text) => text !== tls.tlsCa))
          if (secret !== tls.tlsCertificate) t.notOk(JSON.stringify(hook).includes(JSON.stringify(secret)))
        return { name, nats }
      }),
    )
    const [event] = await track(server, 'a', PLACE)
    for (const { name, nats } of servers) {
      await until(async () => (await nats.messages('HOOKS')).length > 0)
      const [message, ...more] = await nats.messages('HOOKS')
      t.equal(JSON.parse(Buffer.from(message!.data).toString()).event._id, event._id, name)
      t.strictSame(more, [], name)
      t.match(await hookOf(server, `good/${name}`), { status: 'active' }, name)
      await until(async () => (await hookOf(server, `bad/${name}`)).status === 'failing')
    }
    for (const name of ['token', 'credentials', 'nkey'])
      t.match(await hookOf(server, `bad/${name}`), { reason: 'the server refuses the credentials' }, name)
    for (const secret of ['the token', seed, 'PRIVATE KEY', 'NATS USER JWT'])
      t.notOk(server.output.includes(secret), 'not in the log')
  },
)

t.test('private addresses are refused: at once, or when the name is looked up', { skip }, async (t) => {
  const server = await startServer(t)
  await circle(server, 'store/1', PLACE)
  for (const url of ['http://10.0.0.1/', 'nats://127.0.0.1:4222', 'nats://[::1]:4222'])
    t.match(
      await server.api('PUT', '/v1/hooks/a/1', {
        geofence: { tag: 'store' },
        endpoint: { url, ...(url.startsWith('nats') && { subject: 'a' }) },
      }),
      { status: 400, body: { meta: { param: 'endpoint.url' } } },
      url,
    )
  const nats = await natsServer(t)
  const url = `nats://localhost:${nats.address.split(':')[1]}`
  await put(server, 'a/1', { geofence: { tag: 'store' }, endpoint: { url, subject: 'a' } })
  await track(server, 'a', PLACE)
  await until(async () => (await hookOf(server, 'a/1')).status === 'failing')
  t.match(await hookOf(server, 'a/1'), {
    reason: 'there is no such host, or it is not on the public internet',
  })
  t.notMatch(nats.output, 'hook')
})

t.test('a bad definition is refused with the name of the field', async (t) => {
  const server = await startServer(t)
  const endpoint = { url: 'https://receiver.example/' }
  const nats = { url: 'nats://nats.example:4222', subject: 'a.b' }
  const tls = { url: 'tls://nats.example', subject: 'a' }
  const good = { geofence: { tag: 'store' }, endpoint }
  const cases: readonly [param: string, body: object][] = [
    ['geofence', { endpoint }],
    ['geofence.tag', { ...good, geofence: {} }],
    ['geofence.id', { ...good, geofence: { tag: 'a', id: 'b' } }],
    ['endpoint', { geofence: { tag: 'store' } }],
    ['endpoint.url', { ...good, endpoint: {} }],
    ['endpoint.url', { ...good, endpoint: { url: 'ftp://a' } }],
    ['endpoint.url', { ...good, endpoint: { url: 'https://user:password@a/' } }],
    ['endpoint.url', { ...good, endpoint: { ...nats, url: 'nats://a:4222/b' } }],
    ['endpoint.url', { ...good, endpoint: { ...tls, url: 'tls://192.0.2.1' } }],
    ['endpoint.secret', { ...good, endpoint: { ...endpoint, secret: 'short' } }],
    ['endpoint.secret', { ...good, endpoint: { ...nats, secret: SECRET } }],
    ['endpoint.subject', { ...good, endpoint: { url: nats.url } }],
    ['endpoint.subject', { ...good, endpoint: { ...endpoint, subject: 'a' } }],
    ['endpoint.subject', { ...good, endpoint: { ...nats, subject: 'a.*' } }],
    ['endpoint.subject', { ...good, endpoint: { ...nats, subject: 'a b' } }],
    ['endpoint.subject', { ...good, endpoint: { ...nats, subject: '$JS.API.STREAM.DELETE.EVENTS' } }],
    ['endpoint.password', { ...good, endpoint: { ...nats, user: 'a' } }],
    ['endpoint.user', { ...good, endpoint: { ...nats, password: 'a' } }],
    ['endpoint.token', { ...good, endpoint: { ...nats, user: 'a', password: 'b', token: 'c' } }],
    ['endpoint.credentials', { ...good, endpoint: { ...nats, credentials: 'c' } }],
    ['endpoint.tlsCa', { ...good, endpoint: { ...nats, tlsCa: '-----BEGIN ' } }],
    ['endpoint.tlsCa', { ...good, endpoint: { ...tls, tlsCa: 'x' } }],
    ['endpoint.tlsKey', { ...good, endpoint: { ...tls, tlsCertificate: '-----BEGIN ' } }],
    ['endpoint.port', { ...good, endpoint: { ...nats, port: 1 } }],
    ['detect', { ...good, detect: 'inside' }],
    ['types', { ...good, types: ['a'] }],
    ['tag', { ...good, tag: 'other' }],
  ]
  for (const [param, body] of cases)
    t.match(
      await server.api('PUT', '/v1/hooks/a/1', body),
      { status: 400, body: { meta: { param } } },
      JSON.stringify(body),
    )
  t.equal((await server.api('GET', '/v1/hooks/a/1')).status, 404)
  t.equal((await server.api('GET', '/v1/hooks', undefined, KEYS.testPublishable)).status, 403)
  for (let i = 0; i < 100; i++) await put(server, `many/${i}`, good)
  t.match(await server.api('PUT', '/v1/hooks/many/100', good), { status: 409 })
  t.equal((await server.api('PUT', '/v1/hooks/many/1', good)).status, 200, 'a replacement is not another')
})
