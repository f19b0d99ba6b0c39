import Type from 'typebox'
import { DateTime } from '../../http/schemas.ts'
import type { Beacon } from '../../model/beacon.ts'
import { isoDate } from '../../model/isoDate.ts'
import { isLive } from '../../model/scope.ts'
import type { ScopeView } from '../../rules/port.ts'
import { LonLat, MetadataRecord } from '../records/recordSchemas.ts'

/** The distance within which a device gets a beacon. It is a rule of the interface. */
const NEARBY_METERS = 1000
const MAX_NEARBY = 100

/** The beacon as the API returns it; undefined members are left out of the JSON. */
export function beaconRecord(beacon: Beacon): Record<string, unknown> {
  return {
    _id: beacon.id,
    createdAt: isoDate(beacon.createdAt),
    updatedAt: isoDate(beacon.updatedAt),
    live: isLive(beacon.scope),
    tag: beacon.tag,
    externalId: beacon.externalId,
    description: beacon.description,
    type: beacon.type,
    uuid: beacon.uuid,
    major: beacon.major,
    minor: beacon.minor,
    uid: beacon.uid,
    instance: beacon.instance,
    geometry: { type: 'Point', coordinates: beacon.coordinates },
    enabled: beacon.enabled,
    metadata: beacon.metadata,
  }
}

/** The schema of {@link beaconRecord}, for the reference. */
export const BeaconRecord = Type.Object(
  {
    _id: Type.String({ description: '24 hexadecimal digits; edits do not change it.' }),
    createdAt: DateTime,
    updatedAt: DateTime,
    live: Type.Boolean(),
    tag: Type.Optional(Type.String()),
    externalId: Type.Optional(Type.String()),
    description: Type.String(),
    type: Type.Enum(['ibeacon', 'eddystone']),
    uuid: Type.Optional(Type.String({ description: 'ibeacon.' })),
    major: Type.Optional(Type.String({ description: 'ibeacon; a number as text.' })),
    minor: Type.Optional(Type.String({ description: 'ibeacon; a number as text.' })),
    uid: Type.Optional(Type.String({ description: 'eddystone: the namespace.' })),
    instance: Type.Optional(Type.String({ description: 'eddystone.' })),
    geometry: Type.Object({ type: Type.Literal('Point'), coordinates: LonLat }),
    enabled: Type.Boolean(),
    metadata: Type.Optional(MetadataRecord),
    distance: Type.Optional(Type.Number({ description: 'Metres; in searches.' })),
  },
  { title: 'Beacon' },
)

/** The JSON text of each beacon's record. Edits replace objects and never change them. */
const texts = new WeakMap<Beacon, string>()

/**
 * The `nearbyBeacons` of a track answer as JSON text: the enabled beacons within 1 km of the point, nearest first, at
 * most 100. Called for every update.
 */
export function nearbyBeaconsJson(view: ScopeView, latitude: number, longitude: number): string {
  if (view.beacons.size === 0) return '[]'
  let json = ''
  for (const { beacon } of view.beacons.near(latitude, longitude, NEARBY_METERS, MAX_NEARBY)) {
    let text = texts.get(beacon)
    if (text === undefined) texts.set(beacon, (text = JSON.stringify(beaconRecord(beacon))))
    json += json === '' ? text : `,${text}`
  }
  return `[${json}]`
}
