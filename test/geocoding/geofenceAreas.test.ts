/** Geofences that are written with an address or the `_id` of a place: over HTTP, in an invented town. */
import t from 'tap'
import { pointDistance } from '../../src/geometry/distance.ts'
import { placeId } from '../../src/geo/records/objectRecords.ts'
import type { OsmNode, OsmRelation, OsmWay } from '../../src/geo/extract/osmPbfWriter.ts'
import { createServer } from '../../src/http/server.ts'
import { scopeId } from '../../src/model/scope.ts'
import { exportRoutes } from '../../src/registry/transfer/exportRoutes.ts'
import { geofenceRoutes } from '../../src/registry/geofences/geofenceRoutes.ts'
import { importRoutes } from '../../src/registry/transfer/importRoutes.ts'
import { openRegistry } from '../../src/registry/registry.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import { buildRegion, openGeocoder } from './kit.ts'

const CENTER = [-56, -34] as const
const METERS = [92_385, 110_922] as const
const MANY_CORNERS = 5000

/**
 * A street with houses; as places a café (a point), a gas station (a point), a park (an area with a hole), a lake of
 * too many corners, and a stadium whose outline crosses itself.
 */
function town() {
  const nodes: OsmNode[] = []
  const ways: OsmWay[] = []
  const relations: OsmRelation[] = []
  const node = (east: number, north: number, tags: Record<string, string> = {}): number =>
    nodes.push({
      id: nodes.length + 1,
      longitude: CENTER[0] + east / METERS[0],
      latitude: CENTER[1] + north / METERS[1],
      tags,
    })
  const way = (tags: Record<string, string>, ids: number[]): number =>
    ways.push({ id: ways.length + 1, nodes: ids, tags })
  const ring = (corners: readonly (readonly [number, number])[]): number[] => {
    const ids = corners.map(([east, north]) => node(east, north))
    return [...ids, ids[0]!]
  }
  way({ highway: 'residential', name: 'Calle Larga' }, [node(0, 0), node(4000, 0)])
  for (const number of [100, 110, 2000])
    node(number, 10, { 'addr:housenumber': `${number}`, 'addr:street': 'Calle Larga', 'addr:city': 'Sol' })
  node(50, 50, { place: 'town', name: 'Sol', population: '9000' })
  node(300, 100, { amenity: 'cafe', name: 'Punto' })
  node(600, 100, { amenity: 'fuel', name: 'Nafta' })
  const square = (east: number, size: number) =>
    ring([
      [east, 200],
      [east + size, 200],
      [east + size, 200 + size],
      [east, 200 + size],
    ])
  const outer = way({}, square(1000, 100))
  const inner = way(
    {},
    ring([
      [1040, 240],
      [1060, 240],
      [1060, 260],
      [1040, 260],
    ]),
  )
  relations.push({
    id: 1,
    tags: { type: 'multipolygon', leisure: 'park', name: 'Parque' },
    members: [
      { type: 'way', id: outer, role: 'outer' },
      { type: 'way', id: inner, role: 'inner' },
    ],
  })
  const many = Array.from({ length: MANY_CORNERS }, (_, i): [number, number] => {
    const angle = (2 * Math.PI * i) / MANY_CORNERS
    const reach = i % 2 === 0 ? 500 : 500.4
    return [3000 + reach * Math.cos(angle), 2000 + reach * Math.sin(angle)]
  })
  way({ leisure: 'park', name: 'Enorme' }, ring(many))
  way(
    { leisure: 'stadium', name: 'Torcido' },
    ring([
      [2000, 200],
      [2100, 300],
      [2100, 200],
      [2000, 300],
    ]),
  )
  return { nodes, ways, relations }
}

const extract = town()
const idOf = (wanted: string): string => {
  const objects = { node: extract.nodes, way: extract.ways, relation: extract.relations }
  for (const [type, list] of Object.entries(objects))
    for (const { id, tags } of list) if (tags['name'] === wanted) return placeId(`osm/${type}/${id}`)
  throw new Error(wanted)
}
const region = await buildRegion(t, 'town', extract)
const finder = openGeocoder(t, { all: [region] })
const clock = new ManualClock(Date.UTC(2026, 0, 1))
const registry = openRegistry({ folder: t.testdir({}), clock, createIndex: createGeofenceIndex })
const server = createServer({
  routes: [
    ...geofenceRoutes(registry.geofences, finder),
    ...importRoutes(registry, finder),
    ...exportRoutes(registry),
  ],
  authenticate: () => ({ scope: scopeId(1, false), level: 'secret', keyId: 'test' }),
  trustedProxies: [],
  clock,
})
const base = `http://127.0.0.1:${await server.listen('127.0.0.1', 0)}`
t.teardown(async () => {
  await server.close()
  registry.close()
})

// oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
type Json = any

async function call(method: string, path: string, body?: object | string): Promise<Json> {
  const type = typeof body === 'string' ? 'text/csv' : 'application/json'
  const answer = await fetch(`${base}/v1/${path}`, {
    method,
    headers: { authorization: 'key', 'content-type': type },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await answer.text()
  return { status: answer.status, ...(text.startsWith('{') ? JSON.parse(text) : { text }) }
}

const put = (fields: object): Promise<Json> => call('PUT', 'geofences/any/1', { description: 'x', ...fields })
const near = ([longitude, latitude]: readonly [number, number], east: number, north: number): number =>
  pointDistance(latitude, longitude, CENTER[1] + north / METERS[1], CENTER[0] + east / METERS[0])
const at = (east: number, north: number) => [CENTER[0] + east / METERS[0], CENTER[1] + north / METERS[1]]

t.test('an address alone: the first result, exact or between known numbers', async (t) => {
  const CASES = [
    ['Calle Larga 110, Sol', 110, 10],
    ['calle larga 104', 104, 10],
    ['Punto, Sol', 300, 100],
  ] as const
  for (const [address, east, north] of CASES) {
    const circle = await put({ type: 'circle', radius: 50, address })
    t.equal(circle.status, 200, address)
    t.ok(near(circle.geofence.geometryCenter.coordinates, east, north) < 15, address)
    t.equal(circle.geofence.geometryRadius, 50)
    t.notOk('address' in circle.geofence, 'it is not shown')
    const isochrone = await put({ type: 'isochrone', radius: 5, mode: 'foot', address })
    t.ok(near(isochrone.geofence.isochrone.destination, east, north) < 15, address)
  }
  for (const address of ['Calle Corta 110', 'Calle Larga, Sol', 'Sol', '???', 'Calle Larga 9000']) {
    t.match(await put({ type: 'circle', radius: 50, address }), {
      status: 400,
      meta: { param: 'address', message: /^address: It was not found/ },
    })
  }
})

t.test('coordinates win over an address, which must be near them if it is found', async (t) => {
  const address = 'Calle Larga 110'
  const both = (coordinates: unknown, text = address) =>
    put({ type: 'circle', radius: 50, address: text, coordinates })
  const { geofence } = await both(at(1100, 10))
  t.ok(near(geofence.geometryCenter.coordinates, 1100, 10) < 1)
  t.match(await both(at(1120, 10)), {
    status: 400,
    meta: { param: 'address', message: /found 10\d\d m from/ },
  })
  t.equal((await both(at(1120, 10), 'Nowhere 1')).status, 200, 'not found: accepted')
  const ring = [at(0, 0), at(90, 0), at(90, 90), at(0, 0)]
  const polygon = await put({ type: 'polygon', coordinates: ring, address: 'Calle Larga 2000' })
  t.same(polygon.geofence.geometry.coordinates, [ring], 'ignored for a polygon')
  t.match(await put({ type: 'polygon', address }), { status: 400, meta: { param: 'coordinates' } })
})

t.test('a place by its _id', async (t) => {
  const centerOf = ({ geofence }: Json) => geofence.geometryCenter.coordinates
  const ignored = { coordinates: 'anything', address: 'Nowhere 1' }
  const point = await put({ type: 'circle', placeId: idOf('Punto'), radius: 77, ...ignored })
  t.ok(near(centerOf(point), 300, 100) < 1)
  t.match(point.geofence, { geometryRadius: 77, placeId: idOf('Punto'), type: 'circle' })
  t.match(await put({ type: 'circle', placeId: idOf('Punto') }), { geofence: { geometryRadius: 30 } })
  t.match(await put({ type: 'circle', placeId: idOf('Nafta') }), { geofence: { geometryRadius: 60 } })

  for (const type of ['circle', 'polygon']) {
    const park = await put({ type, placeId: idOf('Parque'), radius: 20 })
    t.match(park.geofence, { type })
    const [ring] = park.geofence.geometry.coordinates
    t.equal(ring.length, 5, 'the outer ring')
    t.ok(near(ring[0], 1000, 200) < 1 || near(ring[0], 1100, 200) < 1)
  }
  const large = await put({ type: 'polygon', placeId: idOf('Enorme') })
  const [ring] = large.geofence.geometry.coordinates
  t.ok(ring.length > 300 && ring.length <= 2000, `${ring.length} corners`)
  t.ok(ring.every((corner: [number, number]) => Math.abs(near(corner, 3000, 2000) - 500) < 2))

  const isochrone = await put({ type: 'isochrone', placeId: idOf('Parque'), radius: 5, mode: 'car' })
  t.ok(near(isochrone.geofence.isochrone.destination, 1050, 250) < 60)

  const own = [at(0, 0), at(90, 0), at(90, 90), at(0, 0)]
  const kept = await put({ type: 'polygon', placeId: idOf('Punto'), coordinates: own })
  t.same(kept.geofence.geometry.coordinates, [own], 'the ring stays at a place that is a point')
  t.match(await put({ type: 'polygon', placeId: idOf('Punto') }), { status: 400, meta: { param: 'placeId' } })
  const crossed = await put({ type: 'circle', placeId: idOf('Torcido') })
  t.match(crossed.geofence, { geometryRadius: 150 }, 'an outline that no geofence can have')

  const airport = await put({ type: 'circle', placeId: placeId('iata/JFK') })
  t.match(airport.geofence, { geometryRadius: 1000 }, 'an airport that no map region has')
  const [longitude, latitude] = centerOf(airport)
  t.ok(pointDistance(latitude, longitude, 40.64, -73.78) < 3000)

  for (const unknown of ['p', 'f'.repeat(24), `${idOf('Punto')}'--`])
    t.match(await put({ type: 'circle', radius: 10, coordinates: at(0, 0), placeId: unknown }), {
      status: 400,
      meta: { param: 'placeId', message: /^placeId: There is no place with this _id\.$/ },
    })
  t.match(await put({ type: 'circle' }), { status: 400, meta: { param: 'coordinates' } })
  t.match(await put({ type: 'circle', address: 'x' }), {
    status: 400,
    meta: { param: 'radius', message: /One of radius and placeId/ },
  })
})

t.test('a replacement by _id keeps the pair that it does not name', async (t) => {
  const { geofence } = await put({ type: 'circle', radius: 50, coordinates: at(0, 0) })
  const replaced = await call('PUT', `geofences/${geofence._id}`, {
    description: 'y',
    type: 'circle',
    placeId: idOf('Nafta'),
    externalId: '2',
  })
  t.match(replaced.geofence, { _id: geofence._id, tag: 'any', externalId: '2', geometryRadius: 60 })
  await call('DELETE', `geofences/${geofence._id}`)
})

t.test('rows of a file, and the same file exported and imported again', async (t) => {
  const header = 'description,type,tag,externalId,radius,address,placeId,coordinates\n'
  const rows = [
    'a,circle,csv,1,50,"Calle Larga 110, Sol",,',
    'b,circle,csv,2,50,Nowhere 1,,',
    `c,circle,csv,3,,,${idOf('Nafta')},`,
    'd,circle,csv,4,50,,unknown,',
    `e,polygon,csv,5,,,${idOf('Parque')},`,
    'f,circle,csv,6,50,,,"[-56,-34]"',
  ]
  const { import: record } = await call('POST', 'imports/geofences', header + rows.join('\n'))
  t.match(record, { status: 'completed', rows: 6, created: 4, refused: 2 })
  t.match(record.errors, [
    { line: 3, row: 2, column: 'address', value: 'Nowhere 1' },
    { line: 5, row: 4, column: 'placeId', value: 'unknown' },
  ])
  const list = async () => {
    const { geofences } = await call('GET', 'geofences?tag=csv')
    return geofences.map((one: Json) => ({ ...one, updatedAt: undefined }))
  }
  const before = await list()
  t.equal(before.length, 4)
  const { text } = await call('GET', 'exports/geofences?tag=csv')
  const again = await call('POST', 'imports/geofences', text)
  t.match(again.import, { updated: 4, refused: 0 })
  t.same(await list(), before)
})
