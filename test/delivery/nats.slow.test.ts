/** The NATS bridge against a real nats-server. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import protobuf from 'protobufjs'
import t from 'tap'
import { loadOptions } from '../../config/options.ts'
import { NatsOffset, OffsetDamaged } from '../../src/delivery/natsOffset.ts'
import { addressOf, subjectOf } from '../../src/model/eventSubject.ts'
import { operate } from '../../src/cli/operator.ts'
import fc from '../kit/fastCheck.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { natsServer } from '../kit/nats.ts'
import { KEYS, startServer } from '../kit/server.ts'
import { caughtUp, detail, event, ids, metric, withBridge } from './natsKit.ts'
import { checkShapes, crossShapes } from './shapes.ts'
import { until } from '../kit/waiting.ts'

const skip = await skipWithout(NATS_SERVER)
const DAY_NANOSECONDS = 86_400e9

t.test('a subject has five tokens, with the project, type and device of the event', async (t) => {
  t.equal(
    subjectOf({ scope: 2, type: 'user.entered_geofence', deviceId: 'van-7' }),
    'events.1.test.user:entered_geofence.van-7',
  )
  t.equal(
    subjectOf({ scope: 2, type: 'user.stopped_trip', deviceId: '' }),
    'events.1.test.user:stopped_trip.%',
    'a token must not be empty',
  )
  t.strictSame(addressOf('events.1.test.user:stopped_trip.%'), {
    scope: 2,
    type: 'user.stopped_trip',
    deviceId: '',
  })
  t.equal(
    subjectOf({ scope: 5, type: 'sign up: plus', deviceId: 'a.b>*%' }),
    'events.2.live.sign%20up%3A%20plus.a%2Eb%3E%2A%25',
  )
  const text = fc.oneof(
    fc.string({ minLength: 1, maxLength: 256, unit: 'binary' }),
    fc.string({
      minLength: 1,
      maxLength: 20,
      unit: fc.constantFrom('.', ':', '%', ' ', '*', '>', 'a', '\u3000'),
    }),
  )
  fc.assert(
    fc.property(fc.nat(), text, text, (scope, type, deviceId) => {
      const subject = subjectOf({ scope, type, deviceId })
      const tokens = subject.split('.')
      equal(tokens.length, 5)
      // The five characters that the grammar of the protocol and its wildcards give another meaning.
      ok(!tokens.some((token) => token === '' || /[\0\t\n\r *>]/.test(token)))
      ok(Buffer.byteLength(subject) < 2000)
      deepEqual(addressOf(subject), { scope, type, deviceId }, 'so no two events of different ones have one')
    }),
  )
  for (const other of [
    'events',
    'events.x.test.a.b',
    'events.1.prod.a.b',
    'events.1.test.a.b.c',
    'events.1.live.%.b',
  ])
    t.equal(addressOf(other), undefined, other)
})

t.test('the stored offset survives, and is never incomplete', async (t) => {
  const folder = t.testdir()
  const file = `${folder}/nats.json`
  const failures: Error[] = []
  const open = (path = file) => new NatsOffset(path, 7, (error) => failures.push(error))
  const offset = open()
  t.equal(offset.value, 7, 'of the first start')
  await offset.save()
  t.equal(open().value, 7)
  for (let i = 8; i < 100; i++) offset.set(i)
  await Promise.all([offset.save(), offset.save()])
  t.equal(open().value, 99)
  t.strictSame(failures, [])

  const nowhere = open(`${folder}/absent/nats.json`)
  await nowhere.save()
  t.match(failures, [/ENOENT/])
  t.equal(nowhere.value, 7, 'goes on')
  for (const text of ['', '{', 'null', '{"format":2,"place":1}', '{"format":1,"place":-1}', '{"format":1}']) {
    writeFileSync(file, text)
    t.throws(() => open(), OffsetDamaged, text)
  }
})

t.test('events of all scopes come in log order, in the form of the API', { skip }, async (t) => {
  const nats = await natsServer(t)
  const server = await withBridge(t, nats)
  const printed: string[] = []
  const { options } = loadOptions({ argv: ['--data', server.data], env: {}, readFile: () => '' })
  await operate(['projects', 'create', 'Second'], options, (line) => printed.push(line))
  const second = /prj_live_sk_[0-9a-f]{40}/.exec(printed.join('\n'))![0]

  const made = [await event(server, { deviceId: 'a.b', metadata: { n: 1 } })]
  made.push(await event(server, { deviceId: 'd2' }, KEYS.liveSecret))
  made.push(await event(server, { deviceId: 'd3', name: 'left.early' }, second))
  await server.api('PUT', '/v1/geofences/store/1', {
    type: 'circle',
    coordinates: [10, 50],
    radius: 100,
    description: 'Store',
  })
  const track = { deviceId: 'phone 1', latitude: 50, longitude: 10, accuracy: 5 }
  const { body } = await server.api('POST', '/v1/track', track)
  made.push(body.events[0]._id)
  await caughtUp(server)

  const messages = await nats.messages('EVENTS')
  t.strictSame(
    messages.map(({ id, subject }) => [id, subject]),
    [
      [made[0], 'events.1.test.bought.a%2Eb'],
      [made[1], 'events.1.live.bought.d2'],
      [made[2], 'events.2.live.left:early.d3'],
      [made[3], 'events.1.test.user:entered_geofence.phone%201'],
    ],
  )
  const keys = [KEYS.testSecret, KEYS.liveSecret, second, KEYS.testSecret]
  for (const [i, { id, data }] of messages.entries()) {
    const answer = await server.api('GET', `/v1/events/${id}`, undefined, keys[i])
    t.strictSame(JSON.parse(Buffer.from(data).toString()), answer.body.event, answer.body.event.type)
  }
  t.equal(await metric(server, 'nats_published_total'), 4)
  t.strictSame(await detail(server), {
    name: 'NATS bridge',
    ok: true,
    detail: 'connected; 0 events behind',
  })

  const { config } = await (await nats.manager()).streams.info('EVENTS')
  t.match(config, {
    subjects: ['events.>'],
    retention: 'limits',
    max_age: 7 * DAY_NANOSECONDS,
    duplicate_window: 120e9,
    allow_atomic: true,
  })
})

t.test('events contain the location of their geofences', { skip }, async (t) => {
  const nats = await natsServer(t)
  const server = await withBridge(t, nats)
  await crossShapes(server, 'd1')
  await caughtUp(server)
  const messages = await nats.messages('EVENTS')
  checkShapes(
    t,
    messages.map(({ data }) => JSON.parse(Buffer.from(data).toString())),
  )
})

t.test(
  'trips: a consumer of one subject gets its events, also of a trip that nobody has moved',
  { skip },
  async (t) => {
    const nats = await natsServer(t)
    const server = await withBridge(t, nats)
    const circle = { description: 'home', type: 'circle', coordinates: [-56.19, -34.9], radius: 100 }
    await server.api('PUT', '/v1/geofences/store/home', circle)
    const home = { destinationGeofenceTag: 'store', destinationGeofenceExternalId: 'home' }
    await server.api('POST', '/v1/trips', { externalId: 'driven', userId: 'ann', ...home })
    await server.api('POST', '/v1/trips', { externalId: 'left', ...home })
    const made = new Map<string, unknown[]>()
    const keep = ({ body }: { readonly body: { readonly events: readonly { readonly type: string }[] } }) => {
      for (const one of body.events) made.set(one.type, [...(made.get(one.type) ?? []), one])
    }
    for (const longitude of [-56.4, -56.19]) {
      const at = { latitude: -34.9, longitude, accuracy: 5, stopped: true }
      keep(await server.api('POST', '/v1/track', { deviceId: 'van', userId: 'ann', ...at }))
    }
    const left = await server.api('PATCH', '/v1/trips/left/update', { status: 'canceled' })
    await caughtUp(server)
    const messages = await nats.messages('EVENTS')
    const got = (type: string, deviceId: string) =>
      messages
        .filter(({ subject }) => subject === subjectOf({ scope: 2, type, deviceId }))
        .map(({ data }) => JSON.parse(Buffer.from(data).toString()))
    for (const type of ['user.started_trip', 'user.arrived_at_trip_destination'])
      t.strictSame(got(type, 'van'), made.get(type), type)
    t.strictSame(got('user.stopped_trip', ''), left.body.events)
    t.equal(made.get('user.started_trip')?.length, 1)
    t.equal(left.body.events.length, 1)
  },
)

t.test('places, regions and fraud: a consumer of one subject gets its events', { skip }, async (t) => {
  const nats = await natsServer(t)
  const env = { RINGFENCE_NATS_URL: `nats://${nats.address}` }
  const server = await startServer(t, { env, sample: true })
  const settings = { places: true, regions: true, fraud: { enabled: true } }
  await server.api('PATCH', '/v1/settings', settings)
  const near = '/v1/search/places?near=-34.9061,-56.1934&radius=10000&chains=mcdonalds'
  const [place] = (await server.api('GET', near)).body.places
  const [longitude, latitude] = place.location.coordinates
  const walk = [
    { latitude, longitude, stopped: true },
    { latitude: -35.2, longitude: -56.2, mocked: true },
  ]
  const made = new Map<string, unknown[]>()
  for (const at of walk) {
    const { body } = await server.api('POST', '/v1/track', { deviceId: 'v.1', accuracy: 5, ...at })
    for (const one of body.events) made.set(one.type, [...(made.get(one.type) ?? []), one])
  }
  await caughtUp(server)
  const messages = await nats.messages('EVENTS')
  for (const type of [
    'user.entered_place',
    'user.exited_place',
    'user.entered_region_country',
    'user.failed_fraud',
  ]) {
    const subject = `events.1.test.${type.replace('.', ':')}.v%2E1`
    const got = messages.filter((message) => message.subject === subject)
    t.strictSame(
      got.map(({ data }) => JSON.parse(Buffer.from(data).toString())),
      made.get(type),
      subject,
    )
    t.equal(got.length, 1, `one of ${subject}`)
  }
})

t.test(
  'without NATS everything else works, and missed events follow in order when it is back',
  { skip },
  async (t) => {
    const nats = await natsServer(t, { stopped: true })
    const server = await withBridge(t, nats)
    t.match(await detail(server), { ok: true, detail: 'not connected' })
    const made: string[] = []
    for (let i = 0; i < 40; i++) made.push(await event(server, { deviceId: `d${i % 3}` }))
    t.equal(await metric(server, 'nats_connected'), 0)
    t.equal(await metric(server, 'nats_lag_events'), 40)
    t.match(await detail(server), { ok: true, detail: '; 40 events behind' })

    await nats.start()
    await caughtUp(server)
    t.strictSame(await ids(nats), made)

    await nats.kill9()
    await until(async () => (await metric(server, 'nats_connected')) === 0)
    for (let i = 0; i < 5; i++) made.push(await event(server))
    // A stop does not lose the events that happened while NATS was away.
    await server.stop()
    await nats.start()
    await server.restart()
    made.push(await event(server))
    await caughtUp(server)
    t.strictSame(await ids(nats), made)
  },
)

t.test('an existing stream is used unchanged; an unsuitable one is reported', { skip }, async (t) => {
  const nats = await natsServer(t)
  const manager = await nats.manager()
  const mine = { name: 'EVENTS', subjects: ['events.>'], max_msgs: 5, description: 'mine' }
  await manager.streams.add(mine)
  const server = await withBridge(t, nats)
  await until(() => Promise.resolve(/allow_atomic/.test(server.output)))
  const made: string[] = []
  for (let i = 0; i < 3; i++) made.push(await event(server))
  t.match(server.output, /The stream EVENTS must allow atomic batches/)
  t.equal(await metric(server, 'nats_lag_events'), 3)

  await manager.streams.update('EVENTS', { allow_atomic: true })
  await caughtUp(server)
  t.strictSame(await ids(nats), made)
  t.match((await manager.streams.info('EVENTS')).config, { ...mine, allow_atomic: true })
})

t.test('protobuf; an event larger than NATS allows is skipped and reported', { skip }, async (t) => {
  const nats = await natsServer(t, { config: 'max_payload: 4096' })
  const server = await withBridge(t, nats, { RINGFENCE_NATS_FORMAT: 'protobuf' })
  const long = Object.fromEntries(Array.from({ length: 15 }, (_, i) => [`key${i}`, 'x'.repeat(250)]))
  const made = [await event(server), await event(server, { metadata: long }), await event(server)]
  await caughtUp(server)
  const messages = await nats.messages('EVENTS')
  t.strictSame(
    messages.map(({ id }) => id),
    [made[0], made[2]],
  )
  const { root } = protobuf.loadSync(new URL('../../proto/ringfence.proto', import.meta.url).pathname)
  const read = root.lookupType('ringfence.v1.Event').decode(messages[0]!.data) as unknown as { json: string }
  t.equal(JSON.parse(read.json)._id, made[0])
  t.equal(await metric(server, 'nats_omitted_total'), 1)
  t.match(server.output, new RegExp(`"event":"${made[1]}".*larger than NATS allows`))
})

t.test('a user and a token are sent, and never written to the log', { skip }, async (t) => {
  for (const [config, client, credentials] of [
    [
      'authorization { user: "ring fence", password: "p:4222@ss" }',
      { user: 'ring fence', pass: 'p:4222@ss' },
      'ring%20fence:p%3A4222%40ss',
    ],
    ['authorization { token: "t0ken-s3cret" }', { token: 't0ken-s3cret' }, 't0ken-s3cret'],
  ] as const) {
    const nats = await natsServer(t, { config, client })
    const server = await withBridge(t, nats, {
      RINGFENCE_NATS_URL: `nats://${credentials}@${nats.address}`,
    })
    const made = await event(server)
    await caughtUp(server)
    t.strictSame(await ids(nats), [made])
    t.notMatch(server.output, /ss@|s3cret|p%3A/)
    await server.stop()
  }
})
