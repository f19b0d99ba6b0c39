/**
 * A server that takes updates at a constant rate: alone, beside other requests that it is asked without a pause, and those
 * alone. The cost of such a request by itself is subtracted from that of updates.
 */
import { seededRandom } from '../../src/simulation/streets.ts'
import { addSample } from '../../test/kit/sampleRegion.ts'
import { median, rounded } from '../figures.ts'
import { benchFolder } from '../folder.ts'
import { progress } from '../progress.ts'
import { loadGenerator, type Generator, type LoadResult } from './load.ts'
import { BENCH_KEYS, seedGeofences, startRingfence, type ServerProcess } from './servers.ts'
import { drawGeofences, writeWorkload, type Workload } from './workload.ts'

/** The interval at which the process measures its delays, which is included in them. */
const LOOP_RESOLUTION_MS = 10
const CLIENTS = 2
const MAX_LAG_MS = 5000

export interface TrackedLoad {
  /** The name of a kind of request, such as `matrices`. */
  readonly name: string
  /** The path of the next request, with its query. */
  readonly draw: (random: () => number) => string
  readonly seed: number
  readonly seconds: number
  /** Updates per second. */
  readonly rate: number
  readonly windows: number
  readonly geofences: number
  readonly devices: number
  /** Prepares the data folder, which has the sample regions. */
  readonly prepare?: (data: string) => void
}

interface Window {
  readonly cpuSeconds: number
  readonly updates: number
  readonly requests: number
  readonly loopP99Ms: number
  readonly p99Ms: number
}

export interface TrackedRow {
  readonly case: string
  readonly updateMicros: number | undefined
  readonly updateP99Ms: number | undefined
  readonly besidePerSecond: number
  readonly loopP99Ms: number
}

/** @returns three rows: updates alone, updates beside the requests, the requests alone */
export async function measureTracking(
  name: string,
  load: TrackedLoad,
): Promise<{ requestMicros: number; rows: [TrackedRow, TrackedRow, TrackedRow] }> {
  const folder = benchFolder(name)
  const generator = await loadGenerator()
  seedGeofences(folder, drawGeofences(load.geofences, load.seed), () => {})
  await addSample(`${folder}/data`)
  load.prepare?.(`${folder}/data`)
  const workload = writeWorkload({
    ...load,
    folder,
    publishableKey: BENCH_KEYS.testPublishable,
    onProgress: progress,
  })
  // As in production: with all its processes, on all processors.
  const server = await startRingfence(folder, { unpinned: true })
  const tracked = new TrackedServer(server, generator, workload, load)
  await tracked.send(0, load.devices)
  await tracked.window({ updates: false, requests: true })
  const alone: Window[] = []
  const beside: Window[] = []
  const requestsAlone: Window[] = []
  for (let i = 1; i <= load.windows; i++) {
    progress(`tracking beside ${load.name}: ${i} of ${load.windows}`)
    alone.push(await tracked.window({ updates: true, requests: false }))
    beside.push(await tracked.window({ updates: true, requests: true }))
    requestsAlone.push(await tracked.window({ updates: false, requests: true }))
  }
  await server.stop()
  const requestSeconds = median(requestsAlone.map(({ cpuSeconds, requests }) => cpuSeconds / requests))
  const micros = ({ cpuSeconds, updates, requests }: Window) =>
    ((cpuSeconds - requests * requestSeconds) / updates) * 1e6
  const row = (title: string, windows: readonly Window[]): TrackedRow => ({
    case: title,
    updateMicros: windows[0]!.updates === 0 ? undefined : rounded(median(windows.map(micros)), 1),
    updateP99Ms: windows[0]!.updates === 0 ? undefined : rounded(median(windows.map((w) => w.p99Ms)), 2),
    besidePerSecond: rounded(median(windows.map((w) => w.requests)) / load.seconds, 1),
    loopP99Ms: rounded(median(windows.map((w) => w.loopP99Ms)), 2),
  })
  return {
    requestMicros: Math.round(requestSeconds * 1e6),
    rows: [
      row('updates alone', alone),
      row(`updates beside ${load.name}`, beside),
      row(`${load.name} alone`, requestsAlone),
    ],
  }
}

class TrackedServer {
  readonly #server: ServerProcess
  readonly #generator: Generator
  readonly #workload: Workload
  readonly #load: TrackedLoad
  readonly #random: () => number
  #offset = 0

  constructor(server: ServerProcess, generator: Generator, workload: Workload, load: TrackedLoad) {
    this.#server = server
    this.#generator = generator
    this.#workload = workload
    this.#load = load
    this.#random = seededRandom(load.seed)
  }

  async send(updatesPerSecond: number, count: number): Promise<LoadResult> {
    const result = await this.#generator.run({
      port: this.#server.port,
      connections: 64,
      requests: this.#workload.trackBodies,
      head: this.#workload.trackHead,
      group: this.#workload.devices,
      offset: this.#offset,
      rate: updatesPerSecond,
      count,
      maxLagMs: MAX_LAG_MS,
    })
    this.#offset += result.sent
    if (result.ok !== count) throw new Error(`updates were refused or lost: ${JSON.stringify(result)}`)
    return result
  }

  async window(loads: { readonly updates: boolean; readonly requests: boolean }): Promise<Window> {
    const { rate, seconds } = this.#load
    await this.#loopP99Ms()
    const before = this.#server.cpuSeconds()
    const ended = AbortSignal.timeout(seconds * 1000)
    const clients = loads.requests ? Array.from({ length: CLIENTS }, () => this.#ask(ended)) : []
    const sent = loads.updates ? await this.send(rate, rate * seconds) : undefined
    const asked = await Promise.all(clients)
    return {
      cpuSeconds: this.#server.cpuSeconds() - before,
      updates: sent?.ok ?? 0,
      requests: asked.reduce((sum, count) => sum + count, 0),
      loopP99Ms: await this.#loopP99Ms(),
      p99Ms: sent?.latencyMs.p99 ?? 0,
    }
  }

  async #ask(ended: AbortSignal): Promise<number> {
    let count = 0
    while (!ended.aborted) {
      const path = this.#load.draw(this.#random)
      const answer = await fetch(`http://127.0.0.1:${this.#server.port}${path}`, {
        headers: { authorization: BENCH_KEYS.testPublishable },
      })
      const text = await answer.text()
      if (answer.status !== 200) throw new Error(`${path} was answered ${answer.status}: ${text}`)
      count++
    }
    return count
  }

  /** Since the previous call. */
  async #loopP99Ms(): Promise<number> {
    const text = await (await fetch(`http://127.0.0.1:${this.#server.port}/metrics`)).text()
    const value = /^ringfence_event_loop_delay_p99_seconds (\S+)$/m.exec(text)?.[1]
    return Math.max(0, Number(value) * 1000 - LOOP_RESOLUTION_MS)
  }
}
