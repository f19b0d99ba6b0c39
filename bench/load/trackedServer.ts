/**
 * A server that takes updates at a constant rate: alone, beside other requests that it is asked without a pause, and those
 * alone. And, as the limit of what can be reached on a machine, beside the same requests if another server answers them.
 *
 * What an update costs is the CPU of the server without its threads of a lower priority, in which the requests are
 * answered, and without what such a request costs the other threads by itself.
 */
import { seededRandom } from '../../src/simulation/streets.ts'
import { addSample } from '../../test/kit/sampleRegion.ts'
import { median, rounded } from '../figures.ts'
import { benchFolder } from '../folder.ts'
import { progress } from '../progress.ts'
import { loadGenerator, type Generator, type LoadResult } from './load.ts'
import {
  BENCH_KEYS,
  foregroundSeconds,
  seedGeofences,
  startRingfence,
  type ServerProcess,
} from './servers.ts'
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
  /** Times what an update costs alone; the median of the rounds, each with its own window alone. */
  readonly times: number | undefined
  readonly updateP99Ms: number | undefined
  /** How much more that is than alone; the median of the rounds. */
  readonly laterMs: number | undefined
  readonly besidePerSecond: number
  readonly loopP99Ms: number
}

/** What was measured. */
export interface Tracking {
  /** What a request costs the threads of the usual priority. */
  readonly requestMicros: number
  readonly alone: TrackedRow
  readonly beside: TrackedRow
  /** Beside the same requests, if another server answers them: what the machine itself does to updates. */
  readonly limit: TrackedRow
  readonly requestsAlone: TrackedRow
}

export async function measureTracking(name: string, load: TrackedLoad): Promise<Tracking> {
  const folder = benchFolder(name)
  const generator = await loadGenerator()
  seedGeofences(folder, drawGeofences(load.geofences, load.seed), () => {})
  const workload = writeWorkload({
    ...load,
    folder,
    publishableKey: BENCH_KEYS.testPublishable,
    onProgress: progress,
  })
  const server = await startServer(folder, load)
  const other = await startServer(benchFolder(`${name}-other`), load)
  const tracked = new TrackedServer(server, generator, workload, load)
  await tracked.send(0, load.devices)
  await tracked.window({ updates: false, asked: server })
  await tracked.window({ updates: false, asked: other })
  const alone: Window[] = []
  const beside: Window[] = []
  const limit: Window[] = []
  const requestsAlone: Window[] = []
  for (let i = 1; i <= load.windows; i++) {
    progress(`tracking beside ${load.name}: ${i} of ${load.windows}`)
    alone.push(await tracked.window({ updates: true, asked: undefined }))
    beside.push(await tracked.window({ updates: true, asked: server }))
    limit.push(await tracked.window({ updates: true, asked: other }))
    requestsAlone.push(await tracked.window({ updates: false, asked: server }))
  }
  await Promise.all([server.stop(), other.stop()])
  const requestSeconds = median(requestsAlone.map(({ cpuSeconds, requests }) => cpuSeconds / requests))
  const row = (title: string, windows: readonly Window[], ownRequestSeconds = 0): TrackedRow => {
    const micros = ({ cpuSeconds, updates, requests }: Window): number =>
      ((cpuSeconds - requests * ownRequestSeconds) / updates) * 1e6
    const isTracking = windows[0]!.updates > 0
    const isBeside = isTracking && windows !== alone
    const compared = (value: (window: Window, alone: Window) => number): number =>
      median(windows.map((window, round) => value(window, alone[round]!)))
    return {
      case: title,
      updateMicros: isTracking ? rounded(median(windows.map(micros)), 1) : undefined,
      times: isBeside
        ? rounded(
            compared((one, base) => micros(one) / micros(base)),
            3,
          )
        : undefined,
      updateP99Ms: isTracking ? rounded(median(windows.map(({ p99Ms }) => p99Ms)), 2) : undefined,
      laterMs: isBeside
        ? rounded(
            compared((one, base) => one.p99Ms - base.p99Ms),
            2,
          )
        : undefined,
      besidePerSecond: rounded(median(windows.map(({ requests }) => requests)) / load.seconds, 1),
      loopP99Ms: rounded(median(windows.map(({ loopP99Ms }) => loopP99Ms)), 2),
    }
  }
  return {
    requestMicros: Math.round(requestSeconds * 1e6),
    alone: row('updates alone', alone),
    beside: row(`updates beside ${load.name}`, beside, requestSeconds),
    limit: row(`limit: updates beside ${load.name} of another server`, limit),
    requestsAlone: row(`${load.name} alone`, requestsAlone),
  }
}

/** As in production: with all its processes, on all processors. */
async function startServer(folder: string, load: TrackedLoad): Promise<ServerProcess> {
  await addSample(`${folder}/data`)
  load.prepare?.(`${folder}/data`)
  return startRingfence(folder, { unpinned: true })
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

  /**
   * @param loads.asked the server that answers the requests; undefined if there are none
   */
  async window(loads: {
    readonly updates: boolean
    readonly asked: ServerProcess | undefined
  }): Promise<Window> {
    const { rate, seconds } = this.#load
    const { asked: other } = loads
    await this.#loopP99Ms()
    const before = foregroundSeconds(this.#server)
    const ended = AbortSignal.timeout(seconds * 1000)
    const clients = other === undefined ? [] : Array.from({ length: CLIENTS }, () => this.#ask(other, ended))
    const sent = loads.updates ? await this.send(rate, rate * seconds) : undefined
    const asked = await Promise.all(clients)
    return {
      cpuSeconds: foregroundSeconds(this.#server) - before,
      updates: sent?.ok ?? 0,
      requests: asked.reduce((sum, count) => sum + count, 0),
      loopP99Ms: await this.#loopP99Ms(),
      p99Ms: sent?.latencyMs.p99 ?? 0,
    }
  }

  async #ask({ port }: ServerProcess, ended: AbortSignal): Promise<number> {
    let count = 0
    while (!ended.aborted) {
      const path = this.#load.draw(this.#random)
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
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
