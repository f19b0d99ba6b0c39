import { CANDIDATE_METERS, candidatesAmong } from '../../src/rules/placeOrder.ts'
import { DEFAULT_SETTINGS } from '../../src/model/settings.ts'
import type { PlaceFootprint } from '../../src/geo/placeDatabase/placeFootprints.ts'
import type { PlaceNear } from '../../src/rules/atlas.ts'
import type { Place as Point } from '../quality/truth.ts'
import type { PlacedCity } from './city.ts'
import type { Day, TrueVisit } from './days.ts'
import type { FoundVisit } from './engine.ts'
import { byLikelihood, estimateOf, type Estimate } from './likelihood.ts'
import type { Report } from './phone.ts'

/** A stay in which the phone says that it has stopped. */
interface Stop {
  readonly visit: TrueVisit
  /** All reports of the day. */
  readonly reports: readonly Report[]
  /** The first one of the stay that says so. */
  readonly stop: Report
  readonly way: readonly Point[]
  /** Metres within which 68 % of the locations are. */
  readonly error: number
}

/**
 * What would be found if each stay were decided in another way than by the order of the candidates at the location of the first
 * update after the stop. Of the orders, only the first is a rule that a server could follow: the others know when a stay begins
 * and ends, or where the user really is. So they bound what any better estimate of the location could reach.
 *
 * The likeliest places (likelihood.ts) bound what any order could reach at those locations.
 */
export const BOUNDS: Readonly<Record<string, (city: PlacedCity, stop: Stop) => readonly string[]>> = {
  'order at the stop': (city, { stop }) => inOrder(city, stop),
  'order at the mean until the stop': (city, one) => inOrder(city, meanOf(untilStop(one))),
  'order at the mean of the stay': (city, one) => inOrder(city, meanOf(ofStay(one))),
  'order at the true location': (city, { visit, way }) => inOrder(city, way[visit.from]!),
  'likeliest at the stop': (city, { stop, error }) => likeliest(city, estimateOf([stop], error)),
  'likeliest until the stop': (city, one) => likeliest(city, estimateOf(untilStop(one), one.error)),
  'likeliest of the stay': (city, one) => likeliest(city, estimateOf(ofStay(one), one.error)),
}

function untilStop({ visit, reports, stop }: Stop): readonly Report[] {
  return reports.filter(({ second }) => second >= visit.from && second <= stop.second)
}

function ofStay({ visit, reports }: Stop): readonly Report[] {
  return reports.filter(({ second }) => second >= visit.from && second < visit.to)
}

function inOrder(city: PlacedCity, at: Pick<Point, 'latitude' | 'longitude'>): readonly string[] {
  return candidatesAt(city, at).map(({ place }) => place.id)
}

function likeliest(city: PlacedCity, estimate: Estimate): readonly string[] {
  const here = city.atlas.placesAt(estimate.latitude, estimate.longitude)
  if (!('near' in here)) throw new Error('the places are not known')
  const footprints = footprintsOf(city)
  const near = here.near.map(({ place }) => footprints.get(place.id)!)
  return byLikelihood(near, estimate).map(({ key }) => key)
}

const known = new WeakMap<PlacedCity, ReadonlyMap<string, PlaceFootprint>>()

function footprintsOf(city: PlacedCity): ReadonlyMap<string, PlaceFootprint> {
  let footprints = known.get(city)
  if (footprints === undefined)
    known.set(city, (footprints = new Map(city.places.map((place) => [place.key, place]))))
  return footprints
}

/** The visits that are found if each stay with a stop is decided as a bound does. */
export function visitsByBound(
  city: PlacedCity,
  reports: readonly Report[],
  { way, visits }: Day,
  error: number,
  decide: (city: PlacedCity, stop: Stop) => readonly string[],
): FoundVisit[] {
  return visits.flatMap((visit) => {
    const stop = reports.find(({ second, stopped }) => stopped && second >= visit.from && second < visit.to)
    if (stop === undefined) return []
    const [place, ...others] = decide(city, { visit, reports, stop, way, error })
    if (place === undefined) return []
    return [{ place, alternates: others.slice(0, 4), from: stop.second, to: visit.to }]
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
