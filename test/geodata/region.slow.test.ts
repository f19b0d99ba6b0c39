import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { memoryShortage } from '../../src/geo/extract/importNeeds.ts'
import {
  readManifest,
  readRecord,
  mapRegionsFolder,
  writeManifest,
} from '../../src/geo/extract/mapRegionFiles.ts'
import { writeOsmPbf } from '../../src/geo/extract/osmPbfWriter.ts'
import { MapRegionStore } from '../../src/geo/extract/mapRegionStore.ts'
import type { Position } from '../../src/model/geofence.ts'
import { lockStore } from '../../src/log/store.ts'
import { createLogger } from '../../src/runtime/logger.ts'
import { ValhallaProcess } from '../../src/geo/routing/valhallaProcess.ts'
import { SimulatedTime } from '../kit/simulatedTime.ts'
import { until } from '../kit/waiting.ts'
import { startServer } from '../kit/server.ts'
import { LONDON, QUEENS, region, temporaryFolder, writeStreets } from './kit.ts'

const logger = createLogger('silent')

t.test('regions are imported, listed, put first and removed while a server uses them', async (t) => {
  const folder = temporaryFolder(t)
  const queens = join(folder, 'Queens Village.osm.pbf')
  const london = join(folder, 'london-latest.osm.pbf')
  writeStreets(queens, QUEENS)
  writeStreets(london, LONDON)
  const server = await startServer(t)
  const data = ['--data', server.data]
  const served = async (): Promise<string> => {
    const { body } = await server.api('GET', '/readyz')
    return body.checks.find(({ name }: { name: string }) => name === 'regions').detail
  }
  t.match(await region('list', ...data), { code: 0, output: /^There are no regions\./ })
  t.equal(await served(), 'none')

  const first = await region('import', queens, ...data, '--threads', '1')
  t.equal(first.code, 0, first.output)
  t.match(first.output, /^(?:reading the extract \d+ %\n)+(?:building routing tiles \d+ %\n)+/)
  t.match(first.output, /The region queens-village is ready. A running server uses it within a second:/)
  await until(async () => (await served()) === 'queens-village')
  t.match(await region('import', london, '--name=London town', ...data), { code: 0 })
  await until(async () => (await served()) === 'london-town, queens-village')

  const { output: list } = await region('list', ...data)
  t.match(
    list,
    /^london-town: 16 roads, latitude 51\.5000 to 51\.5140, longitude -0\.1000 to -0\.0860\n {4}london-latest\.osm\.pbf, 0\.0 MB, data of 2026-01-02; imported [\d-]+, 0\.\d MB on the disk\n {4}© OpenStreetMap contributors, ODbL 1\.0, .*\nqueens-village: /,
  )
  t.match(await region('use', 'queens-village', ...data), { code: 0 })
  await until(async () => (await served()) === 'queens-village, london-town')

  t.test('driving side, country and time zone are right', async (t) => {
    const builds = readManifest(mapRegionsFolder(server.data)).regions
    const tiles = (name: string): string =>
      join(mapRegionsFolder(server.data), builds.find((one) => one.name === name)!.folder, 'routing', 'tiles')
    t.strictSame(await facts(tiles('queens-village'), QUEENS), ['right', 'US', 'America/New_York'])
    t.strictSame(await facts(tiles('london-town'), LONDON), ['left', 'GB', 'Europe/London'])
  })

  // A second import replaces the region, in a new folder, and the server keeps the old folder for a while.
  const before = readManifest(mapRegionsFolder(server.data))
  writeStreets(london, [LONDON[0] - 0.001, LONDON[1]])
  t.match(await region('import', london, '--name', 'london-town', ...data), { code: 0 })
  const after = readManifest(mapRegionsFolder(server.data))
  t.strictSame(
    after.regions.map(({ name }) => name),
    ['queens-village', 'london-town'],
  )
  t.not(after.regions[1]!.folder, before.regions[1]!.folder)
  t.ok(
    existsSync(join(mapRegionsFolder(server.data), before.regions[1]!.folder)),
    'in use until the server lets go',
  )
  t.match(readRecord(join(mapRegionsFolder(server.data), after.regions[1]!.folder)), {
    name: 'london-town',
    roads: 16,
    nodes: 64,
    bounds: [-0.101, 51.5, -0.087, 51.514],
    sources: [
      {
        file: 'london-latest.osm.pbf',
        bytes: statSync(london).size,
        dataOf: '2026-01-02T00:00:00.000Z',
      },
    ],
    stages: { routing: { engine: /^@valhallajs\/valhallajs \d/ } },
  })
  await server.stop()
  await server.restart()
  const names = readdirSync(mapRegionsFolder(server.data)).sort()
  const builds = after.regions.map((one) => one.folder)
  t.strictSame(names, [...builds, 'lock', 'regions.json'].sort(), 'what was left is gone at the next start')

  t.match(await region('remove', 'london-town', ...data), {
    code: 0,
    output: 'The region london-town has been removed.\n',
  })
  await until(async () => (await served()) === 'queens-village')
  await server.stop()
  t.match(await region('remove', 'queens-village', ...data), { code: 0 })
  t.strictSame(readdirSync(mapRegionsFolder(server.data)).sort(), ['lock', 'regions.json'])
})

t.test('a refused command gives a clear message and leaves nothing behind', async (t) => {
  const folder = temporaryFolder(t)
  const data = join(folder, 'data')
  const streets = join(folder, 'streets.osm.pbf')
  writeStreets(streets, QUEENS)
  const bad = join(folder, 'bad.osm.pbf')
  writeFileSync(bad, readFileSync(streets).subarray(0, -10))
  mkdirSync(join(folder, 'a-folder'))
  const corner = [1, 2].map((id) => ({ id, longitude: id / 1000, latitude: 47, tags: {} }))
  const road = { id: 1, nodes: [1, 2], tags: { highway: 'residential' } }
  const unsorted = join(folder, 'unsorted.osm.pbf')
  writeOsmPbf(unsorted, { nodes: corner.toReversed(), ways: [road], relations: [] })
  const planned = join(folder, 'planned.osm.pbf')
  writeOsmPbf(planned, {
    nodes: corner,
    ways: [{ ...road, tags: { highway: 'proposed' } }],
    relations: [],
  })
  const wordy = join(folder, 'wordy.osm.pbf')
  writeOsmPbf(wordy, {
    nodes: corner,
    ways: [{ ...road, tags: { highway: 'residential', name: 'x'.repeat(2000) } }],
    relations: [],
  })
  const refusals: readonly (readonly [code: number, sentence: RegExp, ...args: string[]])[] = [
    [
      1,
      /absent\.osm\.pbf cannot be read: there is no such file or folder\./,
      'import',
      join(folder, 'absent.osm.pbf'),
    ],
    [1, /a-folder is not a file\./, 'import', join(folder, 'a-folder')],
    [1, /bad\.osm\.pbf is incomplete: it ends in the middle\./, 'import', bad],
    [1, /kit\.ts is not an OpenStreetMap PBF file\./, 'import', join(import.meta.dirname, 'kit.ts')],
    [1, /^(?!.*SIG).*unsorted\.osm\.pbf is not sorted by type and id\./ms, 'import', unsorted],
    [1, /^(?!.*SIG).*planned\.osm\.pbf has no roads that the routing engine can use/ms, 'import', planned],
    [
      1,
      /^(?!.*SIG).*The region is without way \d+, .*: it has a text of more than 1,024 bytes\..*wordy\.osm\.pbf has no roads/ms,
      'import',
      wordy,
    ],
    [1, /There is no region nowhere\./, 'use', 'nowhere'],
    [1, /There is no region \.\.\/\.\.\./, 'remove', '../..'],
    [2, /must contain a letter or a digit/, 'import', streets, '--name', '../..'],
    [2, /--name needs a value/, 'import', streets, '--name'],
    [2, /--threads must be a number/, 'import', streets, '--threads', 'many'],
    [2, /--name belongs to the commands import and add-addresses/, 'list', '--name', 'x'],
    [2, /unknown option --fast/, 'import', streets, '--fast'],
    [2, /import needs an argument: import FILE\.osm\.pbf\./, 'import'],
    [2, /import does not accept the argument "b\.pbf"\./, 'import', streets, 'b.pbf'],
    [2, /list does not accept the argument "now"\./, 'list', 'now'],
    [2, /Unknown command: imprt\./, 'imprt', streets],
    [2, /Give a command/],
  ]
  const said = await Promise.all(
    refusals.map(([, , ...args]) => region(...args, '--data', join(data, String(Math.random())))),
  )
  for (const [i, [code, sentence]] of refusals.entries()) t.match(said[i], { code, output: sentence })
  for (const one of said) t.notMatch(one.output, /\n {4}at /, 'no stack')
  for (const name of existsSync(data) ? readdirSync(data) : [])
    t.strictSame(
      readdirSync(join(data, name), { recursive: true }).filter((one) => !String(one).endsWith('lock')),
      ['regions'],
    )
  t.match(await region('--help'), { code: 0, output: /^Usage: npm run region/ })

  t.test('one at a time', async (t) => {
    mkdirSync(mapRegionsFolder(data), { recursive: true })
    const release = lockStore(mapRegionsFolder(data))
    t.match(await region('import', streets, '--data', data), {
      code: 1,
      output: /Another import or command is already working on /,
    })
    t.match(await region('list', '--data', data), { code: 0 })
    release()
  })

  t.test('files of a later version', async (t) => {
    writeFileSync(join(mapRegionsFolder(data), 'regions.json'), '{"format":2}')
    t.match(await region('list', '--data', data), {
      code: 1,
      output: /has format 2; this version reads format 1\.\n$/,
    })
    writeFileSync(join(mapRegionsFolder(data), 'regions.json'), '{"for')
    t.match(await region('use', 'x', '--data', data), { code: 1, output: /regions\.json is damaged: / })
    // Removing a region deletes its folder, so a folder that is not one of ours must be refused.
    for (const regions of [
      undefined,
      [null],
      [{ name: 'x' }],
      [{ name: 'x', folder: '../../mine-12345678' }],
    ]) {
      writeFileSync(join(mapRegionsFolder(data), 'regions.json'), JSON.stringify({ format: 1, regions }))
      t.throws(() => readManifest(mapRegionsFolder(data)), {
        name: 'MapRegionsRefused',
        message: /is damaged: /,
      })
    }
  })
})

t.test('the view of a server', async (t) => {
  const folder = temporaryFolder(t)
  const extract = join(folder, 'city.osm.pbf')
  writeStreets(extract, QUEENS)
  const time = new SimulatedTime()
  const store = new MapRegionStore({
    dataFolder: folder,
    lock: lockStore,
    coming: () => 'Soon.',
    time,
    logger,
  })
  t.teardown(() => store.stop())
  const regions = mapRegionsFolder(folder)
  let changes = 0
  await store.start()
  store.onChange(() => changes++)
  const origin = [{ param: 'origin', position: [QUEENS[0] + 0.005, QUEENS[1] + 0.005] as Position }]
  t.throws(() => store.containing(origin), { code: 503, message: 'Soon.' })

  t.match(await region('import', extract, '--data', folder), { code: 0 })
  await time.runUntil(time.now() + 1000)
  await until(() => changes >= 1)
  const [city] = store.all
  t.equal(store.containing(origin), city)
  t.equal(store.at([0, 0]), undefined)
  t.match(city, { name: 'city', attribution: '© OpenStreetMap contributors', bounds: [QUEENS[0], QUEENS[1]] })
  t.ok(existsSync(city!.tiles!))
  await store.look()
  t.equal(changes, 1, 'nothing has changed')

  // An unreadable build is not used, and the current one stays in use.
  const manifest = readManifest(regions)
  writeFileSync(join(regions, 'regions.json'), '{')
  await store.look()
  t.equal(store.all[0], city)
  rmSync(join(regions, 'regions.json'))
  writeManifest(regions, manifest)
  await store.look()
  t.equal(store.all[0], city, 'the same object as long as it is the same build')

  // A build whose folder is missing: in place of the current one, in addition to it, and at a start.
  const gone = { name: 'gone', folder: 'gone-12345678' }
  writeManifest(regions, { format: 1, regions: [{ ...gone, name: 'city' }] })
  await store.look()
  t.equal(store.all[0], city)
  writeManifest(regions, { format: 1, regions: [gone, ...manifest.regions] })
  await store.look()
  t.strictSame(store.all, [city])
  const other = new MapRegionStore({ dataFolder: folder, lock: lockStore, coming: () => '', time, logger })
  t.match(other.all, [{ name: 'city' }])

  writeManifest(regions, { format: 1, regions: [] })
  await store.look()
  t.strictSame(store.all, [])
  await time.runUntil(time.now() + 59_000)
  t.ok(existsSync(city!.tiles!), 'kept for those who use it')
  await time.runUntil(time.now() + 2000)
  await until(() => !existsSync(dirname(dirname(city!.tiles!))))
})

/** Driving side, country and time zone, as the routing engine reads them from the tiles. */
async function facts(tiles: string, [west, south]: Position): Promise<unknown[]> {
  const engine = new ValhallaProcess({
    tiles,
    name: 'test',
    threads: 1,
    timeoutMs: 300_000,
    memoryBytes: 256 << 20,
    maxWaiting: 10,
    logger,
    ended() {},
  })
  const ask = async (action: 'route' | 'locate', request: object): Promise<never> =>
    JSON.parse((await engine.call(action, JSON.stringify(request))).toString()) as never
  try {
    const at = (column: number, row: number) => ({ lon: west + column * 0.002, lat: south + row * 0.002 })
    const route: { routes: { legs: { steps: { driving_side: string }[] }[] }[] } = await ask('route', {
      locations: [at(0, 0), at(5, 5)],
      costing: 'auto',
      format: 'osrm',
    })
    const located: { nodes: { administrative: Record<string, string> }[] }[] = await ask('locate', {
      locations: [{ ...at(3, 3), node_snap_tolerance: 50 }],
      costing: 'auto',
      verbose: true,
    })
    const { administrative } = located[0]!.nodes[0]!
    return [
      route.routes[0]!.legs[0]!.steps[0]!.driving_side,
      administrative['iso_3166-1'],
      administrative['time_zone_name'],
    ]
  } finally {
    await engine.stop()
  }
}

t.test('an import on a machine with too little memory is refused before it begins', async (t) => {
  t.equal(memoryShortage(50e6, 2, 1e9), undefined)
  t.equal(
    memoryShortage(50e6, 2, 400e6),
    'This import may take up to 510 MB of memory, but only 400 MB are available: the system may end it. --threads 1 needs the least.',
  )
  t.notMatch(memoryShortage(50e6, 1, 300e6), /threads/)
})
