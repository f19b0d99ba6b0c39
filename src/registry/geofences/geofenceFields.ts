import type { TObject } from 'typebox'
import { dictionaryField, numberField, textsField, type Fields } from '../../http/fields.ts'
import { atLeastOne, neededBy } from '../../http/needs.ts'
import type { GeofenceType, TravelMode } from '../../model/geofence.ts'
import { IpRangesError, parseIpRanges } from '../../model/ipRanges.ts'
import { OperatingHoursError, parseOperatingHours, type OperatingHours } from '../../model/operatingHours.ts'
import { badParam } from '../../runtime/errors.ts'
import {
  bodyOf,
  bulkChanges,
  choice,
  custom,
  date,
  flag,
  list,
  metadata,
  positive,
  reference,
  requiredRule,
  text,
  textList,
} from '../records/fieldRules.ts'
import { MAX_ADDRESS_LENGTH, MAX_DESCRIPTION_LENGTH, MAX_ID_LENGTH } from '../records/recordFields.ts'
import { DictionaryOrText, NumberOrText, TextsOrText } from '../records/recordSchemas.ts'

const MAX_USER_IDS = 10_000
const MAX_IP_LENGTH = 45 + 4
const MAX_IPS = 1000
export const MIN_GEOFENCE_RADIUS_METERS = 10
const MAX_RADIUS_METERS = 10_000
const MAX_MINUTES = 120
/**
 * The range of the radius for each type: metres, or minutes of travel. A polygon has none, and its value in a body is
 * ignored.
 */
const RADIUS_RANGES: ReadonlyMap<unknown, readonly [low: number, high: number]> = new Map([
  ['circle', [MIN_GEOFENCE_RADIUS_METERS, MAX_RADIUS_METERS]],
  ['isochrone', [1, MAX_MINUTES]],
])

const GEOFENCE_TYPES: readonly GeofenceType[] = ['circle', 'polygon', 'isochrone']
const TRAVEL_MODES: readonly TravelMode[] = ['car', 'truck', 'foot', 'bike', 'motorbike']

/** The fields of a geofence definition. */
export const GEOFENCE_FIELDS = {
  description: requiredRule(text(MAX_DESCRIPTION_LENGTH, 'Display name.')),
  type: requiredRule(choice(GEOFENCE_TYPES, 'circle, polygon or isochrone.')),
  tag: reference('tag', 'Group of the geofence.'),
  externalId: reference('externalId', 'Your own id, unique within the tag.'),
  coordinates: list(
    'Required if there is no address and no placeId. circle and isochrone: [longitude, latitude]. polygon: a closed ring ' +
      '[[longitude, latitude], …] of 4 to 2,000 positions. A list or its JSON text; a form may also repeat the field for each number in turn.',
  ),
  address: text(
    MAX_ADDRESS_LENGTH,
    'circle and isochrone: instead of coordinates, an address or the name of a place. It is looked up once. With coordinates it must be within 1,000 m of them.',
  ),
  placeId: text(
    MAX_ID_LENGTH,
    '_id of a place, whose area the geofence gets; coordinates and address are then ignored. It is looked up once. If only the point of the place is known: a circle around it, with the given radius or the usual one of such places; a polygon keeps its coordinates.',
  ),
  radius: custom(
    NumberOrText(
      'Required for a circle without placeId: metres, 10 to 10,000. Required for an isochrone: minutes of travel, 1 to 120.',
    ),
    (fields, name) => {
      const range = RADIUS_RANGES.get(fields['type'])
      return range && numberField(fields, name, ...range)
    },
  ),
  mode: choice(TRAVEL_MODES, 'Required for an isochrone: car, truck, foot, bike or motorbike.'),
  enabled: flag('Whether it causes events; default true.'),
  metadata: metadata(),
  operatingHours: custom(
    DictionaryOrText(
      'Day names (Sunday or Sun) with lists of [open, close], such as 9:00 AM or 17:30. Without it, the geofence is always open.',
    ),
    hoursField,
  ),
  stopDetection: flag("Overrides the project's stop detection."),
  disableAfter: date(),
  deleteAfter: date(),
  userId: text(MAX_ID_LENGTH, 'Deprecated: use userIds.'),
  userIds: textList(MAX_USER_IDS, MAX_ID_LENGTH, 'Only these users cause events; a list or comma-separated.'),
  ip: custom(
    TextsOrText(
      'Only requests from these addresses, wildcards or CIDR ranges cause events; comma-separated.',
    ),
    ipField,
  ),
  dwellThreshold: positive('Minutes inside before a dwell event.'),
  tripApproachingThreshold: positive('Minutes before arrival at which a trip is approaching.'),
}

/** The fields that may be changed for many geofences at once. They do not identify a geofence. */
export const GEOFENCE_CHANGES = bulkChanges(
  GEOFENCE_FIELDS,
  'GeofenceChanges',
  [
    'enabled',
    'metadata',
    'operatingHours',
    'stopDetection',
    'disableAfter',
    'deleteAfter',
    'userIds',
    'ip',
    'dwellThreshold',
    'tripApproachingThreshold',
  ],
  { enabled: true },
)

/** The fields with the location of a geofence. One of them is required. */
export const GEOFENCE_AREA_FIELDS = ['coordinates', 'address', 'placeId'] as const

const NEEDS_BY_TYPE = neededBy('type', {
  circle: { ...atLeastOne(...GEOFENCE_AREA_FIELDS), allOf: [atLeastOne('radius', 'placeId')] },
  polygon: atLeastOne('coordinates', 'placeId'),
  isochrone: { required: ['mode', 'radius'], ...atLeastOne(...GEOFENCE_AREA_FIELDS) },
})

/** The body of a geofence definition whose pair is known. */
export const GeofenceBody: TObject = bodyOf(GEOFENCE_FIELDS, { title: 'GeofenceDefinition' }, NEEDS_BY_TYPE)

/** The body of a geofence definition that contains its pair. */
export const NewGeofenceBody: TObject = bodyOf(
  {
    ...GEOFENCE_FIELDS,
    tag: requiredRule(GEOFENCE_FIELDS.tag),
    externalId: requiredRule(GEOFENCE_FIELDS.externalId),
  },
  { title: 'NewGeofence' },
  NEEDS_BY_TYPE,
)

/** Reads days with their hours, or their JSON text. Undefined if there are no days. */
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

function ipField(fields: Fields): string | undefined {
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
