/**
 * Builds a map region from files of addresses and number ranges: it has a place database and no roads. Like an
 * import of an extract, it enters service at once when it is complete. It takes a minute at most for a million
 * addresses, so an interrupted one starts again.
 */
import fs from 'node:fs'
import { basename } from 'node:path'
import { readAddressFile } from '../addressFiles/addressFile.ts'
import type { AddressFileRow, Credit } from '../addressFiles/rows.ts'
import { AddressStaging } from './addressStaging.ts'
import { CoverageCounter } from './coverage.ts'
import { checkRoom, NoRoom, putIntoService } from './finishedBuild.ts'
import { isFull } from './importNeeds.ts'
import type { ImportProgress } from './importMapRegion.ts'
import {
  placesIn,
  sizeOfTree,
  stageFolder,
  unfinishedBuild,
  writeCoverage,
  writeRecord,
  type MapRegionRecord,
  type SourceRecord,
} from './mapRegionFiles.ts'
import { PlaceDatabaseWriter } from './placeDatabaseWriter.ts'
import { countryCodeAt, PLACE_DATABASE_ENGINE } from './placeRecords.ts'
import type { BoundingBox } from './port.ts'
import type { Position } from '../../model/geofence.ts'

export interface AddressImport {
  /** The folder of all map regions. It exists, and its lock is held. */
  readonly folder: string
  /** The absolute paths of the files. */
  readonly paths: readonly string[]
  /** The name; see mapRegionName. */
  readonly name: string
  readonly isSample: boolean
  /** Returns the time in epoch milliseconds. */
  readonly now: () => number
  readonly signal: AbortSignal
  readonly onProgress: ImportProgress
  /** Called with a sentence for each file in which rows were left out. */
  readonly onNote: (sentence: string) => void
}

/** How many bytes of the disk each byte of the files needs: sorted by street, and as a place database. */
const ROOM_PER_BYTE = 4
/** Writing the records is about a third of building the place database, and its index of words the rest. */
const WRITING_SHARE = 1 / 3

/**
 * Imports the files. A map region of addresses with that name is replaced.
 * @throws AddressFileRefused, {@link NoRoom}, the signal's reason, and the system's errors; nothing is left behind
 * then
 */
export async function importAddresses(job: AddressImport): Promise<MapRegionRecord> {
  const { folder, name, paths, isSample, now } = job
  const began = now()
  checkRoom(folder, ROOM_PER_BYTE * paths.reduce((sum, path) => sum + sizeOf(path), 0))
  const build = unfinishedBuild(folder, name)
  try {
    fs.rmSync(build, { recursive: true, force: true })
    const places = stageFolder(build, 'places')
    fs.mkdirSync(places, { recursive: true })
    const read = await buildPlaces(job, build, placesIn(places))
    const bytes = sizeOfTree(places)
    const seconds = Math.round((now() - began) / 100) / 10
    const record: MapRegionRecord = {
      format: 1,
      name,
      bounds: read.bounds,
      nodes: read.houses,
      roads: read.edges,
      sources: read.sources,
      attribution: textOf(read.credits, 'attribution'),
      licence: textOf(read.credits, 'licence'),
      importedAt: new Date(now()).toISOString(),
      stages: { places: { engine: PLACE_DATABASE_ENGINE, seconds, bytes } },
    }
    writeRecord(build, record)
    putIntoService(folder, build, name, isSample)
    return record
  } catch (error) {
    fs.rmSync(build, { recursive: true, force: true })
    const hasNoRoom = (error as NodeJS.ErrnoException).code === 'ENOSPC' || isFull(folder)
    throw hasNoRoom ? new NoRoom(`${folder}: the disk is full.`, { cause: error }) : error
  }
}

interface AddressesRead {
  readonly bounds: BoundingBox
  readonly houses: number
  readonly edges: number
  readonly sources: readonly SourceRecord[]
  readonly credits: readonly Credit[]
}

async function buildPlaces(job: AddressImport, build: string, file: string): Promise<AddressesRead> {
  const { signal, onProgress } = job
  const staging = new AddressStaging(build, countryCodeAt)
  let writer: PlaceDatabaseWriter | undefined
  try {
    const extent = new Extent()
    const { sources, credits } = await readFiles(job, (row) => {
      if (row.kind === 'edge') {
        staging.addEdge(row)
        for (const position of row.line) extent.add(position)
      } else {
        staging.addHouse(row)
        extent.add(row.position)
      }
    })
    writer = new PlaceDatabaseWriter(file)
    await staging.finish(writer, (share) => {
      signal.throwIfAborted()
      onProgress('building the place database', share * WRITING_SHARE)
    })
    writer.finish()
    writer = undefined
    onProgress('building the place database', 1)
    writeCoverage(build, extent.cells.coverage())
    return { bounds: extent.bounds, houses: staging.houses, edges: staging.edges, sources, credits }
  } finally {
    writer?.abandon()
    staging.remove()
  }
}

async function readFiles(
  { paths, signal, onProgress, onNote }: AddressImport,
  onRow: (row: AddressFileRow) => void,
): Promise<Pick<AddressesRead, 'sources' | 'credits'>> {
  const sources: SourceRecord[] = []
  const credits: Credit[] = []
  for (const [index, path] of paths.entries()) {
    const { bytes, sha256, credit, leftOut } = await readAddressFile({
      path,
      signal,
      onProgress: (share) => onProgress('reading the addresses', (index + share) / paths.length),
      onRow,
    })
    if (leftOut > 0) onNote(`${basename(path)}: ${leftOutText(leftOut)}`)
    sources.push({ file: basename(path), path, bytes, sha256 })
    credits.push(credit)
  }
  return { sources, credits }
}

function leftOutText(rows: number): string {
  const count = rows === 1 ? '1 row' : `${rows.toLocaleString('en-US')} rows`
  return `${count} without a number, a street or a position ${rows === 1 ? 'is' : 'are'} left out.`
}

/** The bounds of the records. */
class Extent {
  readonly cells = new CoverageCounter()
  #west = 180
  #south = 90
  #east = -180
  #north = -90

  get bounds(): BoundingBox {
    return [this.#west, this.#south, this.#east, this.#north]
  }

  add([longitude, latitude]: Position): void {
    this.#west = Math.min(this.#west, longitude)
    this.#east = Math.max(this.#east, longitude)
    this.#south = Math.min(this.#south, latitude)
    this.#north = Math.max(this.#north, latitude)
    this.cells.add(longitude, latitude)
  }
}

/** The size of a file. It is 0 if the file cannot be read, because reading it then says why. */
function sizeOf(path: string): number {
  return fs.statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

function textOf(credits: readonly Credit[], field: keyof Credit): string {
  return [...new Set(credits.map((credit) => credit[field]))].join('; ')
}
