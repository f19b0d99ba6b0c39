/** A drive along streets of the sample region, Montevideo, for any engine. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { pointDistance } from '../../src/geometry/distance.ts'
import { Random } from '../actor/world.ts'
import { KEYS } from '../kit/server.ts'
import { until } from '../kit/waiting.ts'
import type { Api, Body } from './story.ts'

const { testPublishable } = KEYS
export const FROM = [-56.1913, -34.9059] as const
export const TO = [-56.1637, -34.9121] as const
export const HOME = { destinationGeofenceTag: 'store', destinationGeofenceExternalId: 'home' }
const DEGREE_METERS = 111_195
/** Later than any process is behind (T3). */
const SEEN_MS = 1000
/** An ETA waits for the road engine for this long (roadWays.ts), and then goes by the straight line. */
export const WAY_MS = 1000

type Point = readonly [longitude: number, latitude: number]

/** A call that must be answered 200. */
export type GoodCall = (...request: Parameters<Api>) => Promise<Body>

export function goodCalls(api: Api): GoodCall {
  return async (...request) => {
    const { status, body } = await api(...request)
    if (status !== 200) throw new Error(JSON.stringify(body))
    return body
  }
}

/** Makes the destination of the drive. */
export async function furnishDrive(good: GoodCall): Promise<void> {
  await good('PUT', '/v1/geofences/store/home', {
    description: 'home',
    type: 'circle',
    coordinates: TO,
    radius: 100,
  })
  await good('PATCH', '/v1/settings', { tripUpdateSeconds: 0, tripApproachingThreshold: 2 })
}

/**
 * Has the road engines open their tiles, by as many devices as are needed to reach each of them. The first question to
 * an engine may take more than the second for which an ETA waits, and then the straight line counts.
 */
export async function openTiles(good: GoodCall, devices: number): Promise<void> {
  const began = Date.now() - 86_400_000
  const [longitude, latitude] = FROM
  for (let device = 0; device < devices; device++) {
    const name = `warm-${device}`
    let asked = 0
    await until(async () => {
      const { user } = await good('POST', '/v1/track', {
        deviceId: name,
        latitude: latitude + (asked % 2) * 1e-3,
        longitude,
        accuracy: 5,
        updatedAt: new Date(began + asked++ * 40_000).toISOString(),
        tripOptions: { externalId: name, ...HOME },
      })
      return user.trip.eta.source === 'road'
    })
  }
}

function lengthOf(path: readonly Point[]): number {
  return path
    .slice(1)
    .reduce((sum, [lon, lat], i) => sum + pointDistance(path[i]![1], path[i]![0], lat, lon), 0)
}

/** The way by car, as the road engine gives it: its points, minutes and metres. */
async function carWay(good: GoodCall) {
  const [origin, destination] = [FROM, TO].map(([lon, lat]) => `${lat},${lon}`)
  const query = `origin=${origin}&destination=${destination}&modes=car&units=metric&geometry=linestring`
  const { car } = (await good('GET', `/v1/route/distance?${query}`, undefined, testPublishable)).routes
  return {
    minutes: car.duration.value as number,
    meters: car.distance.value as number,
    path: car.geometry.coordinates as Point[],
  }
}

/** The point of a path at a share of its length. */
function along(path: readonly Point[], share: number): Point {
  let left = share * lengthOf(path)
  for (const [i, to] of path.slice(1).entries()) {
    const from = path[i]!
    const length = pointDistance(from[1], from[0], to[1], to[0])
    if (left <= length && length > 0)
      return [from[0] + (to[0] - from[0]) * (left / length), from[1] + (to[1] - from[1]) * (left / length)]
    left -= length
  }
  return path.at(-1)!
}

/**
 * Drives there with 10 m of noise: started, approaching, arrived, with the ETA of the road engine, and the way that was
 * driven.
 */
export async function driveAlongStreets(t: Test, api: Api): Promise<void> {
  const good = goodCalls(api)
  const { minutes, meters, path } = await carWay(good)
  t.ok(meters > 3000)
  await good('POST', '/v1/trips', { externalId: 'drive', userId: 'mia', ...HOME })
  await sleep(SEEN_MS)
  const random = new Random(1)
  const began = Date.now() - 3_600_000
  const steps = 40
  const types: string[] = []
  const offs: number[] = []
  let straight = 0
  for (let i = 0; i <= steps; i++) {
    const [longitude, latitude] = along(path, i / steps)
    // 10 m of noise, in any direction.
    const bearing = (2 * Math.PI * random.below(3600)) / 3600
    const sentAt = performance.now()
    const { events, user } = await good(
      'POST',
      '/v1/track',
      {
        deviceId: 'phone',
        userId: 'mia',
        latitude: latitude + (10 * Math.sin(bearing)) / DEGREE_METERS,
        longitude:
          longitude + (10 * Math.cos(bearing)) / (DEGREE_METERS * Math.cos((latitude * Math.PI) / 180)),
        accuracy: 10,
        stopped: i === 0 || i === steps,
        updatedAt: new Date(began + (i / steps) * minutes * 60_000).toISOString(),
      },
      testPublishable,
    )
    types.push(...events.map(({ type }: Body) => type.replace('user.', '')))
    if (user.trip.status === 'arrived') break
    if (user.trip.eta.source !== 'road') {
      t.ok(performance.now() - sentAt >= WAY_MS, 'the ETA is by road if the engine has answered in time')
      straight++
      continue
    }
    const left = minutes * (1 - i / steps)
    // At the very end, a minute is a large share.
    if (left > 1) offs.push(Math.abs(user.trip.eta.duration - left) / minutes)
  }
  t.strictSame(
    types.filter((type) => type !== 'updated_trip'),
    ['started_trip', 'approaching_trip_destination', 'entered_geofence', 'arrived_at_trip_destination'],
  )
  t.ok(offs.length > 0 && offs.length + straight > 20, `${offs.length} ETAs by road, ${straight} others`)
  t.ok(Math.max(...offs) <= 0.2, `ETAs within 20 % of the drive: ${Math.max(...offs)}`)

  t.match((await api('GET', '/v1/trips/drive/route')).body.meta, { code: 400, param: 'id' })
  await good('PATCH', '/v1/trips/drive/update', { status: 'completed' })
  const route = await good('GET', '/v1/trips/drive/route?units=metric&geometry=linestring')
  t.match(route, { matched: true, meta: { attribution: /OpenStreetMap/ } })
  // The drive ends within the destination's radius.
  t.ok(Math.abs(route.distance.value - meters) < 0.1 * meters, `${route.distance.value} of ${meters} m`)
  for (const [lon, lat] of route.geometry.coordinates as Point[])
    t.ok(Math.min(...path.map((at) => pointDistance(lat, lon, at[1], at[0]))) < 200)
}
