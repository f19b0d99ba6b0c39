/**
 * Geofences of two types whose events contain their location, because the iOS and Android SDKs read it from every
 * event.
 */
import type { Test } from 'tap'
import type { Server } from '../kit/server.ts'

const PLACE = { latitude: 10, longitude: 100 }
const TAG = 'shaped'
const HALF = 0.001
const BODIES = {
  circle: { coordinates: [PLACE.longitude, PLACE.latitude], radius: 120 },
  polygon: {
    coordinates: [
      [PLACE.longitude - HALF, PLACE.latitude - HALF],
      [PLACE.longitude + HALF, PLACE.latitude - HALF],
      [PLACE.longitude + HALF, PLACE.latitude + HALF],
      [PLACE.longitude - HALF, PLACE.latitude + HALF],
      [PLACE.longitude - HALF, PLACE.latitude - HALF],
    ],
  },
}

/** An event as it was delivered. */
export interface Delivered {
  readonly geofence: {
    readonly externalId: keyof typeof BODIES
    readonly type: string
    readonly geometryCenter: { readonly type: string; readonly coordinates: readonly [number, number] }
    readonly geometryRadius: number
  }
}

/** Lets a device enter both and leave them again: four events. */
export async function crossShapes(server: Server, deviceId: string): Promise<void> {
  for (const [type, body] of Object.entries(BODIES)) {
    await server.good('PUT', `/v1/geofences/${TAG}/${type}`, { description: type, type, ...body })
  }
  for (const latitude of [PLACE.latitude, PLACE.latitude + 1]) {
    const { body } = await server.api('POST', '/v1/track', { deviceId, ...PLACE, latitude, accuracy: 5 })
    if (body.events?.length !== 2) throw new Error(JSON.stringify(body))
  }
}

/** Checks the locations in the delivered events against the geofences. */
export function checkShapes(t: Test, events: readonly Delivered[]): void {
  t.strictSame(events.map(({ geofence }) => geofence.externalId).toSorted(), [
    'circle',
    'circle',
    'polygon',
    'polygon',
  ])
  for (const { geofence } of events) {
    const { externalId, type, geometryCenter, geometryRadius } = geofence
    t.equal(type, externalId)
    t.equal(geometryCenter.type, 'Point', type)
    const [longitude, latitude] = geometryCenter.coordinates
    t.ok(Math.abs(longitude - PLACE.longitude) < 1e-9, `${type}: longitude ${longitude}`)
    t.ok(Math.abs(latitude - PLACE.latitude) < 1e-6, `${type}: latitude ${latitude}`)
    // Half the diagonal of the square: 110.6 by 109.6 metres.
    const radius = type === 'circle' ? 120 : Math.hypot(110.6, 109.6)
    t.ok(Math.abs(geometryRadius - radius) < 1, `${type}: radius ${geometryRadius}`)
  }
}
