/** Subscriptions and watches from outside: a real server, real sockets, three encodings. */
import t from 'tap'
import { KEYS, startServer } from '../kit/server.ts'
import { ENCODINGS, Stream, type Message } from '../kit/stream.ts'

const server = await startServer(t)
for (const key of [KEYS.testSecret, KEYS.liveSecret]) {
  for (const [tag, longitude] of [
    ['store', 7],
    ['home', 8],
  ] as const) {
    const definition = { type: 'circle', description: tag, coordinates: [longitude, 50], radius: 100 }
    await server.api('PUT', `/v1/geofences/${tag}/one`, definition, key)
  }
}

const at = (deviceId: string, longitude: number, more: object = {}) => ({
  deviceId,
  latitude: 50,
  longitude,
  accuracy: 5,
  ...more,
})

async function track(
  deviceId: string,
  longitude: number,
  more: object = {},
  key: string = KEYS.testSecret,
): Promise<Message> {
  const { status, body } = await server.api('POST', '/v1/track', at(deviceId, longitude, more), key)
  if (status !== 200) throw new Error(JSON.stringify(body))
  return body
}

for (const encoding of ENCODINGS) {
  t.test(`${encoding}: events by their filters, in log order`, async (t) => {
    const stream = await Stream.open(server, { encoding })
    const device = `${encoding} device`
    stream.send({ type: 'subscribe', id: 'all of it', filter: { deviceIds: [device] } })
    stream.send({
      type: 'subscribe',
      id: 'exits',
      filter: { deviceIds: [device], types: ['user.exited_geofence'] },
    })
    stream.send({ type: 'subscribe', id: 'home', filter: { tags: ['home'], userIds: [`${encoding} user`] } })
    for (const id of ['all of it', 'exits', 'home'])
      t.match(await stream.next(), { type: 'subscribed', id, from: /^@[0-9a-f]{32}$/ })
    const made: Message[] = []
    for (const longitude of [7, 8, 9]) {
      made.push(...(await track(device, longitude, { userId: `${encoding} user` })).events)
      await track(`${encoding} other`, longitude)
      await track(device, longitude, {}, KEYS.liveSecret)
    }
    t.equal(made.length, 4)
    const got = new Map<string, Message[]>()
    while ([...got.values()].flat().length < 8) {
      const { subscription, event } = await stream.nextOf('event')
      got.set(subscription, [...(got.get(subscription) ?? []), event])
    }
    t.same(got.get('all of it'), made, 'the records of the answers, in their order')
    t.same(
      got.get('exits'),
      made.filter(({ type }) => type === 'user.exited_geofence'),
    )
    t.same(
      got.get('home'),
      made.filter(({ geofence }) => geofence.tag === 'home'),
    )

    stream.send({ type: 'unsubscribe', id: 'all of it' })
    t.same(await stream.next(), { type: 'unsubscribed', id: 'all of it' })
    stream.send({ type: 'unsubscribe', id: 'all of it' })
    t.match(await stream.next(), { type: 'error', subscription: 'all of it', code: 404 })
    stream.send({ type: 'subscribe', id: 'again', filter: { deviceIds: [device] }, from: made[1]._id })
    t.match(await stream.next(), { type: 'subscribed', id: 'again' })
    t.same(
      [await stream.next(), await stream.next()].map(({ event }) => event),
      made.slice(2),
      'from after an event',
    )
    await stream.close()
  })

  t.test(`${encoding}: positions in an area`, async (t) => {
    const stream = await Stream.open(server, { encoding })
    const device = `${encoding} watched`
    // Each encoding uses a separate row of places.
    const row = 10 + ENCODINGS.indexOf(encoding)
    const move = (longitude: number, more: object = {}) =>
      server.api('POST', '/v1/track', { ...at(device, longitude, more), latitude: row })
    await move(5, { userId: 'driver' })
    const box = [4, row - 0.5, 6, row + 0.5]
    const area =
      encoding === 'protobuf'
        ? { box: { west: 4, south: row - 0.5, east: 6, north: row + 0.5 } }
        : { area: { type: 'box', box } }
    stream.send({ type: 'watch', id: 'w', ...area, minIntervalMs: 1 })
    t.same(await stream.next(), { type: 'watching', id: 'w' })
    const enter = await stream.next()
    const { body } = await server.api('GET', `/v1/users/${encodeURIComponent(device)}`)
    const { _id, userId, deviceId, location, locationAccuracy, updatedAt } = body.user
    t.same(enter, {
      type: 'position',
      watch: 'w',
      change: 'enter',
      user: { _id, userId, deviceId },
      location,
      locationAccuracy,
      updatedAt,
    })
    await move(5.5, { userId: 'driver' })
    t.match(await stream.next(), { change: 'move', location: { coordinates: [5.5, row] } })
    await move(7, { userId: 'driver' })
    t.match(await stream.next(), { change: 'leave', location: { coordinates: [7, row] } })
    await move(4, { userId: 'driver' })
    t.match(await stream.next(), { change: 'enter', location: { coordinates: [4, row] } })
    await server.api('DELETE', `/v1/users/${encodeURIComponent(device)}`)
    t.match(await stream.next(), { change: 'leave' }, 'deleted')
    stream.send({ type: 'unwatch', id: 'w' })
    t.same(await stream.next(), { type: 'unwatched', id: 'w' })
    await stream.close()
  })
}

t.test('refusals are reported, and the rest continues', async (t) => {
  const stream = await Stream.open(server)
  const refused = async (message: Message, expected: object) => {
    stream.send(message)
    t.match(await stream.next(), { type: 'error', ...expected }, JSON.stringify(message).slice(0, 100))
  }
  await refused({ type: 'subscribe' }, { code: 400, param: 'id' })
  const subscription = 's'
  for (const [fields, param] of [
    [{ filter: 'all' }, 'filter'],
    [{ filter: { types: 'a' } }, 'filter.types'],
    [{ filter: { types: [] } }, 'filter.types'],
    [{ filter: { types: [5] } }, 'filter.types.0'],
    [{ filter: { deviceIds: Array.from({ length: 1001 }, (_, i) => `d${i}`) } }, 'filter.deviceIds'],
    [{ filter: { tags: [''] } }, 'filter.tags.0'],
    [{ filter: { deviceId: ['a'] } }, 'filter.deviceId'],
    [{ filters: { deviceIds: ['a'] } }, 'filters'],
    [{ from: 5 }, 'from'],
    [{ from: '' }, 'from'],
  ] as const) {
    await refused(
      { type: 'subscribe', id: 's', ...fields },
      {
        subscription,
        code: 400,
        param,
      },
    )
  }
  for (const from of ['f'.repeat(24), 'nonsense', '\u0001']) {
    await refused(
      { type: 'subscribe', id: 's', from },
      {
        subscription,
        code: 404,
        param: 'from',
      },
    )
  }
  for (const [fields, param] of [
    [{}, 'area'],
    [{ area: { type: 'sphere' } }, 'area.type'],
    [{ area: { type: 'circle', center: [7, 50], radius: 0 } }, 'area.radius'],
    [{ area: { type: 'circle', center: [7], radius: 5 } }, 'area.center'],
    [{ area: { type: 'box', box: [0, 0, 1] } }, 'area.box'],
    [{ area: { type: 'polygon', coordinates: [[[0, 0], 'x']] } }, 'area.coordinates.0.1'],
    [{ area: { type: 'box', box: [0, 0, 1, 1] }, minIntervalMs: -1 }, 'minIntervalMs'],
  ] as const) {
    await refused({ type: 'watch', id: 'w', ...fields }, { watch: 'w', code: 400, param })
  }
  const geofence = { type: 'geofence', tag: 'store', externalId: 'unknown' }
  await refused({ type: 'watch', id: 'w', area: geofence }, { watch: 'w', code: 404 })
  stream.send({ type: 'watch', id: 'w', area: { ...geofence, externalId: 'one' } })
  t.same(await stream.next(), { type: 'watching', id: 'w' })
  stream.send({ type: 'subscribe', id: 's' })
  t.match(await stream.nextOf('subscribed'), { type: 'subscribed', id: 's' })
  await stream.close()

  const app = await Stream.open(server, { key: KEYS.testPublishable })
  app.send({ type: 'subscribe', id: 's', filter: { types: ['user.entered_geofence'] } })
  t.match(await app.next(), { type: 'error', subscription, code: 403 })
  app.send({ type: 'watch', id: 'w', area: geofence })
  t.match(await app.next(), { type: 'error', watch: 'w', code: 403 })
  app.send({ type: 'subscribe', id: 's', filter: { deviceIds: ['app'] } })
  t.match(await app.next(), { type: 'subscribed' })
  await track('not the app', 7)
  const { events } = await track('app', 7)
  t.same(await app.next(), { type: 'event', subscription, event: events[0] })
  await app.close()
})
