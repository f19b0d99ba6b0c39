/** The stage `places` of a build: the place database, made in one pass over the extract. */
import { iso1A2Code } from '@rapideditor/country-coder'
import fs from 'node:fs'
import { PLACE_DATABASE_VERSION } from '../placeDatabase/schema.ts'
import { placesIn } from './mapRegionFiles.ts'
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
}

/** The reading is about two thirds of the work. */
const READING_SHARE = 2 / 3

/** What made it, as the record of the build says; another one cannot be read. */
export const PLACE_DATABASE_ENGINE = `place database ${PLACE_DATABASE_VERSION}`

/** @throws ExtractRefused, the signal's reason and the system's errors */
export async function buildPlaces(job: PlacesJob): Promise<void> {
  const { extract, members, folder, signal, onProgress } = job
  const { size } = await fs.promises.stat(extract)
  const writer = new PlaceDatabaseWriter(placesIn(folder))
  try {
    const collector = new RecordCollector(writer, new Set(members), countryAt)
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

/** The country of a point, alpha-2. */
export function countryAt(longitude: number, latitude: number): string | undefined {
  return iso1A2Code([longitude, latitude], { level: 'territory' }) ?? undefined
}
