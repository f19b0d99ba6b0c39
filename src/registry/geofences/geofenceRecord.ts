import Type from 'typebox'
import { shapeOutline, shapeRing } from '../../geometry/shape.ts'
import { DateTime } from '../../http/schemas.ts'
import type { Geofence, Isochrone } from '../../model/geofence.ts'
import { isLive } from '../../model/scope.ts'
import { LonLat, MetadataRecord } from '../records/recordSchemas.ts'

/**
 * The geofence as the API returns it; undefined members are left out of the JSON. The geometry is always a polygon of
 * one ring: a circle has 33 points.
 */
export function geofenceRecord(
  geofence: Geofence,
  include: { readonly geometry: boolean } = { geometry: true },
): Record<string, unknown> {
  const { shape } = geofence
  const { center, radius } = shapeOutline(shape)
  return {
    _id: geofence.id,
    createdAt: isoTime(geofence.createdAt),
    updatedAt: isoTime(geofence.updatedAt),
    live: isLive(geofence.scope),
    tag: geofence.tag,
    externalId: geofence.externalId,
    description: geofence.description,
    type: geofence.type,
    geometry:
      include.geometry && hasArea(geofence)
        ? { type: 'Polygon', coordinates: [shapeRing(shape)] }
        : undefined,
    geometryCenter: { type: 'Point', coordinates: center },
    geometryRadius: hasArea(geofence) ? radius : 0,
    mode: geofence.mode,
    isochrone: geofence.isochrone && isochroneRecord(geofence.isochrone),
    metadata: geofence.metadata,
    userId: geofence.userId,
    userIds: geofence.userIds,
    ip: geofence.ip,
    enabled: geofence.enabled,
    operatingHours: geofence.operatingHours?.source,
    stopDetection: geofence.stopDetection,
    dwellThreshold: geofence.dwellThreshold,
    disableAfter: isoTime(geofence.disableAfter),
    deleteAfter: isoTime(geofence.deleteAfter),
    placeId: geofence.placeId,
    tripApproachingThreshold: geofence.tripApproachingThreshold,
  }
}

/** Whether the geofence has an area. An isochrone that was never computed has only a placeholder. */
export function hasArea({ isochrone }: Geofence): boolean {
  return isochrone === undefined || isochrone.computedAt !== undefined
}

function isochroneRecord({ destination, minutes, computedAt, failure }: Isochrone) {
  const status = computedAt !== undefined ? 'ready' : failure !== undefined ? 'failed' : 'pending'
  return { destination, minutes, status, computedAt: isoTime(computedAt), failure }
}

function isoTime(time: number | undefined): string | undefined {
  return time === undefined ? undefined : new Date(time).toISOString()
}

/** GeoJSON, for the reference. */
export const Polygon = Type.Object({
  type: Type.Literal('Polygon'),
  coordinates: Type.Array(Type.Array(LonLat)),
})

/** The schema of {@link geofenceRecord}, for the reference. */
export const GeofenceRecord = Type.Object(
  {
    _id: Type.String({ description: '24 hexadecimal digits; edits do not change it.' }),
    createdAt: DateTime,
    updatedAt: DateTime,
    live: Type.Boolean(),
    tag: Type.String(),
    externalId: Type.String(),
    description: Type.String(),
    type: Type.Enum(['circle', 'polygon', 'isochrone']),
    geometry: Type.Optional(Polygon),
    geometryCenter: Type.Object({ type: Type.Literal('Point'), coordinates: LonLat }),
    geometryRadius: Type.Number({
      description:
        'In metres: the radius of the circle, or of a circle around the polygon; 0 while an isochrone has no area.',
    }),
    mode: Type.Optional(Type.String()),
    isochrone: Type.Optional(
      Type.Object(
        {
          destination: LonLat,
          minutes: Type.Number(),
          status: Type.Enum(['pending', 'ready', 'failed']),
          computedAt: Type.Optional(DateTime),
          failure: Type.Optional(Type.String({ description: 'Why the last attempt to compute it failed.' })),
        },
        {
          description:
            'State of an isochrone, whose area is computed in the background. Until it is ready there is no `geometry`, and no device is inside.',
        },
      ),
    ),
    metadata: Type.Optional(MetadataRecord),
    userId: Type.Optional(Type.String()),
    userIds: Type.Optional(Type.Array(Type.String())),
    ip: Type.Optional(Type.String()),
    enabled: Type.Boolean(),
    operatingHours: Type.Optional(Type.Record(Type.String(), Type.Array(Type.Array(Type.String())))),
    stopDetection: Type.Optional(Type.Boolean()),
    dwellThreshold: Type.Optional(Type.Number({ description: 'Minutes.' })),
    disableAfter: Type.Optional(DateTime),
    deleteAfter: Type.Optional(DateTime),
    placeId: Type.Optional(Type.String()),
    tripApproachingThreshold: Type.Optional(Type.Number({ description: 'Minutes.' })),
    distance: Type.Optional(Type.Number({ description: 'Metres to the boundary, 0 inside; in searches.' })),
  },
  { title: 'Geofence' },
)
