/** Extracts that nobody would make on purpose: without any address, a million on one street, and hostile names. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { importAddresses } from '../../src/geo/extract/importAddresses.ts'
import { placesIn, readManifest, stageFolder } from '../../src/geo/extract/mapRegionFiles.ts'
import type { OsmExtract, OsmNode, OsmWay } from '../../src/geo/extract/osmPbfWriter.ts'
import { buildRegion, serveGeocoding } from '../geocoding/kit.ts'
import { streets, temporaryFolder } from './kit.ts'

const LONGITUDE = -56
const LATITUDE = -34
const AT = `${LATITUDE},${LONGITUDE}`
const served = await serveGeocoding(t, [])

/** Every question of geocoding about a text and the point; each must be answered. @returns all texts of the answers */
async function askAll(text: string): Promise<string> {
  const bodies: unknown[] = []
  for (const [path, query] of [
    ['/v1/geocode/forward', { query: text }],
    ['/v1/geocode/forward', { query: text, layers: 'address,street,place,intersection,postalCode,locality' }],
    ['/v1/search/autocomplete', { query: text, near: AT, limit: '100' }],
    ['/v1/search/autocomplete', { query: text, layers: 'address', limit: '100' }],
    [
      '/v1/geocode/reverse',
      { coordinates: AT, layers: 'address,place,intersection,street,neighborhood,coarse' },
    ],
    [
      '/v1/addresses/validate',
      {
        addressLabel: text.slice(0, 250),
        city: 'x',
        stateCode: 'NY',
        postalCode: '11201',
        countryCode: 'US',
      },
    ],
  ] as const) {
    const { status, body } = await served.get(path, query)
    if (status !== 200) throw new Error(`${path} ${text.slice(0, 50)}: ${status} ${JSON.stringify(body)}`)
    bodies.push(body)
  }
  return JSON.stringify(bodies)
}

t.test('an extract without any address or name', async (t) => {
  const nodes = [0, 1].map((i) => ({
    id: i + 1,
    longitude: LONGITUDE + i / 100,
    latitude: LATITUDE,
    tags: {},
  }))
  const ways = [{ id: 1, nodes: [1, 2], tags: { highway: 'residential' } }]
  served.regions = [await buildRegion(t, 'bare', { nodes, ways, relations: [] })]
  await askAll('Calle Principal 1, Montevideo')
  const { body } = await served.get('/v1/geocode/reverse', { coordinates: AT })
  t.match(body.addresses.at(-1), { layer: 'country', countryCode: 'UY' })
  t.notMatch(JSON.stringify(body), /"layer":"(?:address|street)"/)
})

/** Degrees of longitude: then a million houses are 40 cm apart. */
const LENGTH = 4

/** So many houses in a row. */
function houses(count: number, streetOf: (index: number) => string): OsmExtract {
  const nodes: OsmNode[] = [
    { id: 1, longitude: LONGITUDE, latitude: LATITUDE, tags: {} },
    { id: 2, longitude: LONGITUDE + LENGTH, latitude: LATITUDE, tags: {} },
  ]
  for (let index = 0; index < count; index++) {
    const tags = { 'addr:housenumber': String(index + 1), 'addr:street': streetOf(index) }
    nodes.push({
      id: index + 3,
      longitude: LONGITUDE + (LENGTH * index) / count,
      latitude: LATITUDE + 1e-4,
      tags,
    })
  }
  const ways: OsmWay[] = [{ id: 1, nodes: [1, 2], tags: { highway: 'residential', name: 'Calle Única' } }]
  return { nodes, ways, relations: [] }
}

t.test('a million houses of one street cost little more than those of many', async (t) => {
  const count = Math.round(1e6 * Math.min(1, Number(process.env['RINGFENCE_TEST_RUNS'] ?? 1)))
  const cpuOf = async (extract: OsmExtract, name: string) => {
    const began = process.cpuUsage()
    const built = await buildRegion(t, name, extract)
    const { user, system } = process.cpuUsage(began)
    return { built, seconds: (user + system) / 1e6 }
  }
  const many = await cpuOf(
    houses(count, (index) => `Calle ${index % 8000}`),
    'many',
  )
  const one = await cpuOf(
    houses(count, () => 'Calle Única'),
    'one',
  )
  t.ok(one.seconds < 2 * many.seconds, `${one.seconds} s, of many streets ${many.seconds} s`)
  t.ok(
    process.resourceUsage().maxRSS / 1024 < 3000,
    `${process.resourceUsage().maxRSS / 1024} MB, both with their extracts`,
  )

  served.regions = [one.built]
  await askAll('Calle Unica 1')
  for (const number of [1, 777_777 % count, count - 1]) {
    const began = performance.now()
    const { body } = await served.get('/v1/geocode/forward', { query: `calle unica ${number}` })
    t.match(body.addresses[0], { number: String(number), confidence: 'exact' })
    t.ok(performance.now() - began < 500, `${performance.now() - began} ms`)
  }
  for (const query of ['calle unica', 'calle unica 1', 'calle u', 'c']) {
    const began = performance.now()
    const { body } = await served.get('/v1/search/autocomplete', { query, layers: 'address', limit: '100' })
    t.ok(performance.now() - began < 1000, `${query}: ${performance.now() - began} ms`)
    t.ok(body.addresses.length <= 100)
  }
  const began = performance.now()
  const { body } = await served.get('/v1/geocode/reverse', {
    coordinates: `${LATITUDE + 1e-4},${LONGITUDE + LENGTH / 2}`,
    layers: 'address',
  })
  t.ok(Math.abs(Number(body.addresses[0].number) - count / 2) <= 1)
  t.ok(performance.now() - began < 1000, `${performance.now() - began} ms`)
})

const HOSTILE = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "Robert'); DROP TABLE label;--",
  'A'.repeat(10_000),
  'x '.repeat(5000),
  '1,'.repeat(5000),
  '1-'.repeat(5000),
  'tab\there\nand\r\u0007\u0001\u007f',
  '\u202eabc\u202d \u200b\ufeff',
  'مرحبا بالعالم',
  '🏠'.repeat(3000),
  '(a+)+$ [b]* {c}? ^|\\',
  'NEAR("a" "b", 5) OR * AND -',
  '%s %n %00 ../../etc/passwd ${7*7}',
  '-'.repeat(9999),
  '0',
  '9'.repeat(9999),
  ' ',
]

/** What is asked for by a hostile name is answered without its syntax. */
async function checkAnswers(t: Test): Promise<void> {
  for (const text of HOSTILE.filter((one) => one.trim() !== '')) {
    const answers = await askAll(text.slice(0, 1000))
    t.notMatch(
      answers,
      /<|>|\\u00[01]|[\u007f-\u009f\u200b\u202a-\u202e\ufeff]/,
      `${text.slice(0, 40)}: no markup or control characters`,
    )
    const longest = [
      ...answers.matchAll(/"(?:street|city|state|placeLabel|number)":"((?:[^"\\]|\\.)*)"/g),
    ].reduce((most, [, one]) => Math.max(most, one!.length), 0)
    // A crossing has the names of two streets.
    t.ok(longest <= 2 * 255 + 3, `${text.slice(0, 40)}: ${longest} characters at most`)
  }
}

t.test('hostile names: imported, found, and shown without syntax', async (t) => {
  const grid = streets([LONGITUDE, LATITUDE])
  let id = 1000
  for (const [index, text] of HOSTILE.entries()) {
    const at = { longitude: LONGITUDE + 0.0001 + index / 5000, latitude: LATITUDE + 0.0001 }
    const keys = ['housenumber', 'street', 'unit', 'city', 'state', 'postcode', 'place']
    const all = Object.fromEntries(keys.map((key) => [`addr:${key}`, text]))
    for (const tags of [
      all,
      { ...all, 'addr:housenumber': '1' },
      {
        name: text,
        brand: text,
        shop: text,
        amenity: 'cafe',
        'name:de': text,
        opening_hours: text,
        iata: text,
        website: text,
      },
      { name: text, place: 'town', population: text, 'ISO3166-2': text },
      { name: text, place: 'suburb' },
    ])
      grid.nodes.push({ id: id++, ...at, tags })
    const [first, last] = [id - 1, id - 2]
    const way = { id: id++, nodes: [first, last], tags: { 'addr:interpolation': text, 'addr:street': text } }
    grid.ways.push(way, {
      id: id++,
      nodes: [first, last],
      tags: { highway: 'residential', name: text, ref: 'x' },
    })
  }
  served.regions = [await buildRegion(t, 'hostile', grid)]
  await checkAnswers(t)
  t.match((await served.get('/v1/geocode/forward', { query: 'alert script', layers: 'place' })).body, {
    addresses: [{ layer: 'place', placeLabel: 'script alert 1 /script' }],
  })
})

t.test('hostile names in a file of addresses', async (t) => {
  const folder = temporaryFolder(t)
  const path = join(folder, 'hostile.geojson')
  const features = HOSTILE.flatMap((text, index) =>
    [text, '1'].map((number) => ({
      type: 'Feature',
      properties: { number, street: text, unit: text, city: text, region: text, postcode: text },
      geometry: { type: 'Point', coordinates: [LONGITUDE + index / 5000, LATITUDE] },
    })),
  )
  const ranges = HOSTILE.map((text, index) => ({
    type: 'Feature',
    properties: {
      TLID: text,
      FULLNAME: text,
      MTFCC: text,
      LFROMHN: text,
      LTOHN: text,
      RFROMHN: '1',
      RTOHN: '9',
      ZIPL: text,
      ZIPR: text,
    },
    geometry: {
      type: 'LineString',
      coordinates: [
        [LONGITUDE + index / 5000, LATITUDE],
        [LONGITUDE, LATITUDE],
      ],
    },
  }))
  const edges = join(folder, 'ranges.geojson')
  writeFileSync(path, features.map((one) => JSON.stringify(one)).join('\n'))
  writeFileSync(edges, JSON.stringify({ type: 'FeatureCollection', features: ranges }))
  await importAddresses({
    folder,
    paths: [path, edges],
    name: 'hostile',
    isSample: false,
    now: () => 0,
    signal: new AbortController().signal,
    onProgress() {},
    onNote() {},
  })
  const [build] = readManifest(folder).regions
  const places = placesIn(stageFolder(join(folder, build!.folder), 'places'))
  served.regions = [
    {
      id: 'x',
      name: 'hostile',
      bounds: [-57, -35, -55, -33],
      attribution: '',
      tiles: undefined,
      places,
      map: undefined,
    },
  ]
  await checkAnswers(t)
})
