import { cpSync, existsSync, mkdirSync, mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { importMapRegion } from '../../src/geo/extract/importMapRegion.ts'
import {
  mapRegionsFolder,
  placesIn,
  readManifest,
  stageFolder,
} from '../../src/geo/extract/mapRegionFiles.ts'
import type { City } from '../../src/simulation/streets.ts'
import { samplePlaces, addSample } from '../../test/kit/sampleRegion.ts'

/** A city with its map region. */
export interface MappedCity {
  readonly name: string
  /** Where devices drive: a square within the map region. */
  readonly city: City
  /** The path of the city's place database. */
  readonly places: string
  /** Puts the map region into the data folder of a server that is not running. */
  addTo(dataFolder: string): Promise<void>
}

const BLOCK_METERS = 120
/** Around the centre of Montevideo, in which there are places everywhere. */
const MONTEVIDEO: City = { latitude: -34.915, longitude: -56.2, sizeMeters: 4800, blockMeters: BLOCK_METERS }
const QUEENS: City = { latitude: 40.7, longitude: -73.76, sizeMeters: 3600, blockMeters: BLOCK_METERS }

/** The sample city. */
export async function montevideo(): Promise<MappedCity> {
  return { name: 'Montevideo', city: MONTEVIDEO, places: await samplePlaces(), addTo: addSample }
}

/** Queens Village, with state, market and the postal codes of its addresses; undefined if its extract is not there. */
export async function queens(extract: string, folder: string): Promise<MappedCity | undefined> {
  if (!existsSync(extract)) return undefined
  const regions = mapRegionsFolder(mkdtempSync(join(folder, 'queens-')))
  mkdirSync(regions, { recursive: true })
  await importMapRegion({
    folder: regions,
    path: extract,
    name: 'queens',
    threads: 2,
    isSample: false,
    now: Date.now,
    signal: new AbortController().signal,
    onProgress() {},
    onNote() {},
  })
  const build = join(regions, readManifest(regions).regions[0]!.folder)
  return {
    name: 'Queens',
    city: QUEENS,
    places: placesIn(stageFolder(build, 'places')),
    async addTo(dataFolder) {
      cpSync(regions, mapRegionsFolder(dataFolder), { recursive: true })
    },
  }
}
