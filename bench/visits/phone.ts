import { destination, pointDistance } from '../../src/geometry/distance.ts'
import type { Place as Point } from '../quality/truth.ts'

/** What a phone reports of its way: a location with an error, and whether its SDK holds that it has stopped. */
export interface Report extends Point {
  /** Seconds since the day began. */
  readonly second: number
  readonly accuracy: number
  readonly stopped: boolean
}

const INTERVAL_SECONDS = 30
/**
 * Two errors that are this far apart have a correlation of 0.37: indoors, a receiver is off in one direction for a
 * while.
 */
const DRIFT_SECONDS = 120
/** The correlation of the errors of two locations in a row. */
export const REPORT_CORRELATION = Math.exp(-INTERVAL_SECONDS / DRIFT_SECONDS)
/** The defaults of the SDKs: a device has stopped when it has been within this many metres for this long. */
const STOP_METERS = 70
const STOP_SECONDS = 140
/** The reported accuracy is the radius of 68 % of the errors, times a random error of its own. */
const ACCURACY_SPREAD = 0.2
/** The radius within which 68 % of the errors are, in standard deviations from south to north or from west to east. */
export const RADIUS_68 = Math.sqrt(-2 * Math.log(1 - 0.68))

/**
 * Simulates the phone on a way.
 * @param error metres within which 68 % of the locations are
 */
export function reportsOf(way: readonly Point[], error: number, random: () => number): Report[] {
  const gauss = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  const kept = REPORT_CORRELATION
  const drift = (value: number) => value * kept + gauss() * Math.sqrt(1 - kept * kept)
  let [east, north] = [gauss(), gauss()]
  const reports: Report[] = []
  for (let second = 0; second < way.length; second += INTERVAL_SECONDS) {
    ;[east, north] = [drift(east), drift(north)]
    const { latitude, longitude } = way[second]!
    const bearing = (Math.atan2(east, north) * 180) / Math.PI
    const point = destination(latitude, longitude, bearing, (error / RADIUS_68) * Math.hypot(east, north))
    const accuracy = error * Math.exp(ACCURACY_SPREAD * gauss())
    const stopped = hasStopped(reports, point, second)
    reports.push({ ...point, second, accuracy, stopped })
  }
  return reports
}

/**
 * Decides by the rule of the SDKs whether the phone has stopped.
 * @param reports the earlier ones
 */
export function hasStopped(
  reports: readonly Report[],
  { latitude, longitude }: Point,
  second: number,
): boolean {
  for (let i = reports.length - 1; i >= 0; i--) {
    const one = reports[i]!
    if (pointDistance(one.latitude, one.longitude, latitude, longitude) > STOP_METERS) return false
    if (second - one.second >= STOP_SECONDS) return true
  }
  return false
}
