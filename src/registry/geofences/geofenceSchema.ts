import { checkRing, MAX_RING_POSITIONS } from '../../geometry/ring.ts'
import type { GeofenceType, Position, Shape, TravelMode } from '../../model/geofence.ts'
import { IpRangesError, parseIpRanges } from '../../model/ipRanges.ts'
import type { OperatingHours } from '../../model/operatingHours.ts'
import { OperatingHoursError, parseOperatingHours } from '../../model/operatingHours.ts'
import { ApiError, badParam } from '../../runtime/errors.ts'
import type { Fields } from '../../http/fields.ts'
import {
  booleanField,
  checkRequired,
  choiceField,
  dateField,
  dictionaryField,
  listField,
  numberField,
  positiveField,
  textField,
  textsField,
} from '../../http/fields.ts'
import { GeofenceBody, NewGeofenceBody } from './geofenceBody.ts'
import type { GeofenceDefinition } from './geofenceRows.ts'
import type { Pair } from '../records/recordFields.ts'
import {
  checkPoint,
  checkPosition,
  MAX_ADDRESS_LENGTH,
  MAX_DESCRIPTION_LENGTH,
  MAX_ID_LENGTH,
  metadataField,
  pairField,
  withoutUndefined,
} from '../records/recordFields.ts'

const MAX_USER_IDS = 10_000
const MAX_IP_LENGTH = 45 + 4
const MAX_IPS = 1000
const MIN_RADIUS_METERS = 10
const MAX_RADIUS_METERS = 10_000
const MAX_MINUTES = 120

const GEOFENCE_TYPES: readonly GeofenceType[] = ['circle', 'polygon', 'isochrone']
const TRAVEL_MODES: readonly TravelMode[] = ['car', 'truck', 'foot', 'bike', 'motorbike']

/**
 * Reads the definition of a geofence from a body or row: every rule of the interface's field table.
 * Absent, null and empty fields are at their defaults; unknown ones are ignored.
 *
 * @param known the pair where the request names it elsewhere; a field that says otherwise is refused
 * @throws ApiError 400 naming the field; 503 where the geometry would have to come from an engine that is not there
 */
export function parseGeofence(fields: Fields, known?: Pair): GeofenceDefinition {
  checkRequired(known === undefined ? NewGeofenceBody : GeofenceBody, fields)
  const description = textField(fields, 'description', MAX_DESCRIPTION_LENGTH)!
  const type = choiceField(fields, 'type', GEOFENCE_TYPES)!
  const optional = {
    mode: choiceField(fields, 'mode', TRAVEL_MODES),
    metadata: metadataField(fields),
    operatingHours: hoursField(fields),
    stopDetection: booleanField(fields, 'stopDetection'),
    disableAfter: dateField(fields, 'disableAfter'),
    deleteAfter: dateField(fields, 'deleteAfter'),
    userId: textField(fields, 'userId', MAX_ID_LENGTH),
    userIds: textsField(fields, 'userIds', MAX_USER_IDS, MAX_ID_LENGTH),
    ip: parseIp(fields),
    dwellThreshold: positiveField(fields, 'dwellThreshold'),
    placeId: textField(fields, 'placeId', MAX_ID_LENGTH),
    tripApproachingThreshold: positiveField(fields, 'tripApproachingThreshold'),
  }
  return {
    tag: pairField(fields, 'tag', known)!,
    externalId: pairField(fields, 'externalId', known)!,
    description,
    type,
    enabled: booleanField(fields, 'enabled') ?? true,
    ...withoutUndefined(optional),
    ...parseArea(fields, type),
  }
}

/** The shape, and of an isochrone what it will be computed from. */
function parseArea(fields: Fields, type: GeofenceType): Pick<GeofenceDefinition, 'shape' | 'isochrone'> {
  const coordinates = listField(fields, 'coordinates')
  if (type === 'polygon') {
    if (coordinates !== undefined) return { shape: { kind: 'polygon', ring: parseRing(coordinates) } }
    throw noPlaces()
  }
  const center = coordinates === undefined ? undefined : checkPoint('coordinates', coordinates)
  const address = textField(fields, 'address', MAX_ADDRESS_LENGTH)
  const [low, high] = type === 'circle' ? [MIN_RADIUS_METERS, MAX_RADIUS_METERS] : [1, MAX_MINUTES]
  const radius = numberField(fields, 'radius', low, high)!
  if (center === undefined)
    throw address === undefined
      ? noPlaces()
      : missing('address', 'no geocoder to find the address; use coordinates')
  if (type === 'circle') return { shape: { kind: 'circle', center, radius } }
  return { shape: placeholder(center), isochrone: { destination: center, minutes: radius } }
}

/** What an isochrone has for a shape until it was computed: it says where, and nobody is ever inside. */
function placeholder(center: Position): Shape {
  return { kind: 'circle', center, radius: MIN_RADIUS_METERS }
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
 * What a ring's positions are read from. Clients flatten nested lists in forms (Python's requests sends
 * `coordinates=13.4&coordinates=52.5&coordinates=13.5…`): numbers alone are taken in pairs.
 */
function positionsOf(coordinates: readonly unknown[]): readonly unknown[] {
  if (coordinates.some((item) => typeof item === 'object')) return unnest(coordinates)
  const { length } = coordinates
  if (length % 2 === 1) {
    const sentence = `A flat list must have a longitude and a latitude for each position; it has ${length} numbers.`
    throw badParam('coordinates', `Invalid coordinates. ${sentence}`)
  }
  // One too many is refused by its number; more need not be read for that.
  const count = Math.min(length / 2, MAX_RING_POSITIONS + 1)
  return Array.from({ length: count }, (_, i) => coordinates.slice(2 * i, 2 * i + 2))
}

/** GeoJSON's form of a polygon is a list of rings: taken where it is one ring. */
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

/** Days to their hours, or their JSON text; undefined when it has no days. */
export function hoursField(fields: Fields): OperatingHours | undefined {
  const given = dictionaryField(fields, 'operatingHours')
  if (given === undefined) return undefined
  try {
    return parseOperatingHours(given)
  } catch (error) {
    if (!(error instanceof OperatingHoursError)) throw error
    throw badParam('operatingHours', `Invalid operatingHours: ${error.message}`)
  }
}

function parseIp(fields: Fields): string | undefined {
  const ip = textsField(fields, 'ip', MAX_IPS, MAX_IP_LENGTH)?.join(',')
  if (ip === undefined) return undefined
  try {
    parseIpRanges(ip)
  } catch (error) {
    if (!(error instanceof IpRangesError)) throw error
    throw badParam('ip', `Invalid ip: ${error.message}`)
  }
  return ip
}
