import { checkRing, MAX_RING_POSITIONS } from '../../geometry/ring.ts'
import { checkRequired, type Fields } from '../../http/fields.ts'
import type { GeofenceType, Position } from '../../model/geofence.ts'
import { badParam } from '../../runtime/errors.ts'
import { readFields } from '../records/fieldRules.ts'
import { checkPoint, checkPosition, type Pair } from '../records/recordFields.ts'
import { GEOFENCE_FIELDS, GeofenceBody, NewGeofenceBody } from './geofenceFields.ts'
import type { GeofenceDraft } from './resolveArea.ts'

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
 * empty fields get their defaults; unknown ones are ignored. {@link resolveArea} gives it its area.
 *
 * @param known the pair if the request names it elsewhere; a field that differs is refused
 * @throws ApiError 400 naming the field
 */
export function parseGeofence(fields: Fields, known?: Pair): GeofenceDraft {
  checkRequired(known === undefined ? NewGeofenceBody : GeofenceBody, fields)
  const {
    tag,
    externalId,
    description,
    type,
    enabled = true,
    ...optional
  } = readFields(GEOFENCE_FIELDS, fields, known, PLAIN_FIELDS)
  const { address, ...area } = parseArea(fields, type, optional.placeId !== undefined)
  const definition = {
    tag: tag!,
    externalId: externalId!,
    description,
    type,
    enabled,
    ...optional,
    ...(address !== undefined && { address }),
  }
  return { definition, ...area }
}

/**
 * Reads the area.
 * @param hasPlace if it has a place, coordinates and address are ignored, except for the ring that a polygon keeps at
 * a place that is only a point
 */
function parseArea(
  fields: Fields,
  type: GeofenceType,
  hasPlace: boolean,
): Omit<GeofenceDraft, 'definition'> & { readonly address?: string } {
  if (type === 'polygon') {
    const { coordinates } = readFields(GEOFENCE_FIELDS, fields, undefined, ['coordinates'])
    return coordinates === undefined ? {} : { ring: parseRing(coordinates) }
  }
  const { radius } = readFields(GEOFENCE_FIELDS, fields, undefined, ['radius'])
  const radiusPart = radius !== undefined && { radius }
  if (hasPlace) return { ...radiusPart }
  const { coordinates, address } = readFields(GEOFENCE_FIELDS, fields, undefined, ['coordinates', 'address'])
  // `coordinates=null` in a form is present but means nothing.
  if (coordinates === undefined && address === undefined) throw badParam('coordinates', 'Required.')
  return {
    ...(coordinates !== undefined && { center: checkPoint('coordinates', coordinates) }),
    ...(address !== undefined && { address }),
    ...radiusPart,
  }
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
  // One position too many is enough to refuse the ring, so more need not be read.
  const count = Math.min(length / 2, MAX_RING_POSITIONS + 1)
  return Array.from({ length: count }, (_, i) => coordinates.slice(2 * i, 2 * i + 2))
}

/** The positions of a polygon in GeoJSON, which is a list of rings. It is accepted if it has one ring. */
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
