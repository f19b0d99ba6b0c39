/**
 * What ten open dashboards cost tracking over HTTP. They are clients that watch and follow what a page watches and follows, and no
 * browsers, because ten of these would leave no processor to the server.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { cityPosition, type City } from '../../src/simulation/streets.ts'
import { median, thousands } from '../figures.ts'
import type { DashboardsCommand, DashboardsFigures, Viewport } from '../load/dashboardsChild.ts'
import { startLineChild } from '../load/lineChild.ts'
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

/** Where the dashboards look: boxes of equal size, from the west to the east of the city, some further north than others. */
function viewportsOf(city: City): Viewport[] {
  const placeOf = (east: number, north: number) => {
    const { latitude, longitude } = cityPosition(city, east * city.sizeMeters, north * city.sizeMeters)
    return [longitude, latitude] as const
  }
  return Array.from({ length: DASHBOARDS }, (_, i) => {
    const east = (i / (DASHBOARDS - 1)) * (1 - VIEWPORT)
    const north = ((i * 3) % DASHBOARDS) / DASHBOARDS / 2
    return [...placeOf(east, north), ...placeOf(east + VIEWPORT, north + VIEWPORT)] as const
  })
}

export interface Beside {
  /** The server's CPU in microseconds per update. */
  readonly microsWithout: number
  readonly microsBeside: number
  /** Positions that were delivered. */
  readonly watched: number
  /** Events that were delivered. */
  readonly followed: number
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
  let followed = 0
  const dashboards = await startLineChild<DashboardsCommand>('dashboardsChild.ts', [
    '--url',
    `http://127.0.0.1:${server.port}`,
    '--key',
    BENCH_KEYS.testSecret,
  ])
  const viewports = viewportsOf(city)
  for (let round = 1; round <= windows; round++) {
    progress(`window ${round} of ${windows}`)
    without.push((await traffic.send(rate * seconds, rate)).micros)
    await dashboards.ask({ do: 'open', viewports })
    // Their first positions are not what is measured.
    await sleep(1500)
    await dashboards.ask({ do: 'look' })
    beside.push((await traffic.send(rate * seconds, rate)).micros)
    const seen = await dashboards.ask<DashboardsFigures>({ do: 'look' })
    watched += seen.positions
    followed += seen.events
    await dashboards.ask({ do: 'close' })
    // The server has forgotten them before the next window begins.
    await sleep(500)
  }
  dashboards.stop()
  done(`${thousands(rate)} updates/s, with and without ${DASHBOARDS} dashboards`)
  return { microsWithout: median(without), microsBeside: median(beside), watched, followed }
}
