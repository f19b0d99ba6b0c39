/**
 * A server that takes updates at a constant rate: alone, beside other requests that it is asked without a pause, and those
 * alone. And, as the limit of what can be reached on a machine, beside the same requests if another server answers them.
 *
 * What an update costs is the CPU of the server without its threads of a lower priority, in which the requests are
 * answered, and without what such a request costs the other threads by itself. Where the server can be loaded with a memory for answers, that is
 * what a remembered answer costs beside the same updates, and what the work for a request costs without updates (requests less
 * remembered answers), while another server does the work, so that the machine is as busy; otherwise it is what requests cost alone.
 *
 * Devices and clients stand for other machines: they share one processor, where the devices go before everything else. The
 * server may use all.
 */
import { seededRandom } from '../../src/simulation/streets.ts'
import { addSample } from '../../test/kit/sampleRegion.ts'
import { benchFolder } from '../folder.ts'
import { progress } from '../progress.ts'
import type { Asking } from './askingChild.ts'
import { AskingClients } from './askingClients.ts'
import { loadGenerator, type Generator, type LoadResult } from './load.ts'
import {
  BENCH_KEYS,
  seedGeofences,
  startRingfence,
  threadSeconds,
  type RingfenceOptions,
  type ServerProcess,
} from './servers.ts'
import { trackedRows, type TrackedRound, type TrackedWindow, type Tracking } from './trackedRows.ts'
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
  /** How many different ones are asked, again and again. */
  readonly questions: number
  /** Loads the server with a memory for the answers to the first questions that it is asked. */
  readonly memory?: (questions: number) => RingfenceOptions
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

/** The part of the questions whose answers are remembered. */
const REMEMBERED_SHARE = 0.1

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
  const random = seededRandom(load.seed)
  const paths = Array.from({ length: load.questions }, () => load.draw(random))
  const known = load.memory === undefined ? 0 : Math.ceil(REMEMBERED_SHARE * paths.length)
  const server = await startServer(folder, load, load.memory?.(known))
  const otherFolder = benchFolder(`${name}-other`)
  const other = await startServer(otherFolder, load)
  const clients = await AskingClients.start(folder, paths, BENCH_KEYS.testPublishable)
  const otherClients = await AskingClients.start(otherFolder, paths, BENCH_KEYS.testPublishable)
  const tracked = new TrackedServer({ server, generator, workload, load, clients, otherClients })
  await tracked.send(0, load.devices)
  const remembered = { from: 0, to: known, clients: CLIENTS, port: server.port }
  // The second time, every thread of a pool is likely to know them.
  if (known > 0) await clients.ask({ ...remembered, count: 2 * known })
  const own = { from: known, to: paths.length, clients: CLIENTS, port: server.port }
  const others = { ...own, port: other.port }
  await tracked.window({ asking: own })
  await tracked.window({ asking: others })
  const rounds: TrackedRound[] = []
  for (let i = 1; i <= load.windows; i++) {
    progress(`tracking beside ${load.name}: ${i} of ${load.windows}`)
    const alone = await tracked.window({ hasUpdates: true })
    const beside = await tracked.window({ hasUpdates: true, asking: own })
    const limit = await tracked.window({ hasUpdates: true, asking: others })
    const asMany = ({ requests }: TrackedWindow) => ({
      asking: { ...remembered, perSecond: requests / load.seconds },
      // The machine must be as busy as beside the requests, because a processor is slower while another one works.
      meanwhile: others,
    })
    const hasMemory = known > 0
    const besideMemory = hasMemory ? await tracked.window({ hasUpdates: true, ...asMany(beside) }) : undefined
    const requestsAlone = await tracked.window({ asking: own })
    rounds.push({
      alone,
      beside,
      limit,
      remembered: besideMemory,
      requestsAlone,
      rememberedAlone: hasMemory ? await tracked.window(asMany(requestsAlone)) : undefined,
      again: await tracked.window({ hasUpdates: true }),
    })
  }
  clients.stop()
  otherClients.stop()
  await Promise.all([server.stop(), other.stop()])
  return trackedRows(load.name, load.seconds, rounds)
}

/** As in production: with all its processes, on all processors. */
async function startServer(
  folder: string,
  load: TrackedLoad,
  options: RingfenceOptions = {},
): Promise<ServerProcess> {
  await addSample(`${folder}/data`)
  load.prepare?.(`${folder}/data`)
  return startRingfence(folder, { ...options, unpinned: true })
}

interface TrackedParts {
  readonly server: ServerProcess
  readonly generator: Generator
  readonly workload: Workload
  readonly load: TrackedLoad
  readonly clients: AskingClients
  /** Those that ask another server meanwhile. */
  readonly otherClients: AskingClients
}

class TrackedServer {
  readonly #parts: TrackedParts
  #offset = 0

  constructor(parts: TrackedParts) {
    this.#parts = parts
  }

  async send(updatesPerSecond: number, count: number): Promise<LoadResult> {
    const { server, generator, workload } = this.#parts
    const result = await generator.run({
      port: server.port,
      connections: 64,
      requests: workload.trackBodies,
      head: workload.trackHead,
      group: workload.devices,
      offset: this.#offset,
      rate: updatesPerSecond,
      count,
      maxLagMs: MAX_LAG_MS,
      isFirst: true,
    })
    this.#offset += result.sent
    if (result.ok !== count) throw new Error(`updates were refused or lost: ${JSON.stringify(result)}`)
    return result
  }

  /**
   * @param loads.asking the requests; undefined if there are none
   * @param loads.meanwhile requests to another server at the same time
   */
  async window(loads: {
    readonly hasUpdates?: boolean
    readonly asking?: Asking
    readonly meanwhile?: Asking
  }): Promise<TrackedWindow> {
    const { server, clients, otherClients } = this.#parts
    const { rate, seconds } = this.#parts.load
    await this.#loopP99Ms()
    const before = threadSeconds(server)
    const asked = loads.asking && clients.ask({ ...loads.asking, seconds })
    const meanwhile = loads.meanwhile && otherClients.ask({ ...loads.meanwhile, seconds })
    const sent = loads.hasUpdates === true ? await this.send(rate, rate * seconds) : undefined
    const requests = (await asked) ?? 0
    await meanwhile
    const after = threadSeconds(server)
    return {
      cpuSeconds: after.foreground - before.foreground,
      backgroundSeconds: after.background - before.background,
      updates: sent?.ok ?? 0,
      requests,
      loopP99Ms: await this.#loopP99Ms(),
      p99Ms: sent?.latencyMs.p99 ?? 0,
    }
  }

  /** Since the previous call. */
  async #loopP99Ms(): Promise<number> {
    const text = await (await fetch(`http://127.0.0.1:${this.#parts.server.port}/metrics`)).text()
    const value = /^ringfence_event_loop_delay_p99_seconds (\S+)$/m.exec(text)?.[1]
    return Math.max(0, Number(value) * 1000 - LOOP_RESOLUTION_MS)
  }
}
