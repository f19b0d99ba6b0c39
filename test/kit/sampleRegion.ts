/**
 * The sample region, for test servers that compute routes in it. Making it takes seconds, so it is made once for each
 * version of the code that makes it, and kept in node_modules/.cache.
 */
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { importAddresses } from '../../src/geo/extract/importAddresses.ts'
import { importMapRegion } from '../../src/geo/extract/importMapRegion.ts'
import {
  readManifest,
  mapRegionsFolder,
  placesIn,
  stageFolder,
  tilesIn,
} from '../../src/geo/extract/mapRegionFiles.ts'
import { SAMPLE_CITY, SAMPLE_RANGES, writeSampleFile } from '../../src/geo/extract/samples.ts'

const CACHE = fileURLToPath(new URL('../../node_modules/.cache/ringfence-sample/', import.meta.url))
const MAKERS = ['extract', 'records', 'text', 'placeDatabase', 'mapFile', 'addressFiles'].map((folder) =>
  fileURLToPath(new URL(`../../src/geo/${folder}/`, import.meta.url)),
)
const PACKAGES = ['@mapbox/mvt-fixtures', '@valhallajs/valhallajs']

/** Puts the sample into a data folder that no server uses. */
export async function addSample(dataFolder: string): Promise<void> {
  cpSync(await sampleRegions(), mapRegionsFolder(dataFolder), { recursive: true })
}

/** The place database of the sample, which must only be read. */
export async function samplePlaces(): Promise<string> {
  const folder = await sampleRegions()
  return placesIn(stageFolder(join(folder, readManifest(folder).regions[0]!.folder), 'places'))
}

/** The folder of its routing tiles, which must not be written to. */
export async function sampleTiles(): Promise<string> {
  const folder = await sampleRegions()
  return tilesIn(stageFolder(join(folder, readManifest(folder).regions[0]!.folder), 'routing'))
}

let made: Promise<string> | undefined

/**
 * The folder of the regions, which contains only the sample; its city comes first. It is made once, even if several tests of this process
 * ask for it at the same time.
 */
function sampleRegions(): Promise<string> {
  return (made ??= makeRegions())
}

async function makeRegions(): Promise<string> {
  const folder = join(CACHE, version())
  if (existsSync(folder)) return folder
  // Only this process uses the folder until it is complete. Several processes may make it at the same time, and the
  // first one's folder is kept.
  const own = `${folder}.${process.pid}`
  mkdirSync(own, { recursive: true })
  try {
    const ranges = await writeSampleFile(own, SAMPLE_RANGES)
    const path = await writeSampleFile(own, SAMPLE_CITY)
    const common = {
      folder: own,
      now: Date.now,
      signal: new AbortController().signal,
      onProgress() {},
      onNote() {},
    }
    await importAddresses({ ...common, paths: [ranges], name: SAMPLE_RANGES, isSample: false })
    await importMapRegion({ ...common, path, name: SAMPLE_CITY, threads: 2, isSample: true })
    rmSync(path)
    for (const old of readdirSync(CACHE)) {
      if (/^[0-9a-f]+$/.test(old) && old !== basename(folder)) {
        rmSync(join(CACHE, old), { recursive: true, force: true })
      }
    }
    renameSync(own, folder)
  } catch (error) {
    rmSync(own, { recursive: true, force: true })
    if (!existsSync(folder)) throw error
  }
  return folder
}

/** A text that changes when the code that makes the sample changes. */
function version(): string {
  const hash = createHash('sha256')
  for (const folder of MAKERS)
    for (const name of readdirSync(folder).toSorted())
      hash.update(name).update(readFileSync(join(folder, name)))
  for (const name of PACKAGES) {
    hash.update(readFileSync(join(CACHE, '../..', name, 'package.json')))
  }
  return hash.digest('hex').slice(0, 16)
}
