import fs from 'node:fs'
import { constants, setPriority } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { importAddresses } from './importAddresses.ts'
import { importMapRegion, type ImportStage } from './importMapRegion.ts'
import { mapRegionsFolder, readManifest, SAMPLE_RANGES, wantsSample } from './mapRegionFiles.ts'
import { writeSampleCity } from './sampleCity.ts'

/** The messages of the process that imports the sample to the server that started it. */
export type SampleNews =
  | { readonly stage: 'unpacking' | ImportStage; readonly share: number }
  | { readonly failed: string }

const NAME = 'montevideo'

/**
 * Number ranges of Santa Cruz County, California, in TIGER/Line of 2015 (facts/writeSampleRanges.ts), so that addresses of
 * the United States can be tried, too.
 */
export const SAMPLE_RANGES_FILE = fileURLToPath(new URL('./santaCruz.csv', import.meta.url))

/**
 * How often, and how many times, it tries to lock the folder, which the import of a server that has just ended may
 * still hold.
 */
const LOCK_PAUSE_MS = 1000
const LOCK_TRIES = 30

/**
 * Imports the sample into a data folder without map regions; this is all that its process does.
 * @param lock locks the folder of the map regions, and creates it; throws if another process is changing them
 * @throws the error that prevents the import, after it was reported
 */
export async function importSample(dataFolder: string, lock: (folder: string) => () => void): Promise<void> {
  // The server has ended; the tools that this process has started end with it.
  const orphaned = (): never => process.exit(1)
  process.once('disconnect', orphaned)
  setPriority(constants.priority.PRIORITY_LOW)
  const tell = (news: SampleNews): void => void process.send?.(news)
  try {
    const folder = mapRegionsFolder(resolve(dataFolder))
    const release = await patiently(() => lock(folder))
    try {
      if (!wantsSample(readManifest(folder))) return
      const common = {
        folder,
        now: Date.now,
        signal: new AbortController().signal,
        onProgress: (stage: ImportStage, share: number) => tell({ stage, share }),
        onNote: () => {},
      }
      // First, because it takes a second, and the sample is complete with the city.
      if (readManifest(folder).regions.length === 0)
        await importAddresses({
          ...common,
          paths: [SAMPLE_RANGES_FILE],
          name: SAMPLE_RANGES,
          isSample: false,
        })
      tell({ stage: 'unpacking', share: 0 })
      const path = join(folder, 'sample.osm.pbf')
      await writeSampleCity(path)
      await importMapRegion({ ...common, path, name: NAME, threads: 1, isSample: true }).finally(() =>
        fs.rmSync(path, { force: true }),
      )
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

async function patiently<Result>(attempt: () => Result): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return attempt()
    } catch (error) {
      if (tries === LOCK_TRIES) throw error
      await sleep(LOCK_PAUSE_MS)
    }
  }
}
