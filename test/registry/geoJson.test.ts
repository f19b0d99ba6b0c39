/** Import of geofences from GeoJSON, and canceling an import, over a real server. */
import { request, type ClientRequest } from 'node:http'
import t from 'tap'
import { readFeatures } from '../../src/registry/transfer/featureReader.ts'
import { KEYS, startServer } from '../kit/server.ts'
import { until } from '../kit/waiting.ts'
import { clear, exported, HEADER, records, rowsOf, type Json } from './importKit.ts'

const server = await startServer(t)
const GEO_JSON = { 'content-type': 'application/geo+json' }
const RING = [
  [13, 52],
  [13.1, 52],
  [13.1, 52.1],
  [13, 52],
]

const send = (content: string | Uint8Array, query = '') =>
  server.api('POST', `/v1/imports/geofences${query}`, content, KEYS.testSecret, GEO_JSON)
const collection = (...features: unknown[]) => JSON.stringify({ type: 'FeatureCollection', features })
const feature = (properties: object, geometry: unknown, id?: unknown) => ({
  type: 'Feature',
  id,
  properties,
  geometry,
})
const polygon = (...rings: unknown[]) => ({ type: 'Polygon', coordinates: rings })

t.beforeEach(() => clear(server, 'geofences'))

t.test('what an export wrote comes back as it was', async (t) => {
  const definitions = [
    {
      type: 'circle',
      coordinates: [13.4, 52.5],
      radius: 120,
      description: 'Round',
      metadata: { a: 1, b: 'x', c: true },
    },
    { type: 'polygon', coordinates: RING, description: 'Corners', userIds: ['u1', 'u2'], ip: '10.0.0.*' },
    {
      type: 'polygon',
      coordinates: [
        [179, 1],
        [-179, 1],
        [-179, 2],
        [179, 1],
      ],
      description: 'Antimeridian',
    },
    {
      type: 'circle',
      coordinates: [1, 2],
      radius: 50,
      description: 'Everything',
      enabled: false,
      operatingHours: { Monday: [['09:00', '17:00']] },
      stopDetection: true,
      dwellThreshold: 7,
      tripApproachingThreshold: 3,
      deleteAfter: '2099-01-01T00:00:00.000Z',
    },
  ]
  for (const [i, one] of definitions.entries())
    t.equal((await server.api('PUT', `/v1/geofences/e/${i}`, one)).status, 200)
  const plain = (all: Json[]) =>
    all.map(({ _id, createdAt: _createdAt, updatedAt: _updatedAt, geometry, ...rest }) => ({
      ...rest,
      ring: geometry.coordinates[0].map(([x, y]: [number, number]) =>
        [((x + 540) % 360) - 180, y].map((n) => n.toFixed(9)),
      ),
    }))
  const before = plain(await records(server, 'geofences'))
  const file = await exported(server, 'geofences', '?format=geojson')
  await clear(server, 'geofences')
  const { status, body } = await send(file, '?fileName=back.geojson')
  t.match(
    [status, body.import],
    [200, { status: 'completed', rows: 4, created: 4, refused: 0, fileName: 'back.geojson' }],
  )
  const after = plain(await records(server, 'geofences'))
  // The outline of a polygon begins where the export begins it.
  const loose = (all: Json[]) => all.map(({ ring, ...rest }) => ({ ...rest, ring: ring.slice(1).toSorted() }))
  t.strictSame(loose(after), loose(before))
  t.match((await send(file)).body.import, { created: 0, updated: 4 }, 'again: the same pairs')
})

t.test('what other programs write', async (t) => {
  const file = `\uFEFF{ "type": "FeatureCollection",\n "name": "features", "crs": {"features": [1, {"features": []}]},
   "features": [\n\n${[
     feature({ name: 'Park, "north" [1]', tag: 'a' }, polygon(RING), 7),
     feature({ name: 'Höhe', tag: 'a', externalId: 8 }, polygon(RING.map((at) => [...at, 34.5]))),
     feature(
       { name: 'Multi', tag: 'a', population: 5 },
       { type: 'MultiPolygon', coordinates: [[RING]] },
       'm',
     ),
     feature({ name: 'Point', tag: 'a', radius: 75 }, { type: 'Point', coordinates: [1, 2, 3] }, 'p'),
   ]
     .map((one) => JSON.stringify(one))
     .join('\n , \n')}\n], "more": "]}" }\n`
  const { status, body } = await send(file)
  t.match([status, body.import], [200, { rows: 4, created: 4, refused: 0 }], JSON.stringify(body))
  const found = new Map((await records(server, 'geofences')).map((one) => [one.externalId, one]))
  t.match(found.get('7'), { description: 'Park, "north" [1]', type: 'polygon' })
  t.match(found.get('8'), { description: 'Höhe', type: 'polygon' })
  t.match(found.get('m'), { type: 'polygon', metadata: undefined })
  t.match(found.get('p'), { type: 'circle', geometryRadius: 75, geometryCenter: { coordinates: [1, 2] } })
  t.match((await send(collection())).body.import, { status: 'completed', rows: 0 })
})

t.test('features that break a rule are refused by themselves, with their line', async (t) => {
  const bad: [unknown, RegExp, string?][] = [
    [feature({ tag: 'b' }, polygon(RING), 'x'), /description/, 'description'],
    [feature({ description: 'D' }, polygon(RING), 'x'), /tag/, 'tag'],
    [feature({ description: 'D', tag: 'b' }, polygon(RING)), /externalId/, 'externalId'],
    [feature({ description: 'D', tag: 'b' }, polygon(RING, RING), 'x'), /2 rings.*without holes/, 'geometry'],
    [
      feature({ description: 'D', tag: 'b' }, { type: 'MultiPolygon', coordinates: [[RING], [RING]] }, 'x'),
      /2 polygons/,
      'geometry',
    ],
    [
      feature({ description: 'D', tag: 'b' }, { type: 'LineString', coordinates: RING }, 'x'),
      /must be a Polygon/,
      'geometry',
    ],
    [
      feature({ description: 'D', tag: 'b', radius: 5 }, { type: 'Point', coordinates: [1, 2] }, 'x'),
      /radius/,
      'radius',
    ],
    [
      feature({ description: 'D', tag: 'b', radius: 50 }, { type: 'Point', coordinates: [1, 92] }, 'x'),
      /latitude/,
      'coordinates',
    ],
    [feature({ description: 'D', tag: 'b' }, null, 'x'), /coordinates/, 'coordinates'],
    [feature({ description: 'D', tag: 'b' }, polygon('x'), 'x'), /coordinates/, 'coordinates'],
    [{ type: 'Polygon' }, /must be a GeoJSON Feature/, 'type'],
    [null, /must be a GeoJSON Feature/, 'type'],
    [[[[]]], /must be a GeoJSON Feature/, 'type'],
  ]
  const good = feature({ description: 'D', tag: 'b' }, polygon(RING), 'good')
  const lines = [...bad.map(([one]) => one), good].map((one) => JSON.stringify(one))
  const { status, body } = await send(`{"features":[\n${lines.join(',\n')},\n{"type" "Feature"}]}`)
  t.equal(status, 200)
  t.match(body.import, { rows: bad.length + 2, created: 1, refused: bad.length + 1 })
  for (const [i, [, message, column]] of bad.entries())
    t.match(body.import.errors[i], { line: i + 2, row: i + 1, message, column }, message.source)
  const dry = (await send(`{"features":[${JSON.stringify(good)}]}`, '?dryRun=true')).body.import
  t.match(dry, { dryRun: true, updated: 1 })
})

t.test('files that are no collection are refused, and broken ones end where they break', async (t) => {
  const good = JSON.stringify(feature({ description: 'D', tag: 'c' }, polygon(RING), 'good'))
  for (const [file, message] of [
    ['', /empty/],
    ['[]', /not a GeoJSON FeatureCollection/],
    ['a,b\n1,2\n', /not a GeoJSON FeatureCollection/],
    [good, /no list of features/],
    ['{"features": 1}', /no list of features/],
    ['{"features": [', /breaks off/],
    [`{"x": ${'['.repeat(100)}`, /nested too deeply/],
    [`{"features":[${'['.repeat(100)}`, /nested too deeply/],
    [`{"features":[${' '.repeat(10)}{"a":"${'x'.repeat(1_100_000)}"}]}`, /more than 1048576 bytes/],
    ['{"features":[,]}', /missing between two commas/],
  ] as const) {
    const { status, body } = await send(file)
    t.equal(status, 400, file.slice(0, 40))
    t.match(body.meta, { param: 'body', message }, file.slice(0, 40))
  }
  for (const [rest, line] of [
    [`,\n${good.slice(0, 30)}`, 2],
    [',\n\n]}', 3],
    [']} x', 1],
  ] as const) {
    const { status, body } = await send(`{"features":[${good}${rest}`)
    t.match([status, body.import?.status, body.import?.interruption?.line], [200, 'interrupted', line], rest)
  }
  const type = { 'content-type': 'application/json' }
  t.equal((await server.api('POST', '/v1/imports/geofences', '{}', KEYS.testSecret, type)).status, 415)
  t.equal((await server.api('POST', '/v1/imports/beacons', '{}', KEYS.testSecret, GEO_JSON)).status, 415)
})

t.test('however the file is cut, the features are the same', async (t) => {
  const file = Buffer.from(
    `\uFEFF{"a":"\\"features\\":[","features":[{"b":"}]\\\\"} ,\n[1,{"c":"ö\\"]"}],"x, y", 5 ],"z":[{}]}`,
  )
  async function features(length: number): Promise<string[]> {
    async function* pieces() {
      for (let at = 0; at < file.length; at += length) yield file.subarray(at, at + length)
    }
    const found: string[] = []
    for await (const rows of readFeatures(pieces()))
      for (const { line, bytes } of rows) found.push(`${line}: ${Buffer.from(bytes).toString().trim()}`)
    return found
  }
  const whole = await features(file.length)
  t.strictSame(whole, ['1: {"b":"}]\\\\"}', '2: [1,{"c":"ö\\"]"}]', '2: "x, y"', '2: 5'])
  for (let length = 1; length < 20; length++)
    t.strictSame(await features(length), whole, `${length} bytes at a time`)
})

t.test('a running import is canceled, also while it waits for its file', async (t) => {
  const cancel = (id: string, key: string = KEYS.testSecret) =>
    server.api('POST', `/v1/imports/geofences/${id}/cancel`, undefined, key)
  let upload: ClientRequest | undefined
  const answer = new Promise<Json>((resolve, reject) => {
    upload = request(`${server.url}/v1/imports/geofences?fileName=slow.csv`, {
      method: 'POST',
      headers: { authorization: KEYS.testSecret, 'content-type': 'text/csv' },
    })
    upload.on('error', reject)
    upload.on('response', (response) => {
      let text = ''
      response.on('data', (part) => (text += part)).on('end', () => resolve(JSON.parse(text)))
    })
    // More rows than one commit takes, and then nothing for a long time.
    upload.write(HEADER + rowsOf('slow', 1, 700))
  })
  const newest = async () => (await server.api('GET', '/v1/imports/geofences?limit=1')).body.imports[0]
  await until(async () => {
    const { status, fileName, created } = await newest()
    return status === 'running' && fileName === 'slow.csv' && created > 0
  })
  const { _id } = await newest()
  t.equal((await cancel(_id, KEYS.liveSecret)).status, 404, 'of another environment')
  t.equal((await cancel(_id, KEYS.testPublishable)).status, 403)
  t.match(await cancel(_id), { status: 200, body: { import: { _id } } })
  await until(async () => (await newest()).status === 'canceled')
  upload!.end(rowsOf('slow', 1000, 2000))
  const { import: record } = await answer
  t.match(record, { _id, status: 'canceled', interruption: { message: /canceled/ } })
  t.equal((await records(server, 'geofences')).length, record.created, 'the rows before stay')
  t.match(await newest(), { _id, status: 'canceled', created: record.created })
  t.equal((await cancel(_id)).status, 409, 'it has ended')
  t.equal((await cancel('0'.repeat(24))).status, 404)
})
