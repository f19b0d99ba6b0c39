/** How late updates are answered while many trips want an ETA at once. */
import { setTimeout as sleep } from 'node:timers/promises'
import { median, rounded } from '../figures.ts'
import { progress } from '../progress.ts'
import { requireClean } from './contest.ts'
import { HttpContender } from './httpContender.ts'
import type { Generator } from './load.ts'
import type { ServerProcess } from './servers.ts'
import { postTrips, requireAll, waysOf, type Part } from './tripWorkload.ts'
import type { Workload } from './workload.ts'

export interface BurstOptions {
  readonly folder: string
  readonly server: ServerProcess
  readonly generator: Generator
  /** Updates of devices that are on no trip, whose latency is measured. */
  readonly others: Workload
  /** Updates per second of these. */
  readonly rate: number
  readonly seconds: number
  /** Devices on trips, and an update of each. */
  readonly part: Part
  readonly updates: Workload
  readonly rounds: number
  readonly seed: number
}

const MAX_LAG_MS = 5000
/** Longer than any ETA is waited for. */
const SETTLE_MS = 1500
/** The modes that take turns. Each change of the mode makes the next update of the trip want another ETA. */
const MODES = ['truck', 'car']
const LEAST_WANTED = 0.95

/**
 * Three kinds of windows in turn: nothing else happens; all devices of a part send an update at the same moment, and
 * no trip wants an ETA; the same, and each trip wants one. The difference of the last two is what ETAs cost others.
 */
export async function bursts({ server, generator, rounds, ...options }: BurstOptions) {
  const { folder, part, updates, seed } = options
  const others = new HttpContender('others', server, options.others, generator)
  const { port } = server
  const { trackBodies: requests, trackHead: head, devices: count } = updates
  const burst = async () => {
    const load = { port, connections: count, requests, head, group: count, offset: 0, count, rate: 0 }
    requireAll('updates of trips', await generator.run({ ...load, maxLagMs: MAX_LAG_MS }))
  }
  const window = async (beside?: () => Promise<void>): Promise<number> => {
    const { rate, seconds } = options
    const measured = others.offer({ rate, count: rate * seconds, maxLagMs: MAX_LAG_MS })
    await sleep(seconds * 250)
    const sent = beside?.()
    const result = await measured
    await sent
    requireClean(others, result)
    return result.latencyMs.p99
  }
  await burst()
  const alone: number[] = []
  const unasked: number[] = []
  const asked: number[] = []
  const ways = { road: 0, straight: 0 }
  for (let n = 0; n < rounds; n++) {
    progress(`${count} trips want an ETA at once, ${n + 1} of ${rounds}`)
    await sleep(SETTLE_MS)
    alone.push(await window())
    unasked.push(await window(burst))
    await postTrips(server, generator, folder, part, seed, { mode: MODES[n % 2] })
    await sleep(SETTLE_MS)
    const before = await waysOf(server)
    asked.push(await window(burst))
    await sleep(SETTLE_MS)
    const after = await waysOf(server)
    ways.road += after.road - before.road
    ways.straight += after.straight - before.straight
  }
  const wanted = ways.road + ways.straight
  // Some stand in their destination.
  if (wanted < LEAST_WANTED * count * rounds)
    throw new Error(`only ${wanted} of ${count * rounds} trips wanted an ETA`)
  return {
    aloneP99Ms: rounded(median(alone), 2),
    unaskedP99Ms: rounded(median(unasked), 2),
    askedP99Ms: rounded(median(asked), 2),
    /** In each round. */
    overMs: rounded(median(asked.map((value, n) => value - unasked[n]!)), 2),
    roadShare: rounded(ways.road / wanted, 3),
  }
}
