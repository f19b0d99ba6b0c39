import { setTimeout as sleep } from 'node:timers/promises'
import type { GeofenceProperties } from '../model/geofence.ts'
import type { IsochroneOutcome } from './isochrone.ts'
import { AreaRefused, type AreaSource } from './port.ts'
import type { Registry } from './registry.ts'

/** Asked at a time: those who ask for routes are to find room, too. */
const AT_A_TIME = 2
const FIRST_RETRY_MS = 500
const LAST_RETRY_MS = 60_000

/**
 * Computes the areas of isochrones in the background: of those that are new, and of all whose road network is another one than they
 * were computed on.
 *
 * 1. While a new area is computed the one before stays. A failure that another attempt would repeat is noted on the record, with its
 *    network; another network is asked again.
 * 2. What is to be done stands in the registry alone, so nothing is forgotten at an end of the process.
 */
export class IsochroneWorker {
  readonly name = 'isochrones'
  readonly #registry: Registry
  readonly #source: AreaSource
  readonly #troubled: (error: Error) => void
  #ended = new AbortController()
  #running: Promise<void> = Promise.resolve()
  #wake: (() => void) | undefined

  constructor(registry: Registry, source: AreaSource, troubled: (error: Error) => void) {
    this.#registry = registry
    this.#source = source
    this.#troubled = troubled
  }

  /** Isochrones whose area is not that of the road network that there is. */
  get pending(): number {
    return this.#todo().length
  }

  start(): void {
    this.#ended = new AbortController()
    this.#running = this.#run()
  }

  async stop(): Promise<void> {
    this.#ended.abort()
    this.#wake?.()
    await this.#running
  }

  async #run(): Promise<void> {
    const { signal } = this.#ended
    const changed = () => this.#wake?.()
    this.#registry.onIsochrone = changed
    const forget = this.#source.onChange(changed)
    let retryMs = FIRST_RETRY_MS
    while (!signal.aborted) {
      const woken = new Promise<void>((resolve) => (this.#wake = resolve))
      const failure = await this.#round(signal).catch((error: Error) => error)
      if (failure === undefined) {
        retryMs = FIRST_RETRY_MS
        await woken
      } else if (!signal.aborted) {
        this.#troubled(failure)
        await sleep(retryMs, undefined, { signal }).catch(() => {})
        retryMs = Math.min(2 * retryMs, LAST_RETRY_MS)
      }
    }
    forget()
    this.#registry.onIsochrone = () => {}
  }

  /** Resolves once everything that there was to do is done; rejects where something has to be tried again. */
  async #round(signal: AbortSignal): Promise<undefined> {
    let failed: Error | undefined
    const todo = this.#todo()
    for (let i = 0; i < todo.length && !signal.aborted; i += AT_A_TIME) {
      const some = todo.slice(i, i + AT_A_TIME)
      const outcomes = await Promise.all(
        some.map(({ geofence, network }) =>
          this.#compute(geofence, network).catch((error: Error) => void (failed = error)),
        ),
      )
      await this.#registry.edit(() => {
        for (const [j, outcome] of outcomes.entries())
          if (outcome !== undefined) this.#registry.settleIsochrone(some[j]!.geofence, outcome)
      })
    }
    if (failed !== undefined) throw failed
  }

  async #compute(geofence: GeofenceProperties, network: string): Promise<IsochroneOutcome> {
    if (network === '') return { network, failure: 'No region contains the destination.' }
    const { destination, minutes } = geofence.isochrone!
    try {
      return { network, ring: await this.#source.areaAround(destination, minutes, geofence.mode!) }
    } catch (error) {
      if (!(error instanceof AreaRefused)) throw error
      return { network, failure: error.message }
    }
  }

  #todo(): { geofence: GeofenceProperties; network: string }[] {
    const todo = []
    for (const geofence of this.#registry.isochrones()) {
      const network = this.#source.networkAt(geofence.isochrone!.destination)
      if (network !== undefined && network !== geofence.isochrone!.network) todo.push({ geofence, network })
    }
    return todo
  }
}
