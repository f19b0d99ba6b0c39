import { CANDIDATE_METERS, candidatesAmong } from '../../src/rules/placeOrder.ts'
import { DEFAULT_SETTINGS } from '../../src/model/settings.ts'
import type { PlaceNear } from '../../src/rules/atlas.ts'
import type { Place as Point } from '../quality/truth.ts'
import type { PlacedCity } from './city.ts'
import type { Day, TrueVisit } from './days.ts'
import type { FoundVisit } from './engine.ts'
import type { Report } from './phone.ts'

/**
 * What the order of candidates would give if it were applied to another location than that of the first update after
 * the stop. Only the first of these is a rule that a server could follow: the others know when a stay begins and ends,
 * or where the user really is. So they bound what any better estimate of the location could reach.
 */
export const BOUNDS = {
  'order at the stop': (_, __, stop) => stop,
  'order at the mean until the stop': (visit, reports, stop) =>
    meanOf(reports.filter(({ second }) => second >= visit.from && second <= stop.second)),
  'order at the mean of the stay': (visit, reports) =>
    meanOf(reports.filter(({ second }) => second >= visit.from && second < visit.to)),
  'order at the true location': ({ from }, _, __, way) => way[from]!,
} as const satisfies Readonly<Record<string, Locate>>

type Locate = (
  visit: TrueVisit,
  reports: readonly Report[],
  stop: Report,
  way: readonly Point[],
) => Pick<Point, 'latitude' | 'longitude'>

/** The visits that are found if each stay with a stop is decided at the location that a bound takes. */
export function visitsByOrder(
  city: PlacedCity,
  reports: readonly Report[],
  { way, visits }: Day,
  locate: Locate,
): FoundVisit[] {
  return visits.flatMap((visit) => {
    const stop = reports.find(({ second, stopped }) => stopped && second >= visit.from && second < visit.to)
    if (stop === undefined) return []
    const [first, ...others] = candidatesAt(city, locate(visit, reports, stop, way))
    if (first === undefined) return []
    const alternates = others.slice(0, 4).map(({ place }) => place.id)
    return [{ place: first.place.id, alternates, from: stop.second, to: visit.to }]
  })
}

/** All candidates, the most likely first. */
export function candidatesAt(
  { atlas }: PlacedCity,
  { latitude, longitude }: Pick<Point, 'latitude' | 'longitude'>,
): PlaceNear[] {
  const here = atlas.placesAt(latitude, longitude)
  if (!('near' in here)) throw new Error('the places are not known')
  return candidatesAmong(here, DEFAULT_SETTINGS.placeFilters, 0, Infinity)
}

/** The mean of the locations. The more accurate one is said to be, the more it counts. */
function meanOf(reports: readonly Report[]): Pick<Point, 'latitude' | 'longitude'> {
  let [weights, latitude, longitude] = [0, 0, 0]
  for (const one of reports) {
    const weight = 1 / one.accuracy ** 2
    weights += weight
    latitude += weight * one.latitude
    longitude += weight * one.longitude
  }
  return { latitude: latitude / weights, longitude: longitude / weights }
}

/** Why a place came before the right one. */
export function decidedBy(entered: PlaceNear | undefined, right: PlaceNear | undefined): string {
  if (entered === undefined || right === undefined || right.meters > CANDIDATE_METERS) return 'too far away'
  if (Math.max(0, entered.meters) < Math.max(0, right.meters)) return 'nearer to its edge'
  if (entered.area < right.area) return 'smaller area'
  if (entered.place.chain !== undefined && right.place.chain === undefined) return 'chain before others'
  return 'nearer to its point'
}
