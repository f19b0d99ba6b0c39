/**
 * Builds a map region from an extract, stage by stage, in a folder beside those that are served, and then puts it
 * into service.
 *
 * Invariants
 * - IMPORT-1: Nothing that is served changes before the new build is complete and durable. Then the manifest is
 *   replaced at once.
 * - IMPORT-2: If an import is killed at any moment, the next import of the same file under the same name continues
 *   after the last completed stage. With another file it starts anew.
 * - IMPORT-3: An extract that cannot be imported leaves nothing behind.
 */
import fs from 'node:fs'
import { basename, join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { OSM_CREDIT } from '../../model/credits.ts'
import { systemReason } from '../../runtime/errors.ts'
import { chainSource } from './chainFiles.ts'
import { readExtract } from './extractReader.ts'
import { isFull, tilesRoom } from './importNeeds.ts'
import { checkRoom, NoRoom, putIntoService } from './finishedBuild.ts'
import { ExtractRefused } from './osmPbfBlobs.ts'
import type { BoundingBox } from './port.ts'
import {
  readCoverage,
  linkTree,
  readMembers,
  readRecord,
  removeMembers,
  sizeOfTree,
  stageFolder,
  syncTree,
  unfinishedBuild,
  writeCoverage,
  writeMembers,
  writeRecord,
  type MapRegionRecord,
  type MapRegionStage,
  type StageRecord,
} from './mapRegionFiles.ts'
import { buildProducts, isCurrent, PRODUCT_ENGINES, PRODUCTS } from './products.ts'
import { buildTiles } from './routingTiles.ts'
import { timeZoneAt } from './timeZones.ts'
import { valhallaVersion } from './valhallaTools.ts'

/** The stages as they are reported, in order. */
export type ImportStage =
  | 'reading the extract'
  | 'reading the addresses'
  | 'building routing tiles'
  | 'building the place database'
  | 'building the place database and the map'

/** Called with the progress of a stage, from 0 to 1. */
export type ImportProgress = (stage: ImportStage, share: number) => void

export interface MapRegionImport {
  /**
   * The folder of all map regions. It is an absolute path, because tools run in their own folders. It exists, and its
   * lock is held.
   */
  readonly folder: string
  /** The path of the extract, which is also absolute. */
  readonly path: string
  /** The name; see mapRegionName. */
  readonly name: string
  /** The folder of the build that is updated. Those of its products that are of this version are kept. */
  readonly earlier?: string
  /** How many threads the routing engine's builder uses. */
  readonly threads: number
  /** Whether the map region is the sample, which is built once, automatically. */
  readonly isSample: boolean
  /** Returns the time in epoch milliseconds. */
  readonly now: () => number
  readonly signal: AbortSignal
  readonly onProgress: ImportProgress
  /** Called with a sentence for each part of the extract that the map region lacks. */
  readonly onNote: (sentence: string) => void
}

/** The facts about an extract once it has been read: progress.json, beside the results of the stages. */
interface Progress {
  readonly format: 2
  /** The file at that time. If it is another one now, everything is built from the beginning. */
  readonly source: { readonly path: string; readonly bytes: number; readonly modifiedAt: number }
  readonly engine: string
  readonly facts: {
    readonly sha256: string
    readonly bounds: BoundingBox
    readonly nodes: number
    readonly roads: number
    readonly dataOf?: string
  }
  readonly routing?: StageRecord
  readonly places?: StageRecord
  readonly map?: StageRecord
}

const LICENCE = 'ODbL 1.0, https://www.openstreetmap.org/copyright'
/** The room on the disk that a build needs, as far as it depends on the size of the extract. */
export const ROOM_PER_BYTE = 6

/**
 * Imports the extract. A map region of that name is replaced and keeps its precedence. A new one comes before all
 * others.
 * @throws {ExtractRefused} {@link NoRoom}, ValhallaMissing, ToolFailed, the signal's reason (what is done is then kept
 * for the next attempt) and the system's errors
 */
export async function importMapRegion(job: MapRegionImport): Promise<MapRegionRecord> {
  const { folder, path, name, signal, now } = job
  const build = unfinishedBuild(folder, name)
  const source = sourceAt(path)
  checkRoom(folder, source.bytes * ROOM_PER_BYTE)
  const engine = routingEngine()
  try {
    let progress = resume(build, source, engine)
    if (progress === undefined) {
      fs.rmSync(build, { recursive: true, force: true })
      fs.mkdirSync(build)
      progress = { format: 2, source, engine, facts: await readFacts(job, build) }
      writeProgress(build, progress)
    }
    if (job.earlier !== undefined) refuseOther(job, job.earlier, progress.facts.sha256)
    if (progress.routing === undefined) {
      checkRoom(folder, tilesRoom(progress.facts.roads))
      progress = { ...progress, ...(await buildStages(job, build, ['routing'], progress)) }
      writeProgress(build, progress)
    }
    const stages = progress
    const missing = PRODUCTS.filter((stage) => !isCurrent(stage, stages))
    if (missing.length > 0) {
      progress = { ...progress, ...(await buildStages(job, build, missing, progress)) }
      writeProgress(build, progress)
    }
    // The products are made without a pause, so what ends this process, or aborts the signal, is only noticed now: the
    // event loop asks the system between two turns.
    for (let turn = 0; turn < 2; turn++) await nextTurn()
    signal.throwIfAborted()
    const record: MapRegionRecord = {
      format: 1,
      name,
      bounds: progress.facts.bounds,
      nodes: progress.facts.nodes,
      roads: progress.facts.roads,
      sources: [{ file: basename(path), path, bytes: source.bytes, ...sourceFacts(progress) }],
      attribution: OSM_CREDIT,
      licence: LICENCE,
      importedAt: new Date(now()).toISOString(),
      stages: { routing: progress.routing!, places: progress.places!, map: progress.map! },
    }
    fs.rmSync(progressPath(build))
    removeMembers(build)
    writeRecord(build, record)
    putIntoService(folder, build, name, job.isSample)
    return record
  } catch (error) {
    if (!signal.aborted) fs.rmSync(build, { recursive: true, force: true })
    const hasNoRoom = (error as NodeJS.ErrnoException).code === 'ENOSPC' || isFull(folder)
    throw hasNoRoom ? new NoRoom(`${folder}: the disk is full.`, { cause: error }) : error
  }
}

/**
 * The version of the routing tiles.
 * @throws ValhallaMissing
 */
export function routingEngine(): string {
  return `@valhallajs/valhallajs ${valhallaVersion()}`
}

/**
 * Refuses another extract, because products of different extracts must not be mixed.
 * @throws {ExtractRefused}
 */
function refuseOther({ path, name }: MapRegionImport, earlier: string, sha256: string): void {
  if (readRecord(earlier).sources[0]!.sha256 === sha256) return
  throw new ExtractRefused(
    `${path} is another extract than that of the region ${name}. Import it to use the new data.`,
  )
}

/**
 * The facts about the file.
 * @throws {ExtractRefused} if it cannot be read
 */
function sourceAt(path: string): Progress['source'] {
  try {
    fs.accessSync(path, fs.constants.R_OK)
    const stats = fs.statSync(path)
    if (stats.isFile()) return { path: fs.realpathSync(path), bytes: stats.size, modifiedAt: stats.mtimeMs }
  } catch (cause) {
    throw new ExtractRefused(`${path} cannot be read: ${systemReason(cause)}.`, { cause })
  }
  throw new ExtractRefused(`${path} is not a file.`)
}

/**
 * The state that an interrupted import of the same file left. Undefined if there is none, or if it belongs to another
 * file or version.
 */
function resume(build: string, source: Progress['source'], engine: string): Progress | undefined {
  let found: Progress
  try {
    found = JSON.parse(fs.readFileSync(progressPath(build), 'utf8')) as Progress
  } catch {
    return undefined
  }
  const isSame =
    found.source.path === source.path &&
    found.source.bytes === source.bytes &&
    found.source.modifiedAt === source.modifiedAt
  return found.format === 2 && found.engine === engine && isSame ? found : undefined
}

async function readFacts(job: MapRegionImport, build: string): Promise<Progress['facts']> {
  const { path, signal, onProgress } = job
  const onRead = (share: number): void => onProgress('reading the extract', share)
  const { coverage, sha256, bounds, nodes, roads, members, dataOf } = await readExtract(path, onRead, signal)
  writeCoverage(build, coverage)
  writeMembers(build, members)
  const when = dataOf === undefined ? {} : { dataOf: new Date(dataOf).toISOString() }
  return { sha256, bounds, nodes, roads, ...when }
}

/**
 * Builds stages in their own folders, which get their names once they are complete. Stages of this version are taken
 * from the earlier build.
 */
async function buildStages(
  job: MapRegionImport,
  build: string,
  stages: readonly MapRegionStage[],
  progress: Progress,
): Promise<Partial<Record<MapRegionStage, StageRecord>>> {
  const began = job.now()
  for (const left of fs.readdirSync(build).filter((name) => stages.some((stage) => name.startsWith(stage))))
    fs.rmSync(join(build, left), { recursive: true })
  const records: Partial<Record<MapRegionStage, StageRecord>> = {}
  const folders: Partial<Record<MapRegionStage, string>> = {}
  for (const stage of stages) {
    // The stage is built in another folder, because processes of a killed import may still write for a moment.
    const folder = fs.mkdtempSync(join(build, `${stage}-`))
    const earlier = job.earlier === undefined ? {} : readRecord(job.earlier).stages
    const isKept =
      stage === 'routing' ? earlier.routing?.engine === progress.engine : isCurrent(stage, earlier)
    if (isKept && earlier[stage] !== undefined) {
      linkTree(stageFolder(job.earlier!, stage), folder)
      records[stage] = earlier[stage]
      fs.renameSync(folder, stageFolder(build, stage))
    } else folders[stage] = folder
  }
  const { routing, ...products } = folders
  if (routing !== undefined) await buildRouting(job, build, progress, routing)
  if (Object.keys(products).length > 0)
    await buildProducts({
      extract: job.path,
      members: readMembers(build),
      folders: products,
      signal: job.signal,
      onProgress: (share) => job.onProgress('building the place database and the map', share),
      onNote: job.onNote,
    })
  const seconds = Math.round((job.now() - began) / 100) / 10
  for (const [stage, folder] of Object.entries(folders) as [MapRegionStage, string][]) {
    const chains = stage === 'places' ? chainSource() : undefined
    records[stage] = {
      engine: stage === 'routing' ? progress.engine : PRODUCT_ENGINES[stage],
      seconds,
      bytes: sizeOfTree(folder),
      ...(chains !== undefined && { chains }),
    }
    fs.renameSync(folder, stageFolder(build, stage))
  }
  return records
}

async function buildRouting(
  { path: extract, threads, signal, onProgress, onNote }: MapRegionImport,
  build: string,
  { facts: { bounds } }: Progress,
  folder: string,
): Promise<void> {
  await buildTiles({
    extract,
    facts: { bounds, coverage: readCoverage(build), zoneAt: timeZoneAt },
    folder,
    threads,
    signal,
    onProgress: (share) => onProgress('building routing tiles', share),
    onNote,
  })
}

function sourceFacts({ facts: { sha256, dataOf } }: Progress): { sha256: string; dataOf?: string } {
  return dataOf === undefined ? { sha256 } : { sha256, dataOf }
}

function progressPath(build: string): string {
  return join(build, 'progress.json')
}

/**
 * Writes the progress. It does so after what the progress describes is durable, and atomically, so that a kill leaves
 * either this state or the previous one.
 */
function writeProgress(build: string, progress: Progress): void {
  const path = progressPath(build)
  syncTree(build)
  fs.writeFileSync(`${path}.tmp`, JSON.stringify(progress))
  fs.renameSync(`${path}.tmp`, path)
}
