import Type from 'typebox'
import { DEVICE_TYPE_HEADER } from '../../http/deviceType.ts'
import { route, type Route } from '../../http/route.ts'
import { CoordinatesText, limitOf, MetadataFilter, parseCoordinates } from '../../http/schemas.ts'
import type { Beacon } from '../../model/beacon.ts'
import { metadataMatcher } from '../../model/metadata.ts'
import type { ScopeId } from '../../model/scope.ts'
import type { Settings } from '../../model/settings.ts'
import { collectionRoutes, scopeOf } from '../records/collectionRoutes.ts'
import { TagsFilter, tagSet } from '../records/recordSchemas.ts'
import { BEACONS, type Beacons } from './beaconEntity.ts'
import { BeaconRecord, beaconRecord } from './beaconRecord.ts'
import type { BeaconStore } from './beaconStore.ts'
import { readableBeacons } from './readableBeacons.ts'

const RangedByAll = Type.Object({
  settings: Type.Object({
    beacons: Type.Object({
      uuids: Type.Array(Type.String(), { description: 'iBeacon UUIDs to range wherever the device is.' }),
      uids: Type.Array(Type.String(), { description: 'Eddystone UIDs to range wherever the device is.' }),
    }),
  }),
})

const DEFAULT_RADIUS_METERS = 1000
const MAX_RADIUS_METERS = 100_000

/** The dependencies of the beacons' routes. */
export interface BeaconRouteParts {
  readonly beacons: Beacons
  /** The other data of a scope that the search reads. */
  scope(scope: ScopeId): { readonly beacons: BeaconStore; readonly settings: Settings }
}

/** Management of beacons (secret keys) and the search near a point (any key). */
export function beaconRoutes(parts: BeaconRouteParts): Route[] {
  return [...collectionRoutes(BEACONS, parts.beacons), searchRoute(parts)]
}

function searchRoute(parts: BeaconRouteParts): Route {
  return route({
    method: 'GET',
    path: '/v1/search/beacons',
    headers: [DEVICE_TYPE_HEADER],
    auth: 'publishable',
    tag: BEACONS.tag,
    summary: 'Find the enabled beacons nearest to a point',
    description:
      'Sorted by distance. `meta.settings.beacons` has the settings beaconUuids and beaconUids. A client with the header ' +
      '`X-Radar-Device-Type: iOS` receives no eddystone beacons, which iOS cannot read.',
    query: Type.Object({
      near: CoordinatesText,
      radius: Type.Optional(
        Type.Number({
          exclusiveMinimum: 0,
          maximum: MAX_RADIUS_METERS,
          default: DEFAULT_RADIUS_METERS,
          description: 'Metres.',
        }),
      ),
      limit: Type.Optional(limitOf(100, 100)),
      tags: Type.Optional(TagsFilter),
      metadata: Type.Optional(MetadataFilter),
    }),
    meta: RangedByAll,
    answers: { 200: Type.Object({ beacons: Type.Array(BeaconRecord) }) },
    handler: (call) => {
      const { radius = DEFAULT_RADIUS_METERS, limit = 100, metadata = {} } = call.query
      const { latitude, longitude } = parseCoordinates('near', call.query.near)
      const tags = tagSet(call.query.tags)
      const isWanted = metadataMatcher(metadata)
      const isReadable = readableBeacons(call.headers)
      const accept = (beacon: Beacon) =>
        isReadable(beacon) &&
        (tags === undefined || (beacon.tag !== undefined && tags.has(beacon.tag))) &&
        isWanted(beacon.metadata)
      const { beacons, settings } = parts.scope(scopeOf(call))
      const nearest = beacons.near(latitude, longitude, radius, limit, accept)
      return {
        meta: { settings: { beacons: { uuids: settings.beaconUuids, uids: settings.beaconUids } } },
        body: { beacons: nearest.map(({ beacon, distance }) => ({ ...beaconRecord(beacon), distance })) },
      }
    },
  })
}
