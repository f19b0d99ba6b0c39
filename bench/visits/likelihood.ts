import { isInside } from '../../src/geo/records/areas.ts'
import type { PlaceFootprint } from '../../src/geo/placeDatabase/placeFootprints.ts'
import { degreeMeters } from '../../src/geo/atlas/grid.ts'
import type { Place as Point } from '../quality/truth.ts'
import { POINT_SPREAD_METERS } from './days.ts'
import { RADIUS_68, REPORT_CORRELATION } from './phone.ts'

/**
 * Which place is the most likely one, for an oracle that knows how the simulation draws: each place is visited equally
 * often, people sit anywhere in its area or around its point, and errors are normal and last for a while. It has the
 * geometry of the map, and does not know the place. By Bayes' theorem no rule is right more often with the same locations.
 */

/** A location, and how far off it is: the standard deviation from south to north and from west to east, in metres. */
export interface Estimate extends Pick<Point, 'latitude' | 'longitude'> {
  readonly deviation: number
}

/** The steps across the part of an area that may matter, in each direction. */
const STEPS = 48
/** Farther away than this many deviations, nothing matters. */
const MOST_DEVIATIONS = 5

/**
 * The best estimate of where somebody sits from all locations that were reported from there, which are 30 s apart. Those in
 * the middle count less than the first and the last, because they repeat the errors of their neighbours.
 * @param error metres within which 68 % of the locations are
 */
export function estimateOf(
  reports: readonly Pick<Point, 'latitude' | 'longitude'>[],
  error: number,
): Estimate {
  const most = reports.length - 1
  const weightOf = (i: number) =>
    most === 0 ? 1 : (i === 0 || i === most ? 1 : 1 - REPORT_CORRELATION) / (1 + REPORT_CORRELATION)
  let [weights, latitude, longitude] = [0, 0, 0]
  reports.forEach((one, i) => {
    const weight = weightOf(i)
    weights += weight
    latitude += weight * one.latitude
    longitude += weight * one.longitude
  })
  return {
    latitude: latitude / weights,
    longitude: longitude / weights,
    deviation: error / RADIUS_68 / Math.sqrt(weights),
  }
}

/** The density of an estimate, per square metre, if somebody sits in a place. */
function densityIn(place: PlaceFootprint, { latitude, longitude, deviation }: Estimate): number {
  const scale = degreeMeters(latitude)
  const normal = (east: number, north: number, spread: number): number =>
    Math.exp(-(east * east + north * north) / (2 * spread * spread)) / (2 * Math.PI * spread * spread)
  const { position, rings, size } = place
  if (rings.length === 0) {
    const [x, y] = position
    const spread = Math.hypot(deviation, POINT_SPREAD_METERS)
    return normal((x - longitude) * scale.x, (y - latitude) * scale.y, spread)
  }
  // The mean over the area, of which only the part around the estimate counts.
  const reach = MOST_DEVIATIONS * deviation
  const xs = rings.flat().map(([x]) => (x - longitude) * scale.x)
  const ys = rings.flat().map(([, y]) => (y - latitude) * scale.y)
  const [west, east] = [Math.max(-reach, Math.min(...xs)), Math.min(reach, Math.max(...xs))]
  const [south, north] = [Math.max(-reach, Math.min(...ys)), Math.min(reach, Math.max(...ys))]
  if (west >= east || south >= north) return 0
  const [width, height] = [(east - west) / STEPS, (north - south) / STEPS]
  let sum = 0
  for (let i = 0; i < STEPS; i++) {
    for (let j = 0; j < STEPS; j++) {
      const [x, y] = [west + (i + 0.5) * width, south + (j + 0.5) * height]
      if (isInside(rings, [longitude + x / scale.x, latitude + y / scale.y])) sum += normal(x, y, deviation)
    }
  }
  return (sum * width * height) / Math.max(1, size)
}

/** The places by their likelihood, the most likely one first; those that are out of the question are left out. */
export function byLikelihood(places: readonly PlaceFootprint[], estimate: Estimate): PlaceFootprint[] {
  return places
    .map((place) => ({ place, density: densityIn(place, estimate) }))
    .filter(({ density }) => density > 0)
    .toSorted((a, b) => b.density - a.density)
    .map(({ place }) => place)
}
