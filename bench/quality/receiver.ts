import type { Place, TrueWay } from './truth.ts'

/**
 * A simulated phone receiver: the position and the accuracy that it reports.
 *
 * - The error is Gaussian and drifts: two errors 20 s apart have 0.37 in common.
 * - The scale of the error, 10 m in the median, itself drifts over minutes between open sky and narrow streets.
 * - One update in 100 begins an outlier of one to three updates with eight times the scale, each independent.
 * - The reported accuracy is the radius within which 68 % of such errors lie, as phones define it, multiplied by a
 *   random error (one standard deviation is a third). It is correct on average, including outliers.
 */

export interface Fix extends Place {
  /** Seconds since the way began. */
  readonly second: number
  /** The reported accuracy in metres. */
  readonly accuracy: number
}

const DRIFT_SECONDS = 20
const SCALE_DRIFT_SECONDS = 180
const SCALE_METERS = 10
const SCALE_SPREAD = 0.5
const OUTLIER_SHARE = 0.01
const OUTLIER_FACTOR = 8
const REPORT_SPREAD = 0.3
/** The radius that contains 68 % of a two-dimensional Gaussian, in standard deviations per axis. */
const RADIUS_68 = Math.sqrt(-2 * Math.log(1 - 0.68))

const METERS_PER_DEGREE = 111_195

/** What the receiver reports along a way, with one fix per interval. */
export function fixesOf(way: TrueWay, intervalSeconds: number, random: () => number): Fix[] {
  const gauss = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  const drift = (value: number, seconds: number) => {
    const kept = Math.exp(-intervalSeconds / seconds)
    return value * kept + gauss() * Math.sqrt(1 - kept * kept)
  }
  let [east, north, level] = [gauss(), gauss(), gauss()]
  let outliers = 0
  const fixes: Fix[] = []
  for (let second = Math.floor(random() * intervalSeconds); second < way.length; second += intervalSeconds) {
    ;[east, north] = [drift(east, DRIFT_SECONDS), drift(north, DRIFT_SECONDS)]
    level = drift(level, SCALE_DRIFT_SECONDS)
    if (outliers === 0 && random() < OUTLIER_SHARE) outliers = 1 + Math.floor(random() * 3)
    const isOutlier = outliers > 0
    if (isOutlier) outliers--
    const radius = SCALE_METERS * Math.exp(SCALE_SPREAD * level) * (isOutlier ? OUTLIER_FACTOR : 1)
    const sigma = radius / RADIUS_68
    const place = way[second]!
    const offEast = sigma * (isOutlier ? gauss() : east)
    const offNorth = sigma * (isOutlier ? gauss() : north)
    const cosine = Math.cos((place.latitude * Math.PI) / 180)
    fixes.push({
      second,
      latitude: place.latitude + offNorth / METERS_PER_DEGREE,
      longitude: place.longitude + offEast / (METERS_PER_DEGREE * cosine),
      accuracy: radius * Math.exp(REPORT_SPREAD * gauss()),
    })
  }
  return fixes
}
