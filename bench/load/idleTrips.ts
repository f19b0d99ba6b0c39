/** What a trip at rest takes. */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { progress } from '../progress.ts'
import { HttpContender } from './httpContender.ts'
import type { Generator } from './load.ts'
import { seedGeofences, startRingfence } from './servers.ts'
import { cityGeofences, postTrips, writeStanding, type Part } from './tripWorkload.ts'
import type { Workload } from './workload.ts'

const LOOK_MS = 100
const LOOKS = 600

interface Half {
  readonly part: Part
  /** The updates of its devices. */
  readonly standing: Workload
}

/**
 * Memory of a trip that was started and is at rest, in bytes. A server has as many devices as trips, and first half as many
 * trips, then all of them. Each time it collects its garbage, and counts what it still holds in objects and in buffers.
 * The difference is what the other half takes, in everything that is kept for a trip: its state, names and locations.
 */
export async function idleTripBytes(
  folder: string,
  generator: Generator,
  options: {
    readonly trips: number
    /** How long a trip is at rest before it is measured. */
    readonly restMs: number
    readonly seed: number
  },
): Promise<number> {
  const { trips, restMs, seed } = options
  const file = join(folder, 'heap')
  const middle = Math.round(trips / 2)
  const parts: Part[] = [
    { name: 'first', from: 0, to: middle },
    { name: 'second', from: middle, to: trips },
  ]
  const [first, second] = parts.map((part) => ({ part, standing: writeStanding(folder, part, seed) }))
  seedGeofences(folder, cityGeofences(seed), () => {})
  const env = { RINGFENCE_BENCH_HEAP: file }
  const server = await startRingfence(folder, { env, preloads: ['bench/load/heapReport.ts'] })
  const move = ({ part, standing }: Half) =>
    new HttpContender(part.name, server, standing, generator).warmUp()
  /** The bytes that are held with more trips. */
  const heldWith = async (half: Half): Promise<number> => {
    const { part } = half
    await postTrips(server, generator, folder, part, seed)
    // Only their devices move. Trips of the other half that move would keep another location.
    await move(half)
    progress(`the trips of the ${part.name} half come to rest, for ${restMs / 1000} s`)
    await sleep(restMs)
    rmSync(file, { force: true })
    process.kill(server.pid, 'SIGUSR2')
    for (let n = 0; n < LOOKS && !existsSync(file); n++) await sleep(LOOK_MS)
    return Number(readFileSync(file, 'utf8'))
  }
  try {
    // Twice, so that what is kept of devices does not grow when they move again.
    for (const half of [first!, second!, first!, second!]) await move(half)
    const few = await heldWith(first!)
    return Math.round(((await heldWith(second!)) - few) / (trips - middle))
  } finally {
    await server.stop()
  }
}
