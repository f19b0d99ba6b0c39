/**
 * What maps take: their disk by layer; how long a tile takes that nobody has asked for yet, and how large it is; tiles
 * of 100,000 geofences; and what people who sign in cost tracking.
 *
 * The sample region is measured, and the extracts that are named. Tiles are asked for one after the other, over HTTP,
 * each once.
 */
import { execFileSync } from 'node:child_process'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import {
  mapIn,
  mapRegionsFolder,
  readManifest,
  readRecord,
  stageFolder,
} from '../src/geo/extract/mapRegionFiles.ts'
import { seededRandom } from '../src/simulation/streets.ts'
import { addSample } from '../test/kit/sampleRegion.ts'
import { tileAt } from '../test/maps/kit.ts'
import { quantile, rounded, thousands } from './figures.ts'
import { benchFolder } from './folder.ts'
import { loadGenerator, type Generator } from './load/load.ts'
import { mapDisk } from './load/mapDisk.ts'
import { BENCH_KEYS, seedGeofences, startRingfence, type ServerProcess } from './load/servers.ts'
import { signedInBeside } from './load/signIns.ts'
import { drawGeofences, regionOf, writeWorkload, type Workload } from './load/workload.ts'
import { cityPosition } from '../src/simulation/streets.ts'
import { done, progress } from './progress.ts'

const STATED = {
  tileP50Ms: 10,
  tileP99Ms: 50,
  tileBytes: 60_000,
  geofenceTileP50Ms: 15,
  signInP99Ms: 5,
  diskShare: 0.4,
} as const
const TOLERANCE = 0.1
const TILE_ZOOM = 14
const GEOFENCE_ZOOMS = [10, 12, 14] as const
/** Less is an empty tile. */
const LEAST_BYTES = 200

const { values: options } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    strict: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
    /** Extracts to import besides the sample, separated by commas. */
    extracts: { type: 'string', default: '' },
    /** Only this is measured, and nothing is stored: `geofences` or `sign-ins`. */
    only: { type: 'string' },
  },
})
const seed = Number(options.seed)
const size = options.smoke
  ? { geofences: 1_000, tiles: 20, geofenceTiles: 10, devices: 300, rate: 200, seconds: 2, windows: 1 }
  : {
      geofences: 100_000,
      tiles: Infinity,
      geofenceTiles: 300,
      devices: 10_000,
      rate: 2_000,
      seconds: 10,
      windows: 5,
    }

interface Row {
  readonly figure: string
  readonly stated: string
  readonly measured: number
  readonly isMissed: boolean
}

const rows: Row[] = []
const details: Record<string, unknown> = {}

function stated(figure: string, most: number, measured: number, digits: number): void {
  const isMissed = measured > most * (1 + TOLERANCE)
  rows.push({
    figure,
    stated: `≤ ${thousands(most) === '0' ? most : thousands(most)}`,
    measured: rounded(measured, digits),
    isMissed,
  })
}

/** Imports what is measured into the data folder. @returns the regions, with their map files */
async function importRegions(data: string) {
  await addSample(data)
  for (const path of options.extracts.split(',').filter((one) => one !== '')) {
    progress(`importing ${basename(path)}`)
    const command = [join(import.meta.dirname, '../src/region.ts'), 'import', path, '--data', data]
    execFileSync(process.execPath, command, { stdio: ['ignore', 'ignore', 'inherit'] })
  }
  const folder = mapRegionsFolder(data)
  return readManifest(folder).regions.flatMap(({ folder: build }) => {
    const record = readRecord(join(folder, build))
    if (record.stages.map === undefined) return []
    return [{ record, file: mapIn(stageFolder(join(folder, build), 'map')) }]
  })
}

type MeasuredRegion = Awaited<ReturnType<typeof importRegions>>[number]

function measureDisk({ record, file }: MeasuredRegion): void {
  const { fileBytes, levels, layers } = mapDisk(file)
  const extractBytes = record.sources.reduce((sum, { bytes }) => sum + bytes, 0)
  stated(`disk of the map of ${record.name}, of its extract`, STATED.diskShare, fileBytes / extractBytes, 3)
  details[record.name] = { extractBytes, fileBytes, levels, layers }
}

/** Tiles of a region, each asked for the first time. */
async function measureTiles(server: ServerProcess, { record }: MeasuredRegion): Promise<void> {
  const [west, south, east, north] = record.bounds
  const [first, last] = [tileAt([west, north], TILE_ZOOM), tileAt([east, south], TILE_ZOOM)]
  const paths: string[] = []
  for (let x = first.x; x <= last.x; x++)
    for (let y = first.y; y <= last.y; y++) paths.push(`/v1/maps/tiles/${TILE_ZOOM}/${x}/${y}.mvt`)
  const {
    times,
    largest,
    first: firstMs,
  } = await ask(server, shuffled(paths).slice(0, size.tiles), BENCH_KEYS.testPublishable)
  stated(`${record.name}: tile of zoom ${TILE_ZOOM}, p50, ms`, STATED.tileP50Ms, quantile(times, 0.5), 2)
  stated(`${record.name}: the same, p99, ms`, STATED.tileP99Ms, quantile(times, 0.99), 2)
  stated(`${record.name}: the largest, bytes`, STATED.tileBytes, largest, 0)
  if (details['firstTileMs'] === undefined) details['firstTileMs'] = rounded(firstMs, 1)
  done(`${times.length} tiles of ${record.name}`)
}

/** Square degrees, which only order the regions. */
function areaOf({ record: { bounds } }: MeasuredRegion): number {
  const [west, south, east, north] = bounds
  return (east - west) * (north - south)
}

async function measureGeofenceTiles(server: ServerProcess): Promise<void> {
  const region = regionOf(size.geofences)
  const random = seededRandom(seed)
  for (const zoom of GEOFENCE_ZOOMS) {
    const paths = Array.from({ length: size.geofenceTiles }, () => {
      const at = cityPosition(region, random() * region.sizeMeters, random() * region.sizeMeters)
      const { z, x, y } = tileAt([at.longitude, at.latitude], zoom)
      return `/v1/geofences/tiles/${z}/${x}/${y}.mvt`
    })
    const { times } = await ask(server, [...new Set(paths)], BENCH_KEYS.testSecret)
    const figure = `tile of ${thousands(size.geofences)} geofences, zoom ${zoom}, p50, ms`
    stated(figure, STATED.geofenceTileP50Ms, quantile(times, 0.5), 2)
  }
}

/** @returns milliseconds of those that show something, ascending and of the first, and the bytes of the largest as it is sent */
async function ask(server: ServerProcess, paths: readonly string[], key: string) {
  const times: number[] = []
  let largest = 0
  for (const [i, path] of paths.entries()) {
    if (i % 50 === 0) progress(`${path}, ${i} of ${paths.length}`)
    const begin = performance.now()
    const answer = await fetch(`http://127.0.0.1:${server.port}${path}`, { headers: { authorization: key } })
    const bytes = new Uint8Array(await answer.arrayBuffer())
    const took = performance.now() - begin
    if (answer.status !== 200) throw new Error(`${path} was answered ${answer.status}`)
    if (bytes.length < LEAST_BYTES) continue
    times.push(took)
    largest = Math.max(largest, Number(answer.headers.get('content-length') ?? bytes.length))
  }
  const first = times[0]!
  return { times: times.sort((a, b) => a - b), largest, first }
}

function shuffled(paths: string[]): string[] {
  const random = seededRandom(seed)
  for (let i = paths.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    ;[paths[i], paths[j]] = [paths[j]!, paths[i]!]
  }
  return paths
}

async function measureSignIns({
  folder,
  ...parts
}: {
  readonly server: ServerProcess
  readonly folder: string
  readonly generator: Generator
  readonly workload: Workload
}): Promise<void> {
  progress('signing in')
  const signIns = await signedInBeside({ ...parts, data: join(folder, 'data'), ...size })
  stated(
    'p99 of tracks beside 1,000 sign-ins a minute, ms more',
    STATED.signInP99Ms,
    signIns.beside.p99 - signIns.alone.p99,
    2,
  )
  details['signIns'] = signIns
}

async function main(): Promise<number> {
  const folder = benchFolder('maps')
  const generator = await loadGenerator()
  const regions = options.only === undefined ? await importRegions(join(folder, 'data')) : []
  for (const region of regions) measureDisk(region)
  seedGeofences(folder, drawGeofences(size.geofences, seed), (stored) => progress(`geofences: ${stored}`))
  const workload = writeWorkload({
    geofences: size.geofences,
    devices: size.devices,
    seed,
    folder,
    publishableKey: BENCH_KEYS.testPublishable,
    onProgress: progress,
  })
  const server = await startRingfence(folder, { unpinned: true })
  // The outline of the world is made at the first start, and threads begin.
  while (
    (
      await fetch(`http://127.0.0.1:${server.port}/v1/maps/tiles/0/0/0.mvt`, {
        headers: { authorization: BENCH_KEYS.testPublishable },
      })
    ).status !== 200
  );
  // The largest first: a thread takes several times as long for its first tiles, until its code is compiled.
  for (const region of regions.toSorted((a, b) => areaOf(b) - areaOf(a))) await measureTiles(server, region)
  if (options.only !== 'sign-ins') await measureGeofenceTiles(server)
  if (options.only !== 'geofences') await measureSignIns({ server, folder, generator, workload })
  await server.stop()
  console.table(rows.map(({ isMissed, ...row }) => ({ ...row, reached: isMissed ? 'no' : 'yes' })))
  const shown = rows.map(({ isMissed, ...row }) => ({ ...row, reached: isMissed ? 'no' : 'yes' }))
  console.log(
    JSON.stringify({
      bench: 'maps',
      rows: shown,
      ...details,
      generator: generator.kind,
      seed,
      smoke: options.smoke,
      partial: options.only !== undefined,
    }),
  )
  return options.strict && rows.some(({ isMissed }) => isMissed) ? 1 : 0
}

process.exitCode = await main()
