/** How good ETAs are between two computations. */
import { pointDistance } from '../../src/geometry/distance.ts'
import { cityPosition, seededRandom } from '../../src/simulation/streets.ts'
import { progress } from '../progress.ts'
import type { ServerProcess } from './servers.ts'
import { ask, TRIP_CITY, waysOf } from './tripWorkload.ts'

type Point = readonly [longitude: number, latitude: number]

/** Between two updates. */
const STEP_SECONDS = 5
const LEAST_METERS = 3000
/** For a shorter ETA a relative error says little, because it is shown in tenths of a minute. */
const LEAST_MINUTES = 1.5
const TRIES_PER_WAY = 50

/** An ETA that was shown between two computations. */
export interface ShownEta {
  readonly shown: number
  /** The road engine's answer from the same place at that moment. */
  readonly own: number
  /** How far off it is, as a share of that. */
  readonly off: number
}

/** Drives along the roads between places of the city, and compares each ETA that is shown between two computations. */
export async function drivenEtas(server: ServerProcess, ways: number, seed: number): Promise<ShownEta[]> {
  const { port } = server
  const random = seededRandom(seed)
  const found: ShownEta[] = []
  for (let n = 0; n < ways; n++) {
    progress(`a drive, ${n + 1} of ${ways}`)
    const { from, to } = await drawWay(port, random)
    const name = `drive-${n}`
    const circle = { description: name, type: 'circle', coordinates: to, radius: 50 }
    await ask(port, 'PUT', `geofences/goals/${name}`, circle)
    const tripOptions = {
      externalId: name,
      destinationGeofenceTag: 'goals',
      destinationGeofenceExternalId: name,
    }
    const { path, minutes } = (await carWay(port, from, to))!
    const began = Date.now() - 3_600_000
    const steps = Math.ceil((minutes * 60) / STEP_SECONDS)
    for (let i = 0; i < steps; i++) {
      const at = along(path, i / steps)
      const [longitude, latitude] = at
      const updatedAt = new Date(began + i * STEP_SECONDS * 1000).toISOString()
      const update = { deviceId: name, latitude, longitude, accuracy: 5, updatedAt, tripOptions }
      const before = await waysOf(server)
      const { user } = await ask(port, 'POST', 'track', update)
      const after = await waysOf(server)
      if (after.straight > before.straight) throw new Error('the road engine did not answer in time')
      if (user.trip === undefined) throw new Error('the device is on no trip')
      const isComputed = after.road > before.road
      const own = await carWay(port, at, to)
      if (isComputed || own === undefined || own.minutes < LEAST_MINUTES) continue
      const shown = user.trip.eta.duration as number
      found.push({ shown, own: own.minutes, off: Math.abs(shown - own.minutes) / own.minutes })
    }
  }
  return found
}

/** Two places of the city with a way between them. */
async function drawWay(port: number, random: () => number): Promise<{ from: Point; to: Point }> {
  const place = (): Point => {
    const { sizeMeters } = TRIP_CITY
    const { longitude, latitude } = cityPosition(TRIP_CITY, random() * sizeMeters, random() * sizeMeters)
    return [longitude, latitude]
  }
  for (let tried = 0; tried < TRIES_PER_WAY; tried++) {
    const [from, to] = [place(), place()]
    const way = await carWay(port, from, to).catch(() => undefined)
    if (way !== undefined && way.meters >= LEAST_METERS) return { from, to }
  }
  throw new Error('there are no ways in the city')
}

/** The way by car; undefined if there is none. */
async function carWay(port: number, from: Point, to: Point) {
  const [origin, destination] = [from, to].map(([lon, lat]) => `${lat},${lon}`)
  const query = `origin=${origin}&destination=${destination}&modes=car&units=metric&geometry=linestring`
  const car = (await ask(port, 'GET', `route/distance?${query}`)).routes.car
  if (car === undefined) return undefined
  return {
    path: car.geometry.coordinates as Point[],
    minutes: car.duration.value as number,
    meters: car.distance.value as number,
  }
}

/** The point of a path at a share of its length. */
function along(path: readonly Point[], share: number): Point {
  const lengths = path.slice(1).map(([lon, lat], i) => pointDistance(path[i]![1], path[i]![0], lat, lon))
  let left = share * lengths.reduce((sum, length) => sum + length, 0)
  for (const [i, length] of lengths.entries()) {
    const [from, to] = [path[i]!, path[i + 1]!]
    if (left <= length && length > 0)
      return [from[0] + (to[0] - from[0]) * (left / length), from[1] + (to[1] - from[1]) * (left / length)]
    left -= length
  }
  return path.at(-1)!
}
