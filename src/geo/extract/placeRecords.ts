/** The product `places` of an extract: the place database. */
import { iso1A2Code } from '@rapideditor/country-coder'
import { PLACE_DATABASE_VERSION } from '../placeDatabase/schema.ts'
import type { ChainOf, Chains } from '../records/chains.ts'
import { CHAIN_PACKAGE, chainSource, readChains } from './chainFiles.ts'
import { placesIn, type MapRegionRecord } from './mapRegionFiles.ts'
import { PlaceDatabaseWriter } from './placeDatabaseWriter.ts'
import { RecordCollector } from './recordCollector.ts'
import type { Product } from './shapeAssembler.ts'

/**
 * The version of the place database, as the record of the build names it. Databases of other versions cannot be read.
 */
export const PLACE_DATABASE_ENGINE = `place database ${PLACE_DATABASE_VERSION}`

/** Whether a build has a place database of this version, with the chains of the installed package. */
export function hasCurrentPlaces({ places, routing }: Partial<MapRegionRecord['stages']>): boolean {
  if (places?.engine !== PLACE_DATABASE_ENGINE) return false
  // Map regions of addresses have no places.
  if (routing === undefined) return true
  const source = chainSource()
  return source === undefined || places.chains === source
}

/**
 * The place database of a build.
 * @param folder an empty folder
 * @param onNote called with a sentence for each part that the database lacks
 */
export function placesProduct(folder: string, onNote: (sentence: string) => void): Product {
  const writer = new PlaceDatabaseWriter(placesIn(folder))
  const sink = new RecordCollector(writer, countryCodeAt, chainsOf(onNote))
  return {
    sink,
    finish(shapes) {
      sink.finish((node) => shapes.positionOf(node))
      writer.finish()
    },
    abandon: () => writer.abandon(),
  }
}

/** The chains, which are kept for the next region that is built. */
let chains: Chains | undefined

/** The chains. Their files are read when the first place is added. */
function chainsOf(onNote: (sentence: string) => void): ChainOf {
  if (chainSource() !== undefined) return (tags, country) => (chains ??= readChains()).of(tags, country)
  onNote(
    `The package ${CHAIN_PACKAGE} is not installed: the chains of places are left out. Install it, and update the region.`,
  )
  return () => undefined
}

/** The alpha-2 code of the country that contains a point. */
export function countryCodeAt(longitude: number, latitude: number): string | undefined {
  return iso1A2Code([longitude, latitude], { level: 'territory' }) ?? undefined
}
