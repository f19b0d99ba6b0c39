import Type from 'typebox'
import { listPieces } from '../http/answerText.ts'
import { DEVICE_TYPE_HEADER } from '../http/deviceType.ts'
import { route, type Route } from '../http/route.ts'
import { Latitude, Longitude, Text } from '../http/schemas.ts'
import { isMeantFor } from '../rules/geofenceRules.ts'
import { PlaceSchema } from '../events/fieldSchemas.ts'
import { passesFilters, shownPlace } from '../model/place.ts'
import { fetched, Unknown } from '../rules/atlas.ts'
import { CANDIDATE_METERS } from '../rules/placeOrder.ts'
import { Probe } from '../geometry/probe.ts'
import type { Beacon } from '../model/beacon.ts'
import type { GeofenceProperties } from '../model/geofence.ts'
import { BeaconRecord, beaconRecord } from '../registry/beacons/beaconRecord.ts'
import { GeofenceRecord, geofenceRecord } from '../registry/geofences/geofenceRecord.ts'
import { isActiveAt } from '../model/geofence.ts'
import type { RegistryView, ScopeView } from '../rules/port.ts'
import { readableBeacons } from '../registry/beacons/readableBeacons.ts'
import { inSlices, mapInSlices, ownTurn } from '../runtime/slices.ts'
import { ConcurrencyLimit } from '../runtime/concurrencyLimit.ts'

/** The largest radius of a region. A client asks again long before its edge. */
const MAX_RADIUS_METERS = 10_000
/** The most records of each kind; if there are more, the region is smaller. */
const MAX_RECORDS = 100
/** If this many geofences belong to others or are disabled, the region ends where the search did. */
const MOST_LOOKED_AT = 5000

/** How many large answers are made at a time, because each is held in memory until it is sent. */
const ANSWERS_AT_ONCE = 8

/** Clients measure on a sphere, which is off by half a percent, so regions are smaller by this. */
const SPHERE_MARGIN_METERS = 100
/** The same margin for places, which are near, as a share. */
const SPHERE_SHARE = 0.99
/** The margin with buffered entries, because a location then enters from a distance that depends on its accuracy. */
const BUFFER_MARGIN_METERS = 1000
/** The radius while places cannot be read. */
const UNKNOWN_RADIUS_METERS = 500
/** The distance within which clients, and the server, take a beacon to be in range. */
const BEACON_RANGE_METERS = 100

const SyncedPlace = Type.Object({
  ...PlaceSchema.properties,
  geometryRadius: Type.Number({
    description: 'The radius in metres of a circle around `location` that contains the place.',
  }),
})

/**
 * The route `POST /v1/sync/region`: everything that can happen around a client, so that the client only calls when
 * something does.
 */
export function syncRoutes(registry: RegistryView): Route[] {
  const concurrency = new ConcurrencyLimit(ANSWERS_AT_ONCE)
  return [
    route({
      method: 'POST',
      path: '/v1/sync/region',
      auth: 'publishable',
      role: 'write',
      tag: 'SDK',
      summary: 'Get the geofences, places and beacons around a location, for an SDK to monitor',
      description:
        'The enabled geofences that are meant for the user, the beacons, the places (if the setting `places` is on, those that pass `placeFilters`), and the region around the location in which ' +
        'there are no others. It is smaller if many geofences of other users are near. Its radius is 0 if more than ' +
        `${MAX_RECORDS} of a kind are at this location; then a client has to ask the server each time.`,
      body: Type.Object({
        latitude: Latitude,
        longitude: Longitude,
        userId: Type.Optional(Text(256)),
      }),
      answers: {
        200: Type.Object({
          geofences: Type.Array(GeofenceRecord, { description: 'Nearest first.' }),
          places: Type.Array(SyncedPlace, { description: 'Nearest first.' }),
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
        await ownTurn()
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
        const { places, meters } = await placesAround(view, latitude, longitude)
        const rest = JSON.stringify({
          places,
          beacons: beacons.map((beacon) => beaconRecord(beacon)),
          region: { latitude, longitude, radius: Math.min(radiusMeters, meters) },
        })
        return { pieces: listPieces('"geofences":', texts, `,${rest.slice(1, -1)}`) }
      },
    }),
  ]
}

/** Geofences that are deleted in the meantime are left out. */
function textsInSlices({ index }: ScopeView, geofences: readonly GeofenceProperties[]): Promise<string[]> {
  return mapInSlices(geofences, ({ id }) => {
    const slot = index.slotOf(id)
    if (slot < 0) return undefined
    return JSON.stringify(geofenceRecord({ ...index.geofence(slot), shape: index.shape(slot) }))
  })
}

/** The places in which the user may be soon, and how far the client may go before there may be others. */
async function placesAround({ settings, atlas }: ScopeView, latitude: number, longitude: number) {
  if (!settings.places) return { places: [], meters: Infinity }
  const here = await fetched(() => atlas.placesAround(latitude, longitude))
  // The places are not known at the moment, so the client asks again.
  if (here instanceof Unknown) return { places: [], meters: UNKNOWN_RADIUS_METERS }
  const near = here.near
    .filter(({ place }) => passesFilters(place, settings.placeFilters))
    .sort((a, b) => a.meters - b.meters || (a.place.id < b.place.id ? -1 : 1))
  const next = Math.min(here.restMeters, near[MAX_RECORDS]?.meters ?? Infinity)
  return {
    places: near.slice(0, MAX_RECORDS).map(({ place }) => ({
      ...shownPlace(place, settings),
      geometryRadius: place.extentMeters,
    })),
    // A place is a candidate from some distance on.
    meters: Math.max(0, next * SPHERE_SHARE - CANDIDATE_METERS),
  }
}

interface Surroundings {
  readonly geofences: readonly GeofenceProperties[]
  readonly beacons: readonly Beacon[]
  /** A client that stays this close to the point can meet no geofences or beacons except these. */
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
  // One more is searched than is returned, because it tells where the next one begins.
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
