import Type from 'typebox'
import type { TObject, TSchema } from 'typebox'
import { normalizeRing } from '../../geometry/ring.ts'
import { shapeRing } from '../../geometry/shape.ts'
import type { Beacon } from '../../model/beacon.ts'
import type { Geofence, Position, Shape } from '../../model/geofence.ts'
import { BeaconRecord, beaconRecord } from '../beacons/beaconRecord.ts'
import { GeofenceRecord, geofenceRecord, hasArea, Polygon } from '../geofences/geofenceRecord.ts'

/**
 * Coordinates are rounded to ten decimals of a degree, a hundredth of a millimetre, which removes the digits that
 * unwrapping adds.
 */
const DIGITS = 1e10

/** A GeoJSON Feature (RFC 7946) with the record, except for its geometry, as properties. */
interface Feature {
  readonly type: 'Feature'
  readonly id: string
  /** The geometry; null if there is no location yet. */
  readonly geometry: { readonly type: string; readonly coordinates: unknown } | null
  readonly properties: Readonly<Record<string, unknown>>
}

/**
 * The feature of a geofence. A circle is a polygon of 33 positions, but `geometryCenter` and `geometryRadius` in the
 * properties are exact. An isochrone without an area has no geometry yet.
 */
export function geofenceFeature(geofence: Geofence): Feature {
  const { _id: _, ...properties } = geofenceRecord(geofence, { geometry: false })
  return {
    type: 'Feature',
    id: geofence.id,
    geometry: hasArea(geofence) ? { type: 'Polygon', coordinates: [outline(geofence.shape)] } : null,
    properties,
  }
}

export function beaconFeature(beacon: Beacon): Feature {
  const { _id: _, geometry: __, ...properties } = beaconRecord(beacon)
  return {
    type: 'Feature',
    id: beacon.id,
    geometry: { type: 'Point', coordinates: beacon.coordinates },
    properties,
  }
}

/** The file of {@link geofenceFeature}s, for the reference. */
export const GeofenceCollection = collectionOf(
  'GeofenceCollection',
  GeofenceRecord,
  Type.Union([Polygon, Type.Null()], { description: 'null while an isochrone has no area.' }),
)
/** The file of {@link beaconFeature}s, for the reference. */
export const BeaconCollection = collectionOf(
  'BeaconCollection',
  BeaconRecord,
  BeaconRecord.properties.geometry,
)

function collectionOf(title: string, record: TObject, geometry: TSchema): TObject {
  const { _id, geometry: _, ...properties } = record.properties
  const Feature = Type.Object({
    type: Type.Literal('Feature'),
    id: _id!,
    geometry,
    properties: Type.Object(properties),
  })
  return Type.Object({ type: Type.Literal('FeatureCollection'), features: Type.Array(Feature) }, { title })
}

/**
 * The ring of a shape for other programs, which do not take the short way between positions: longitudes are
 * continuous, beyond 180 degrees where the ring crosses the antimeridian; the inside is to the left; a pole inside it
 * becomes an edge at 90 degrees.
 */
function outline(shape: Shape): Position[] {
  const { longitudes, latitudes, pole } = normalizeRing(shapeRing(shape))
  const ring = Array.from(longitudes, (longitude, i): Position => [
    rounded(longitude),
    rounded(latitudes[i]!),
  ])
  if (pole !== 0) ring.push([ring.at(-1)![0], 90 * pole], [ring[0]![0], 90 * pole], ring[0]!)
  return ring
}

function rounded(degrees: number): number {
  return Math.round(degrees * DIGITS) / DIGITS
}
