/** Events of trips as they go out: webhooks, server-sent events, streams, lists and counts, each with its filters. */
import { setTimeout as sleep } from 'node:timers/promises'
import { parse } from 'csv-parse/sync'
import t from 'tap'
import { Receiver } from '../delivery/webhookKit.ts'
import { EventSource } from '../kit/eventSource.ts'
import { KEYS, startServer } from '../kit/server.ts'
import { Stream } from '../kit/stream.ts'
import { until } from '../kit/waiting.ts'

const server = await startServer(t, { env: { RINGFENCE_WEBHOOK_PRIVATE_ADDRESSES: '127.0.0.0/8' } })

interface Made {
  readonly _id: string
  readonly type: string
  readonly trip?: { readonly externalId: string }
}

const { good } = server

for (const [tag, longitude] of [
  ['store', -56.19],
  ['depot', -56.29],
] as const)
  await good('PUT', `/v1/geofences/${tag}/home`, {
    description: tag,
    type: 'circle',
    coordinates: [longitude, -34.9],
    radius: 100,
  })
await good('PATCH', '/v1/settings', { tripUpdateSeconds: 0 })

const STARTED = 'user.started_trip'
const ARRIVED = 'user.arrived_at_trip_destination'
const STOPPED = 'user.stopped_trip'

/** Lists of a filter, with the events of the two trips below that it wants. */
const FILTERS: readonly (readonly [Record<string, string>, (event: Made & { tag: string }) => boolean])[] = [
  [{ tags: 'store' }, ({ tag }) => tag === 'store'],
  [{ tags: 'depot' }, ({ tag }) => tag === 'depot'],
  [{ types: `${STARTED},${STOPPED}` }, ({ type }) => type === STARTED || type === STOPPED],
  [{ tags: 'store', types: ARRIVED }, ({ tag, type }) => tag === 'store' && type === ARRIVED],
  [{ tags: 'elsewhere' }, () => false],
]

t.test('webhooks, server-sent events, streams and lists', async (t) => {
  const receiver = await Receiver.start(t)
  const stream = await Stream.open(server)
  t.teardown(() => stream.close())
  const sources: EventSource[] = []
  for (const [i, [filter]] of FILTERS.entries()) {
    const lists = Object.fromEntries(Object.entries(filter).map(([name, text]) => [name, text.split(',')]))
    await good('POST', '/v1/webhooks', { url: `${receiver.url}/${i}`, ...lists })
    stream.send({ type: 'subscribe', id: `${i}`, filter: lists })
    t.match(await stream.next(), { type: 'subscribed' })
    const source = await EventSource.open(server, { query: `?${new URLSearchParams(filter).toString()}` })
    t.teardown(() => source.hangUp())
    sources.push(source)
  }
  const made: (Made & { tag: string })[] = []
  const drive = async (tag: string, longitude: number) => {
    const destination = { destinationGeofenceTag: tag, destinationGeofenceExternalId: 'home' }
    const trip = { externalId: `to ${tag}`, userId: tag, ...destination }
    const from = await good('POST', '/v1/trips', trip)
    t.strictSame(from.events, [])
    for (const meters of [20_000, 1000, 0]) {
      const at = { latitude: -34.9, longitude: longitude - meters / 91_290, accuracy: 5, stopped: true }
      const update = { deviceId: tag, userId: tag, ...at }
      const { events } = await good('POST', '/v1/track', update, KEYS.testPublishable)
      made.push(...events.map((event: Made) => ({ ...event, tag })))
    }
    const ended = await good('PATCH', `/v1/trips/${from.trip._id}/update`, { status: 'completed' })
    made.push(...ended.events.map((event: Made) => ({ ...event, tag })))
  }
  await drive('store', -56.19)
  await drive('depot', -56.29)
  // One that nobody has moved: its event has neither a device nor a user.
  await good('POST', '/v1/trips', {
    externalId: 'nobody',
    destinationGeofenceTag: 'store',
    destinationGeofenceExternalId: 'home',
  })
  const canceled = await good('PATCH', '/v1/trips/nobody/update', { status: 'canceled' })
  made.push({ ...canceled.events[0], tag: 'store' })
  t.strictSame(
    made.map(({ type }) => type.replace('user.', '')),
    [
      ...['store', 'depot'].flatMap(() => [
        'started_trip',
        'approaching_trip_destination',
        'entered_geofence',
        'arrived_at_trip_destination',
        'stopped_trip',
      ]),
      'stopped_trip',
    ],
  )

  const wanted = FILTERS.map(([, wants]) => made.filter(wants))
  const plain = (events: readonly Made[]) => events.map(({ _id }) => _id)
  const pushed = FILTERS.map(() => [] as string[])
  for (let left = wanted.flat().length; left > 0; left--) {
    const { subscription, event } = await stream.nextOf('event')
    pushed[Number(subscription)]!.push(event._id)
  }
  const hooked = (i: number): Made[] =>
    receiver.got.filter(({ path }) => path === `/${i}`).map(({ json }) => json.event)
  await until(() => receiver.got.length >= wanted.flat().length)
  for (const [i, [filter]] of FILTERS.entries()) {
    const what = JSON.stringify(filter)
    t.strictSame(pushed[i], plain(wanted[i]!), `stream ${what}`)
    t.strictSame(plain(hooked(i)).sort(), plain(wanted[i]!).sort(), `webhook ${what}`)
    for (const { _id, type } of wanted[i]!)
      t.match(await sources[i]!.next(), { id: _id, event: type, data: { _id } }, `server-sent ${what}`)
    const query = new URLSearchParams(filter).toString().replace('tags=', 'tag=')
    const { events } = await good('GET', `/v1/events?${query}`)
    t.strictSame(plain(events).sort(), plain(wanted[i]!).sort(), `list ${what}`)
    const lines: string = await good('GET', `/v1/exports/events?format=ndjson&${query}`)
    t.strictSame(
      lines
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line)),
      events,
      `export ${what}`,
    )
    const from = new Date(Date.now() - 3_600_000).toISOString()
    const { counts } = await good('GET', `/v1/events/counts?from=${from}&step=86400&${query}`)
    const total = counts.reduce((sum: number, one: { total: number }) => sum + one.total, 0)
    t.equal(total, wanted[i]!.length, `counts ${what}`)
  }
  t.equal(receiver.got.length, wanted.flat().length, 'nothing else went out')

  const [arrival] = hooked(3)
  const { event } = await good('GET', `/v1/events/${arrival!._id}`)
  t.strictSame(arrival, event, 'a webhook has the event whole')
  t.match(arrival!.trip, { externalId: 'to store', status: 'arrived', eta: { duration: 0, distance: 0 } })
  const body = receiver.got.find(({ path }) => path === '/3')!.json
  t.match(body.user, { userId: 'store', deviceId: 'store' })
  const ofNobody = hooked(0).find(({ _id }) => _id === canceled.events[0]._id)!
  t.match(ofNobody.trip, { externalId: 'nobody', status: 'canceled' })
})

t.test('the exported table says which trip an event is about', async (t) => {
  const csv: string = await good('GET', `/v1/exports/events?tag=depot&types=${ARRIVED}`)
  const rows: Record<string, string>[] = parse(csv, { columns: true })
  t.match(rows, [{ type: ARRIVED, tripExternalId: 'to depot', tripStatus: 'arrived' }])
  t.equal(rows.length, 1)
  t.equal(rows[0]!.trip, (await good('GET', `/v1/trips/${encodeURIComponent('to depot')}`)).trip._id)
})

t.test('updates of a stream move the trips of their user; tripOptions in them do nothing', async (t) => {
  await good('POST', '/v1/trips', {
    externalId: 'streamed',
    userId: 'streamer',
    destinationGeofenceTag: 'store',
    destinationGeofenceExternalId: 'home',
  })
  const stream = await Stream.open(server)
  t.teardown(() => stream.close())
  const at = { latitude: -34.9, accuracy: 5, stopped: true, tripOptions: { externalId: 'none' } }
  for (const [i, meters] of [20_000, 0].entries()) {
    const update = { deviceId: 'streamer', userId: 'streamer', longitude: -56.19 - meters / 91_290, ...at }
    stream.send({ type: 'track', id: i + 1, updates: [update] })
    await stream.upToAck(i + 1)
    await sleep(1000)
  }
  const statusOf = async () => (await good('GET', '/v1/trips/streamed')).trip.status
  await until(async () => (await statusOf()) === 'arrived')
  const { events } = await good('GET', '/v1/events?userId=streamer')
  t.strictSame(
    events.map(({ type }: Made) => type),
    [ARRIVED, 'user.entered_geofence', STARTED],
  )
  t.equal((await server.api('GET', '/v1/trips/none')).status, 404)
})

t.test('names of the events are no conversions', async (t) => {
  const names = ['started_trip', 'arrived_at_wrong_trip_destination', 'approaching_trip_destination']
  names.push('arrived_at_trip_destination', 'delayed_during_trip', 'updated_trip', 'stopped_trip')
  for (const name of [...names, 'fired_trip_orders'].map((one) => `user.${one}`)) {
    const { status, body } = await server.api('POST', '/v1/events', { name, deviceId: 'seller' })
    t.match({ status, body }, { status: 400, body: { meta: { param: 'name' } } }, name)
  }
})

t.test('the device `anonymous` has no trips', async (t) => {
  const tripOptions = { externalId: 'hidden' }
  const at = { latitude: -34.9, longitude: -56.1, accuracy: 5 }
  const anonymous = await good('POST', '/v1/track', { deviceId: 'anonymous', ...at, tripOptions })
  t.notOk('trip' in anonymous.user)
  t.equal((await server.api('GET', '/v1/trips/hidden')).status, 404)
  const known = await good('POST', '/v1/track', { deviceId: 'known', ...at, tripOptions })
  t.equal(known.user.trip.externalId, 'hidden')
})
