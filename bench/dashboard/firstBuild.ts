/** How long the first build of the dashboard takes, and what it does to the start of the API: for the bench of the dashboard. */
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { STAMP_FILE } from '../../src/dashboard/sourceStamp.ts'
import { median, rounded } from '../figures.ts'
import { startRingfence } from '../load/servers.ts'

const STAMP = join(import.meta.dirname, '..', '..', 'dashboard', 'dist', STAMP_FILE)
const LOOK_MS = 20
const BUILT_MS = 120_000

export interface BuildFigures {
  /** From the start of the server until the pages are there. */
  readonly buildSeconds: number
  /** From the start of the server until the API is ready: with pages to build, and with pages that are there. */
  readonly apiSeconds: number
  readonly apiSecondsBuilt: number
}

/**
 * Starts a server in turn without and with the pages of an earlier build; medians count.
 * @param folder the data of the server
 */
export async function measureBuild(folder: string, rounds: number): Promise<BuildFigures> {
  const builds: number[] = []
  const apis: number[] = []
  const apisBuilt: number[] = []
  for (let round = 0; round < rounds; round++) {
    // Without its stamp, a build counts as one of other sources.
    rmSync(STAMP, { force: true })
    const first = await start(folder)
    apis.push(first.apiSeconds)
    builds.push(first.builtSeconds)
    apisBuilt.push((await start(folder)).apiSeconds)
  }
  return {
    buildSeconds: rounded(median(builds), 2),
    apiSeconds: rounded(median(apis), 2),
    apiSecondsBuilt: rounded(median(apisBuilt), 2),
  }
}

async function start(
  folder: string,
): Promise<{ readonly apiSeconds: number; readonly builtSeconds: number }> {
  const begin = performance.now()
  const seconds = () => (performance.now() - begin) / 1000
  // As with `npm start`, the build may use all processors.
  const server = await startRingfence(folder, { env: { RINGFENCE_DASHBOARD: 'on' }, unpinned: true })
  try {
    const apiSeconds = seconds()
    while (!existsSync(STAMP)) {
      if (performance.now() - begin > BUILT_MS)
        throw new Error(`the dashboard is not built: ${server.output()}`)
      await sleep(LOOK_MS)
    }
    return { apiSeconds, builtSeconds: seconds() }
  } finally {
    await server.stop()
  }
}
