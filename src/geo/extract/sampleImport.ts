import fs from 'node:fs'
import { constants, setPriority } from 'node:os'
import { resolve } from 'node:path'
import { retry } from '../../runtime/retry.ts'
import { importAddresses } from './importAddresses.ts'
import { importMapRegion, type ImportStage, type MapRegionImport } from './importMapRegion.ts'
import { mapRegionsFolder, readManifest } from './mapRegionFiles.ts'
import { outdatedSamples, SAMPLE_CITY, SAMPLE_RANGES, wantsSample, writeSampleFile } from './samples.ts'
import { updateMapRegion } from './updateMapRegion.ts'

/** The messages of the process that imports the sample to the server that started it. */
export type SampleNews =
  | { readonly stage: 'unpacking' | ImportStage; readonly share: number }
  | { readonly failed: string }

/**
 * Locking the folder is tried for half a minute, because the import of a server that has just ended may still hold it.
 */
const LOCKING = { pauses: { firstMs: 1000, lastMs: 1000 }, attempts: 30 }

/**
 * Imports the samples into a data folder without map regions, or updates them. Its process does nothing else.
 * @param lock locks the folder of the map regions, and creates it; throws if another process is changing them
 * @throws the error that prevents the import, after it was reported
 */
export async function importSample(dataFolder: string, lock: (folder: string) => () => void): Promise<void> {
  // The server has ended. The tools that this process has started end with it.
  const orphaned = (): never => process.exit(1)
  process.once('disconnect', orphaned)
  setPriority(constants.priority.PRIORITY_LOW)
  const tell = (news: SampleNews): void => void process.send?.(news)
  try {
    const folder = mapRegionsFolder(resolve(dataFolder))
    const release = await retry(async () => lock(folder), LOCKING)
    try {
      const job = {
        folder,
        threads: 1,
        now: Date.now,
        signal: new AbortController().signal,
        onProgress: (stage: ImportStage, share: number) => tell({ stage, share }),
        onNote: () => {},
      }
      for (const name of outdatedSamples(folder)) await updateMapRegion({ ...job, name, file: undefined })
      if (wantsSample(folder)) await buildSamples(job, () => tell({ stage: 'unpacking', share: 0 }))
    } finally {
      release()
    }
  } catch (error) {
    tell({ failed: (error as Error).message })
    throw error
  } finally {
    process.off('disconnect', orphaned)
    process.disconnect?.()
  }
}

async function buildSamples(
  job: Omit<MapRegionImport, 'path' | 'name' | 'isSample'>,
  onUnpacking: () => void,
): Promise<void> {
  const { folder } = job
  if (readManifest(folder).regions.length === 0) {
    const ranges = await writeSampleFile(folder, SAMPLE_RANGES)
    await importAddresses({ ...job, paths: [ranges], name: SAMPLE_RANGES, isSample: false })
  }
  onUnpacking()
  const path = await writeSampleFile(folder, SAMPLE_CITY)
  try {
    await importMapRegion({ ...job, path, name: SAMPLE_CITY, isSample: true })
  } finally {
    fs.rmSync(path, { force: true })
  }
}
