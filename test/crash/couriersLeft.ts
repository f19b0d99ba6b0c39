import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { compareTrips } from '../clusterFaults/comparison.ts'
import { Courier, GOAL, Messenger } from '../clusterFaults/couriers.ts'
import { Load } from '../clusterFaults/load.ts'
import type { EventRecord } from '../clusterFaults/movers.ts'
import type { Server } from '../kit/server.ts'

const COURIERS = 6
const MESSENGERS = 2
const BY_STREAM = 2
const PAGE = 1000

/**
 * Devices on trips, which go on while their server is killed again and again: each update moves its trip once, and
 * its events are there once, in order (T1, T2, T4).
 */
export class Couriers {
  readonly load: Load
  readonly deviceIds: readonly string[]
  readonly #server: Server
  readonly #fault: (sentence: string) => void

  private constructor(server: Server, couriers: readonly Courier[], fault: (sentence: string) => void) {
    this.#server = server
    this.#fault = fault
    const { partitions } = JSON.parse(readFileSync(join(server.data, 'store.json'), 'utf8'))
    const messengers = Array.from(
      { length: MESSENGERS },
      (_, n) => new Messenger(`messenger-${n}`, n, partitions),
    )
    const byHttp = [...couriers.slice(BY_STREAM), ...messengers]
    this.load = new Load([server.url], { byHttp, byStream: couriers.slice(0, BY_STREAM) }, fault)
    this.deviceIds = this.load.movers.map(({ deviceId }) => deviceId)
  }

  /** Makes their trips, and lets them drive. The setting tripUpdateSeconds must be 0. */
  static async start(server: Server, fault: (sentence: string) => void): Promise<Couriers> {
    const couriers = Array.from({ length: COURIERS }, (_, n) => new Courier(`courier-${n}`))
    await server.api('PUT', `/v1/${GOAL.path}`, GOAL.body)
    for (const { order } of couriers) await server.good('POST', '/v1/trips', order)
    const started = new Couriers(server, couriers, fault)
    started.load.start()
    return started
  }

  /** Lets them drive on until each has a new answer. */
  async answered(): Promise<void> {
    const now = performance.now()
    await this.load.recovered(() => now)
  }

  /** Ends the drives, once everything is acknowledged, and compares what is there. */
  async finish(): Promise<void> {
    const fault = this.#fault
    await this.load.stop()
    const get = (path: string) => this.#server.api('GET', `/v1/${path}`)
    await compareTrips(this.load.movers, get, fault)
    const ids = new Set<string>()
    const byDevice = new Map<string, EventRecord[]>(this.deviceIds.map((deviceId) => [deviceId, []]))
    for await (const event of this.#events()) {
      if (ids.has(event._id)) fault(`G2 event ${event._id} is twice in the list`)
      ids.add(event._id)
      byDevice.get(event.user?.deviceId ?? '')?.unshift(event)
    }
    for (const id of this.load.answered)
      if (!ids.has(id)) fault(`G5 event ${id} of a trip was answered, and is gone`)
    for (const mover of this.load.movers) {
      const found = byDevice.get(mover.deviceId)!.map((event) => mover.textOf(event))
      for (let i = 0; i < Math.max(found.length, mover.events.length); i++) {
        if (found[i] === mover.events[i]) continue
        fault(
          `T1, T4 event ${i} of the ${found.length} of ${mover.deviceId} is ${found[i]}, expected ` +
            `${mover.events[i]} of ${mover.events.length}`,
        )
        break
      }
    }
  }

  /** Newest first. */
  async *#events(): AsyncGenerator<EventRecord> {
    for (let before = ''; ;) {
      const { body } = await this.#server.api('GET', `/v1/events?limit=${PAGE}${before}`)
      yield* body.events as EventRecord[]
      if (!body.meta.hasMore) return
      before = `&before=${body.events.at(-1)._id}`
    }
  }
}
