/**
 * Gives a map region the products of this version if an earlier version made them. All others stay as they are. It
 * needs the files from which the region was built.
 */
import fs from 'node:fs'
import { join } from 'node:path'
import { systemReason } from '../../runtime/errors.ts'
import { importAddresses } from './importAddresses.ts'
import { importMapRegion, routingEngine, type ImportProgress } from './importMapRegion.ts'
import { readManifest, readRecord, type MapRegionRecord, type SourceRecord } from './mapRegionFiles.ts'
import { hasAllProducts } from './products.ts'
import { isSampleMapRegion, writeSampleFile } from './samples.ts'

/** A file from which a map region was built is not where it was, or has changed. */
export class SourceMissing extends Error {
  override name = 'SourceMissing'
}

export interface MapRegionUpdate {
  /** The folder of all map regions. Its lock is held. */
  readonly folder: string
  /** The name of a region in the manifest. */
  readonly name: string
  /** The absolute path of the extract, if it is not where it was. */
  readonly file: string | undefined
  readonly threads: number
  readonly now: () => number
  readonly signal: AbortSignal
  readonly onProgress: ImportProgress
  readonly onNote: (sentence: string) => void
}

/**
 * Updates a map region.
 * @returns undefined if it has all products of this version already
 * @throws {SourceMissing} and what importMapRegion and importAddresses throw; the region is then served as before
 */
export async function updateMapRegion(job: MapRegionUpdate): Promise<MapRegionRecord | undefined> {
  const { folder, name, file } = job
  const region = readManifest(folder).regions.find((one) => one.name === name)!
  const build = join(folder, region.folder)
  const record = readRecord(build)
  if (isUpToDate(record)) return undefined
  const running = { ...job, isSample: false }
  if (isSampleMapRegion(record)) {
    const path = await writeSampleFile(folder, name)
    try {
      return record.stages.routing === undefined
        ? await importAddresses({ ...running, paths: [path] })
        : await importMapRegion({ ...running, path, earlier: build })
    } finally {
      if (path.startsWith(folder)) fs.rmSync(path, { force: true })
    }
  }
  if (record.stages.routing === undefined)
    return await importAddresses({
      ...running,
      paths: record.sources.map((source) => pathOf(name, source, 'add-addresses FILE...')),
    })
  const path = file ?? pathOf(name, record.sources[0]!, 'update NAME --file FILE.osm.pbf')
  return await importMapRegion({ ...running, path, earlier: build })
}

function isUpToDate(record: MapRegionRecord): boolean {
  const { routing } = record.stages
  return hasAllProducts(record) && (routing === undefined || routing.engine === routingEngine())
}

/**
 * The path of a source.
 * @throws {SourceMissing} if the file is gone or has another size
 */
function pathOf(name: string, { file, path, bytes }: SourceRecord, command: string): string {
  const advice = `Get it, and say where it is: npm run region -- ${command.replace('NAME', name)}`
  if (path === undefined)
    throw new SourceMissing(
      `${name} was built from ${file}; the record does not say where that was. ${advice}`,
    )
  let size: number
  try {
    size = fs.statSync(path).size
  } catch (cause) {
    throw new SourceMissing(
      `${name} was built from ${path}, which cannot be read: ${systemReason(cause)}. ${advice}`,
      {
        cause,
      },
    )
  }
  if (size === bytes) return path
  throw new SourceMissing(
    `${name} was built from ${path}, which has changed since then. Import it to use the new data.`,
  )
}
