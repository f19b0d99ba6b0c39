import fs from 'node:fs'
import { constants, setPriority } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { importMapRegion, type ImportStage } from './importMapRegion.ts'
import { readManifest, mapRegionsFolder, wantsSample } from './mapRegionFiles.ts'
import { writeSampleCity } from './sampleCity.ts'

/** The messages of the process that imports the sample to the server that started it. */
export type SampleNews =
  | { readonly stage: 'unpacking' | ImportStage; readonly share: number }
  | { readonly failed: string }

const NAME = 'montevideo'

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
      tell({ stage: 'unpacking', share: 0 })
      const path = join(folder, 'sample.osm.pbf')
      await writeSampleCity(path)
      await importMapRegion({
        folder,
        path,
        name: NAME,
        threads: 1,
        isSample: true,
        now: Date.now,
        signal: new AbortController().signal,
        onProgress: (stage, share) => tell({ stage, share }),
        onNote: () => {},
      }).finally(() => fs.rmSync(path, { force: true }))
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
