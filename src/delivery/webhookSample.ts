import { eventJson, geofenceContext } from '../events/record.ts'
import type { GeofenceProperties, Outline } from '../model/geofence.ts'
import { isoDate } from '../model/isoDate.ts'
import { isLive } from '../model/scope.ts'
import type { Webhook } from '../model/webhook.ts'

/** The event that the test button sends: somebody enters a geofence in Berlin. Neither exists. */

const ID = '0'.repeat(24)
const USER = { id: ID, userId: 'sample-user', deviceId: 'sample-device', metadata: { sample: true } }
const PLACE = { latitude: 52.5219, longitude: 13.4132 }
const ACCURACY_METERS = 12

const geofence: GeofenceProperties = {
  id: ID,
  scope: 0,
  tag: 'sample',
  externalId: 'sample',
  description: 'Sample geofence',
  type: 'circle',
  enabled: true,
  timeZone: 'Europe/Berlin',
  createdAt: 0,
  updatedAt: 0,
}

const outline: Outline = { center: [PLACE.longitude, PLACE.latitude], radius: 100 }

/** A sample event as JSON, of a type that the webhook wants. */
export function sampleEvent({ scope, types }: Webhook, id: string, now: number): string {
  const json = eventJson(
    id,
    { type: 'user.entered_geofence', geofence, confidence: 3 },
    {
      outlineOf: () => outline,
      live: isLive(scope),
      user: USER,
      ...PLACE,
      accuracy: ACCURACY_METERS,
      foreground: true,
      stopped: false,
      replayed: false,
      time: now,
      receivedAt: now,
    },
  )
  return types === undefined ? json : JSON.stringify({ ...JSON.parse(json), type: types[0] })
}

/** The user of that event, as JSON. */
export function sampleUser({ scope }: Webhook, now: number): string {
  return JSON.stringify({
    _id: USER.id,
    live: isLive(scope),
    userId: USER.userId,
    deviceId: USER.deviceId,
    metadata: USER.metadata,
    createdAt: isoDate(now),
    geofences: [geofenceContext(geofence, outline)],
    beacons: [],
    segments: [],
    topChains: [],
    location: { type: 'Point', coordinates: [PLACE.longitude, PLACE.latitude] },
    locationAccuracy: ACCURACY_METERS,
    foreground: true,
    stopped: false,
    updatedAt: isoDate(now),
    actualUpdatedAt: isoDate(now),
  })
}
