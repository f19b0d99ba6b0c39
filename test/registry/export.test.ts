/** Export over a real server: importing it again gives the same records, and any map can draw it. */
import t from 'tap'
import fc, { draws } from '../kit/fastCheck.ts'
import { KEYS, startServer } from '../kit/server.ts'
import { clear, exported, imported, records } from './importKit.ts'
import type { Json } from './importKit.ts'
import { placeId } from '../../src/geo/records/objectRecords.ts'

const RUNS = draws(8)

/** Text that file formats often get wrong. */
const Nasty = (max: number) =>
  fc
    .string({
      minLength: 1,
      maxLength: max,
      unit: fc.oneof(
        fc.constantFrom('"', ',', '\n', '\r', ' ', '=', ';', "'", '[', '\u{FEFF}', '\u{FFFD}', '\t'),
        fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
      ),
    })
    .filter((text) => text.length <= max && !text.includes('\0') && text.isWellFormed())
const Id = Nasty(20)
/** Names that bodies must not contain. */
const REFUSED = new Set(['__proto__', 'constructor', 'prototype'])
const Metadata = fc.dictionary(
  Nasty(10).filter((key) => !REFUSED.has(key)),
  fc.oneof(Nasty(30), fc.constant(''), fc.boolean(), fc.double({ noNaN: true, noDefaultInfinity: true })),
  { maxKeys: 5 },
)
const Longitude = fc.double({ min: -180, max: 180, noNaN: true })
const Latitude = fc.double({ min: -90, max: 90, noNaN: true })
const Time = fc.constantFrom('00:00', '9:00 AM', '17:30', '11:59 pm')
const Hours = fc.dictionary(
  fc.constantFrom('sun', 'Monday', 'TUE', 'wednesday', 'Thu', 'fri', 'sat'),
  fc.array(fc.tuple(Time, Time), { maxLength: 3 }),
)
const ALL_KEYS = { requiredKeys: [] as [] }
const Geofence = fc
  .record(
    {
      metadata: Metadata,
      operatingHours: Hours,
      enabled: fc.boolean(),
      stopDetection: fc.boolean(),
      disableAfter: fc.date({
        min: new Date('2100-01-01'),
        max: new Date('9999-01-01'),
        noInvalidDate: true,
      }),
      deleteAfter: fc.date({ min: new Date('2100-01-01'), max: new Date('9999-01-01'), noInvalidDate: true }),
      userId: Id,
      userIds: fc.array(Id, { maxLength: 4 }),
      ip: fc.constantFrom('10.0.0.1', '10.0.0.*,2001:db8::/32', ['192.168.0.0/24', '::1']),
      dwellThreshold: fc.double({ min: 0, minExcluded: true, max: 1e6, noNaN: true }),
      // A definition with an unknown place is refused.
      placeId: fc.constant(placeId('iata/JFK')),
      tripApproachingThreshold: fc.integer({ min: 1, max: 60 }),
      mode: fc.constantFrom('car', 'foot'),
    },
    ALL_KEYS,
  )
  .chain((fields) =>
    fc
      .oneof(
        fc.record({
          type: fc.constant('circle'),
          coordinates: fc.tuple(Longitude, Latitude),
          radius: fc.double({ min: 10, max: 10_000, noNaN: true }),
        }),
        fc.tuple(Longitude, fc.double({ min: -80, max: 80, noNaN: true })).map(([lon, lat]) => ({
          type: 'polygon',
          coordinates: [
            [lon, lat],
            [lon + 1, lat],
            [lon, lat + 1],
            [lon, lat],
          ],
        })),
      )
      .map((shape) => ({ ...fields, ...shape })),
  )
const Beacon = fc.record({ metadata: Metadata, tag: Id, externalId: Id }, ALL_KEYS).chain((fields) =>
  fc
    .oneof(
      fc.constant({
        type: 'ibeacon',
        uuid: 'f7826da6-4fa2-4e98-8024-bc5b71e0893e',
        major: '0',
        minor: '65535',
      }),
      fc.constant({ type: 'eddystone', uid: 'edd1ebeac04e5defa017', instance: '0bdb87539b67' }),
    )
    .map((type) => ({ ...fields, ...type })),
)

/** The content of a record, without what differs between two environments. */
function content(record: Json): Json {
  return { ...record, _id: '', createdAt: '', updatedAt: '', live: '' }
}

const own = await startServer(t)

for (const kind of ['geofences', 'beacons'] as const) {
  t.test(`exported ${kind} are imported unchanged`, async (t) => {
    await clear(own, 'geofences')
    const definition: fc.Arbitrary<{ rest: object }> =
      kind === 'geofences'
        ? fc.record({ tag: Id, externalId: Id, description: Nasty(60), rest: Geofence })
        : fc.record({
            description: Nasty(60),
            rest: Beacon,
            enabled: fc.boolean(),
            coordinates: fc.tuple(Longitude, Latitude),
          })
    await fc.assert(
      fc.asyncProperty(fc.array(definition, { minLength: 1, maxLength: 6 }), async (definitions) => {
        for (const { rest, ...fields } of definitions) {
          const { status, body } = await own.api('POST', `/v1/${kind}`, { ...fields, ...rest })
          if (status !== 200 && status !== 409) throw new Error(JSON.stringify(body))
        }
        const file = await exported(own, kind)
        const record = await imported(own, kind, file, KEYS.liveSecret)
        const [test, live] = [await records(own, kind), await records(own, kind, KEYS.liveSecret)]
        t.equal(record.created, test.length, 'each row made its record')
        t.same(live.map(content), test.map(content), 'in the same order, with the same content')
        t.equal(await exported(own, kind, '', KEYS.liveSecret), file, 'and the same file again')
        await clear(own, kind)
        await clear(own, kind, KEYS.liveSecret)
      }),
      { numRuns: RUNS },
    )
  })
}

t.test('GeoJSON that any map draws', async (t) => {
  for (const kind of ['geofences', 'beacons'] as const) await clear(own, kind)
  const put = (id: string, fields: object) =>
    own.api('PUT', `/v1/geofences/map/${id}`, { description: id, ...fields })
  await put('circle', { type: 'circle', coordinates: [10, 50], radius: 100, metadata: { a: 1 } })
  await put('clockwise', {
    type: 'polygon',
    coordinates: [
      [0, 0],
      [0, 1],
      [1, 1],
      [1, 0],
      [0, 0],
    ],
  })
  await put('dateline', {
    type: 'polygon',
    coordinates: [
      [179, 0],
      [-179, 0],
      [-179, 1],
      [179, 1],
      [179, 0],
    ],
  })
  await put('pole', {
    type: 'polygon',
    coordinates: [
      [0, 80],
      [90, 80],
      [179, 80],
      [-90, 80],
      [0, 80],
    ],
  })
  await own.api('PUT', '/v1/geofences/other/1', {
    description: 'o',
    type: 'circle',
    coordinates: [1, 1],
    radius: 10,
  })
  const answer = await fetch(`${own.url}/v1/exports/geofences?format=geojson&tag=map`, {
    headers: { authorization: KEYS.testSecret },
  })
  t.equal(answer.headers.get('content-type'), 'application/geo+json')
  t.equal(answer.headers.get('content-disposition'), 'attachment; filename="geofences-test.geojson"')
  const collection = (await answer.json()) as Json
  t.equal(collection.type, 'FeatureCollection')
  t.same(
    collection.features.map(({ properties }: Json) => properties.externalId),
    ['circle', 'clockwise', 'dateline', 'pole'],
    'in the order of creation',
  )
  for (const { type, id, geometry, properties } of collection.features) {
    t.equal(type, 'Feature')
    t.match(id, /^[0-9a-f]{24}$/)
    t.equal(geometry.type, 'Polygon')
    const [ring] = geometry.coordinates
    t.same(ring[0], ring.at(-1), 'closed')
    let twice = 0
    for (let i = 1; i < ring.length; i++) {
      twice += ring[i - 1][0] * ring[i][1] - ring[i][0] * ring[i - 1][1]
      const edge = Math.abs(ring[i][0] - ring[i - 1][0])
      t.ok(edge < 180 || Math.abs(ring[i][1]) === 90, 'no edge round the world')
    }
    t.ok(twice > 0, `${properties.externalId}: counter-clockwise`)
  }
  const [circle, clockwise, dateline] = collection.features
  t.match(circle.properties, {
    geometryRadius: 100,
    geometryCenter: { coordinates: [10, 50] },
    metadata: { a: 1 },
  })
  t.same(clockwise.geometry.coordinates, [
    [
      [0, 0],
      [1, 0],
      [1, 1],
      [0, 1],
      [0, 0],
    ],
  ])
  t.same(dateline.geometry.coordinates[0][1], [181, 0], 'continuous over the antimeridian')

  // This server has no engine that computes areas.
  await own.api('PUT', '/v1/geofences/reach/1', {
    description: 'r',
    type: 'isochrone',
    coordinates: [10, 50],
    radius: 5,
    mode: 'car',
  })
  const [reach] = JSON.parse(await exported(own, 'geofences', '?format=geojson&tag=reach')).features
  t.equal(reach.geometry, null, 'no area where nobody is ever inside')
  t.match(reach.properties, { geometryRadius: 0, geometryCenter: { coordinates: [10, 50] } })

  t.same(JSON.parse(await exported(own, 'beacons', '?format=geojson')), {
    type: 'FeatureCollection',
    features: [],
  })
  await own.api('POST', '/v1/beacons', {
    description: 'b',
    type: 'eddystone',
    uid: 'edd1ebeac04e5defa017',
    instance: '0bdb87539b67',
    coordinates: [3, 4],
  })
  t.match(JSON.parse(await exported(own, 'beacons', '?format=geojson')).features, [
    {
      geometry: { type: 'Point', coordinates: [3, 4] },
      properties: { description: 'b', uid: 'edd1ebeac04e5defa017' },
    },
  ])
  t.equal((await exported(own, 'geofences', '?tag=none')).split('\r\n').length, 2, 'the header alone')
  t.equal((await own.api('GET', '/v1/exports/geofences', undefined, KEYS.testPublishable)).status, 403)
})
