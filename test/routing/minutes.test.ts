/**
 * What travel times decide, on a real server with the sample city: isochrone geofences, and searches of users by
 * mode.
 */
import booleanPointInPolygon from '@turf/boolean-point-in-polygon'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { startApi } from '../e2e/contract.ts'
import { KEYS } from '../kit/server.ts'

const SQUARE = [-56.1913, -34.9059] as const
const MINUTES = 8
/** Within the sample region, kilometres from the coast. */
const OUT_AT_SEA = '-34.9400,-56.2000'

/** A grid to the east and north of the square, where there is no water. */
const AROUND = Array.from({ length: 144 }, (_, i): [number, number] => {
  return [SQUARE[0] + 0.009 * (i % 12), SQUARE[1] + 0.005 * Math.floor(i / 12)]
})

function text([longitude, latitude]: readonly [number, number]): string {
  return `${latitude},${longitude}`
}

t.test('isochrones and users in the sample city', async (t) => {
  const api = await startApi(t, { sample: true })
  const { server } = api
  const isochrone = (more: object) =>
    server.api('PUT', '/v1/geofences/reach/square', {
      description: 'x',
      type: 'isochrone',
      coordinates: SQUARE,
      mode: 'car',
      radius: MINUTES,
      ...more,
    })
  const ready = async () => {
    for (;;) {
      const { body } = await server.api('GET', '/v1/geofences/reach/square')
      if (body.geofence.isochrone.status !== 'pending') return body.geofence
      await sleep(50)
    }
  }
  t.match(await isochrone({}), {
    status: 200,
    body: { geofence: { type: 'isochrone', isochrone: { status: 'pending' }, geometry: undefined } },
  })
  const geofence = await ready()
  t.match(geofence, { isochrone: { status: 'ready', minutes: MINUTES }, geometry: { type: 'Polygon' } })

  const areaBy = (more: Record<string, string>, key?: string) => {
    const asked = new URLSearchParams({ coordinates: text(SQUARE), minutes: String(MINUTES), ...more })
    return server.api('GET', `/v1/route/isochrone?${asked}`, undefined, key)
  }
  const area = await areaBy({})
  t.strictSame(area.body.isochrone, { minutes: MINUTES, mode: 'car', geometry: geofence.geometry })
  t.match(area.body.meta.attribution, /OpenStreetMap/)
  const walked = (await areaBy({ mode: 'foot' })).body.isochrone.geometry
  t.not(walked.coordinates[0].length, geofence.geometry.coordinates[0].length)
  for (const [more, status, param] of [
    [{ minutes: '61' }, 400, 'minutes'],
    [{ minutes: '0' }, 400, 'minutes'],
    [{ coordinates: 'here' }, 400, 'coordinates'],
    [{ coordinates: '51.5,0' }, 404, 'coordinates'],
    [{ mode: 'rocket' }, 400, 'mode'],
  ] as const)
    t.match(await areaBy(more), { status, body: { meta: { param } } }, JSON.stringify(more))
  t.equal((await areaBy({}, KEYS.testPublishable)).status, 403)

  const query = new URLSearchParams({
    origins: AROUND.map(text).join('|'),
    destinations: text(SQUARE),
    mode: 'car',
    units: 'metric',
  })
  const { body } = await server.api('GET', `/v1/route/matrix?${query}`)
  let inside = 0
  let agreed = 0
  let compared = 0
  for (const [i, [{ duration }]] of body.matrix.entries()) {
    // The area ends somewhere between the roads, and the distance of a point off the road is measured from the road.
    if (duration === null || Math.abs(duration.value - MINUTES) < 0.25 * MINUTES) continue
    const isInside = booleanPointInPolygon(AROUND[i]!, geofence.geometry)
    compared++
    if (isInside) inside++
    if (isInside === duration.value < MINUTES) agreed++
  }
  t.comment(`${compared} points compared, ${inside} of them inside, ${agreed} as the matrix has them`)
  t.ok(compared > 60)
  t.ok(inside > 15 && inside < compared - 15)
  t.ok(agreed >= 0.97 * compared)

  const [near, far] = [
    [SQUARE[0] + 0.004, SQUARE[1] + 0.004],
    [SQUARE[0] + 0.03, SQUARE[1] + 0.06],
  ] as const
  const track = (deviceId: string, [longitude, latitude]: readonly [number, number]) =>
    server.api('POST', '/v1/track', { deviceId, longitude, latitude, accuracy: 5 })
  t.match((await track('near', near)).body.events, [
    { type: 'user.entered_geofence', geofence: { externalId: 'square' } },
  ])
  t.same((await track('far', far)).body.events, [])

  const search = async (radius: number, mode: string) => {
    const found = await server.api(
      'GET',
      `/v1/search/users?near=${text(SQUARE)}&radius=${radius}&mode=${mode}`,
    )
    t.equal(found.status, 200)
    return found.body.users.map(({ deviceId }: { deviceId: string }) => deviceId)
  }
  t.strictSame(await search(MINUTES, 'car'), ['near'])
  t.strictSame(await search(60, 'car'), ['near', 'far'], 'the quickest first')
  t.strictSame(await search(60, 'foot'), ['near'])
  // Farther than the engine measures, but not farther than a car travels in that time.
  await track('farther', [SQUARE[0] - 1.7, SQUARE[1] + 3.6])
  t.strictSame(await search(1000, 'car'), ['near', 'far'], 'the others are found all the same')
  await server.api('DELETE', '/v1/users/near')
  await server.api('DELETE', '/v1/users/far')
  t.strictSame(await search(1000, 'car'), [])
  await t.test('search/users with a mode: 404, as the document says', async (t) => {
    const { responses } = api.operationOf('GET', '/v1/search/users')!.definition
    t.match(responses[404]?.description, /^Only with `mode`: .*outside of all regions or has no road nearby/)
    const ask = (place: string, more = '') => api.call('GET', `/v1/search/users?near=${place}${more}`)
    for (const mode of ['car', 'truck', 'foot', 'bike', 'motorbike'])
      for (const [place, message] of [
        ['51.5,0', /is outside of every region of this server/],
        [OUT_AT_SEA, /[Tt]he nearest road for mode|No road for mode/],
      ] as const) {
        const { status, body: answer } = await ask(place, `&radius=5&mode=${mode}`)
        t.match({ status, ...answer.meta }, { status: 404, param: 'near', message }, `${place}, ${mode}`)
      }
    for (const place of ['51.5,0', OUT_AT_SEA])
      t.match(await ask(place), { status: 200, body: { users: [] } }, `${place} in metres needs no road`)
  })
  t.match(await server.api('GET', `/v1/search/users?near=${text(SQUARE)}&radius=50`), {
    status: 400,
    body: { meta: { param: 'radius' } },
  })

  await isochrone({ coordinates: [-56.19, -34.93] })
  t.match(await ready(), { isochrone: { status: 'failed', failure: /limit is 1000 m/ }, geometry: undefined })
  await isochrone({ coordinates: [0, 51.5] })
  t.match(await ready(), { isochrone: { status: 'failed', failure: 'No region contains the destination.' } })
  await isochrone({ mode: 'foot', radius: 120 })
  t.match(await ready(), { isochrone: { status: 'ready' } })
})
