import { readFileSync } from 'node:fs'
import { readGeofenceFile } from '../../demo/geofenceFile.ts'
import { parseGpx, type TrackPoint } from '../../demo/gpx.ts'
import { Driver, placeOf, seededRandom, type City } from '../../demo/streets.ts'
import { pointDistance } from '../../src/geometry/distance.ts'

/** Where devices really are, second by second, and in which circles that is. */

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
  /** The updates that a receiver really made on the way, where there is a recording. */
  readonly recorded?: readonly TrackPoint[]
}

/** The bell that smooths a recording, one standard deviation: takes out a receiver's jitter, leaves its turns. */
const SMOOTHING_SECONDS = 4

/** A recorded journey: its smoothed trace is the truth, the stops of its CSV are the circles. */
export async function recordedScene(gpxPath: string, csvPath: string): Promise<Scene> {
  const recorded = parseGpx(readFileSync(gpxPath, 'utf8'))
  const circles = (await readGeofenceFile(readFileSync(csvPath))).map(({ coordinates, radius }) => {
    const [longitude, latitude] = JSON.parse(String(coordinates)) as [number, number]
    return { latitude, longitude, radiusMeters: Number(radius) }
  })
  return { name: 'bus', circles, ways: [smoothed(recorded)], recorded }
}

/** A place a second, the mean of the points around it by a bell; straight on where there is none. */
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

/** Vehicles of the demo's streets, an hour each, and circles of 30 to 100 m along those streets. */
export function cityScene(vehicles: number, seed: number): Scene {
  const random = seededRandom(seed)
  const circles = Array.from({ length: CITY_CIRCLES }, () => {
    // Where a vehicle starts is somewhere on a street.
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
  /** Deep enough to be expected of anybody; the others count for nothing, either way. */
  readonly counts: boolean
}

/** Outside for less is the same stay. */
const SAME_STAY_SECONDS = 15
/** A stay that is never that deep inside only grazes the circle. */
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
