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
/**
 * Another way is measured if its answer is expected within this time. The rest of {@link GIVE_UP_MS} is for expectations that
 * are too short: without it, a third of the answers of a busy engine came too late for anybody.
 */
const EXPECTED_MS = 700
/** The share of the last answer in how long an answer takes. */
const LAST_SHARE = 0.1
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
  #underWay = 0
  /** How many wait for their turn, without those that have given up. */
  #waiting = 0
  /** How many were not hopeless, and will be asked for. */
  #announced = 0
  /** When the last of them was, as a time of `performance.now()`. */
  #announcedAt = -Infinity
  /** About how long the engine takes for an answer while {@link AT_ONCE} are asked for, in milliseconds. */
  #answerMs = 0

  constructor(engines: RoutingEngines) {
    this.#engines = engines
  }

  /**
   * Whether {@link measure} would not know the way, as far as that can be told at once: there is no network, or so many
   * wait that the answer would be late. Whoever then does without it says so by {@link gaveUp}. All others are expected to
   * ask for it soon, and count as waiting: a thousand updates that come at once find this out before any of them asks.
   */
  isHopeless(way: Way): boolean {
    const now = performance.now()
    // An update whose trip has ended in the meantime asks for nothing.
    if (now - this.#announcedAt > GIVE_UP_MS) this.#announced = 0
    if (this.#isBusyWith(this.#announced)) return true
    try {
      this.#engines.containing(pointsOf(way))
    } catch {
      return true
    }
    this.#announced++
    this.#announcedAt = now
    return false
  }

  /** Counts a way that was not measured because it is hopeless. */
  gaveUp(): void {
    this.counters.unknown++
  }

  /**
   * Measures a way. It never rejects.
   * @returns undefined if there is no network, no road, no way, or no time
   */
  async measure(way: Way): Promise<readonly Section[] | undefined> {
    if (this.#announced > 0) this.#announced--
    const sections = this.#isBusyWith(0) ? undefined : await this.#inTime(way)
    this.counters[sections === undefined ? 'unknown' : 'measured']++
    return sections
  }

  /**
   * Whether another answer would be late: after those under way, those that wait, and its own.
   * @param announced how many more will wait before it
   */
  #isBusyWith(announced: number): boolean {
    if (this.#underWay + announced < AT_ONCE) return false
    const waiting = this.#waiting + announced
    if (waiting >= MOST_WAITING) return true
    return (Math.floor(waiting / AT_ONCE) + 2) * this.#answerMs > EXPECTED_MS
  }

  async #inTime(way: Way): Promise<readonly Section[] | undefined> {
    let isWaiting = true
    let isLate = false
    let timer: NodeJS.Timeout | undefined
    const waitsNoMore = () => {
      if (isWaiting) this.#waiting--
      isWaiting = false
    }
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => {
        isLate = true
        waitsNoMore()
        resolve(undefined)
      }, GIVE_UP_MS)
    })
    this.#waiting++
    const measured = this.#limit
      .run(async () => {
        waitsNoMore()
        return isLate ? undefined : this.#timed(way)
      })
      .catch(() => undefined)
    const sections = await Promise.race([measured, late])
    clearTimeout(timer)
    waitsNoMore()
    return sections
  }

  async #timed(way: Way): Promise<readonly Section[] | undefined> {
    const began = performance.now()
    this.#underWay++
    try {
      return await this.#ask(way)
    } finally {
      this.#underWay--
      this.#answerMs += LAST_SHARE * (performance.now() - began - this.#answerMs)
    }
  }

  async #ask(way: Way): Promise<readonly Section[] | undefined> {
    const points = pointsOf(way)
    const request = {
      locations: points.map(locationOf),
      costing: costingOf(way.mode),
      units: 'kilometers',
      directions_type: 'none',
    } as const
    // Nobody asks twice from the place of an update, and answers that are asked for again would make room for these.
    const { trip } = await this.#engines.containing(points).ask('route', request, false)
    return trip.legs.map(({ summary, shape }, i) => {
      const section = { minutes: summary.time / 60, meters: summary.length * 1000 }
      const ahead = i === 0 ? aheadOn(section, shape) : undefined
      return ahead === undefined ? section : { ...section, ahead }
    })
  }
}

function pointsOf({ latitude, longitude, stops }: Way) {
  const positions = [[longitude, latitude] as const, ...stops.map(({ location }) => location)]
  return positions.map((position) => ({ param: 'location', position }))
}

/** The point ahead; undefined on a way that ends before it. */
function aheadOn({ minutes, meters }: Section, shape: string): Section['ahead'] {
  const share = AHEAD_MINUTES / minutes
  const location = share < 1 ? pointAfter(shape, 6, meters * share) : undefined
  return location && { location, share }
}
