/** What a trip at rest takes. */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { progress } from '../progress.ts'
import { HttpContender } from './httpContender.ts'
import type { Generator } from './load.ts'
import { seedGeofences, startRingfence } from './servers.ts'
import { cityGeofences, postTrips, writeStanding, type Part } from './tripWorkload.ts'

const LOOK_MS = 100
const LOOKS = 600

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
  const half = Math.round(trips / 2)
  const first = { name: 'first', from: 0, to: half }
  const second = { name: 'second', from: half, to: trips }
  const halves = [first, second].map((part) => ({ part, standing: writeStanding(folder, part, seed) }))
  seedGeofences(folder, cityGeofences(seed), () => {})
  const env = { RINGFENCE_BENCH_HEAP: file }
  const server = await startRingfence(folder, { env, preloads: ['bench/load/heapReport.ts'] })
  const move = async () => {
    for (const { part, standing } of halves)
      await new HttpContender(part.name, server, standing, generator).warmUp()
  }
  /** The bytes that are held with more trips. */
  const heldWith = async (part: Part): Promise<number> => {
    await postTrips(server, generator, folder, part, seed)
    // All devices move, so that what is kept of them is the same each time.
    await move()
    progress(`the trips of the ${part.name} half come to rest, for ${restMs / 1000} s`)
    await sleep(restMs)
    rmSync(file, { force: true })
    process.kill(server.pid, 'SIGUSR2')
    for (let n = 0; n < LOOKS && !existsSync(file); n++) await sleep(LOOK_MS)
    return Number(readFileSync(file, 'utf8'))
  }
  try {
    await move()
    const few = await heldWith(first)
    return Math.round(((await heldWith(second)) - few) / (trips - half))
  } finally {
    await server.stop()
  }
}
