/** Devices that drive round a depot, for tests of the map. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Server } from '../kit/server.ts'

export const CENTER = { latitude: -34.9, longitude: -56.17 } as const

/** Where device `i` of `count` is after `seconds`: on a circle round the centre. */
export function placeOf(i: number, count: number, seconds: number): { latitude: number; longitude: number } {
  const angle = (2 * Math.PI * i) / count + seconds / 20
  const radius = 0.004 + (0.02 * ((i * 7919) % 100)) / 100
  return {
    latitude: CENTER.latitude + radius * Math.sin(angle),
    longitude: CENTER.longitude + (radius * Math.cos(angle)) / Math.cos((CENTER.latitude * Math.PI) / 180),
  }
}

/** Sends one update of each device. */
export async function sendAll(server: Server, count: number, seconds: number): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, (_, i) =>
      server.api('POST', '/v1/track', {
        deviceId: `van-${i + 1}`,
        accuracy: 8,
        ...placeOf(i, count, seconds),
      }),
    ),
  )
}

/** Drives until the function is called. */
export function drive(server: Server, count: number): () => Promise<void> {
  const stop = new AbortController()
  const done = (async () => {
    for (let seconds = 1; !stop.signal.aborted; seconds++) {
      await sendAll(server, count, seconds)
      await sleep(500)
    }
  })()
  return () => {
    stop.abort()
    return done
  }
}

/** Geofences of a small city. */
export async function makeCity(server: Server): Promise<void> {
  const { latitude, longitude } = CENTER
  const place = (east: number, north: number) => [longitude + east / 91_200, latitude + north / 111_195]
  const fences = [
    { tag: 'depot', externalId: 'port', description: 'Harbour depot', at: place(-900, 500), radius: 420 },
    { tag: 'depot', externalId: 'north', description: 'Depot north', at: place(1300, 1400), radius: 300 },
    { tag: 'store', externalId: 'market', description: 'Market hall', at: place(500, -700), radius: 220 },
    { tag: 'store', externalId: 'beach', description: 'Beach store', at: place(-300, -1500), radius: 260 },
    { tag: 'yard', externalId: 'rail', description: 'Rail yard', at: place(1900, -400), radius: 350 },
  ]
  for (const { tag, externalId, description, at, radius } of fences)
    await server.api('PUT', `/v1/geofences/${tag}/${externalId}`, {
      description,
      type: 'circle',
      coordinates: at,
      radius,
    })
  const corners = [
    place(-2200, 1600),
    place(-1300, 2000),
    place(-600, 1500),
    place(-1100, 1100),
    place(-2000, 1100),
  ]
  await server.api('PUT', '/v1/geofences/zone/old-town', {
    description: 'Old town',
    type: 'polygon',
    coordinates: [...corners, corners[0]],
    operatingHours: {
      Monday: [['08:00', '18:00']],
      Tuesday: [['08:00', '18:00']],
      Friday: [['08:00', '12:00']],
    },
  })
}
