/** Tiles of geofences, and how many devices are in each cell, from a real server and from an index of many. */
import t from 'tap'
import { Random } from '../actor/world.ts'
import { geofenceTile } from '../../src/geo/liveMap/geofenceTile.ts'
import { GeofenceTiles } from '../../src/geo/liveMap/geofenceTiles.ts'
import type { Geofence } from '../../src/model/geofence.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import { aGeofence } from '../actor/kit.ts'
import { KEYS, startServer } from '../kit/server.ts'
import { featuresOf, tileAt as addressAt, type TileFeature } from './kit.ts'

const { testSecret, liveSecret, testPublishable } = KEYS
const DEPOT = { type: 'circle', coordinates: [13.4, 52.5], radius: 500, description: 'Depot' }

function tileAt(position: readonly [number, number], zoom: number): string {
  const { z, x, y } = addressAt(position, zoom)
  return `${z}/${x}/${y}`
}

/** The features of a tile by layer. */
function readTile(bytes: Uint8Array): Record<string, TileFeature[]> {
  return Object.groupBy(featuresOf(bytes), ({ layer }) => layer) as Record<string, TileFeature[]>
}

t.test('over HTTP: as the geofences are, until they change', async (t) => {
  const server = await startServer(t)
  const tile = (
    address: string,
    query = '',
    headers: Record<string, string> = {},
    key: string = testSecret,
  ) =>
    fetch(`${server.url}/v1/geofences/tiles/${address}.mvt${query}`, {
      headers: { authorization: key, ...headers },
    })
  const layersOf = async (answer: Response) => readTile(new Uint8Array(await answer.arrayBuffer()))
  const first = (await server.api('PUT', '/v1/geofences/depot/1', DEPOT)).body.geofence
  await server.api('PUT', '/v1/geofences/store/1', { ...DEPOT, radius: 100, description: 'Store' })
  const near = tileAt([13.4, 52.5], 14)
  const answer = await tile(near)
  t.equal(answer.status, 200)
  t.equal(answer.headers.get('content-type'), 'application/vnd.mapbox-vector-tile')
  t.equal(answer.headers.get('cache-control'), 'private, no-cache')
  const etag = answer.headers.get('etag')!
  const { geofences } = await layersOf(answer)
  t.match(
    geofences!
      .map(({ properties }) => properties)
      .toSorted((a, b) => (String(a['tag']) < String(b['tag']) ? -1 : 1)),
    [
      { _id: first._id, tag: 'depot', externalId: '1', description: 'Depot', type: 'circle', enabled: true },
      { tag: 'store' },
    ],
  )
  t.equal((await layersOf(await tile(near, '?tag=store')))['geofences']!.length, 1)
  t.same(await layersOf(await tile(near, '?tag=none')), {})
  t.equal((await tile(near, '', { 'if-none-match': etag })).status, 304)

  const far = await layersOf(await tile(tileAt([13.4, 52.5], 6)))
  t.match(far, { points: [{ properties: { count: 2 } }] }, 'what is small is a point, several are one')
  t.match(await layersOf(await tile('0/0/0')), { points: [{ properties: { count: 2 } }] })
  t.same(await layersOf(await tile('14/0/0')), {})
  t.same(await layersOf(await tile(near, '', {}, liveSecret)), {}, 'G8')

  await server.api('DELETE', '/v1/geofences/store/1')
  const after = await tile(near, '', { 'if-none-match': etag })
  t.equal(after.status, 200, 'a change is seen')
  t.equal((await layersOf(after))['geofences']!.length, 1)

  for (const address of ['17/0/0', '2/4/0', '2/0/4', '-1/0/0', 'x/0/0', '40/0/0', '1/0/0.5'])
    t.equal((await tile(address)).status, 400, address)
  t.equal((await tile(near, '', {}, testPublishable)).status, 403)

  // Across the antimeridian a geofence is in the tiles of both sides.
  await server.api('PUT', '/v1/geofences/edge/1', { ...DEPOT, coordinates: [179.999, 0.01] })
  for (const longitude of [179.9999, -179.9999])
    t.equal((await layersOf(await tile(tileAt([longitude, 0.01], 14))))['geofences']?.length, 1)
  // A map names it once, unless it is larger than a tile.
  const named = async (zoom: number) => {
    const both = [179.9999, -179.9999].map((longitude) => tile(tileAt([longitude, 0.01], zoom)))
    const found = await Promise.all(both.map(async (one) => (await layersOf(await one))['geofences']!))
    return found.map(([area]) => area!.properties['named'])
  }
  t.same(await named(14), [true, undefined])
  t.same(await named(16), [true, true])
})

t.test('devices are counted by cells', async (t) => {
  const server = await startServer(t)
  const get = (query: string, key: string = testSecret) =>
    server.api('GET', `/v1/users/density?${query}`, undefined, key)
  for (let i = 0; i < 12; i++) {
    const longitude = i < 8 ? 13.4 : i < 11 ? 13.9 : -179.99
    await server.api(
      'POST',
      '/v1/track',
      { deviceId: `d${i}`, latitude: 52.5, longitude, accuracy: 5 },
      testPublishable,
    )
  }
  const cell = (longitude: number, count: number) => {
    const [, x, y] = tileAt([longitude, 52.5], 10).split('/').map(Number)
    return { x, y, count }
  }
  const { body } = await get('box=13,52,14,53&zoom=10')
  t.same(
    body.cells.toSorted((a: { count: number }, b: { count: number }) => b.count - a.count),
    [cell(13.4, 8), cell(13.9, 3)],
  )
  t.same((await get('box=179,52,-179,53&zoom=10')).body.cells, [cell(-179.99, 1)])
  t.same((await get('box=13,52,14,53&zoom=10', liveSecret)).body.cells, [], 'G8')
  for (const [query, param] of [
    ['box=13,53,14,52&zoom=3', 'box'],
    ['box=13,52,190,53&zoom=3', 'box'],
    ['box=-180,-80,180,80&zoom=20', 'zoom'],
  ] as const) {
    const answer = await get(query)
    t.equal(answer.status, 400, query)
    t.equal(answer.body.meta.param, param)
  }
  t.equal((await get('box=13,52,14,53&zoom=3', testPublishable)).status, 403)
})

t.test('many geofences: tiles are bounded, made in turns, and those at hand while they change', async (t) => {
  const random = new Random(7)
  const index = createGeofenceIndex()
  const ids: string[] = []
  for (let i = 0; i < 20_000; i++) {
    const center = [13 + random.next(), 53 + random.next()] as const
    const geofence: Geofence = aGeofence(i, {
      shape: { kind: 'circle', center, radius: 50 + random.next() * 200 },
    })
    ids.push(geofence.id)
    index.put(geofence)
  }
  const tiles = new GeofenceTiles(() => ({ revision: 1, index }), new ManualClock(0))
  for (const z of [2, 6, 8, 10, 12]) {
    const { content } = await tiles.tile(0, addressAt([13.5, 53.5], z), undefined)
    const { geofences = [], points = [] } = readTile(content)
    t.ok(geofences.length <= 3000, `${geofences.length} areas at zoom ${z}`)
    t.ok(points.length <= 4096, `${points.length} points`)
    const shown = points.reduce(
      (sum, { properties }) => sum + Number(properties['count'] ?? 1),
      geofences.length,
    )
    if (z === 6) t.equal(shown, 20_000, 'none is left out')
    t.ok(content.length < 1_000_000, `${content.length} bytes`)
  }
  const steps = geofenceTile(index, addressAt([13.5, 53.5], 8), () => true)
  let longest = 0
  for (let done = false, removed = 0; !done; removed++) {
    const before = process.cpuUsage()
    done = steps.next().done === true
    const { user, system } = process.cpuUsage(before)
    longest = Math.max(longest, (user + system) / 1000)
    index.remove(ids[removed]!)
  }
  t.ok(longest < 100, `the longest step took ${longest} ms of the processor`)
})
