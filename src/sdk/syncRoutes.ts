import Type from 'typebox'
import { listPieces } from '../http/answerText.ts'
import { DEVICE_TYPE_HEADER } from '../http/deviceType.ts'
import { route, type Route } from '../http/route.ts'
import { Latitude, Longitude, Text } from '../http/schemas.ts'
import { isMeantFor } from '../rules/geofenceRules.ts'
import { Probe } from '../geometry/probe.ts'
import type { Beacon } from '../model/beacon.ts'
import type { GeofenceProperties } from '../model/geofence.ts'
import { BeaconRecord, beaconRecord } from '../registry/beacons/beaconRecord.ts'
import { GeofenceRecord, geofenceRecord } from '../registry/geofences/geofenceRecord.ts'
import { isActiveAt } from '../model/geofence.ts'
import type { RegistryView, ScopeView } from '../rules/port.ts'
import { readableBeacons } from '../registry/beacons/readableBeacons.ts'
import { inSlices, mapInSlices } from '../runtime/slices.ts'
import { ConcurrencyLimit } from '../runtime/concurrencyLimit.ts'

/** A larger region is never answered: a client asks again long before its edge. */
const MAX_RADIUS_METERS = 10_000
/** Of each kind; where there are more, the region is smaller. */
const MAX_RECORDS = 100
/** Where so many geofences are of others, or disabled, the region ends where looking at them did. */
const MOST_LOOKED_AT = 5000

/** Large answers that are made at one time: each is held in memory until it is out. */
const ANSWERS_AT_ONCE = 8

/** Clients measure on a sphere, which is half a percent off. */
const SPHERE_MARGIN_METERS = 100
/** With buffered entries a location enters from afar, by its accuracy. */
const BUFFER_MARGIN_METERS = 1000
/** How far away clients, and the server, take a beacon for in range. */
const BEACON_RANGE_METERS = 100

/** POST /v1/sync/region: all that can happen around a client, so that it calls only when something does. */
export function syncRoutes(registry: RegistryView): Route[] {
  const concurrency = new ConcurrencyLimit(ANSWERS_AT_ONCE)
  return [
    route({
      method: 'POST',
      path: '/v1/sync/region',
      auth: 'publishable',
      tag: 'SDK',
      summary: 'Get the geofences and beacons around a location, for an SDK to monitor',
      description:
        'The enabled geofences that are meant for the user, the beacons, and the region around the location in which ' +
        'there are no others. It is smaller where many geofences of other users are near. Its radius is 0 where more than ' +
        `${MAX_RECORDS} of a kind are right here: then a client has to ask the server each time.`,
      body: Type.Object({
        latitude: Latitude,
        longitude: Longitude,
        userId: Type.Optional(Text(256)),
      }),
      answers: {
        200: Type.Object({
          geofences: Type.Array(GeofenceRecord, { description: 'Nearest first.' }),
          places: Type.Array(Type.Object({})),
          beacons: Type.Array(BeaconRecord, { description: 'Nearest first.' }),
          region: Type.Object({
            latitude: Latitude,
            longitude: Longitude,
            radius: Type.Number({ minimum: 0, maximum: MAX_RADIUS_METERS, description: 'Metres.' }),
          }),
        }),
      },
      headers: [DEVICE_TYPE_HEADER],
      handler: async ({ body, credentials, receivedAt, headers }) => {
        const { latitude, longitude } = body
        const view = registry.scope(credentials!.scope)
        const accept = (geofence: GeofenceProperties) =>
          isMeantFor(geofence, body.userId || undefined) && isActiveAt(geofence, receivedAt)
        const { geofences, beacons, radiusMeters } = await around(
          view,
          latitude,
          longitude,
          accept,
          readableBeacons(headers),
        )
        const texts = await concurrency.run(() => textsInSlices(view, geofences))
        const rest = JSON.stringify({
          places: [],
          beacons: beacons.map((beacon) => beaconRecord(beacon)),
          region: { latitude, longitude, radius: radiusMeters },
        })
        return { pieces: listPieces('"geofences":', texts, `,${rest.slice(1, -1)}`) }
      },
    }),
  ]
}

/** What is deleted meanwhile is left out. */
function textsInSlices({ index }: ScopeView, geofences: readonly GeofenceProperties[]): Promise<string[]> {
  return mapInSlices(geofences, ({ id }) => {
    const slot = index.slotOf(id)
    if (slot < 0) return undefined
    return JSON.stringify(geofenceRecord({ ...index.geofence(slot), shape: index.shape(slot) }))
  })
}

interface Surroundings {
  readonly geofences: readonly GeofenceProperties[]
  readonly beacons: readonly Beacon[]
  /** Whoever stays this close to the point can meet no other geofence or beacon than these. */
  readonly radiusMeters: number
}

async function around(
  view: ScopeView,
  latitude: number,
  longitude: number,
  accept: (geofence: GeofenceProperties) => boolean,
  isReadable: (beacon: Beacon) => boolean,
): Promise<Surroundings> {
  const margin = view.settings.bufferEntries ? BUFFER_MARGIN_METERS : SPHERE_MARGIN_METERS
  const beaconMargin = BEACON_RANGE_METERS + SPHERE_MARGIN_METERS
  // One more than is told: it says where the next begins.
  const limit = MAX_RECORDS + 1
  const at = new Probe().set(latitude, longitude)
  const search = await inSlices(
    view.index.nearestSteps(at, limit, MAX_RADIUS_METERS + margin, accept, MOST_LOOKED_AT),
  )
  const geofences = search.found
  const reach = MAX_RADIUS_METERS + beaconMargin
  const beacons = view.beacons.near(latitude, longitude, reach, limit, isReadable)
  const nextGeofence = (geofences[MAX_RECORDS]?.distance ?? search.radiusMeters) - margin
  const nextBeacon = (beacons[MAX_RECORDS]?.distance ?? Infinity) - beaconMargin
  return {
    geofences: geofences.slice(0, MAX_RECORDS).map(({ geofence }) => geofence),
    beacons: beacons.slice(0, MAX_RECORDS).map(({ beacon }) => beacon),
    radiusMeters: Math.max(0, Math.min(MAX_RADIUS_METERS, nextGeofence, nextBeacon)),
  }
}
