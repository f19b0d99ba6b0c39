/** PMTiles files that operators bring: what tiles and styles show of them, files that are wrong, and files that change. */
import { mkdtempSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { pino } from 'pino'
import t from 'tap'
import { VectorTile } from '../../src/geo/mapFile/vectorTile.ts'
import { creditsOf } from '../../src/geo/maps/credits.ts'
import { TileFile } from '../../src/geo/maps/tileFile.ts'
import { TileFiles } from '../../src/geo/maps/tileFiles.ts'
import { buildWorld } from '../../src/geo/world/worldBuilder.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import fc, { draws } from '../kit/fastCheck.ts'
import { KEYS, startServer } from '../kit/server.ts'
import { WORLD } from '../kit/world.ts'
import { featuresOf, tileAt } from './kit.ts'
import { tileFileBytes, type TileFileParts } from './pmtilesFile.ts'

const numRuns = draws(300)

buildWorld(WORLD)
const folder = mkdtempSync(join(tmpdir(), 'ringfence-pmtiles-'))
t.teardown(() => rmSync(folder, { recursive: true }))

/** Zürich, where nothing is imported. */
const PLACE = [8.54, 47.37] as const
const METADATA = {
  attribution: '<a href="https://maps.example.org/credits">Example Maps</a> &copy; <b>Town & Sons</b>',
  vector_layers: [{ id: 'roads' }, { id: 'places' }],
}

/** A road from the north-west to the south-east, a lake in the north-west quarter with an island, and a point in the south-east. */
function exampleTile(name: string): Uint8Array {
  const tile = new VectorTile()
  tile.add('roads', 'line', { kind: 'highway', name, width: 2.5, layer: -1, oneway: true }, [
    [0, 0, 4096, 4096],
  ])
  const ring = (west: number, east: number): number[] => [west, west, east, west, east, east, west, east]
  const hole = [800, 800, 800, 1200, 1200, 1200, 1200, 800]
  tile.add('water', 'area', { kind: 'lake' }, [ring(400, 1600), hole])
  tile.add('places', 'point', { kind: 'locality', name }, [[3000, 3000]])
  return tile.bytes()
}

const pathOf = ({ z, x, y }: { z: number; x: number; y: number }): string => `${z}/${x}/${y}`
const AT = new Map([6, 10, 12, 14, 15, 16].map((z) => [z, tileAt(PLACE, z)]))
const addressAt = (z: number): string => pathOf(AT.get(z)!)
const TILES = Object.fromEntries([10, 12, 14].map((z) => [addressAt(z), exampleTile(`zoom ${z}`)]))

function written(name: string, parts: TileFileParts | Buffer): string {
  const path = join(folder, name)
  writeFileSync(path, Buffer.isBuffer(parts) ? parts : tileFileBytes(parts))
  return path
}

const first = written('first.pmtiles', {
  tiles: TILES,
  metadata: METADATA,
  bounds: [8, 47, 9, 48],
  leafEntries: 2,
})
const second = written('second.pmtiles', {
  tiles: { [addressAt(10)]: exampleTile('other'), [addressAt(6)]: exampleTile('zoom 6') },
  metadata: { attribution: 'Second' },
  packing: 'none',
})
const server = await startServer(t, { env: { RINGFENCE_MAP_FILES: `${first},${second}` } })

async function tileOf(address: string, headers: Record<string, string> = {}) {
  const url = `${server.url}/v1/maps/tiles/${address}.mvt`
  const answer = await fetch(url, { headers: { authorization: KEYS.testPublishable, ...headers } })
  return { status: answer.status, headers: answer.headers, bytes: new Uint8Array(await answer.arrayBuffer()) }
}

const nameIn = (bytes: Uint8Array): unknown =>
  featuresOf(bytes).find(({ layer }) => layer === 'roads')?.properties['name']

t.test('the tile of the first file that has one; elsewhere the map as it is without files', async (t) => {
  for (const z of [10, 12, 14]) {
    const { status, bytes } = await tileOf(addressAt(z))
    t.equal(status, 200)
    t.strictSame(bytes, exampleTile(`zoom ${z}`), `zoom ${z}`)
  }
  t.equal(nameIn((await tileOf(addressAt(6))).bytes), 'zoom 6', 'of the second file')
  const world = featuresOf((await tileOf('0/0/0')).bytes)
  t.ok(world.some(({ layer }) => layer === 'earth'))
  const beside = AT.get(14)!
  const outside = featuresOf((await tileOf(pathOf({ ...beside, x: beside.x + 1 }))).bytes)
  t.ok(
    outside.some(({ layer }) => layer === 'earth'),
    'land of the world',
  )
  t.notOk(outside.some(({ layer }) => layer === 'roads'))
})

t.test('packed as in the file, or not if the client does not want it', async (t) => {
  const packed = await tileOf(addressAt(14))
  t.equal(packed.headers.get('content-encoding'), 'gzip')
  const plain = await tileOf(addressAt(14), { 'accept-encoding': 'identity' })
  t.equal(plain.headers.get('content-encoding'), null)
  t.strictSame(plain.bytes, packed.bytes)
  t.equal((await tileOf(addressAt(14), { 'if-none-match': packed.headers.get('etag')! })).status, 304)
})

t.test('beyond the largest zoom of a file, its tiles enlarged', async (t) => {
  const { z, x, y } = AT.get(14)!
  const at = async (column: number, row: number) =>
    featuresOf((await tileOf(`${z + 1}/${2 * x + column}/${2 * y + row}`)).bytes)
  const northWest = await at(0, 0)
  const road = northWest.find(({ layer }) => layer === 'roads')!
  t.strictSame(road.parts, [[0, 0, 4160, 4160]], 'the road, until the margin')
  t.strictSame(
    { ...road.properties },
    { kind: 'highway', name: 'zoom 14', width: 2.5, layer: -1, oneway: true },
  )
  const lake = northWest.find(({ layer }) => layer === 'water')!
  t.strictSame(lake.parts, [
    [800, 800, 3200, 800, 3200, 3200, 800, 3200, 800, 800],
    [1600, 1600, 1600, 2400, 2400, 2400, 2400, 1600, 1600, 1600],
  ])
  t.notOk(northWest.some(({ layer }) => layer === 'places'))
  const southEast = await at(1, 1)
  t.strictSame(southEast.find(({ layer }) => layer === 'places')!.parts, [[1904, 1904]])
  t.notOk(southEast.some(({ layer }) => layer === 'water'))
  const northEast = new Set((await at(1, 0)).map(({ layer }) => layer))
  t.strictSame(northEast, new Set(['roads']), 'the corner of the road, and not what is beside the file')
  const largest = featuresOf((await tileOf(`${z + 2}/${4 * x + 2}/${4 * y + 2}`)).bytes)
  t.strictSame(largest.find(({ layer }) => layer === 'places')!.parts, [[3808, 3808]])
})

t.test('styles credit the files, and their tiles have another version', async (t) => {
  const { body } = await server.api('GET', '/v1/maps/styles/light')
  const { attribution, tiles } = body.sources.map
  t.match(
    attribution,
    /^<a href="https:\/\/maps\.example\.org\/credits" target="_blank" rel="noopener">Example Maps<\/a>, © Town &amp; Sons, Second, /u,
  )
  t.match(attribution, /GeoNames/)
  t.match(tiles[0], /\?v=[0-9a-f]{12}$/)
  const { body: ready } = await server.api('GET', '/readyz')
  t.match(
    ready.checks.find(({ name }: { name: string }) => name === 'map files'),
    { ok: true, detail: '2 in use' },
  )
})

t.test('attributions are texts and links to pages, whatever a file says', async (t) => {
  for (const [html, credits] of [
    ['© OpenStreetMap contributors', ['© OpenStreetMap contributors']],
    [
      `<a href='https://protomaps.com'>Protomaps</a> © <a target=_blank href=https://openstreetmap.org>OpenStreetMap</a>`,
      [
        { text: 'Protomaps', url: 'https://protomaps.com/' },
        { text: '© OpenStreetMap', url: 'https://openstreetmap.org/' },
      ],
    ],
    ['<a href="javascript:alert(1)">Town</a>', ['Town']],
    ['<a href="data:text/html,x">Town</a> | <script>alert(1)</script>', ['Town', 'alert(1)']],
    ['&lt;img src=x&gt;', ['<img src=x>']],
    ['a<b', ['a']],
    ['', []],
    ['<'.repeat(1_000_000), []],
  ] as const)
    t.strictSame(creditsOf(html), credits, html.slice(0, 80))
})

t.test('tiles of every compression', async (t) => {
  for (const packing of ['none', 'gzip', 'brotli', 'zstd'] as const) {
    const file = await TileFile.open(
      written(`${packing}.pmtiles`, { tiles: TILES, metadata: METADATA, packing }),
    )
    t.match(await file.facts(), { minZoom: 10, maxZoom: 14 })
    const { z, x, y } = AT.get(12)!
    t.strictSame(new Uint8Array((await file.tile(z, x, y))!.bytes), exampleTile('zoom 12'), packing)
    t.equal(await file.tile(z, x + 1, y), undefined)
    file.close()
  }
})

const good = tileFileBytes({ tiles: TILES, metadata: METADATA })
/** With other bytes at a place. */
function changed(at: number, ...bytes: readonly number[]): Buffer {
  const copy = Buffer.from(good)
  copy.set(bytes, at)
  return copy
}
const MIB = 1024 * 1024

t.test('what is wrong with a file is said', async (t) => {
  const cases: readonly (readonly [name: string, file: Buffer | TileFileParts, message: RegExp])[] = [
    ['empty', Buffer.alloc(0), /^is not a PMTiles file$/],
    ['text', Buffer.from('<!doctype html><title>404</title>'), /^is not a PMTiles file$/],
    [
      'version 2',
      Buffer.from('PM\x02\x00\x10\x00\x00\x00{}'),
      /^is of version 2 of PMTiles; version 3 is read/,
    ],
    ['version 4', changed(7, 4), /^is of version 4 of PMTiles/],
    ['cut header', good.subarray(0, 60), /^is a damaged PMTiles file/],
    ['cut directory', good.subarray(0, 140), /^is a damaged PMTiles file/],
    ['png', { tiles: TILES, type: 'png' }, /^has PNG; maps show vector tiles \(MVT\)$/],
    ['compression', changed(98, 9), /^has tiles of the unknown compression 9$/],
    ['zooms', changed(100, 14, 3), /^has the impossible zooms 14 to 3$/],
    [
      'layers',
      { tiles: TILES, metadata: { vector_layers: [{ id: 'transportation' }, { id: 'waterway' }] } },
      /^has none of the layers that styles show \(earth.*\) but transportation, waterway$/,
    ],
    ['metadata', { tiles: TILES, metadata: [1, 2].map(String).join() }, /^has metadata that is no object$/],
    ['bomb', { tiles: TILES, metadata: { x: 'x'.repeat(64 * MIB) } }, /^has metadata that cannot be read/],
    ['root bomb', bombed(), /^is a damaged PMTiles file/],
    [
      'huge metadata',
      changed(32, 0, 0, 0, 0, 0, 1),
      /^has metadata that cannot be read: has a part of \d+ bytes/,
    ],
  ]
  for (const [name, file, message] of cases) {
    const open = async (): Promise<unknown> => {
      const opened = await TileFile.open(written(`${name}.pmtiles`, file))
      return opened.facts().finally(() => opened.close())
    }
    await t.rejects(open(), { message }, name)
  }
  await t.rejects(TileFile.open(join(folder, 'absent.pmtiles')), { message: /^cannot be read: / })
  await t.rejects(TileFile.open(folder), { message: /^is not a file$/ })
})

/** A root directory of a few kilobytes that would unpack to 4 MiB. */
function bombed(): Buffer {
  const root = gzipSync(Buffer.alloc(4 * MIB, 1))
  const header = Buffer.from(good.subarray(0, 127))
  header.writeBigUInt64LE(127n, 8)
  header.writeBigUInt64LE(BigInt(root.length), 16)
  return Buffer.concat([header, root])
}

t.test('a tile that unpacks to more than its bound is refused', async (t) => {
  const file = await TileFile.open(
    written('tile bomb.pmtiles', { tiles: { '0/0/0': new Uint8Array(64 * MIB) }, metadata: METADATA }),
  )
  await t.rejects(file.tile(0, 0, 0), { code: 'ERR_BUFFER_TOO_LARGE' })
  file.close()
})

t.test('any damage is an error or another tile, and never takes long', async (t) => {
  const { z, x, y } = AT.get(12)!
  const byte = fc.integer({ min: 0, max: 255 })
  const place = fc.integer({ min: 0, max: good.length - 1 })
  let opened = 0
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(place, byte), { minLength: 1, maxLength: 8 }), async (changes) => {
      const copy = Buffer.from(good)
      for (const [at, value] of changes) copy[at] = value
      try {
        const file = await TileFile.open(written('damaged.pmtiles', copy))
        try {
          await file.facts()
          await file.tile(z, x, y)
          opened++
        } finally {
          file.close()
        }
      } catch (error) {
        if (!(error instanceof Error) || error.message === '') throw error
      }
    }),
    { numRuns, interruptAfterTimeLimit: 60_000, markInterruptAsFailure: true },
  )
  t.ok(opened > 0, 'some damage is not seen')
})

t.test('a file that changes or goes away: noticed, told, and shown again', async (t) => {
  const path = written('changing.pmtiles', { tiles: TILES, metadata: METADATA })
  const clock = new ManualClock()
  const files = new TileFiles({
    paths: [path],
    facts: async (of) => {
      const file = await TileFile.open(of)
      return file.facts().finally(() => file.close())
    },
    clock,
    logger: pino({ level: 'silent' }),
  })
  let changes = 0
  files.onChange(() => changes++)
  await files.start()
  const version = files.shown[0]!.version
  const around = () => files.around(AT.get(14)!).length
  t.equal(around(), 1)
  t.equal(files.around({ z: 17, x: 0, y: 0 }).length, 0, 'too far beyond its largest zoom')
  t.equal(files.around({ z: 9, x: 268, y: 179 }).length, 0, 'below its lowest zoom')

  writeFileSync(`${path}.new`, tileFileBytes({ tiles: TILES, metadata: { attribution: 'New' } }))
  renameSync(`${path}.new`, path)
  clock.advance(29_000)
  around()
  await files.look()
  t.not(files.shown[0]!.version, version)
  t.strictSame(files.shown[0]!.credits, ['New'])
  truncateSync(path, 100)
  await files.look()
  t.match(files.condition, /^file 1 of mapFiles is a damaged PMTiles file: .*; it is not shown$/)
  t.equal(around(), 0)
  rmSync(path)
  await files.look()
  t.match(files.condition, /^file 1 of mapFiles cannot be read: .*; it is not shown$/)
  t.notMatch(files.condition, folder)
  written('changing.pmtiles', { tiles: TILES, metadata: METADATA })
  const before = changes
  clock.advance(31_000)
  t.equal(around(), 0, 'it is looked at behind the question')
  await files.look()
  t.equal(around(), 1)
  t.equal(changes, before + 1)
})

t.test('a start with a file that cannot be shown is refused with its name and the reason', async (t) => {
  for (const [path, message] of [
    [
      written('page.pmtiles', Buffer.from('not found')),
      /option mapFiles: .*page\.pmtiles is not a PMTiles file/,
    ],
    [join(folder, 'missing.pmtiles'), /option mapFiles: .*missing\.pmtiles cannot be read: /],
  ] as const)
    await t.rejects(startServer(t, { env: { RINGFENCE_MAP_FILES: path } }), { message })
})

t.test('a file that is overwritten under a running server is told, and then not shown', async (t) => {
  const path = written('overwritten.pmtiles', { tiles: TILES, metadata: METADATA })
  const other = await startServer(t, { env: { RINGFENCE_MAP_FILES: path } })
  const ask = async (z: number) => {
    const url = `${other.url}/v1/maps/tiles/${addressAt(z)}.mvt`
    const answer = await fetch(url, { headers: { authorization: KEYS.testPublishable } })
    return { status: answer.status, bytes: new Uint8Array(await answer.arrayBuffer()) }
  }
  t.equal(nameIn((await ask(14)).bytes), 'zoom 14')
  writeFileSync(path, Buffer.alloc(good.length, 7))
  const broken = await ask(12)
  t.equal(broken.status, 503)
  t.match(JSON.parse(new TextDecoder().decode(broken.bytes)).meta.message, /mapFiles has changed/)
  const { status, bytes } = await ask(12)
  t.equal(status, 200)
  t.equal(nameIn(bytes), undefined)
  const { body } = await other.api('GET', '/readyz')
  t.match(
    body.checks.find(({ name }: { name: string }) => name === 'map files'),
    { detail: 'file 1 of mapFiles is not a PMTiles file; it is not shown' },
  )
  t.match(other.output, /overwritten\.pmtiles/)
})
