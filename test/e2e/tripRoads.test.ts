/** Trips on a road network: the sample region, Montevideo. ETAs by road, the way that was driven, addresses. */
import t from 'tap'
import { pointDistance } from '../../src/geometry/distance.ts'
import { Random } from '../actor/world.ts'
import { KEYS, startServer } from '../kit/server.ts'

const { testPublishable } = KEYS
const server = await startServer(t, { sample: true })
const FROM = [-56.1913, -34.9059] as const
const TO = [-56.1637, -34.9121] as const
const HOME = { destinationGeofenceTag: 'store', destinationGeofenceExternalId: 'home' }

type Point = readonly [longitude: number, latitude: number]
interface Event {
  readonly type: string
}

const good = async (...request: Parameters<typeof server.api>) => {
  const { status, body } = await server.api(...request)
  if (status !== 200) throw new Error(JSON.stringify(body))
  return body
}
const lengthOf = (path: readonly Point[]) =>
  path.slice(1).reduce((sum, [lon, lat], i) => sum + pointDistance(path[i]![1], path[i]![0], lat, lon), 0)

await good('PUT', '/v1/geofences/store/home', {
  description: 'home',
  type: 'circle',
  coordinates: TO,
  radius: 100,
})
await good('PATCH', '/v1/settings', { tripUpdateSeconds: 0, tripApproachingThreshold: 2 })

/** The way by car, as the road engine gives it: its points, minutes and metres. */
async function carWay() {
  const [origin, destination] = [FROM, TO].map(([lon, lat]) => `${lat},${lon}`)
  const query = `origin=${origin}&destination=${destination}&modes=car&units=metric&geometry=linestring`
  const { car } = (await good('GET', `/v1/route/distance?${query}`, undefined, testPublishable)).routes
  return {
    minutes: car.duration.value as number,
    meters: car.distance.value as number,
    path: car.geometry.coordinates as Point[],
  }
}

/** The point of a path at a share of its length. */
function along(path: readonly Point[], share: number): Point {
  let left = share * lengthOf(path)
  for (const [i, to] of path.slice(1).entries()) {
    const from = path[i]!
    const length = pointDistance(from[1], from[0], to[1], to[0])
    if (left <= length && length > 0)
      return [from[0] + (to[0] - from[0]) * (left / length), from[1] + (to[1] - from[1]) * (left / length)]
    left -= length
  }
  return path.at(-1)!
}

t.test('a drive along streets: started, approaching, arrived, with the ETA of the road engine', async (t) => {
  const { minutes, meters, path } = await carWay()
  t.ok(meters > 3000)
  await good('POST', '/v1/trips', { externalId: 'drive', userId: 'mia', ...HOME })
  const random = new Random(1)
  const began = Date.now() - 3_600_000
  const steps = 40
  const types: string[] = []
  const offs: number[] = []
  const roads: boolean[] = []
  for (let i = 0; i <= steps; i++) {
    const [longitude, latitude] = along(path, i / steps)
    // Up to 10 m of noise.
    const noise = () => (random.below(1000) / 1000 - 0.5) * (10 / 80_000)
    const { events, user } = await good(
      'POST',
      '/v1/track',
      {
        deviceId: 'phone',
        userId: 'mia',
        latitude: latitude + noise(),
        longitude: longitude + noise(),
        accuracy: 10,
        stopped: i === 0 || i === steps,
        updatedAt: new Date(began + (i / steps) * minutes * 60_000).toISOString(),
      },
      testPublishable,
    )
    types.push(...events.map(({ type }: Event) => type.replace('user.', '')))
    if (user.trip.status === 'arrived') break
    roads.push(user.trip.eta.source === 'road')
    const left = minutes * (1 - i / steps)
    // At the very end, a minute is a large share.
    if (left > 1) offs.push(Math.abs(user.trip.eta.duration - left) / minutes)
  }
  t.strictSame(
    types.filter((type) => type !== 'updated_trip'),
    ['started_trip', 'approaching_trip_destination', 'entered_geofence', 'arrived_at_trip_destination'],
  )
  t.ok(roads.every(Boolean), 'every ETA is by road')
  t.ok(offs.length > 20 && Math.max(...offs) <= 0.2, `ETAs within 20 % of the drive: ${Math.max(...offs)}`)

  t.match((await server.api('GET', '/v1/trips/drive/route')).body.meta, { code: 400, param: 'id' })
  await good('PATCH', '/v1/trips/drive/update', { status: 'completed' })
  const route = await good('GET', '/v1/trips/drive/route?units=metric&geometry=linestring')
  t.match(route, { matched: true, meta: { attribution: /OpenStreetMap/ } })
  // The drive ends within the destination's radius.
  t.ok(Math.abs(route.distance.value - meters) < 0.1 * meters, `${route.distance.value} of ${meters} m`)
  for (const [lon, lat] of route.geometry.coordinates as Point[])
    t.ok(Math.min(...path.map((at) => pointDistance(lat, lon, at[1], at[0]))) < 200)
})

t.test('no road within 1 km, or no region: the straight line', async (t) => {
  const track = (deviceId: string, latitude: number, longitude: number) => {
    const tripOptions = { externalId: deviceId, ...HOME }
    return good('POST', '/v1/track', { deviceId, latitude, longitude, accuracy: 5, tripOptions })
  }
  for (const [name, latitude, longitude] of [
    ['sea', -34.94, -56.2],
    ['far', -34.0, -50],
  ] as const) {
    const { eta } = (await track(name, latitude, longitude)).user.trip
    const meters = pointDistance(latitude, longitude, TO[1], TO[0])
    t.equal(eta.source, 'straight', name)
    t.ok(Math.abs(eta.distance - 1.3 * meters) < 2, `${eta.distance} of ${meters}`)
  }
  const [longitude, latitude] = FROM
  t.equal((await track('street', latitude, longitude)).user.trip.eta.source, 'road')
})

t.test('the address of a leg is geocoded once; one that is not found is refused', async (t) => {
  const address = '18 de Julio 1056, Montevideo'
  const made = await good('POST', '/v1/trips', { externalId: 'legs', legs: [{ destination: { address } }] })
  const [leg] = made.trip.legs
  t.match(leg, { address, destination: { type: 'address', source: { data: address }, arrivalRadius: 100 } })
  const [longitude, latitude] = leg.destination.location.coordinates
  t.ok(pointDistance(latitude, longitude, -34.9059, -56.1913) < 1000, 'in the middle of the city')
  const legs = [{ _id: leg._id, destination: { address, arrivalRadius: 50 } }]
  const changed = await good('PATCH', '/v1/trips/legs/update', { legs })
  t.match(changed.trip.legs, [{ _id: leg._id, destination: { arrivalRadius: 50 } }])
  t.strictSame(changed.trip.legs[0].destination.location, leg.destination.location)
  const nowhere = [{ destination: { address: 'Qwxz 99999, Nirgendwo' } }]
  const refused = await server.api('POST', '/v1/trips', { externalId: 'lost', legs: nowhere })
  t.match(refused.body.meta, { code: 400, param: 'legs.0.destination.address' })
  t.equal((await server.api('GET', '/v1/trips/lost')).status, 404)
})
