import type { Job } from '../../jobs/port.ts'
import type { GeofenceProperties } from '../../model/geofence.ts'
import type { IsochroneOutcome } from './isochrone.ts'
import { AreaRefused, AreaTimedOut, type AreaSource } from './areaSource.ts'
import type { Geofences } from './geofences.ts'

/** How many areas are computed at a time. Requests for routes must find room, too. */
const AT_A_TIME = 2
/** An area that takes too long this often is not tried again. */
const MOST_TIMEOUTS = 3

/**
 * The job that computes the areas of isochrones: of those that are new, and of those that were computed on another
 * road network than the present one.
 *
 * Invariants
 * - ISOCHRONES-1: While a new area is computed the previous one stays. A failure that another attempt would repeat is
 *   noted on the record with its road network; another network is asked again.
 * - ISOCHRONES-2: The work to be done is stored in the registry alone, so nothing is forgotten when the process ends.
 * - ISOCHRONES-3: A record that has just been put does not wait for the thousands that a new network or an import has
 *   made pending.
 * - ISOCHRONES-4: A record whose computation has failed waits for those that have not failed.
 */
export class IsochroneWorker implements Job {
  readonly name = 'isochrones'
  readonly isShared = true
  readonly isAble: () => boolean
  readonly #geofences: Geofences
  readonly #source: AreaSource
  /**
   * Geofences that were written since the last complete check, the newest last. Some may have been written again, or be
   * done.
   */
  readonly #fresh: GeofenceProperties[] = []
  /** The rest of the geofences that the last complete check found; undefined if another check is needed. */
  #backlog: GeofenceProperties[] | undefined
  /** How often the computation of an area failed, by geofence id, and how often because it took too long. */
  readonly #failed = new Map<string, { attempts: number; timeouts: number }>()

  /** @param isAble whether this process has a road network now */
  constructor(geofences: Geofences, source: AreaSource, isAble: () => boolean) {
    this.#geofences = geofences
    this.#source = source
    this.isAble = isAble
  }

  /** How many isochrones have no area of the present road network. */
  get pending(): number {
    return this.#todo().length
  }

  begin(wake: () => void): () => void {
    this.#fresh.length = 0
    this.#backlog = undefined
    this.#geofences.onIsochrone = (geofence) => {
      if (this.#networkFor(geofence) === undefined) return
      this.#failed.delete(geofence.id)
      this.#fresh.push(geofence)
      wake()
    }
    const forget = this.#source.onChange(() => {
      this.#backlog = undefined
      this.#failed.clear()
      wake()
    })
    return () => {
      forget()
      this.#geofences.onIsochrone = () => {}
    }
  }

  dueAt(): number {
    return this.#fresh.length > 0 || this.#backlog?.length !== 0 ? 0 : Infinity
  }

  /** Computes a few isochrones. */
  async run(): Promise<void> {
    const some = this.#next()
    if (some.length === 0) return this.#failed.clear()
    const failure = await this.#settle(some)
    if (failure === undefined) return
    // The next run finds the geofence again.
    this.#backlog = undefined
    throw failure
  }

  /** The next geofences to compute; empty if all are done. */
  #next(): GeofenceProperties[] {
    this.#backlog ??= this.#todo()
    const some: GeofenceProperties[] = []
    while (some.length < AT_A_TIME) {
      const latest = this.#fresh.pop() ?? this.#backlog.pop()
      if (latest === undefined) break
      const geofence = this.#geofences.store(latest.scope).records.get(latest.id)
      if (geofence === undefined || this.#networkFor(geofence) === undefined) continue
      if (some.every(({ id }) => id !== geofence.id)) some.push(geofence)
    }
    return some
  }

  /** Computes some areas and stores them. Returns the reason if some must be tried again. */
  async #settle(some: readonly GeofenceProperties[]): Promise<Error | undefined> {
    let failure: Error | undefined
    const outcomes = await Promise.all(
      some.map((geofence) => this.#compute(geofence).catch((error: Error) => void (failure = error))),
    )
    try {
      const settled = outcomes.flatMap((outcome, i) =>
        outcome === undefined ? [] : [[some[i]!, outcome] as const],
      )
      await this.#geofences.edit(() => this.#geofences.settleIsochrones(settled))
    } catch (error) {
      return error as Error
    }
    return failure
  }

  async #compute(geofence: GeofenceProperties): Promise<IsochroneOutcome> {
    const network = this.#networkFor(geofence) ?? ''
    if (network === '') return { network, failure: 'No region contains the destination.' }
    const { destination, minutes } = geofence.isochrone!
    try {
      const ring = await this.#source.areaAround(destination, minutes, geofence.mode!)
      this.#failed.delete(geofence.id)
      return { network, ring }
    } catch (error) {
      if (error instanceof AreaRefused || this.#timesOutAlways(geofence, error)) {
        this.#failed.delete(geofence.id)
        return { network, failure: (error as Error).message }
      }
      throw error
    }
  }

  #timesOutAlways({ id }: GeofenceProperties, error: unknown): boolean {
    const { attempts, timeouts } = this.#failed.get(id) ?? { attempts: 0, timeouts: 0 }
    const now = timeouts + (error instanceof AreaTimedOut ? 1 : 0)
    this.#failed.set(id, { attempts: attempts + 1, timeouts: now })
    return now >= MOST_TIMEOUTS
  }

  /** All geofences whose area must be computed. The next one is last. */
  #todo(): GeofenceProperties[] {
    const attempts = ({ id }: GeofenceProperties) => this.#failed.get(id)?.attempts ?? 0
    return [...this.#geofences.isochrones()]
      .filter((geofence) => this.#networkFor(geofence) !== undefined)
      .sort((a, b) => attempts(b) - attempts(a))
  }

  /**
   * The network on which to compute it; undefined if it has been computed on that network, or there is no network at
   * all.
   */
  #networkFor({ isochrone }: GeofenceProperties): string | undefined {
    if (isochrone === undefined) return undefined
    const network = this.#source.networkAt(isochrone.destination)
    return network === isochrone.network ? undefined : network
  }
}
