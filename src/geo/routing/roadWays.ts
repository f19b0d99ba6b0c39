import type { Position, TravelMode } from '../../model/geofence.ts'
import { ConcurrencyLimit } from '../../runtime/concurrencyLimit.ts'
import type { RoutingEngines } from './port.ts'
import { costingOf, locationOf } from './travel.ts'

/** How many ways are measured at a time, and how many may wait. Beyond that, the engine counts as busy. */
const AT_ONCE = 4
const MOST_WAITING = 500
/** The longest time that somebody waits for a way. */
const GIVE_UP_MS = 1000

/** A way from a point through stops. */
interface Way {
  readonly mode: TravelMode
  readonly latitude: number
  readonly longitude: number
  readonly stops: readonly { readonly location: Position }[]
}

/** A section of a way, which ends at a stop. */
interface Section {
  readonly minutes: number
  readonly meters: number
}

/**
 * Measures ways on the road networks, as far as there is time. If the engine does not know a way, the caller estimates
 * it.
 */
export class RoadWays {
  /** How many ways were measured, and how many were not; for metrics. */
  readonly counters = { measured: 0, unknown: 0 }
  readonly #engines: RoutingEngines
  readonly #limit = new ConcurrencyLimit(AT_ONCE, MOST_WAITING)

  constructor(engines: RoutingEngines) {
    this.#engines = engines
  }

  /**
   * Measures a way. It never rejects.
   * @returns undefined if there is no network, no road, no way, or no time
   */
  async measure(way: Way): Promise<readonly Section[] | undefined> {
    let isLate = false
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => {
        isLate = true
        resolve(undefined)
      }, GIVE_UP_MS)
    })
    const measured = this.#limit.run(async () => (isLate ? undefined : this.#ask(way))).catch(() => undefined)
    const sections = await Promise.race([measured, late])
    clearTimeout(timer)
    this.counters[sections === undefined ? 'unknown' : 'measured']++
    return sections
  }

  async #ask({ mode, latitude, longitude, stops }: Way): Promise<readonly Section[] | undefined> {
    const positions = [[longitude, latitude] as const, ...stops.map(({ location }) => location)]
    const points = positions.map((position) => ({ param: 'location', position }))
    const { trip } = await this.#engines.containing(points).ask('route', {
      locations: points.map(locationOf),
      costing: costingOf(mode),
      units: 'kilometers',
      directions_type: 'none',
      shape_format: 'no_shape',
    })
    return trip.legs.map(({ summary }) => ({ minutes: summary.time / 60, meters: summary.length * 1000 }))
  }
}
