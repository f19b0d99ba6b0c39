import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** So that a round of snapshots is written at every check, which takes everything that a server has by then. */
export const SNAPSHOTS_AT_ONCE = { RINGFENCE_SNAPSHOT_BYTES: '65536' }
const LOOK_MS = 500
/** Where nothing has changed, there is no further round. */
const GIVE_UP_LOOKS = 60
/** A round is over if there was no new one for this long. */
const CALM_MS = 2000

/** Waits until a round of snapshots has begun after now and is over. */
export async function snapshotsWritten(dataFolder: string): Promise<void> {
  const list = (): string => readdirSync(join(dataFolder, 'snapshots')).toSorted().join()
  const before = list()
  for (let i = 0; list() === before && i < GIVE_UP_LOOKS; i++) await sleep(LOOK_MS)
  for (let last = ''; last !== list(); await sleep(CALM_MS)) last = list()
}
