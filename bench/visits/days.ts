import { destination, pointDistance } from '../../src/geometry/distance.ts'
import type { Position } from '../../src/model/geofence.ts'
import { isInside } from '../../src/geo/records/areas.ts'
import type { PlaceFootprint } from '../../src/geo/placeDatabase/placeFootprints.ts'
import type { Place as Point } from '../quality/truth.ts'

/** Where simulated people really are, second by second, and which places they visit. */

export interface TrueVisit {
  readonly place: PlaceFootprint
  /** Seconds since the day began; the last second is not included. */
  readonly from: number
  readonly to: number
}

export interface Day {
  readonly way: readonly Point[]
  readonly visits: readonly TrueVisit[]
}

const VISITS_A_DAY = 6
const LEAST_STAY_SECONDS = 120
const MOST_STAY_SECONDS = 3600
const WALK_SPEED = 1.4
const DRIVE_SPEED = 9
/** Legs that are longer than this are driven. */
const WALK_METERS = 1000
/** The least and the greatest distance between two visits in a row. */
const LEAST_LEG_METERS = 250
const MOST_LEG_METERS = 5000
/** Waits at lights: on average there is one in this many metres, and each takes this many seconds. */
const LIGHTS_METERS = 600
const LEAST_WAIT_SECONDS = 10
const MOST_WAIT_SECONDS = 90
/** If only the point of a place is known, people are about this far from it: one standard deviation. */
export const POINT_SPREAD_METERS = 6
/** The distance of a street from the edge of a place that is driven past. */
const STREET_METERS = 10
const DRIVE_BY_METERS = 500

/** Walks and drives between places of the city, and stays in them. */
export function dayIn(places: readonly PlaceFootprint[], random: () => number): Day {
  const way: Point[] = []
  const visits: TrueVisit[] = []
  let at = pointOf(pick(places, random).position)
  for (let i = 0; i < VISITS_A_DAY; i++) {
    const place = nextPlace(places, at, random)
    const seat = seatIn(place, random)
    travel(way, at, seat, random)
    const from = way.length
    const seconds = LEAST_STAY_SECONDS * (MOST_STAY_SECONDS / LEAST_STAY_SECONDS) ** random()
    stay(way, seat, seconds)
    visits.push({ place, from, to: way.length })
    at = seat
  }
  return { way, visits }
}

/** A drive past a place, every other one with a wait at a light beside it. */
export function driveBy(places: readonly PlaceFootprint[], random: () => number): Day {
  const way: Point[] = []
  const { position } = pick(places, random)
  const bearing = 360 * random()
  const beside = moved(pointOf(position), bearing + 90, STREET_METERS)
  const from = moved(beside, bearing + 180, DRIVE_BY_METERS)
  drive(way, from, beside)
  if (random() < 0.5) stay(way, beside, waitOf(random))
  drive(way, beside, moved(beside, bearing, DRIVE_BY_METERS))
  return { way, visits: [] }
}

function nextPlace(places: readonly PlaceFootprint[], at: Point, random: () => number): PlaceFootprint {
  for (;;) {
    const place = pick(places, random)
    const [x, y] = place.position
    const meters = pointDistance(at.latitude, at.longitude, y, x)
    if (meters >= LEAST_LEG_METERS && meters <= MOST_LEG_METERS) return place
  }
}

/** Draws a point in the place. */
function seatIn({ position, rings }: PlaceFootprint, random: () => number): Point {
  const points = rings.flat()
  for (let i = 0; rings.length > 0 && i < 200; i++) {
    const one = (axis: 0 | 1) => {
      const values = points.map((point) => point[axis]!)
      const least = Math.min(...values)
      return least + random() * (Math.max(...values) - least)
    }
    const seat: Position = [one(0), one(1)]
    if (isInside(rings, seat)) return pointOf(seat)
  }
  const meters = POINT_SPREAD_METERS * Math.sqrt(-2 * Math.log(1 - random()))
  return moved(pointOf(position), 360 * random(), meters)
}

function travel(way: Point[], from: Point, to: Point, random: () => number): void {
  const meters = pointDistance(from.latitude, from.longitude, to.latitude, to.longitude)
  if (meters <= WALK_METERS) return go(way, from, to, WALK_SPEED)
  // Waits at lights lie between the first and the last 100 m.
  const lights = Math.floor((meters / LIGHTS_METERS) * 2 * random())
  const stops = Array.from({ length: lights }, () => 100 + random() * (meters - 200)).toSorted(
    (a, b) => a - b,
  )
  let at = from
  for (const stop of stops) {
    const light = between(from, to, stop / meters)
    drive(way, at, light)
    stay(way, light, waitOf(random))
    at = light
  }
  drive(way, at, to)
}

function waitOf(random: () => number): number {
  return LEAST_WAIT_SECONDS + random() * (MOST_WAIT_SECONDS - LEAST_WAIT_SECONDS)
}

function drive(way: Point[], from: Point, to: Point): void {
  go(way, from, to, DRIVE_SPEED)
}

function go(way: Point[], from: Point, to: Point, speed: number): void {
  const seconds = Math.ceil(pointDistance(from.latitude, from.longitude, to.latitude, to.longitude) / speed)
  for (let i = 0; i < seconds; i++) way.push(between(from, to, i / seconds))
}

function stay(way: Point[], at: Point, seconds: number): void {
  for (let i = 0; i < seconds; i++) way.push(at)
}

function between(from: Point, to: Point, share: number): Point {
  return {
    latitude: from.latitude + share * (to.latitude - from.latitude),
    longitude: from.longitude + share * (to.longitude - from.longitude),
  }
}

function moved({ latitude, longitude }: Point, bearing: number, meters: number): Point {
  return destination(latitude, longitude, bearing, meters)
}

function pointOf([longitude, latitude]: Position): Point {
  return { latitude, longitude }
}

function pick<T>(items: readonly T[], random: () => number): T {
  return items[Math.floor(random() * items.length)]!
}
