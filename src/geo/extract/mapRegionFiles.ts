/**
 * The regions of a data folder, in its folder `regions`:
 *
 *     regions.json           which builds are served, in the order of precedence
 *     <name>-<8 hex>/        a build: never changed once it is served
 *       region.json          its source and attribution, and which stages are done by which version
 *       coverage.bin         where the extract has nodes
 *       routing/tiles/       of the stage "routing", unless the region has only addresses
 *       places/places.db     of the stage "places"
 *       map/map.db           of the stage "map", unless the region has only addresses
 *     <name>.building/       a build that is in progress or was interrupted
 *     lock                   held by the process that changes any of this
 *
 * A build is made durable before regions.json names it, and regions.json is replaced atomically. So a reader finds
 * only complete builds, also after a crash.
 */
import fs from 'node:fs'
import { dirname, join } from 'node:path'
import { Coverage } from './coverage.ts'
import type { BoundingBox } from './port.ts'

/** The files contain something that this version does not know; nothing was changed. */
export class MapRegionsRefused extends Error {
  override name = 'MapRegionsRefused'
}

/** The contents of a build's region.json. */
export interface MapRegionRecord {
  readonly format: 1
  readonly name: string
  readonly bounds: BoundingBox
  /** How many nodes the extract has. For a region of addresses, it is the number of houses. */
  readonly nodes: number
  /** How many roads the extract has. For a region of addresses, it is the number of edges with number ranges. */
  readonly roads: number
  /** One extract, or one or more files of addresses. */
  readonly sources: readonly SourceRecord[]
  readonly attribution: string
  readonly licence: string
  /** In ISO 8601. */
  readonly importedAt: string
  readonly stages: { readonly [Stage in MapRegionStage]?: StageRecord }
}

/** A file that a map region was built from. */
export interface SourceRecord {
  /** The file's name without its folder. */
  readonly file: string
  /** The path that the file had. Records of earlier versions do not contain it. */
  readonly path?: string
  readonly bytes: number
  /** In hexadecimal. */
  readonly sha256: string
  /** When the data were taken from OpenStreetMap, in ISO 8601, if the file says so. */
  readonly dataOf?: string
}

/** The stages of a build, each in a folder of that name. */
export type MapRegionStage = 'routing' | 'places' | 'map'

export interface StageRecord {
  /** The program that made it, e.g. `@valhallajs/valhallajs 3.6.1`. */
  readonly engine: string
  readonly seconds: number
  readonly bytes: number
  /** What the chains of places were found with, e.g. `name-suggestion-index 8.0.20260918`. */
  readonly chains?: string
}

export interface MapRegionManifest {
  readonly format: 1
  /** The regions in the order of precedence. The folder is that of the build. */
  readonly regions: readonly { readonly name: string; readonly folder: string }[]
  /** Whether the sample was imported before, so that it is not built automatically again. */
  readonly sampleImported?: true
}

const NO_REGIONS: MapRegionManifest = { format: 1, regions: [] }
const BUILD_NAME = /^[a-z0-9][a-z0-9._-]*-[0-9a-f]{8}$/
const UNFINISHED = '.building'
const MEMBERS = 'members.bin'

/** The folder of all map regions of a data folder. */
export function mapRegionsFolder(dataFolder: string): string {
  return join(dataFolder, 'regions')
}

export function manifestPath(folder: string): string {
  return join(folder, 'regions.json')
}

/**
 * Reads the manifest. If it does not exist, there are no map regions.
 * @throws {MapRegionsRefused} and the system's other errors
 */
export function readManifest(folder: string): MapRegionManifest {
  const path = manifestPath(folder)
  if (!fs.existsSync(path)) return NO_REGIONS
  const manifest = readJson(path) as MapRegionManifest
  const regions: unknown = manifest.regions
  // Builds are deleted by this program, so a folder elsewhere must not be accepted.
  const isBuild = (region: { readonly name?: unknown; readonly folder?: unknown } | null): boolean =>
    typeof region?.name === 'string' && typeof region.folder === 'string' && BUILD_NAME.test(region.folder)
  if (!Array.isArray(regions) || !regions.every(isBuild))
    throw new MapRegionsRefused(
      `${path} is damaged: each of its regions must have a name and the folder of a build.`,
    )
  return manifest
}

/** Writes the manifest. It is durable when this returns. */
export function writeManifest(folder: string, manifest: MapRegionManifest): void {
  replaceFile(manifestPath(folder), `${JSON.stringify(manifest, null, 2)}\n`)
}

/**
 * Reads a build's record.
 * @param build the folder of the build
 * @throws {MapRegionsRefused} and the system's errors
 */
export function readRecord(build: string): MapRegionRecord {
  const { source, ...record } = readJson(join(build, 'region.json')) as MapRegionRecord & {
    source?: SourceRecord
  }
  // The records of earlier versions had a single file.
  return source === undefined ? record : { ...record, sources: [source] }
}

export function writeRecord(build: string, record: MapRegionRecord): void {
  fs.writeFileSync(join(build, 'region.json'), `${JSON.stringify(record, null, 2)}\n`)
}

export function readCoverage(build: string): Coverage {
  return Coverage.fromBytes(fs.readFileSync(join(build, 'coverage.bin')))
}

export function writeCoverage(build: string, coverage: Coverage): void {
  fs.writeFileSync(join(build, 'coverage.bin'), coverage.toBytes())
}

/** The ids of the ways that areas consist of, for a build in progress; see ExtractFacts. */
export function readMembers(build: string): Float64Array {
  return new Float64Array(Uint8Array.from(fs.readFileSync(join(build, MEMBERS))).buffer)
}

export function writeMembers(build: string, members: Float64Array): void {
  fs.writeFileSync(join(build, MEMBERS), members)
}

export function removeMembers(build: string): void {
  fs.rmSync(join(build, MEMBERS))
}

/** The folder of a build's stage. */
export function stageFolder(build: string, stage: MapRegionStage): string {
  return join(build, stage)
}

/** The folder in which the build of that name is made. */
export function unfinishedBuild(folder: string, name: string): string {
  return join(folder, name + UNFINISHED)
}

/** Names of map regions whose build is in progress or was interrupted. */
export function unfinishedNames(folder: string): string[] {
  const names = fs.readdirSync(folder).filter((name) => name.endsWith(UNFINISHED))
  return names.map((name) => name.slice(0, -UNFINISHED.length)).sort()
}

/**
 * Removes builds that are not in the manifest because of a crash, or because their map region was removed. The caller
 * must hold the lock, and no server may use one of them.
 */
export async function sweepBuilds(folder: string): Promise<void> {
  const served = new Set(readManifest(folder).regions.map((region) => region.folder))
  for (const name of fs.readdirSync(folder))
    if (BUILD_NAME.test(name) && !served.has(name))
      await fs.promises.rm(join(folder, name), { recursive: true, force: true })
}

/**
 * Gives a new folder the files of another one, which are never changed. They become links, or copies if the file
 * system has no links.
 */
export function linkTree(from: string, to: string): void {
  fs.mkdirSync(to, { recursive: true })
  for (const entry of fs.readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) linkTree(source, target)
    else {
      try {
        fs.linkSync(source, target)
      } catch {
        fs.copyFileSync(source, target)
      }
    }
  }
}

/** Flushes all files below the folder, and their names. */
export function syncTree(folder: string): void {
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) syncTree(path)
    else sync(path)
  }
  sync(folder)
}

/** Moves a finished build to the folder that the manifest will name. It is durable when this returns. */
export function finishBuild(from: string, to: string): void {
  syncTree(from)
  fs.renameSync(from, to)
  sync(dirname(to))
}

/** The size of all files below the folder in bytes. */
export function sizeOfTree(folder: string): number {
  let bytes = 0
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    bytes += entry.isDirectory() ? sizeOfTree(path) : fs.statSync(path).size
  }
  return bytes
}

function readJson(path: string): object {
  let found: { readonly format?: unknown } | null
  try {
    found = JSON.parse(fs.readFileSync(path, 'utf8')) as { format?: unknown } | null
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause
    throw new MapRegionsRefused(`${path} is damaged: ${cause.message}`, { cause })
  }
  if (found?.format === 1) return found
  throw new MapRegionsRefused(`${path} has format ${String(found?.format)}; this version reads format 1.`)
}

function replaceFile(path: string, text: string): void {
  fs.writeFileSync(`${path}.tmp`, text)
  sync(`${path}.tmp`)
  fs.renameSync(`${path}.tmp`, path)
  sync(dirname(path))
}

function sync(path: string): void {
  const descriptor = fs.openSync(path, 'r')
  try {
    fs.fsyncSync(descriptor)
  } finally {
    fs.closeSync(descriptor)
  }
}

/** The tiles' folder in the folder of the routing stage. */
export function tilesIn(folder: string): string {
  return join(folder, 'tiles')
}

/** The place database in the folder of the places stage. */
export function placesIn(folder: string): string {
  return join(folder, 'places.db')
}

/** The map file in the folder of the map stage. */
export function mapIn(folder: string): string {
  return join(folder, 'map.db')
}

/** The progress of an import, as a line. */
export function importText(stage: string, share: number): string {
  return `${stage} ${Math.floor(share * 100)} %`
}
