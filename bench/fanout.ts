/**
 * What it costs to deliver an event to many: N readers of all events, or of one device's, over WebSocket, server-sent
 * events and webhooks; how late events arrive; and whether a stalled reader affects the others.
 *
 * The bare server publishes the same bytes to as many WebSockets through uWebSockets.js. Both take turns in short
 * windows at the same rate, and medians count. The cost of the updates themselves is measured before the readers
 * connect, and subtracted.
 */
import { parseArgs } from 'node:util'
import { median, rounded, thousands } from './figures.ts'
import { benchFolder } from './folder.ts'
import { DEVICES, HUB } from './load/fanoutDevices.ts'
import type { FanoutCommand, FanoutResult, Transport } from './load/fanoutGenerator.ts'
import { startLineChild, type LineChild } from './load/lineChild.ts'
import {
  BENCH_KEYS,
  seedGeofences,
  startBareFanout,
  startRingfence,
  type ServerProcess,
} from './load/servers.ts'
import { drawGeofences } from './load/workload.ts'
import { done, progress } from './progress.ts'

interface Case {
  readonly transport: Transport
  readonly readers: number
  /** Each reader wants the events of one of {@link DEVICES} devices. */
  readonly filtered: boolean
  /** One more reader subscribes to everything a hundred times, and never reads. */
  readonly stalled: boolean
}

/** At most this much server CPU for delivering one event to 10,000 readers, milliseconds. */
const STATED_MILLIS = 50
const STATED_READERS = 10_000
/** CPU of a delivery next to a stalled reader, as a multiple of that without one, at most. */
const STATED_STALL = 1.05
/** How far beyond it `--strict` lets a noisy machine measure. */
const TOLERANCE = 0.1
/** Deliveries per second that a rate is chosen for: at most half of what a core can deliver. */
const DELIVERIES_PER_SECOND: Readonly<Record<Transport, number>> = {
  websocket: 20_000,
  sse: 10_000,
  webhook: 400,
}
const MAX_EVENTS_PER_SECOND = 200
const STALLED_SUBSCRIPTIONS = 100
/** The load that fills the buffers of a reader that does not read: more than 20 MB. */
const FILL = { rate: 200, seconds: 2 }

const { values: options } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    strict: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
    /** Duration of one window. */
    seconds: { type: 'string' },
    /** Windows of each server. */
    rounds: { type: 'string' },
    /** Runs only this transport: websocket, sse or webhook. */
    transport: { type: 'string' },
    /** Runs only the rows with this number of readers. */
    readers: { type: 'string' },
  },
})
const size = options.smoke
  ? { geofences: 1_000, windows: 1, seconds: 0.5 }
  : { geofences: 100_000, windows: 5, seconds: 3 }
const windows = Number(options.rounds ?? size.windows)
const seconds = Number(options.seconds ?? size.seconds)
const seed = Number(options.seed)

const CASES: readonly Case[] = (
  options.smoke
    ? [
        of('websocket', 20),
        of('websocket', 100, 'filtered'),
        of('websocket', 20, 'stalled'),
        of('sse', 20),
        of('webhook', 1),
      ]
    : [
        of('websocket', 100),
        of('websocket', 1_000),
        of('websocket', 1_000, 'stalled'),
        of('websocket', STATED_READERS),
        of('websocket', 5_000, 'filtered'),
        of('sse', 100),
        of('sse', 1_000),
        of('sse', 1_000, 'filtered'),
        of('webhook', 1),
        of('webhook', 10),
      ]
).filter(
  ({ transport, readers }) =>
    (options.transport === undefined || transport === options.transport) &&
    (options.readers === undefined || readers === Number(options.readers)),
)

function of(transport: Transport, readers: number, kind?: 'filtered' | 'stalled'): Case {
  return { transport, readers, filtered: kind === 'filtered', stalled: kind === 'stalled' }
}

/** A server, with the generator that loads it. */
class Contender {
  readonly name: string
  readonly server: ServerProcess
  readonly #generator: LineChild<FanoutCommand>
  #windows: Window[] = []
  /** The CPU of the updates alone, in microseconds per event. */
  #updateMicros: number[] = []

  constructor(name: string, server: ServerProcess, generator: LineChild<FanoutCommand>) {
    this.name = name
    this.server = server
    this.#generator = generator
  }

  async connect(): Promise<void> {
    this.#windows = []
    this.#updateMicros = []
    await this.#generator.ask({ do: 'connect', port: this.server.port, key: BENCH_KEYS.testSecret })
  }

  /** Lets one reader stall, and fills its buffers. */
  async stall(): Promise<void> {
    await this.#generator.ask({ do: 'stall', subscriptions: STALLED_SUBSCRIPTIONS })
    await this.#generator.ask({ do: 'run', ...FILL })
  }

  async read({ transport, readers, filtered }: Case): Promise<void> {
    const { port } = await this.#generator.ask<{ port?: number }>({
      do: 'read',
      transport,
      count: readers,
      filtered,
    })
    if (port !== undefined) for (let i = 0; i < readers; i++) await this.#createWebhook(port, i)
  }

  /**
   * Runs one window.
   * @param rate events per second
   */
  async window(rate: number): Promise<void> {
    this.#windows.push(await this.#run(rate))
  }

  async windowWithoutReaders(rate: number): Promise<void> {
    const { cpuSeconds, result } = await this.#run(rate)
    this.#updateMicros.push((cpuSeconds / result.events) * 1e6)
  }

  async close(): Promise<void> {
    await this.#generator.ask({ do: 'close' })
    await this.#removeWebhooks()
  }

  stop(): Promise<void> {
    this.#generator.stop()
    return this.server.stop()
  }

  /** Medians over the windows since {@link connect}. */
  get figures(): Figures {
    const all = this.#windows
    const middle = (value: (window: Window) => number) => median(all.map(value))
    const updateMicros = median(this.#updateMicros)
    const eventMicros = middle(({ cpuSeconds, result }) => (cpuSeconds / result.events) * 1e6) - updateMicros
    return {
      cpuMicrosPerDelivery: rounded(
        eventMicros / middle(({ result }) => result.delivered / result.events),
        2,
      ),
      cpuMillisPerEvent: rounded(eventMicros / 1000, 2),
      cpuMicrosPerUpdate: rounded(updateMicros, 1),
      p50Ms: rounded(
        middle(({ result }) => result.latencyMs.p50),
        2,
      ),
      p99Ms: rounded(
        middle(({ result }) => result.latencyMs.p99),
        2,
      ),
      bytesPerDelivery: Math.round(middle(({ result }) => result.bytesReceived / result.delivered)),
      generatorCpuShare: rounded(
        middle(({ result }) => result.cpuSeconds / result.seconds),
        2,
      ),
      generatorWasLimit: all.some(({ result }) => result.generatorWasLimit),
    }
  }

  async #run(rate: number): Promise<Window> {
    const before = this.server.cpuSeconds()
    const result = await this.#generator.ask<FanoutResult>({ do: 'run', rate, seconds })
    const cpuSeconds = this.server.cpuSeconds() - before
    if (result.delivered !== result.expected)
      throw new Error(`${this.name} lost events: ${JSON.stringify(result)}\n${this.server.output()}`)
    return { result, cpuSeconds }
  }

  #createWebhook(port: number, reader: number): Promise<unknown> {
    return this.#api('POST', '/v1/webhooks', { url: `http://127.0.0.1:${port}/${reader}` })
  }

  async #removeWebhooks(): Promise<void> {
    if (this.name !== 'ringfence') return
    const { webhooks } = (await this.#api('GET', '/v1/webhooks')) as { webhooks: { _id: string }[] }
    for (const { _id } of webhooks) await this.#api('DELETE', `/v1/webhooks/${_id}`)
  }

  async #api(method: string, path: string, body?: object): Promise<unknown> {
    const answer = await fetch(`http://127.0.0.1:${this.server.port}${path}`, {
      method,
      headers: { authorization: BENCH_KEYS.testSecret, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    if (answer.status !== 200) throw new Error(`${method} ${path} was answered ${answer.status} ${text}`)
    return JSON.parse(text)
  }
}

interface Window {
  readonly result: FanoutResult
  readonly cpuSeconds: number
}

interface Figures {
  /** The cost of the updates themselves has been subtracted. */
  readonly cpuMicrosPerDelivery: number
  readonly cpuMillisPerEvent: number
  /** The cost of an update whose event nobody reads. */
  readonly cpuMicrosPerUpdate: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly bytesPerDelivery: number
  readonly generatorCpuShare: number
  readonly generatorWasLimit: boolean
}

interface Result {
  readonly single: Case
  readonly rate: number
  readonly figures: Readonly<Record<string, Figures>>
}

async function main(): Promise<number> {
  const folder = benchFolder('fanout')
  seedGeofences(folder, [HUB, ...drawGeofences(size.geofences, seed)], (stored) =>
    progress(`geofences: ${stored}`),
  )
  const server = await startRingfence(folder, {
    env: {
      RINGFENCE_MAX_CONNECTIONS: '20000',
      RINGFENCE_MAX_CONNECTIONS_PER_ADDRESS: '20000',
      RINGFENCE_MAX_STREAMS_PER_KEY: '20000',
      RINGFENCE_STREAM_IDLE_SECONDS: '960',
      RINGFENCE_WEBHOOK_PRIVATE_ADDRESSES: '127.0.0.1',
    },
  })
  const ringfence = new Contender('ringfence', server, await startLineChild('fanoutGenerator.ts', []))
  await ringfence.connect()
  await ringfence.windowWithoutReaders(MAX_EVENTS_PER_SECOND)
  await ringfence.close()
  const bareServer = await startBareFanout(folder, await sampleMessage(server.port))
  const bare = new Contender('bare', bareServer, await startLineChild('fanoutGenerator.ts', []))
  const results: Result[] = []
  for (const single of CASES) {
    results.push(await measure(single, single.transport === 'websocket' ? [bare, ringfence] : [ringfence]))
  }
  await ringfence.stop()
  await bare.stop()
  return report(results)
}

/** An event as a subscriber receives it. */
async function sampleMessage(port: number): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${port}/v1/events?limit=1`, {
    headers: { authorization: BENCH_KEYS.testSecret },
  })
  const { events } = (await answer.json()) as { events: [object] }
  return JSON.stringify({ type: 'event', subscription: 's', event: events[0] })
}

async function measure(single: Case, contenders: readonly Contender[]): Promise<Result> {
  const { transport, readers, filtered, stalled } = single
  const perEvent = filtered ? readers / DEVICES : readers
  const rate = Math.min(MAX_EVENTS_PER_SECOND, DELIVERIES_PER_SECOND[transport] / perEvent)
  const name = nameOf(single)
  for (const contender of contenders) {
    progress(`${name}: ${contender.name} without readers`)
    await contender.connect()
    if (stalled) await contender.stall()
    for (let round = 1; round <= windows; round++) await contender.windowWithoutReaders(rate)
    await contender.read(single)
  }
  for (let round = 1; round <= windows; round++) {
    for (const contender of contenders) {
      progress(`${name}: ${contender.name} at ${rate} events/s, ${round} of ${windows}`)
      await contender.window(rate)
    }
  }
  const figures = Object.fromEntries(contenders.map((contender) => [contender.name, contender.figures]))
  for (const contender of contenders) await contender.close()
  done(`${name}: ${figures['ringfence']!.cpuMicrosPerDelivery} µs`)
  return { single, rate, figures }
}

function nameOf({ transport, readers, filtered, stalled }: Case): string {
  const extras = `${filtered ? ', of one device each' : ''}${stalled ? ', one more stalled' : ''}`
  return `${transport}, ${thousands(readers)} readers${extras}`
}

function report(results: readonly Result[]): number {
  const rows = results.map(({ single, rate, figures }) => {
    const bare = figures['bare']
    const own = figures['ringfence']!
    return {
      case: nameOf(single),
      eventsPerSecond: rate,
      bareMicros: bare?.cpuMicrosPerDelivery,
      micros: own.cpuMicrosPerDelivery,
      ratio: bare && rounded(bare.cpuMicrosPerDelivery / own.cpuMicrosPerDelivery, 3),
      millisPerEvent: own.cpuMillisPerEvent,
      p50Ms: own.p50Ms,
      p99Ms: own.p99Ms,
      bareP50Ms: bare?.p50Ms,
      bareP99Ms: bare?.p99Ms,
    }
  })
  console.table(rows)
  const costOf = (wanted: Partial<Case>) =>
    results.find(({ single }) =>
      Object.entries(wanted).every(([key, value]) => single[key as keyof Case] === value),
    )?.figures['ringfence']
  const most = costOf({ transport: 'websocket', readers: STATED_READERS })?.cpuMillisPerEvent
  const stalledReaders = results.find(({ single }) => single.stalled)?.single.readers
  const beside = { transport: 'websocket', readers: stalledReaders, filtered: false } as Partial<Case>
  const alone = costOf({ ...beside, stalled: false })?.cpuMicrosPerDelivery
  const withStalled = costOf({ ...beside, stalled: true })?.cpuMicrosPerDelivery
  const stallFactor = alone && withStalled && rounded(withStalled / alone, 3)
  if (most !== undefined)
    console.log(
      `one event to ${thousands(STATED_READERS)} readers: ${most} ms of CPU (stated: ${STATED_MILLIS})`,
    )
  if (stallFactor !== undefined)
    console.log(
      `a delivery beside a stalled reader: ${stallFactor} of what it costs else ` +
        (options.smoke ? '(a smoke run)' : `(stated: ${STATED_STALL})`),
    )
  console.log(
    JSON.stringify({
      bench: 'fanout',
      millisPerEventToMost: most,
      statedMillis: STATED_MILLIS,
      stallFactor,
      statedStallFactor: STATED_STALL,
      rows,
      details: results.map(({ single, rate, figures }) => ({ ...single, rate, ...figures })),
      geofences: size.geofences,
      devices: DEVICES,
      seed,
      windows,
      windowSeconds: seconds,
      smoke: options.smoke,
      partial: (options.transport ?? options.readers) !== undefined,
    }),
  )
  const missed =
    (most ?? 0) > STATED_MILLIS * (1 + TOLERANCE) || (stallFactor ?? 0) > STATED_STALL * (1 + TOLERANCE)
  return options.strict && !options.smoke && missed ? 1 : 0
}

process.exit(await main())
