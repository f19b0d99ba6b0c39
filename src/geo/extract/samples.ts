/** The samples: a city with its roads, and the number ranges of a county. */
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readManifest, readRecord, type MapRegionRecord } from './mapRegionFiles.ts'
import { hasAllProducts } from './products.ts'
import { writeSampleCity } from './sampleCity.ts'

export const SAMPLE_CITY = 'montevideo'
/** The sample that is built first, because it takes a second. The samples are complete when the city is. */
export const SAMPLE_RANGES = 'santa-cruz'

const CITY_FILE = 'sample.osm.pbf'
/**
 * Number ranges of Santa Cruz County, California, in TIGER/Line of 2015 (facts/writeSampleRanges.ts), so that addresses of
 * the United States can be tried, too.
 */
const RANGES_FILE = fileURLToPath(new URL('./santaCruz.csv', import.meta.url))

/** Whether a sample must be built automatically: for the first time, or because an earlier version built it. */
export function wantsSample(folder: string): boolean {
  const { regions, sampleImported } = readManifest(folder)
  const isBegun = sampleImported === undefined && regions.every(({ name }) => name === SAMPLE_RANGES)
  return isBegun || outdatedSamples(folder).length > 0
}

/** The samples in service that lack products of this version, or have chains of another version of the package. */
export function outdatedSamples(folder: string): string[] {
  return readManifest(folder).regions.flatMap((region) => {
    let record: MapRegionRecord
    try {
      record = readRecord(join(folder, region.folder))
    } catch {
      // The server reports what is wrong with it.
      return []
    }
    return isSampleMapRegion(record) && !hasAllProducts(record) ? [region.name] : []
  })
}

export function isSampleMapRegion({ name, sources }: MapRegionRecord): boolean {
  const file = sources.length === 1 ? sources[0]!.file : undefined
  return (
    (name === SAMPLE_CITY && file === CITY_FILE) || (name === SAMPLE_RANGES && file === basename(RANGES_FILE))
  )
}

/**
 * The file from which a sample is built. The one of the city is written, and may be deleted; the other one belongs to
 * the program.
 * @param folder the folder of the map regions
 * @returns its path
 * @throws SampleMissing and the system's errors
 */
export async function writeSampleFile(folder: string, name: string): Promise<string> {
  if (name === SAMPLE_RANGES) return RANGES_FILE
  const path = join(folder, CITY_FILE)
  await writeSampleCity(path)
  return path
}
