import type { Position, TravelMode } from '../../model/geofence.ts'
import { ConcurrencyLimit } from '../../runtime/concurrencyLimit.ts'
import type { RoutingEngines } from './port.ts'
import { pointAfter } from './polyline.ts'
import { costingOf, locationOf } from './travel.ts'

/** How many ways are measured at a time, and how many may wait. Beyond that, the engine counts as busy. */
const AT_ONCE = 4
const MOST_WAITING = 500
/** The longest time that somebody waits for a way. */
const GIVE_UP_MS = 1000
/** How far ahead on the way its point is that an answer names, in minutes: about until it is measured again. */
const AHEAD_MINUTES = 0.5

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
  /** For the first section, a point on it, and the share of the section that comes before the point. */
  readonly ahead?: { readonly location: Position; readonly share: number }
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
    })
    return trip.legs.map(({ summary, shape }, i) => {
      const section = { minutes: summary.time / 60, meters: summary.length * 1000 }
      const ahead = i === 0 ? aheadOn(section, shape) : undefined
      return ahead === undefined ? section : { ...section, ahead }
    })
  }
}

/** The point ahead; undefined on a way that ends before it. */
function aheadOn({ minutes, meters }: Section, shape: string): Section['ahead'] {
  const share = AHEAD_MINUTES / minutes
  const location = share < 1 ? pointAfter(shape, 6, meters * share) : undefined
  return location && { location, share }
}
