import { checkRing, MAX_RING_POSITIONS } from '../../geometry/ring.ts'
import { checkRequired, type Fields } from '../../http/fields.ts'
import type { GeofenceType, Position, Shape } from '../../model/geofence.ts'
import { ApiError, badParam } from '../../runtime/errors.ts'
import { readFields } from '../records/fieldRules.ts'
import { checkPoint, checkPosition, type Pair } from '../records/recordFields.ts'
import {
  GEOFENCE_FIELDS,
  GeofenceBody,
  MIN_GEOFENCE_RADIUS_METERS,
  NewGeofenceBody,
} from './geofenceFields.ts'
import type { GeofenceDefinition } from './geofenceRows.ts'

/** Fields that do not depend on others. Their order decides which of several faults is reported. */
const PLAIN_FIELDS = [
  'description',
  'type',
  'mode',
  'metadata',
  'operatingHours',
  'stopDetection',
  'disableAfter',
  'deleteAfter',
  'userId',
  'userIds',
  'ip',
  'dwellThreshold',
  'placeId',
  'tripApproachingThreshold',
  'tag',
  'externalId',
  'enabled',
] as const

/**
 * Reads the definition of a geofence from a body or row: every rule of the interface's field table. Absent, null and
 * empty fields get their defaults; unknown ones are ignored.
 *
 * @param known the pair if the request names it elsewhere; a field that differs is refused
 * @throws ApiError 400 naming the field; 503 where the geometry would have to come from an engine that is not there
 */
export function parseGeofence(fields: Fields, known?: Pair): GeofenceDefinition {
  checkRequired(known === undefined ? NewGeofenceBody : GeofenceBody, fields)
  const {
    tag,
    externalId,
    description,
    type,
    enabled = true,
    ...optional
  } = readFields(GEOFENCE_FIELDS, fields, known, PLAIN_FIELDS)
  return {
    tag: tag!,
    externalId: externalId!,
    description,
    type,
    enabled,
    ...optional,
    ...parseArea(fields, type),
  }
}

/** The shape; for an isochrone also what it will be computed from. */
function parseArea(fields: Fields, type: GeofenceType): Pick<GeofenceDefinition, 'shape' | 'isochrone'> {
  const { coordinates } = readFields(GEOFENCE_FIELDS, fields, undefined, ['coordinates'])
  if (type === 'polygon') {
    if (coordinates !== undefined) return { shape: { kind: 'polygon', ring: parseRing(coordinates) } }
    throw noPlaces()
  }
  const center = coordinates === undefined ? undefined : checkPoint('coordinates', coordinates)
  const { address, radius } = readFields(GEOFENCE_FIELDS, fields, undefined, ['address', 'radius'])
  if (center === undefined)
    throw address === undefined
      ? noPlaces()
      : missing('address', 'no geocoder to find the address; use coordinates')
  if (type === 'circle') return { shape: { kind: 'circle', center, radius: radius! } }
  return { shape: placeholder(center), isochrone: { destination: center, minutes: radius! } }
}

/** The shape of an isochrone until it is computed: it has the location, and nobody is ever inside. */
function placeholder(center: Position): Shape {
  return { kind: 'circle', center, radius: MIN_GEOFENCE_RADIUS_METERS }
}

function noPlaces(): ApiError {
  return missing('placeId', 'no database of places to take the geometry from; use coordinates')
}

function missing(param: string, what: string): ApiError {
  return new ApiError(503, `${param}: There is ${what}.`, { param })
}

function parseRing(coordinates: readonly unknown[]): readonly Position[] {
  const ring = positionsOf(coordinates).map((position) => checkPosition('coordinates', position))
  const sentence = checkRing(ring)
  if (sentence !== undefined) throw badParam('coordinates', `Invalid coordinates. ${sentence}`)
  return ring
}

/**
 * The list from which a ring's positions are read. Clients flatten nested lists in forms (Python's requests sends
 * `coordinates=13.4&coordinates=52.5&coordinates=13.5…`): plain numbers are taken in pairs.
 */
function positionsOf(coordinates: readonly unknown[]): readonly unknown[] {
  if (coordinates.some((item) => typeof item === 'object')) return unnest(coordinates)
  const { length } = coordinates
  if (length % 2 === 1) {
    const sentence = `A flat list must have a longitude and a latitude for each position; it has ${length} numbers.`
    throw badParam('coordinates', `Invalid coordinates. ${sentence}`)
  }
  // One too many is enough to refuse the ring; more need not be read.
  const count = Math.min(length / 2, MAX_RING_POSITIONS + 1)
  return Array.from({ length: count }, (_, i) => coordinates.slice(2 * i, 2 * i + 2))
}

/** GeoJSON's form of a polygon is a list of rings: accepted if it is one ring. */
function unnest(coordinates: readonly unknown[]): readonly unknown[] {
  const first = coordinates[0]
  if (!Array.isArray(first) || !Array.isArray(first[0])) return coordinates
  if (coordinates.length !== 1) {
    throw badParam(
      'coordinates',
      `Invalid coordinates. One ring is allowed; there are ${coordinates.length}.`,
    )
  }
  return first
}
