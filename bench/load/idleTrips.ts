/** What a trip at rest takes. */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { median } from '../figures.ts'
import { progress } from '../progress.ts'
import { HttpContender } from './httpContender.ts'
import type { Generator } from './load.ts'
import { seedGeofences, startRingfence, type ServerProcess } from './servers.ts'
import { SNAPSHOTS_AT_ONCE, snapshotsWritten } from './snapshots.ts'
import { cityGeofences, postTrips, writeStanding } from './tripWorkload.ts'

/** The first trips also pay for what every start with trips needs. */
const FEW_SHARE = 0.1
const STARTS = 3

/**
 * Memory of a trip that was started and is at rest, bytes: the difference between servers that have read their data,
 * with the same devices, of which few or all are on trips.
 */
export async function idleTripBytes(
  folder: string,
  generator: Generator,
  options: {
    readonly trips: number
    /** How long a trip is at rest before it is measured. */
    readonly restMs: number
    readonly settleMs: number
    readonly seed: number
  },
): Promise<number> {
  const { trips, restMs, settleMs, seed } = options
  const few = Math.round(trips * FEW_SHARE)
  const all = { name: 'idle', from: 0, to: trips }
  const standing = writeStanding(folder, all, seed)
  const spare = writeStanding(folder, { name: 'spare', from: trips, to: 2 * trips }, seed)
  seedGeofences(folder, cityGeofences(seed), () => {})
  const session = async (work: (server: ServerProcess) => Promise<void>) => {
    const server = await startRingfence(folder, { env: SNAPSHOTS_AT_ONCE })
    try {
      await work(server)
    } finally {
      await server.stop()
    }
  }
  const onTrips = (to: number) =>
    session(async (server) => {
      await postTrips(server, generator, folder, { ...all, to }, seed)
      await new HttpContender('idle', server, standing, generator).warmUp()
      progress(`${to} trips come to rest, for ${restMs / 1000} s`)
      await sleep(restMs)
      // Others move, so that snapshots are written again.
      await new HttpContender('spare', server, spare, generator).warmUp()
      progress('snapshots are written')
      await snapshotsWritten(join(folder, 'data'))
    })
  const resident = async () => {
    const bytes: number[] = []
    for (let n = 0; n < STARTS; n++)
      await session(async (server) => {
        progress(`start ${n + 1} of ${STARTS}`)
        await sleep(settleMs)
        bytes.push(server.rssBytes())
      })
    return median(bytes)
  }
  progress('few idle trips')
  await onTrips(few)
  const before = await resident()
  progress('many idle trips')
  await onTrips(trips)
  return Math.round(((await resident()) - before) / (trips - few))
}
