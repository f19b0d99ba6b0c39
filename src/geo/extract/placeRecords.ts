/** The stage `places` of a build: the place database, made in one pass over the extract. */
import { iso1A2Code } from '@rapideditor/country-coder'
import fs from 'node:fs'
import { PLACE_DATABASE_VERSION } from '../placeDatabase/schema.ts'
import type { ChainOf, Chains } from '../records/chains.ts'
import { CHAIN_PACKAGE, chainSource, readChains } from './chainFiles.ts'
import { placesIn, type MapRegionRecord } from './mapRegionFiles.ts'
import { osmPbfBlobs } from './osmPbfBlobs.ts'
import { readObjects } from './osmReader.ts'
import { PlaceDatabaseWriter } from './placeDatabaseWriter.ts'
import { RecordCollector } from './recordCollector.ts'

export interface PlacesJob {
  /** Absolute path. */
  readonly extract: string
  /** Ids of the ways of areas of which records are made. */
  readonly members: Float64Array
  /** An empty folder. */
  readonly folder: string
  readonly signal: AbortSignal
  /** Called with the share that is done, 0 to 1. */
  readonly onProgress: (share: number) => void
  /** Called with a sentence for each part that the database lacks. */
  readonly onNote: (sentence: string) => void
}

/** The reading is about two thirds of the work. */
const READING_SHARE = 2 / 3

/** What made it, as the record of the build says; another one cannot be read. */
export const PLACE_DATABASE_ENGINE = `place database ${PLACE_DATABASE_VERSION}`

/** Whether a build has a place database of this version, with the chains of the installed package. */
export function hasCurrentPlaces({ places, routing }: MapRegionRecord['stages']): boolean {
  if (places?.engine !== PLACE_DATABASE_ENGINE) return false
  // Regions of addresses have no places.
  if (routing === undefined) return true
  const source = chainSource()
  return source === undefined || places.chains === source
}

/** @throws ExtractRefused, the signal's reason and the system's errors */
export async function buildPlaces(job: PlacesJob): Promise<void> {
  const { extract, members, folder, signal, onProgress, onNote } = job
  const { size } = await fs.promises.stat(extract)
  const writer = new PlaceDatabaseWriter(placesIn(folder))
  try {
    const collector = new RecordCollector(writer, new Set(members), countryAt, chainsOf(onNote))
    for await (const { type, content, position } of osmPbfBlobs(extract, () => {})) {
      signal.throwIfAborted()
      if (type === 'OSMData') readObjects(content, collector)
      onProgress((position / size) * READING_SHARE)
    }
    collector.finish()
    writer.finish()
    onProgress(1)
  } catch (error) {
    writer.abandon()
    throw error
  }
}

/** Kept for the next region that is built. */
let chains: Chains | undefined

/** Their files are read for the first place. */
function chainsOf(onNote: (sentence: string) => void): ChainOf {
  if (chainSource() !== undefined) return (tags, country) => (chains ??= readChains()).of(tags, country)
  onNote(
    `The package ${CHAIN_PACKAGE} is not installed: the chains of places are left out. Install it, and update the region.`,
  )
  return () => undefined
}

/** The country of a point, alpha-2. */
export function countryAt(longitude: number, latitude: number): string | undefined {
  return iso1A2Code([longitude, latitude], { level: 'territory' }) ?? undefined
}
