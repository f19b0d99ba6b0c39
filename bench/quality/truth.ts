import { readFileSync } from 'node:fs'
import { readGeofenceFile } from '../../demo/geofenceFile.ts'
import { parseGpx, type TrackPoint } from '../../demo/gpx.ts'
import { Driver, cityPosition as placeOf, seededRandom, type City } from '../../src/simulation/streets.ts'
import { pointDistance } from '../../src/geometry/distance.ts'

/** Where devices really are, second by second, and in which circles. */

export interface Place {
  /** Degrees. */
  readonly latitude: number
  readonly longitude: number
}

export interface Circle extends Place {
  readonly radiusMeters: number
}

/** A device's true way: a place for every second. */
export type TrueWay = readonly Place[]

/** Devices and the circles that they go through. */
export interface Scene {
  readonly name: string
  readonly circles: readonly Circle[]
  readonly ways: readonly TrueWay[]
  /** The updates that a receiver really made on the way, if there is a recording. */
  readonly recorded?: readonly TrackPoint[]
}

/**
 * Standard deviation of the bell curve that smooths a recording. It removes a receiver's jitter and keeps its turns.
 */
const SMOOTHING_SECONDS = 4

/** A recorded journey. Its smoothed trace is the truth, and the stops of its CSV are the circles. */
export async function recordedScene(gpxPath: string, csvPath: string): Promise<Scene> {
  const recorded = parseGpx(readFileSync(gpxPath, 'utf8'))
  const circles = (await readGeofenceFile(readFileSync(csvPath))).map(({ coordinates, radius }) => {
    const [longitude, latitude] = JSON.parse(String(coordinates)) as [number, number]
    return { latitude, longitude, radiusMeters: Number(radius) }
  })
  return { name: 'bus', circles, ways: [smoothed(recorded)], recorded }
}

/**
 * One place per second: the mean of the points around it, weighted by a bell curve; a straight line where there are
 * none.
 */
function smoothed(points: readonly TrackPoint[]): TrueWay {
  const start = points[0]!.time
  const raw: Place[] = []
  for (let i = 0, time = start; time <= points.at(-1)!.time; time += 1000) {
    while (points[i + 1] !== undefined && points[i + 1]!.time <= time) i++
    const [a, b] = [points[i]!, points[i + 1] ?? points[i]!]
    const share = b.time === a.time ? 0 : (time - a.time) / (b.time - a.time)
    raw.push({
      latitude: a.latitude + share * (b.latitude - a.latitude),
      longitude: a.longitude + share * (b.longitude - a.longitude),
    })
  }
  const reach = 3 * SMOOTHING_SECONDS
  return raw.map((_, at) => {
    let [latitude, longitude, sum] = [0, 0, 0]
    for (let i = Math.max(0, at - reach); i <= Math.min(raw.length - 1, at + reach); i++) {
      const weight = Math.exp(-((i - at) ** 2) / (2 * SMOOTHING_SECONDS ** 2))
      latitude += weight * raw[i]!.latitude
      longitude += weight * raw[i]!.longitude
      sum += weight
    }
    return { latitude: latitude / sum, longitude: longitude / sum }
  })
}

const CITY: City = { latitude: 52.635, longitude: -8.675, sizeMeters: 3000, blockMeters: 120 }
const CITY_CIRCLES = 40

/** Vehicles on the demo's streets, an hour each, and circles of 30 to 100 m along those streets. */
export function cityScene(vehicles: number, seed: number): Scene {
  const random = seededRandom(seed)
  const circles = Array.from({ length: CITY_CIRCLES }, () => {
    // A vehicle starts somewhere on a street.
    const { east, north } = new Driver(CITY, random)
    return { ...placeOf(CITY, east, north), radiusMeters: 30 + 70 * random() }
  })
  const ways = Array.from({ length: vehicles }, () => {
    const driver = new Driver(CITY, random)
    return Array.from({ length: 3600 }, () => {
      driver.advance(1)
      return placeOf(CITY, driver.east, driver.north)
    })
  })
  return { name: 'city', circles, ways }
}

/** One stay of a device in a circle. */
export interface Stay {
  readonly circle: number
  /** Seconds since the way began, first and last within. */
  readonly from: number
  readonly to: number
  /** Deep enough that any setting should detect it. Others do not count, in either direction. */
  readonly counts: boolean
}

/** An absence shorter than this belongs to the same stay. */
const SAME_STAY_SECONDS = 15
/** A stay that is never this deep inside only grazes the circle. */
const GRAZE_METERS = 5

/** The stays of one way in the order of circle and time. */
export function trueStays(way: TrueWay, circles: readonly Circle[]): Stay[] {
  const stays: Stay[] = []
  circles.forEach(({ latitude, longitude, radiusMeters }, circle) => {
    let open: { from: number; to: number; depth: number } | undefined
    const close = () => {
      if (open === undefined) return
      stays.push({ circle, from: open.from, to: open.to, counts: open.depth >= GRAZE_METERS })
      open = undefined
    }
    way.forEach((place, second) => {
      const depth = radiusMeters - pointDistance(place.latitude, place.longitude, latitude, longitude)
      if (depth < 0) return
      if (open !== undefined && second - open.to >= SAME_STAY_SECONDS) close()
      open ??= { from: second, to: second, depth }
      open.to = second
      open.depth = Math.max(open.depth, depth)
    })
    close()
  })
  return stays
}
