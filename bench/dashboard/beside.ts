/**
 * What ten open dashboards cost tracking over HTTP. They are clients that watch and follow what a page watches and follows, and no
 * browsers, because ten of these would leave no processor to the server.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Ringfence } from '../../sdk/src/client.ts'
import { cityPosition, type City } from '../../src/simulation/streets.ts'
import { median, thousands } from '../figures.ts'
import type { Generator } from '../load/load.ts'
import { BENCH_KEYS, type ServerProcess } from '../load/servers.ts'
import type { Workload } from '../load/workload.ts'
import { done, progress } from '../progress.ts'

export const DASHBOARDS = 10
/** Side of a viewport, as a share of that of the city. */
const VIEWPORT = 0.4
const CONNECTIONS = 64

/** Sends the updates of the workload one after another, starting over at its end. */
export class Traffic {
  readonly #generator: Generator
  readonly #workload: Workload
  readonly #server: ServerProcess
  #offset = 0

  constructor(generator: Generator, workload: Workload, server: ServerProcess) {
    this.#generator = generator
    this.#workload = workload
    this.#server = server
  }

  /**
   * @param perSecond updates per second; 0: as fast as they are answered
   * @returns the server's CPU in microseconds per update
   */
  async send(
    count: number,
    perSecond: number,
  ): Promise<{ readonly micros: number; readonly perSecond: number }> {
    const before = this.#server.cpuSeconds()
    const result = await this.#generator.run({
      port: this.#server.port,
      connections: CONNECTIONS,
      requests: this.#workload.trackBodies,
      head: this.#workload.trackHead,
      group: this.#workload.devices,
      offset: this.#offset,
      count,
      rate: perSecond,
      maxLagMs: 5000,
    })
    this.#offset += result.sent
    if (result.ok !== result.sent) throw new Error(`updates were refused: ${JSON.stringify(result)}`)
    const cpu = this.#server.cpuSeconds() - before
    return { micros: (cpu / result.ok) * 1e6, perSecond: result.ok / result.seconds }
  }
}

/** What open dashboards ask of the server. */
function openDashboards(
  url: string,
  region: City,
): { readonly received: () => number; close(): Promise<void> } {
  const stop = new AbortController()
  let received = 0
  const follow = async (source: AsyncIterable<unknown>, count: (item: unknown) => number) => {
    try {
      for await (const item of source) received += count(item)
    } catch (error) {
      if (!stop.signal.aborted) throw error
    }
  }
  const streams = Array.from({ length: DASHBOARDS }, (_, i) => {
    const stream = new Ringfence({ url, key: BENCH_KEYS.testSecret }).stream()
    const share = (i / (DASHBOARDS - 1)) * (1 - VIEWPORT)
    const [west, south] = placeOf(region, share, ((i * 3) % DASHBOARDS) / DASHBOARDS / 2)
    const [east, north] = placeOf(
      region,
      share + VIEWPORT,
      ((i * 3) % DASHBOARDS) / DASHBOARDS / 2 + VIEWPORT,
    )
    const area = { type: 'box', box: [west, south, east, north] } as const
    void follow(
      stream.watchBatches(area, { signal: stop.signal }),
      (batch) => (batch as readonly unknown[]).length,
    )
    void follow(stream.events({}, { batch: true, signal: stop.signal }), () => 1)
    return stream
  })
  return {
    received: () => received,
    async close() {
      stop.abort()
      await Promise.all(streams.map((stream) => stream.close()))
    },
  }

  function placeOf(city: City, east: number, north: number): [number, number] {
    const { latitude, longitude } = cityPosition(city, east * city.sizeMeters, north * city.sizeMeters)
    return [longitude, latitude]
  }
}

export interface Beside {
  /** The server's CPU in microseconds per update. */
  readonly microsWithout: number
  readonly microsBeside: number
  /** Positions that were delivered. */
  readonly watched: number
}

/** Updates with and without ten dashboards, in turn. */
export async function measureBeside(
  server: ServerProcess,
  traffic: Traffic,
  {
    city,
    windows,
    rate,
    seconds,
  }: { readonly city: City; readonly windows: number; readonly rate: number; readonly seconds: number },
): Promise<Beside> {
  const without: number[] = []
  const beside: number[] = []
  let watched = 0
  for (let round = 1; round <= windows; round++) {
    progress(`window ${round} of ${windows}`)
    without.push((await traffic.send(rate * seconds, rate)).micros)
    const dashboards = openDashboards(`http://127.0.0.1:${server.port}`, city)
    // Their first positions are not what is measured.
    await sleep(1500)
    const before = dashboards.received()
    beside.push((await traffic.send(rate * seconds, rate)).micros)
    watched += dashboards.received() - before
    await dashboards.close()
  }
  done(`${thousands(rate)} updates/s, with and without ${DASHBOARDS} dashboards`)
  return { microsWithout: median(without), microsBeside: median(beside), watched }
}
