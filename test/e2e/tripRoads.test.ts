/** Trips on a road network: the sample region, Montevideo. ETAs by road, the way that was driven, addresses. */
import t from 'tap'
import { pointDistance } from '../../src/geometry/distance.ts'
import { startServer } from '../kit/server.ts'
import {
  driveAlongStreets,
  FROM,
  furnishDrive,
  goodCalls,
  HOME,
  openTiles,
  TO,
  WAY_MS,
} from '../trips/roadDrive.ts'
import type { Api } from '../trips/story.ts'

const server = await startServer(t, { sample: true })
const api: Api = (...request) => server.api(...request)
const good = goodCalls(api)
await furnishDrive(good)
await openTiles(good, 1)

t.test('a drive along streets: started, approaching, arrived, with the ETA of the road engine', (t) =>
  driveAlongStreets(t, api),
)

t.test('the route of a trip that has ended is matched in its mode, as /v1/route/match does it', async (t) => {
  // On foot, it is shorter: some of these streets are one-way, and some are for people on foot alone.
  const query =
    'origin=-34.906,-56.2&destination=-34.909,-56.19&modes=car,foot&units=metric&geometry=linestring'
  const { car, foot } = (await good('GET', `/v1/route/distance?${query}`)).routes
  t.ok(foot.distance.value < 0.9 * car.distance.value)
  const began = Date.now() - 3_600_000
  const path = foot.geometry.coordinates.map(([longitude, latitude]: readonly number[], i: number) => ({
    coordinates: `${latitude},${longitude}`,
    createdAt: new Date(began + i * 30_000).toISOString(),
  }))
  const lengths: Record<string, number> = {}
  for (const mode of ['car', 'foot']) {
    const tripOptions = { externalId: `walk by ${mode}`, mode, ...HOME }
    for (const { coordinates, createdAt } of path) {
      const [latitude, longitude] = coordinates.split(',').map(Number)
      const update = { deviceId: mode, latitude, longitude, accuracy: 5, updatedAt: createdAt, tripOptions }
      await good('POST', '/v1/track', update)
    }
    await good('PATCH', `/v1/trips/${tripOptions.externalId}/update`, { status: 'completed' })
    const route = await good(
      'GET',
      `/v1/trips/${tripOptions.externalId}/route?units=metric&geometry=linestring`,
    )
    const asked = { path, mode, units: 'metric', geometry: 'linestring' }
    const { distance, geometry } = await good('POST', '/v1/route/match', asked)
    t.equal(route.matched, true, mode)
    t.strictSame(route.geometry, geometry, `${mode}: the same line`)
    t.ok(
      Math.abs(route.distance.value - distance.value) < 1,
      `${route.distance.value} and ${distance.value} m`,
    )
    lengths[mode] = route.distance.value
  }
  t.ok(
    Math.abs(lengths['foot']! - foot.distance.value) < 0.05 * foot.distance.value,
    'the way that was walked',
  )
  t.ok(Math.abs(lengths['car']! - lengths['foot']!) > 50, `not that of a car: ${JSON.stringify(lengths)}`)
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
  const ways = async () => {
    const { body } = await server.api('GET', '/metrics', undefined, null)
    const of = (source: string) =>
      Number(new RegExp(`^ringfence_trip_ways_total\\{source="${source}"\\} (\\d+)$`, 'm').exec(body)![1])
    return { road: of('road'), straight: of('straight') }
  }
  const [longitude, latitude] = FROM
  for (let n = 1; ; n++) {
    const before = await ways()
    t.ok(before.straight >= 2)
    const sentAt = performance.now()
    const { source } = (await track(`street-${n}`, latitude, longitude)).user.trip.eta
    const after = { ...before, [source]: before[source as 'road' | 'straight'] + 1 }
    t.strictSame(await ways(), after, 'metrics say which')
    if (source === 'road') break
    t.ok(performance.now() - sentAt >= WAY_MS, 'the engine has not answered in time')
  }
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
