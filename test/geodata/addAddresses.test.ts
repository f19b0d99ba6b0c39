/** `npm run region -- add-addresses`: each format as users have it, and files that are none. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { joinPieces } from '../../src/geo/addressFiles/edgePieces.ts'
import { JsonItems } from '../../src/geo/addressFiles/jsonItems.ts'
import { importAddresses } from '../../src/geo/extract/importAddresses.ts'
import {
  mapRegionsFolder,
  placesIn,
  readManifest,
  readRecord,
  stageFolder,
} from '../../src/geo/extract/mapRegionFiles.ts'
import { MapRegionStore } from '../../src/geo/extract/mapRegionStore.ts'
import { nearestOnLine } from '../../src/geo/records/areas.ts'
import { lockStore } from '../../src/log/store.ts'
import { pointDistance } from '../../src/geometry/distance.ts'
import type { Position } from '../../src/model/geofence.ts'
import { createLogger } from '../../src/runtime/logger.ts'
import { serveGeocoding } from '../geocoding/kit.ts'
import fc from '../kit/fastCheck.ts'
import { SimulatedTime } from '../kit/simulatedTime.ts'
import { QUEENS, region, RegionProcess, temporaryFolder, writeStreets } from './kit.ts'

const LONGITUDE = -73.9868
const LATITUDE = 40.7

/** The same three houses on Jay Street in each format, and one that lacks its number. */
const HOUSES = [
  { number: '20', unit: '' },
  { number: '24', unit: '4B' },
  { number: '89-01', unit: '' },
  { number: '', unit: '' },
].map((house, index) => ({ ...house, longitude: LONGITUDE + index / 10_000, latitude: LATITUDE }))
const features = HOUSES.map(({ number, unit, longitude, latitude }) => ({
  type: 'Feature',
  properties: {
    hash: 'a{"b',
    number,
    street: 'JAY ST',
    unit,
    city: 'Brooklyn',
    district: '',
    region: 'NY',
    postcode: '11201',
    id: '',
  },
  geometry: { type: 'Point', coordinates: [longitude, latitude] },
}))
const lines = features.map((feature) => `${JSON.stringify(feature)}\n`).join('')
const collection = {
  type: 'FeatureCollection',
  name: 'features',
  features,
  crs: { type: 'name', properties: { name: 'x' } },
}
const csv = [
  'LON,LAT,NUMBER,STREET,UNIT,CITY,DISTRICT,REGION,POSTCODE,ID,HASH',
  ...HOUSES.map(
    (one) => `${one.longitude},${one.latitude},${one.number},"Jay St",${one.unit},Brooklyn,,NY,11201,,`,
  ),
].join('\n')
const nad = (separator: string): string =>
  [
    [
      'OID_',
      'AddNum_Pre',
      'Add_Number',
      'AddNum_Suf',
      'St_PreDir',
      'St_Name',
      'St_PosTyp',
      'StNam_Full',
      'Unit',
      'Post_City',
      'State',
      'Zip_Code',
      'Longitude',
      'Latitude',
    ],
    ...HOUSES.map((one) => [
      '1',
      one.number.includes('-') ? '89-' : '',
      one.number.replace('89-', ''),
      '',
      '',
      'Jay',
      'Street',
      'Jay Street',
      one.unit,
      'Brooklyn',
      'NY',
      '11201',
      one.longitude,
      one.latitude,
    ]),
  ]
    .map((row) => row.join(separator))
    .join('\r\n')
const earlierNad = [
  'State,County,Inc_Muni,Post_Comm,Zip_Code,StN_PreDir,StreetName,StN_PosTyp,StN_PosDir,AddNum_Pre,Add_Number,AddNum_Suf,Unit,Longitude,Latitude',
  ...HOUSES.map(
    (one) =>
      `NY,Kings,Not stated,Brooklyn,11201,,Jay,Street,,,${one.number},,${one.unit},${one.longitude},${one.latitude}`,
  ),
].join('\n')

const FILES: Readonly<Record<string, string | Buffer>> = {
  'openaddresses.geojson': lines,
  'collection.geojson': JSON.stringify(collection, null, 2),
  'compressed.geojson.gz': gzipSync(lines),
  'openaddresses.csv': csv,
  'mark.csv': `\ufeff${csv}`,
  'semicolons.csv': csv.replaceAll(',', ';'),
  'NAD_r18.txt': nad(','),
  'NAD_tabs.txt': nad('\t'),
  'NAD_r12.txt': earlierNad,
}

const served = await serveGeocoding(t, [])
/** Imports files into a fresh folder, and serves the region. */
async function serve(
  t: Test,
  files: Readonly<Record<string, string | Buffer>>,
): Promise<{ notes: string[]; folder: string }> {
  const folder = temporaryFolder(t)
  const notes: string[] = []
  const paths = Object.keys(files).map((name) => join(folder, name))
  for (const [index, content] of Object.values(files).entries()) writeFileSync(paths[index]!, content)
  const regions = join(folder, 'data')
  const store = await importInto(regions, paths, notes)
  served.regions = store.all
  return { notes, folder: regions }
}

async function importInto(
  data: string,
  paths: readonly string[],
  notes: string[] = [],
): Promise<MapRegionStore> {
  const folder = mapRegionsFolder(data)
  const { mkdirSync } = await import('node:fs')
  mkdirSync(folder, { recursive: true })
  await importAddresses({
    folder,
    paths,
    name: 'brooklyn',
    isSample: false,
    now: () => 0,
    signal: new AbortController().signal,
    onProgress() {},
    onNote: (note) => notes.push(note),
  })
  const logger = createLogger('silent')
  return new MapRegionStore({
    dataFolder: data,
    lock: lockStore,
    coming: () => 'Soon.',
    time: new SimulatedTime(),
    logger,
  })
}

const forward = async (query: string) => (await served.get('/v1/geocode/forward', { query })).body.addresses

for (const [name, content] of Object.entries(FILES))
  t.test(`${name}: its houses are found`, async (t) => {
    const { notes } = await serve(t, { [name]: content })
    const [house] = await forward('20 Jay Street, Brooklyn NY')
    t.match(house, {
      confidence: 'exact',
      number: '20',
      city: 'Brooklyn',
      stateCode: 'NY',
      postalCode: '11201',
    })
    t.ok(pointDistance(house.latitude, house.longitude, LATITUDE, LONGITUDE) < 0.1)
    t.match(await forward('24 Jay St Apt 4B, Brooklyn'), [{ confidence: 'exact', unit: '4B' }])
    t.match(await forward('89-01 Jay St, Brooklyn'), [{ confidence: 'exact', number: '89-01' }])
    t.match(await forward('22 Jay St, Brooklyn'), [{ confidence: 'interpolated' }])
    t.strictSame(notes, [`${name}: 1 row without a number, a street or a position is left out.`])
  })

/** An edge from south to north in two pieces, of which one is reversed; the right side goes down. */
const edge = (line: readonly Position[], more = {}) => ({
  type: 'Feature',
  properties: {
    TLID: 7,
    FULLNAME: 'Laurel St',
    MTFCC: 'S1400',
    LFROMADD: '101',
    LTOADD: '199',
    RFROMADD: '198',
    RTOADD: '100',
    ZIPL: '95060',
    ZIPR: '95060',
    ...more,
  },
  geometry: { type: 'LineString', coordinates: line },
})
const at = (meters: number): Position => [-122.0, 37 + meters / 110_970]
const TIGER = {
  'pieces.geojson': [edge([at(0), at(600)]), edge([at(1000), at(550)])]
    .map((one) => JSON.stringify(one))
    .join('\n'),
  'names.json': JSON.stringify({
    type: 'FeatureCollection',
    features: [
      edge([at(0), at(1000)], {
        LFROMADD: undefined,
        LTOADD: null,
        LFROMHN: '101',
        LTOHN: '199',
        ROADFLG: 'Y',
      }),
      edge([at(0), at(1000)], { FULLNAME: 'State Hwy 9', LFROMADD: '11', LTOADD: '19' }),
    ],
  }),
  'wkt.csv': `TLID,FULLNAME,LFROMADD,LTOADD,RFROMADD,RTOADD,ZIPL,ZIPR,WKT\n7,Laurel St,101,199,198,100,95060,95060,"LINESTRING (${at(0).join(' ')},${at(1000).join(' ')})"\n`,
  'nominatim.csv': `from;to;interpolation;street;city;state;postcode;geometry\n101;199;odd;Laurel St;Santa Cruz;CA;95060;LINESTRING(${at(0).join(' ')},${at(1000).join(' ')})\n198;100;even;Laurel St;Santa Cruz;CA;95060;LINESTRING(${at(0).join(' ')},${at(1000).join(' ')})\n`,
}

for (const [name, content] of Object.entries(TIGER))
  t.test(`TIGER, ${name}: numbers of both sides, along one edge`, async (t) => {
    await serve(t, { [name]: content })
    for (const [number, meters] of [
      ['101', 0],
      ['151', 510],
      ['198', 0],
      ['149', 490],
      ['120', 796],
    ] as const) {
      const [house] = await forward(`${number} Laurel Street, Santa Cruz, CA`)
      t.match(house, {
        confidence: 'interpolated',
        number,
        city: 'Santa Cruz',
        postalCode: '95060',
        stateCode: 'CA',
      })
      const wrong = pointDistance(house.latitude, house.longitude, at(meters)[1], at(meters)[0])
      t.ok(wrong < 3, `${number}: ${wrong} m`)
    }
    t.match(await forward('201 Laurel Street, Santa Cruz, CA'), [{ confidence: 'fallback', layer: 'street' }])
    if (name === 'names.json')
      t.match(
        await forward('15 State Highway 9, Santa Cruz'),
        [{ confidence: 'interpolated' }],
        'a second name of the edge',
      )
  })

/** A shapefile of lines with texts, as the Census Bureau writes them. */
function shapefile(
  rows: readonly { readonly line: readonly Position[]; readonly values: Readonly<Record<string, string>> }[],
  encoding: 'utf8' | 'latin1',
): Record<string, Buffer> {
  const shapes = rows.map(({ line }, index) => {
    const bytes = Buffer.alloc(8 + 48 + 16 * line.length)
    bytes.writeInt32BE(index + 1, 0)
    bytes.writeInt32BE((bytes.length - 8) / 2, 4)
    bytes.writeInt32LE(3, 8)
    bytes.writeInt32LE(1, 44)
    bytes.writeInt32LE(line.length, 48)
    for (const [i, [x, y]] of line.entries()) {
      bytes.writeDoubleLE(x, 56 + 16 * i)
      bytes.writeDoubleLE(y, 64 + 16 * i)
    }
    return bytes
  })
  const head = Buffer.alloc(100)
  head.writeInt32BE(9994, 0)
  const names = Object.keys(rows[0]!.values)
  const width = 30
  const table = Buffer.alloc(33 + 32 * names.length)
  table.writeUInt32LE(rows.length, 4)
  table.writeUInt16LE(table.length, 8)
  table.writeUInt16LE(1 + width * names.length, 10)
  for (const [i, name] of names.entries()) {
    table.write(`${name}\0junk`, 32 + 32 * i, 11, 'latin1')
    table[32 + 32 * i + 16] = width
  }
  table[table.length - 1] = 0x0d
  const texts = rows.map(({ values }) => {
    const row = Buffer.alloc(1 + width * names.length, ' ')
    for (const [i, name] of names.entries()) row.write(values[name]!, 1 + width * i, width, encoding)
    return row
  })
  return {
    'a.shp': Buffer.concat([head, ...shapes]),
    'a.dbf': Buffer.concat([table, ...texts, Buffer.from([0x1a])]),
    ...(encoding === 'utf8' && { 'a.cpg': Buffer.from('UTF-8') }),
  }
}

const PENA = {
  TLID: '7',
  FULLNAME: 'Peña St',
  MTFCC: 'S1400',
  LFROMHN: '101',
  LTOHN: '199',
  RFROMHN: '198',
  RTOHN: '100',
  ZIPL: '95060',
  ZIPR: '95060',
}
const SHAPES = [
  { line: [at(0), at(400), at(1000)], values: PENA },
  {
    line: [at(1000), [-121.99, 37.009] as Position],
    values: { ...PENA, TLID: '8', FULLNAME: 'Río Ave', LTOHN: '' },
  },
]

for (const encoding of ['utf8', 'latin1'] as const)
  t.test(`a shapefile of TIGER in ${encoding}: numbers along its edges`, async (t) => {
    const folder = temporaryFolder(t)
    for (const [name, content] of Object.entries(shapefile(SHAPES, encoding)))
      writeFileSync(join(folder, name), content)
    served.regions = (await importInto(join(folder, 'data'), [join(folder, 'a.shp')])).all
    const [house] = await forward('151 Pena Street, Santa Cruz, CA')
    t.match(house, { confidence: 'interpolated', street: 'Peña St', postalCode: '95060' })
    const wrong = pointDistance(house.latitude, house.longitude, at(510)[1], at(510)[0])
    t.ok(wrong < 3, `${wrong} m`)
    t.match(await forward('Pena St & Rio Ave, Santa Cruz'), [{ confidence: 'exact', layer: 'intersection' }])
  })

t.test('shapefiles that are incomplete or damaged', async (t) => {
  const whole = shapefile(SHAPES, 'utf8')
  const importWith = async (files: Readonly<Record<string, Buffer>>): Promise<unknown> => {
    const folder = temporaryFolder(t)
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
    return await importInto(join(folder, 'data'), [join(folder, 'a.shp')])
  }
  const [shp, dbf] = [whole['a.shp']!, whole['a.dbf']!]
  const cases: readonly (readonly [Record<string, Buffer>, RegExp])[] = [
    [{ 'a.shp': shp }, /a\.shp cannot be used without .*a\.dbf/],
    [{ ...whole, 'a.shp': shp.subarray(0, -8) }, /a\.shp is incomplete/],
    [{ ...whole, 'a.dbf': dbf.subarray(0, -100) }, /a\.dbf is incomplete/],
    [
      { ...whole, 'a.dbf': shapefile(SHAPES.slice(1), 'utf8')['a.dbf']! },
      /a\.dbf is incomplete: it has 1 rows/,
    ],
    [
      { ...whole, 'a.dbf': shapefile(SHAPES, 'latin1')['a.dbf']! },
      /a\.dbf is not in utf-8, as its \.cpg says/,
    ],
    [{ ...whole, 'a.shp': shp.subarray(0, 100) }, /has no rows in it/],
  ]
  for (const [files, message] of cases)
    await t.rejects(importWith(files), { name: 'AddressFileRefused', message }, String(message))
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('a.shp', 'a.dbf'),
      fc.array(fc.tuple(fc.nat({ max: 1e6 }), fc.nat({ max: 255 })), { minLength: 1, maxLength: 4 }),
      async (name, changes) => {
        const bytes = Buffer.from(whole[name]!)
        for (const [place, value] of changes) bytes[4 + (place % (bytes.length - 4))] = value
        try {
          await importWith({ ...whole, [name]: bytes })
        } catch (error) {
          if ((error as Error).name !== 'AddressFileRefused') throw error
        }
      },
    ),
    { numRuns: 60 },
  )
})

t.test('streets of TIGER meet where edges end', async (t) => {
  const other = edge([at(1000), [-121.99, 37.009]], { TLID: 8, FULLNAME: 'Pacific Ave' })
  await serve(t, {
    'tiger.geojson': [edge([at(0), at(1000)]), other].map((one) => JSON.stringify(one)).join('\n'),
  })
  const [crossing] = await forward('Laurel St & Pacific Ave, Santa Cruz')
  t.match(crossing, { confidence: 'exact', layer: 'intersection' })
  t.ok(pointDistance(crossing.latitude, crossing.longitude, at(1000)[1], at(1000)[0]) < 3)
})

t.test('several files are one region, which no route goes through', async (t) => {
  const { folder } = await serve(t, { 'a.csv': csv, 'b.geojson': TIGER['pieces.geojson'] })
  const [one] = served.regions
  t.match(one, {
    name: 'brooklyn',
    tiles: undefined,
    attribution: 'OpenAddresses contributors; U.S. Census Bureau, TIGER/Line',
  })
  const store = new MapRegionStore({
    dataFolder: folder,
    lock: lockStore,
    coming: () => 'Soon.',
    time: new SimulatedTime(),
    logger: createLogger('silent'),
  })
  t.strictSame(store.routed, [])
  t.equal(store.at([LONGITUDE, LATITUDE]), undefined)
  t.throws(() => store.containing([{ position: [LONGITUDE, LATITUDE], param: 'origin' }]), {
    code: 503,
    message: 'Soon.',
  })
  const build = join(mapRegionsFolder(folder), readManifest(mapRegionsFolder(folder)).regions[0]!.folder)
  t.match(readRecord(build), { nodes: 3, roads: 1, sources: [{ file: 'a.csv' }, { file: 'b.geojson' }] })
  t.strictSame(
    readdirSync(build).toSorted(),
    ['coverage.bin', 'places', 'region.json'],
    'no files of the import are left',
  )
  t.ok(existsSync(placesIn(stageFolder(build, 'places'))))
})

const REFUSED: Readonly<Record<string, readonly [content: string | Buffer, message: RegExp]>> = {
  'empty.csv': ['', /empty\.csv is empty\.$/],
  'columns.csv': [
    'id,name\n1,x\n',
    /has none of the known sets of columns: it has id, name\. Known are: TIGER.*OpenAddresses \(number, street, lon or geometry/,
  ],
  'properties.geojson': [
    JSON.stringify({ type: 'Feature', properties: { name: 'x' }, geometry: null }),
    /it has name\. Known are/,
  ],
  'heading.csv': [csv.split('\n')[0]!, /has no row with a house number/],
  'no-features.json': [
    JSON.stringify({ ...collection, features: [] }),
    /no-features\.json has no rows in it/,
  ],
  'projected.csv': [
    'lon,lat,number,street\n500000,4500000,1,A\n',
    /no row with a house number, a street and a position in degrees \(format: OpenAddresses\)/,
  ],
  'half.csv': [
    csv.slice(0, csv.lastIndexOf(',NY')),
    /half\.csv, line 5: it has another number of columns than the first line\. The file may be incomplete/,
  ],
  'quotes.csv': [csv.slice(0, csv.lastIndexOf('"')), /quotes\.csv is incomplete: it ends within quotes/],
  'half.geojson': [lines.slice(0, -30), /half\.geojson is incomplete: it ends in the middle of a feature/],
  'half.json': [JSON.stringify(collection).slice(0, -200), /half\.json is incomplete/],
  'half.gz': [gzipSync(lines).subarray(0, -20), /half\.gz is incomplete: the compressed data end too early/],
  'noise.gz': [
    Buffer.concat([gzipSync(lines).subarray(0, 30), Buffer.alloc(500, 7)]),
    /noise\.gz is damaged/,
  ],
  'latin1.csv': [
    Buffer.from(csv.replaceAll('Jay', 'Jäy'), 'latin1'),
    /latin1\.csv is not in UTF-8\. Convert it, for example with `iconv/,
  ],
  'latin1.geojson': [Buffer.from(lines.replaceAll('JAY', 'JÄY'), 'latin1'), /is not in UTF-8/],
  'end.csv': [Buffer.concat([Buffer.from(csv), Buffer.from([0xc3])]), /is not in UTF-8/],
  'wide.csv': [Buffer.from(`\ufeff${csv}`, 'utf16le'), /is not in UTF-8/],
  'zip.csv': [Buffer.from('PK\u0003\u0004xxxx'), /is a ZIP archive: unpack it/],
  'binary.csv': [Buffer.from([1, 0, 2, 0]), /is no text/],
  'words.json': [`${JSON.stringify(features[0])} and more`, /is no JSON/],
  'deep.geojson': ['{"a":'.repeat(5000), /is incomplete/],
  'close.json': ['[]]', /is no JSON/],
}

t.test('files that are refused: with a sentence, and nothing is left behind', async (t) => {
  const folder = temporaryFolder(t)
  for (const [name, [content, message]] of Object.entries(REFUSED)) {
    const path = join(folder, name)
    writeFileSync(path, content)
    await t.rejects(importInto(join(folder, 'data'), [path]), { name: 'AddressFileRefused', message }, name)
    t.strictSame(readdirSync(mapRegionsFolder(join(folder, 'data'))), [], name)
  }
  await t.rejects(importInto(join(folder, 'data'), [join(folder, 'none.csv')]), {
    message: /none\.csv cannot be read/,
  })
  await t.rejects(importInto(join(folder, 'data'), [folder]), { message: /is not a file/ })
})

t.test('a refused file leaves the region as it was', async (t) => {
  const { folder } = await serve(t, { 'a.csv': csv })
  const before = readFileSync(join(mapRegionsFolder(folder), 'regions.json'), 'utf8')
  const path = join(folder, 'half.csv')
  writeFileSync(path, REFUSED['half.csv']![0])
  await t.rejects(importInto(folder, [path]))
  t.equal(readFileSync(join(mapRegionsFolder(folder), 'regions.json'), 'utf8'), before)
  t.match(await forward('20 Jay Street, Brooklyn NY'), [{ confidence: 'exact' }])
})

t.test('as a command: names, progress, and the region of an extract is not replaced', async (t) => {
  const folder = temporaryFolder(t)
  const [addresses, extract, broken] = ['Brooklyn Houses.csv.gz', 'brooklyn.osm.pbf', 'half.geojson'].map(
    (name) => join(folder, name),
  )
  writeFileSync(addresses!, gzipSync(csv))
  writeFileSync(broken!, lines.slice(0, -30))
  writeStreets(extract!, QUEENS)
  const data = ['--data', join(folder, 'data')]
  t.match(await region('add-addresses', addresses!, ...data), {
    code: 0,
    output:
      /reading the addresses 100 %\n(?:.*\n)*The region brooklyn-houses is ready\..*\nbrooklyn-houses: 3 addresses, latitude 40\.7000/,
  })
  t.match(await region('list', ...data), {
    code: 0,
    output: /brooklyn-houses: 3 addresses[^]*OpenAddresses contributors/,
  })
  t.match(await region('add-addresses', broken!, ...data), {
    code: 1,
    output: /^.*half\.geojson is incomplete[^\n]*\n$/m,
  })
  t.match(await region('import', extract!, '--name', 'brooklyn-houses', ...data), {
    code: 1,
    output: /brooklyn-houses is a region of added addresses\. Give another name with --name/,
  })
  t.match(await region('add-addresses', ...data), { code: 2, output: /add-addresses needs an argument/ })
  t.match(await region('add-addresses', addresses!, '--threads', '1', ...data), { code: 2 })
})

t.test('an interrupted command changes nothing', async (t) => {
  const folder = temporaryFolder(t)
  const path = join(folder, 'large.geojson')
  writeFileSync(path, lines.repeat(20_000))
  const process = new RegionProcess(['add-addresses', path, '--data', join(folder, 'data')])
  while (!process.output.includes('reading')) await new Promise((resolve) => setTimeout(resolve, 20))
  process.signal('SIGINT')
  t.equal(await process.ended(), 1)
  t.match(process.output, /Interrupted by SIGINT\. Nothing was changed\./)
  t.strictSame(readdirSync(join(folder, 'data', 'regions')), ['lock'])
})

t.test('a command that is killed changes nothing, and works the next time', async (t) => {
  const folder = temporaryFolder(t)
  const path = join(folder, 'large.geojson')
  writeFileSync(path, lines.repeat(20_000))
  const data = ['--data', join(folder, 'data')]
  const process = new RegionProcess(['add-addresses', path, ...data])
  while (!process.output.includes('reading')) await new Promise((resolve) => setTimeout(resolve, 20))
  process.signal('SIGKILL')
  t.equal(await process.ended(), null)
  t.notOk(existsSync(join(folder, 'data', 'regions', 'regions.json')))
  t.match(await region('list', ...data), {
    code: 0,
    output: /large: its import is running or was interrupted/,
  })
  writeFileSync(path, lines)
  t.match(await region('add-addresses', path, ...data), { code: 0, output: /large: 3 addresses/ })
  t.match(await region('list', ...data), { code: 0, output: /^large: 3 addresses/ })
  t.notMatch((await region('list', ...data)).output, /interrupted/)
})

t.test('features are found however the file is cut', async () => {
  const texts = [
    JSON.stringify(collection),
    JSON.stringify(collection, null, 1),
    lines,
    `${lines}${JSON.stringify({ bbox: [1, [2]], ...collection })}`,
  ]
  const expected = [features, features, features, features]
  fc.assert(
    fc.property(
      fc.nat({ max: texts.length - 1 }),
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }),
      (which, sizes) => {
        const bytes = Buffer.from(texts[which]!)
        const items = new JsonItems('x')
        const found: unknown[] = []
        for (let from = 0, turn = 0; from < bytes.length; turn++) {
          const size = sizes[turn % sizes.length]!
          for (const item of items.push(bytes.subarray(from, from + size)))
            found.push(JSON.parse(item.toString()))
          from += size
        }
        items.end()
        const wanted = which === 3 ? [...features, ...features] : expected[which]!
        return JSON.stringify(found) === JSON.stringify(wanted)
      },
    ),
  )
})

/** The first position is nearer to the last one than to the second, where the pieces meet. */
const TURNING_BACK: Position[] = [
  [-73.98656, 40.7],
  [-73.98632, 40.69936],
  [-73.98608, 40.69936],
  [-73.98585, 40.69981],
]

t.test('pieces of a line, which overlap and go in any direction, are the line again', async (t) => {
  const line = fc
    .array(fc.tuple(fc.integer({ min: 20, max: 200 }), fc.integer({ min: -100, max: 100 })), {
      minLength: 4,
      maxLength: 12,
    })
    .map((steps) => {
      let [east, north] = [0, 0]
      return steps.map(([x, y]): Position => {
        east += x
        north += y
        return [LONGITUDE + east / 84_300, LATITUDE + north / 111_050]
      })
    })
  const length = (some: readonly Position[]): number =>
    some.slice(1).reduce((sum, [x, y], i) => sum + pointDistance(y, x, some[i]![1], some[i]![0]), 0)
  fc.assert(
    fc.property(
      line,
      fc.nat(),
      fc.nat(),
      fc.boolean(),
      fc.boolean(),
      (whole, a, b, isReversed, isSwapped) => {
        const cut = 1 + (a % (whole.length - 2))
        const overlap = b % (whole.length - cut)
        const first = whole.slice(0, cut + 1 + overlap)
        const second = isReversed ? whole.slice(cut).toReversed() : whole.slice(cut)
        const joined = joinPieces(isSwapped ? [second, first] : [first, second])
        const isSame = Math.abs(length(joined) - length(whole)) < 1
        return isSame && whole.every((position) => nearestOnLine(joined, position).meters < 1)
      },
    ),
    { examples: [[TURNING_BACK, 0, 0, false, false]] },
  )
  t.pass('for all lines that were drawn')
})
