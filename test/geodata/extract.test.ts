import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import t from 'tap'
import { countriesIn } from '../../src/geo/extract/boundaries.ts'
import { containingMapRegion, mapRegionAt, type CoveredMapRegion } from '../../src/geo/extract/choice.ts'
import { Coverage, CoverageCounter } from '../../src/geo/extract/coverage.ts'
import { readExtract } from '../../src/geo/extract/extractReader.ts'
import { mapRegionName } from '../../src/geo/extract/finishedBuild.ts'
import { ExtractRefused } from '../../src/geo/extract/osmPbfBlobs.ts'
import { writeOsmPbf } from '../../src/geo/extract/osmPbfWriter.ts'
import type { Position } from '../../src/model/geofence.ts'
import fc from '../kit/fastCheck.ts'
import { LONDON, QUEENS, temporaryFolder, writeStreets } from './kit.ts'

const numRuns = 30 * Number(process.env['RINGFENCE_TEST_RUNS'] ?? 1)
const longitudes = fc.double({ min: -180, max: 180, noNaN: true })
const latitudes = fc.double({ min: -90, max: 90, noNaN: true })
const positions = fc.tuple(longitudes, latitudes)

t.test('reading returns what was written', async (t) => {
  const path = join(temporaryFolder(t), 'any.osm.pbf')
  const texts = fc.string({ unit: 'grapheme', maxLength: 20 })
  const tags = fc.dictionary(
    texts.filter((key) => key !== 'highway'),
    texts,
    { maxKeys: 3 },
  )
  const place = fc.record({ longitude: longitudes, latitude: latitudes, tags })
  const road = fc.record({ tags, isRoad: fc.boolean(), nodes: fc.array(fc.nat(2 ** 40), { maxLength: 4 }) })
  const extracts = fc.record({
    places: fc.array(place, { minLength: 1, maxLength: 50 }),
    ways: fc.array(road, { maxLength: 50 }),
    firstId: fc.nat(2 ** 40),
    dataOf: fc.option(fc.nat(2 ** 32), { nil: undefined }),
  })
  await fc.assert(
    fc.asyncProperty(extracts, async ({ places, ways, firstId, dataOf }) => {
      const when = dataOf === undefined ? {} : { dataOf: dataOf * 1000 }
      writeOsmPbf(path, {
        ...when,
        nodes: places.map((one, i) => ({ ...one, id: firstId + i })),
        ways: [...ways, { tags: {}, isRoad: true, nodes: [1, 2] }].map((way, i) => ({
          id: i + 1,
          nodes: way.nodes,
          tags: way.isRoad ? { ...way.tags, highway: 'service' } : way.tags,
        })),
        relations: [{ id: 1, members: [{ type: 'way', id: 1, role: 'outer' }], tags: { highway: 'no way' } }],
      })
      const facts = await readExtract(path, () => {})
      t.equal(facts.nodes, places.length)
      t.equal(facts.roads, 1 + ways.filter(({ isRoad }) => isRoad).length)
      t.equal(facts.dataOf, dataOf && dataOf * 1000)
      t.equal(facts.bytes, readFileSync(path).length)
      const rounded = (degrees: number): number => Math.round(degrees * 1e7) / 1e7
      const x = places.map(({ longitude }) => rounded(longitude))
      const y = places.map(({ latitude }) => rounded(latitude))
      t.strictSame(
        facts.bounds.map((degrees) => degrees + 0),
        [Math.min(...x), Math.min(...y), Math.max(...x), Math.max(...y)].map((degrees) => degrees + 0),
      )
      for (const [i] of places.entries()) t.ok(facts.coverage.nodesAt(x[i]!, y[i]!) > 0)
    }),
    { numRuns },
  )
})

t.test('a file of many blocks', async (t) => {
  const path = join(temporaryFolder(t), 'many.osm.pbf')
  const nodes = Array.from({ length: 20_001 }, (_, i) => ({
    id: i + 1,
    longitude: i / 1000,
    latitude: -i / 1000,
    tags: {},
  }))
  writeOsmPbf(path, {
    nodes,
    ways: [{ id: 1, nodes: [1, 20_001], tags: { highway: 'path' } }],
    relations: [],
  })
  const shares: number[] = []
  const { bounds, ...facts } = await readExtract(path, (share) => shares.push(share))
  t.equal(facts.nodes, 20_001)
  t.strictSame(bounds, [0, -20, 20, -0])
  t.equal(shares.length, 5, 'a header, three blocks of nodes, one of ways')
  t.equal(shares.at(-1), 1)
})

t.test('a file that is not an extract is refused with a clear message', async (t) => {
  const folder = temporaryFolder(t)
  const path = join(folder, 'x.osm.pbf')
  const refused = async (bytes: Uint8Array, sentence: RegExp): Promise<void> => {
    writeFileSync(path, bytes)
    const error = await readExtract(path, () => {}).then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    t.ok(error instanceof ExtractRefused, `${sentence}: ${String(error)}`)
    t.match((error as Error)?.message, sentence)
  }
  writeStreets(path, QUEENS)
  const whole = readFileSync(path)
  await refused(Buffer.alloc(0), /is empty\.$/)
  await refused(Buffer.from('a,b\n1,2\n'.repeat(100)), /is not an OpenStreetMap PBF file\.$/)
  await refused(Buffer.from('ab'), /is not an OpenStreetMap PBF file\.$/)
  await refused(Buffer.alloc(1000), /is not an OpenStreetMap PBF file\.$/)
  // Cut at each byte. Except at the end of a block and before the ways, the error says what is missing.
  for (let length = 1; length < whole.length; length++) {
    await refused(whole.subarray(0, length), /ends in the middle|is not an OpenStreetMap|no nodes|no roads/)
  }
  const flipped = Buffer.from(whole)
  for (let i = 200; i < 300; i++) flipped[i]! ^= 0xff
  await refused(flipped, /is damaged\.$/)
  writeOsmPbf(path, { nodes: [{ id: 1, longitude: 1, latitude: 1, tags: {} }], ways: [], relations: [] })
  await refused(readFileSync(path), /has no roads in it\.$/)
  writeOsmPbf(path, { dataOf: 1e19, nodes: [], ways: [], relations: [] })
  await refused(readFileSync(path), /the time of its data is not a valid time\.$/)
  await refused(
    blob('OSMHeader', protobufText(4, 'HistoricalInformation')),
    /has every version of each object\. Import an extract of the current data/,
  )
  await refused(blob('OSMHeader', protobufText(4, 'Unheard-Of')), /needs "Unheard-Of" of its reader\.$/)
  await refused(
    blob('OSMHeader', protobufText(4, 'DenseNodes'), 6),
    /compressed with a method other than zlib\.$/,
  )
  await refused(blob('OSMData', Buffer.alloc(0)), /is not an OpenStreetMap PBF file\.$/)
  mkdirSync(join(folder, 'folder'))
  await t.rejects(
    readExtract(join(folder, 'folder'), () => {}),
    { code: 'EISDIR' },
  )
})

t.test('any bytes are read or refused', async (t) => {
  const path = join(temporaryFolder(t), 'x.osm.pbf')
  writeStreets(path, LONDON)
  const whole = readFileSync(path)
  const changes = fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(changes, async (bytes) => {
      const changed = Buffer.from(whole)
      for (const [at, value] of bytes) changed[at] = value
      writeFileSync(path, changed)
      await readExtract(path, () => {}).catch((error: unknown) => {
        if (!(error instanceof ExtractRefused)) throw error
      })
    }),
    { numRuns: numRuns * 10 },
  )
  t.pass('no other error')
})

t.test('coverage', async (t) => {
  /** A slow and obvious implementation: counts by the text of the cell. */
  const cellOf = ([x, y]: Position): string =>
    `${Math.min(11_519, Math.floor((x + 180) * 32))},${Math.min(5759, Math.floor((y + 90) * 32))}`
  const near = fc.tuple(
    fc.double({ min: -0.2, max: 0.2, noNaN: true }),
    fc.double({ min: -0.2, max: 0.2, noNaN: true }),
  )
  fc.assert(
    fc.property(fc.array(fc.oneof(near, positions), { maxLength: 300 }), positions, (places, other) => {
      const counter = new CoverageCounter()
      const counts = new Map<string, number>()
      for (const place of places) {
        counter.add(...place)
        counts.set(cellOf(place), (counts.get(cellOf(place)) ?? 0) + 1)
      }
      const bytes = counter.coverage().toBytes()
      const coverage = Coverage.fromBytes(bytes)
      t.strictSame(coverage.toBytes(), bytes)
      for (const place of [...places, other]) {
        t.equal(coverage.nodesAt(...place), Math.min(255, counts.get(cellOf(place)) ?? 0))
        if (counts.has(cellOf(place))) t.ok(coverage.isNear(...place))
      }
      // Each cell is in exactly one run, and that run has the cell's kind.
      const kindOf = (x: number, y: number): number => Math.floor(x * 3) + Math.floor(y * 5)
      const runs = [...coverage.runs(kindOf)]
      for (const place of places) {
        const [column, row] = cellOf(place).split(',').map(Number) as [number, number]
        const [x, y] = [(column + 0.5) / 32 - 180, (row + 0.5) / 32 - 90]
        const around = runs.filter(({ bounds: [w, s, e, n] }) => w < x && x < e && s < y && y < n)
        t.strictSame(
          around.map(({ kind }) => kind),
          [kindOf(x, y)],
        )
      }
    }),
    { numRuns: Math.ceil(numRuns / 6) },
  )
  const counter = new CoverageCounter()
  counter.add(-179.99, 10)
  t.ok(counter.coverage().isNear(179.99, 10), 'across the antimeridian')
  t.throws(() => Coverage.fromBytes(Buffer.from('RCV1')), /no cells/)
  t.throws(() => Coverage.fromBytes(counter.coverage().toBytes().subarray(0, 12)), /no cells/)
})

t.test('which region contains a point, and which contains all points', async (t) => {
  const made = (name: string, places: readonly Position[], times = 1): CoveredMapRegion => {
    const counter = new CoverageCounter()
    for (let i = 0; i < times; i++) for (const place of places) counter.add(...place)
    const [west, south] = places[0]!
    return {
      id: `${name}-0`,
      name,
      bounds: [west, south, west + 1, south + 1],
      attribution: '©',
      tiles: '/',
      map: undefined,
      places: undefined,
      contents: '00000000',
      coverage: counter.coverage(),
    }
  }
  const point = (param: string, position: Position) => ({ param, position })
  const west = made(
    'west',
    [
      [10, 50],
      [10.2, 50],
    ],
    40,
  )
  // Its ferry goes to a place in the other region.
  const east = made(
    'east',
    [
      [10.2, 50],
      [10.4, 50],
    ],
    40,
  )
  const ferry = made(
    'ferry',
    [
      [10, 50],
      [30, 50],
    ],
    2,
  )
  t.equal(mapRegionAt([west, east], [10, 50]), west)
  t.equal(mapRegionAt([west, east], [10.2, 50]), west, 'the first where they overlap')
  t.equal(mapRegionAt([east, west], [10.2, 50]), east)
  t.equal(mapRegionAt([ferry, west], [10, 50]), west, 'but for one that only reaches in')
  t.equal(mapRegionAt([ferry, west], [30, 50]), ferry)
  t.equal(mapRegionAt([west, east], [10.42, 50.02]), east, 'beside its nodes')
  t.equal(mapRegionAt([west, east], [11, 50]), undefined)
  const all = [west, east]
  t.equal(containingMapRegion(all, [point('origin', [10.2, 50]), point('destination', [10.4, 50])], ''), east)
  t.throws(() => containingMapRegion([], [point('origin', [0, 0])], 'It is coming.'), {
    code: 503,
    message: 'It is coming.',
    retryAfter: 10,
  })
  t.throws(() => containingMapRegion(all, [point('origin', [10, 50]), point('locations', [-3, -4.5])], ''), {
    code: 404,
    param: 'locations',
    message:
      'locations: -4.5,-3 is outside of every region of this server: west (latitude 50.00 to 51.00, longitude 10.00 to ' +
      '11.00), east (latitude 50.00 to 51.00, longitude 10.20 to 11.20).',
  })
  const locations = [point('locations', [10, 50]), point('locations', [-3, -4.5])]
  t.throws(() => containingMapRegion(all, locations, ''), {
    code: 404,
    param: 'locations',
    message: /^locations: Number 2: -4\.5,-3 is outside of every region/,
  })
  t.throws(
    () => containingMapRegion(all, [point('origin', [10, 50]), point('destination', [10.4, 50])], ''),
    {
      code: 404,
      param: 'destination',
      message:
        'destination: It lies in the region east, origin in the region west. No single region contains both.',
    },
  )
})

t.test('countries drive on the side they drive on', async (t) => {
  const sides = (position: Position): Record<string, boolean> => {
    const [x, y] = position
    const countries = countriesIn([x, y, x, y])
    t.equal(new Set(countries.map(({ name }) => name)).size, countries.length)
    return Object.fromEntries(
      countries.map(({ tags, drivesOnRight }) => [tags['ISO3166-1:alpha2'] ?? '', drivesOnRight]),
    )
  }
  t.match(sides(QUEENS), { US: true })
  t.match(sides(LONDON), { GB: false })
  t.match(sides([-56.16, -34.9]), { UY: true })
  t.match(sides([2.35, 48.86]), { FR: true })
  t.match(sides([139.7, 35.68]), { JP: false })
  t.match(sides([151.2, -33.87]), { AU: false })
})

t.test('names of regions', async (t) => {
  t.equal(mapRegionName('/data/Queens Village.osm.pbf'), 'queens-village')
  t.equal(mapRegionName('germany-latest.osm.pbf'), 'germany')
  t.equal(mapRegionName('berlin.pbf'), 'berlin')
  t.equal(mapRegionName('../../etc'), 'etc')
  t.equal(mapRegionName('..'), undefined)
  t.equal(mapRegionName('東京.osm.pbf'), undefined)
  t.equal(mapRegionName('a'.repeat(100)), 'a'.repeat(64))
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const name = mapRegionName(text)
      if (name === undefined) return
      t.match(name, /^[a-z0-9][a-z0-9._-]{0,63}$/)
      t.equal(mapRegionName(name), name, 'a name is its own')
    }),
    { numRuns: numRuns * 10 },
  )
})

/** One block of a PBF file. @param field 1 for plain content, 3 for zlib, 6 for lz4, which nothing here compresses */
function blob(type: string, content: Uint8Array, field = 3): Buffer {
  const packed = field === 3 ? deflateSync(content) : content
  const body = protobufText(field, packed)
  const head = Buffer.concat([protobufText(1, type), Buffer.from([3 << 3, body.length])])
  const size = Buffer.alloc(4)
  size.writeUInt32BE(head.length)
  return Buffer.concat([size, head, body])
}

function protobufText(field: number, content: string | Uint8Array): Buffer {
  const bytes = Buffer.from(content as string)
  return Buffer.concat([Buffer.from([(field << 3) | 2, bytes.length]), bytes])
}
