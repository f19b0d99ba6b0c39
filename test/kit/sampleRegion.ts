/**
 * The sample region, for servers of tests that look for ways in it. It takes seconds to make, so it is made once for each version
 * of what makes it, and kept in node_modules/.cache.
 */
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { importMapRegion } from '../../src/geo/extract/importMapRegion.ts'
import { readManifest, mapRegionsFolder, stageFolder, tilesIn } from '../../src/geo/extract/mapRegionFiles.ts'
import { writeSampleCity } from '../../src/geo/extract/sampleCity.ts'

const CACHE = fileURLToPath(new URL('../../node_modules/.cache/ringfence-sample/', import.meta.url))
const MAKERS = fileURLToPath(new URL('../../src/geo/extract/', import.meta.url))
const PACKAGES = ['@mapbox/mvt-fixtures', '@valhallajs/valhallajs']

/** Puts the sample into a data folder that no server runs on. */
export async function addSample(dataFolder: string): Promise<void> {
  cpSync(await sampleRegions(), mapRegionsFolder(dataFolder), { recursive: true })
}

/** The folder of its routing tiles; nobody may write there. */
export async function sampleTiles(): Promise<string> {
  const folder = await sampleRegions()
  return tilesIn(stageFolder(join(folder, readManifest(folder).regions[0]!.folder), 'routing'))
}

let made: Promise<string> | undefined

/** The folder of the regions, of which it is the only one. Made once, however many tests of this process ask for it at one time. */
function sampleRegions(): Promise<string> {
  return (made ??= makeRegions())
}

async function makeRegions(): Promise<string> {
  const folder = join(CACHE, version())
  if (existsSync(folder)) return folder
  // Of this process alone until it is whole: several processes may make it at one time, and the first has it.
  const own = `${folder}.${process.pid}`
  mkdirSync(own, { recursive: true })
  try {
    const path = join(own, 'sample.osm.pbf')
    await writeSampleCity(path)
    await importMapRegion({
      folder: own,
      path,
      name: 'montevideo',
      threads: 2,
      isSample: true,
      now: Date.now,
      signal: new AbortController().signal,
      onProgress() {},
      onNote() {},
    })
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

/** Differs where what makes the sample does. */
function version(): string {
  const hash = createHash('sha256')
  for (const name of readdirSync(MAKERS).toSorted())
    hash.update(name).update(readFileSync(join(MAKERS, name)))
  for (const name of PACKAGES) {
    hash.update(readFileSync(join(CACHE, '../..', name, 'package.json')))
  }
  return hash.digest('hex').slice(0, 16)
}
