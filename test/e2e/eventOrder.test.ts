/** One update to which everything happens: the order of its events, and that fraud takes none of them away. */
import t from 'tap'
import { startServer } from '../kit/server.ts'
import { Stream } from '../kit/stream.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- answers of every shape
type Json = any

const UUID = '2f234454-cf6d-4a0f-adf2-f4911ba9ffa6'
const SEA = { latitude: -36.5, longitude: -52 }
const server = await startServer(t, { sample: true })

const { good } = server

const near = '/v1/search/places?near=-34.9061,-56.1934&radius=10000&limit=1&chains=mcdonalds'
const [longitude, latitude] = (await good('GET', near)).places[0].location.coordinates
const BURGER = { latitude, longitude }
await good('PATCH', '/v1/settings', {
  places: true,
  regions: true,
  nearbyPlaceChains: ['mcdonalds'],
  fraud: { enabled: true, blocked: ['thief'] },
  tripUpdateSeconds: 0,
})
for (const externalId of ['1', '2'])
  await good('PUT', `/v1/geofences/shop/${externalId}`, {
    description: externalId,
    type: 'circle',
    coordinates: [longitude, latitude],
    radius: 100,
  })
await good('PUT', '/v1/beacons/door/1', {
  description: 'door',
  type: 'ibeacon',
  uuid: UUID,
  major: '1',
  minor: '1',
  coordinates: [longitude, latitude],
})
const beacon = { type: 'ibeacon', uuid: UUID, major: '1', minor: '1', rssi: -60, proximity: 'near' }

const ARRIVES = [
  'entered_region_country',
  'entered_geofence',
  'entered_geofence',
  'entered_place',
  'nearby_place_chain',
  'entered_beacon',
  'failed_fraud',
  'started_trip',
  'arrived_at_trip_destination',
]
const LEAVES = [
  'exited_region_country',
  'exited_geofence',
  'exited_geofence',
  'exited_place',
  'exited_beacon',
  'updated_trip',
]
const types = ({ events }: Json): string[] => events.map(({ type }: Json) => type.replace('user.', ''))

async function withTrip(deviceId: string): Promise<void> {
  await good('POST', '/v1/trips', {
    externalId: deviceId,
    userId: deviceId,
    destinationGeofenceTag: 'shop',
    destinationGeofenceExternalId: '1',
  })
}

t.test('a track: regions, geofences, places, chains, beacons, fraud, trips', async (t) => {
  for (const deviceId of ['mocked', 'thief']) {
    await withTrip(deviceId)
    const body = { deviceId, userId: deviceId, accuracy: 5, stopped: true }
    const claim = deviceId === 'mocked' ? { mocked: true } : {}
    const arrived = await good('POST', '/v1/track', { ...body, ...BURGER, beacons: [beacon], ...claim })
    t.strictSame(types(arrived), ARRIVES, `${deviceId}: fraud takes no event away`)
    t.equal(arrived.user.fraud.passed, false)
    const left = await good('POST', '/v1/track', { ...body, ...SEA, beacons: [], ...claim })
    t.strictSame(types(left), LEAVES, `${deviceId}: it has failed before`)
    const { events } = await good('GET', `/v1/events?deviceId=${deviceId}&limit=100`)
    t.strictSame(
      types({ events: events.toReversed() }),
      [...ARRIVES, ...LEAVES],
      'the log has the same order',
    )
  }
})

t.test('a stream has the same order, with those of trips after the rest', async (t) => {
  await withTrip('streamed')
  const stream = await Stream.open(server)
  t.teardown(() => stream.close())
  const update = {
    deviceId: 'streamed',
    userId: 'streamed',
    ...BURGER,
    accuracy: 5,
    stopped: true,
    mocked: true,
    beacons: [beacon],
  }
  stream.send({ type: 'subscribe', id: 's', filter: { deviceIds: ['streamed'] } })
  t.match(await stream.next(), { type: 'subscribed' })
  stream.send({ type: 'track', id: 1, updates: [update] })
  const got: string[] = []
  while (got.length < ARRIVES.length) got.push((await stream.nextOf('event')).event.type.replace('user.', ''))
  t.strictSame(got, ARRIVES)
})
