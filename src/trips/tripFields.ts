import Type from 'typebox'
import {
  choiceField,
  dateField,
  dictionaryField,
  listField,
  numberField,
  present,
  textField,
  type Fields,
} from '../http/fields.ts'
import { DateText, Text } from '../http/schemas.ts'
import type { Position, TravelMode } from '../model/geofence.ts'
import { USER_METADATA_KEYS, type Metadata } from '../model/metadata.ts'
import { TRAVEL_MODES, type TripOptions } from '../model/trip.ts'
import {
  checkPoint,
  MAX_ADDRESS_LENGTH,
  MAX_ID_LENGTH,
  MAX_WORD_LENGTH,
  metadataField,
} from '../registry/records/recordFields.ts'
import { DictionaryOrText, ListOrText, NumberOrText } from '../registry/records/recordSchemas.ts'
import { approachingField } from '../registry/settings/tripSettings.ts'
import { badParam } from '../runtime/errors.ts'
import type { WantedStatus } from './machine/table.ts'

/**
 * What calls send about trips: schemas for the reference, and readers. `null` and the empty text mean that a field is
 * absent.
 */

const MAX_LEGS = 25
const MIN_RADIUS_METERS = 10
const MAX_RADIUS_METERS = 10_000
const DEFAULT_RADIUS_METERS = 100
const MAX_STOP_MINUTES = 1440

const STATUS_WORDS = [
  'pending',
  'started',
  'approaching',
  'arrived',
  'completed',
  'canceled',
] as const satisfies readonly WantedStatus[]

const COMMON = {
  userId: Type.Optional(
    Text(MAX_ID_LENGTH, 'The user whose location updates move the trip. It can be set once.'),
  ),
  destinationGeofenceTag: Type.Optional(
    Text(MAX_ID_LENGTH, 'Tag of the geofence where the trip ends; with `destinationGeofenceExternalId`.'),
  ),
  destinationGeofenceExternalId: Type.Optional(Text(MAX_ID_LENGTH, 'The externalId of that geofence.')),
  mode: Type.Optional(
    Text(MAX_WORD_LENGTH, `How the user travels: ${TRAVEL_MODES.join(', ')}. Default \`car\`.`),
  ),
  approachingThreshold: Type.Optional(
    NumberOrText('Minutes before arrival at which the trip is approaching: above 0 to 1440.'),
  ),
  scheduledArrivalAt: Type.Optional(DateText),
  metadata: Type.Optional(
    DictionaryOrText(
      `Up to ${USER_METADATA_KEYS} keys; values are strings, booleans or numbers. It replaces the whole metadata.`,
    ),
  ),
  legs: Type.Optional(
    ListOrText(
      `1 to ${MAX_LEGS} stops, instead of a destination. Each has a \`destination\`: \`destinationGeofenceTag\` and \`destinationGeofenceExternalId\`, ` +
        '`destinationGeofenceId`, `address`, or `coordinates` ([longitude, latitude]), of which the first counts. The last two may have an `arrivalRadius` in metres, ' +
        '10 to 10,000, default 100. A stop may also have `stopDuration` (minutes, 0 to 1440) and `metadata`. A leg with the `_id` of a leg of the trip keeps the state of that leg.',
    ),
  ),
}

export const PostBody = Type.Object({
  externalId: Text(MAX_ID_LENGTH, 'Your own id of the trip, such as that of an order.'),
  ...COMMON,
})

export const PatchBody = Type.Object({
  ...COMMON,
  status: Type.Optional(Text(MAX_WORD_LENGTH, `One of ${STATUS_WORDS.join(', ')}.`)),
})

const Asker = {
  userId: Type.Optional(
    Text(MAX_ID_LENGTH, 'If this is the userId of the trip, the answer contains its user.'),
  ),
}

export const LegStatusBody = Type.Object({
  status: Text(MAX_WORD_LENGTH, `One of ${STATUS_WORDS.join(', ')}.`),
  ...Asker,
})

export const LegOrderBody = Type.Object({
  ...Asker,
  legs: ListOrText(
    'The `_id`s of the legs in their new order. Every open leg must be there once; closed legs may be left out.',
  ),
})

/** A destination of a leg before its address is looked up. */
export type LegTarget =
  | { readonly form: 'pair'; readonly tag: string; readonly externalId: string }
  | { readonly form: 'geofence'; readonly id: string }
  | { readonly form: 'address'; readonly address: string; readonly radius: number }
  | { readonly form: 'coordinates'; readonly position: Position; readonly radius: number }

export interface LegFields {
  readonly id: string | undefined
  /** The destination; undefined if none is given, as for a leg that the trip has. */
  readonly target: LegTarget | undefined
  /** The radius that was given, for a leg whose position stays. */
  readonly radius: number | undefined
  readonly stopDuration: number | undefined
  readonly metadata: Metadata | undefined
}

/** A body that was read. */
export interface TripFields {
  readonly userId: string | undefined
  readonly destination: { readonly tag: string; readonly externalId: string } | undefined
  readonly mode: TravelMode | undefined
  readonly approachingThreshold: number | undefined
  readonly scheduledArrivalAt: number | undefined
  readonly metadata: Metadata | undefined
  readonly legs: readonly LegFields[] | undefined
}

/**
 * Reads a body.
 * @throws {ApiError} 400 naming the field
 */
export function readTrip(fields: Fields): TripFields {
  return {
    userId: textField(fields, 'userId', MAX_ID_LENGTH),
    destination: readPair(fields),
    mode: choiceField(fields, 'mode', TRAVEL_MODES),
    approachingThreshold: approachingField(fields, 'approachingThreshold'),
    scheduledArrivalAt: dateField(fields, 'scheduledArrivalAt'),
    metadata: readMetadata(fields),
    legs: readLegs(fields),
  }
}

/**
 * Reads the trip that an update names; undefined if it names none.
 * @param at the name of the field, such as `tripOptions`
 * @throws {ApiError} 400 naming the field
 */
export function readTripOptions(given: unknown, at: string): TripOptions | undefined {
  return blaming(at, () => {
    const fields = dictionaryField({ [at]: given }, at)
    if (fields === undefined) return undefined
    const externalId = textField(fields, 'externalId', MAX_ID_LENGTH)
    const { userId: _, legs: __, ...options } = readTrip({ ...fields, userId: null, legs: null })
    return externalId === undefined ? undefined : { externalId, ...options }
  })
}

/** Reads a tag and an externalId. Either both or none must be present. */
function readPair(fields: Fields): { tag: string; externalId: string } | undefined {
  const tag = textField(fields, 'destinationGeofenceTag', MAX_ID_LENGTH)
  const externalId = textField(fields, 'destinationGeofenceExternalId', MAX_ID_LENGTH)
  if (tag === undefined && externalId === undefined) return undefined
  if (tag === undefined)
    throw badParam('destinationGeofenceTag', 'Required with destinationGeofenceExternalId.')
  if (externalId === undefined)
    throw badParam('destinationGeofenceExternalId', 'Required with destinationGeofenceTag.')
  return { tag, externalId }
}

/** Reads metadata. An empty dictionary is a value, and replaces all of it. */
function readMetadata(fields: Fields): Metadata | undefined {
  const given = dictionaryField(fields, 'metadata')
  if (given === undefined) return undefined
  return metadataField({ metadata: given }, 'metadata', USER_METADATA_KEYS) ?? {}
}

function readLegs(fields: Fields): readonly LegFields[] | undefined {
  const list = listField(fields, 'legs')
  if (list === undefined) return undefined
  if (list.length === 0 || list.length > MAX_LEGS)
    throw badParam('legs', `Invalid legs. There must be 1 to ${MAX_LEGS}.`)
  return list.map((item, i) => {
    const at = `legs.${i}`
    return blaming(at, () => readLeg(dictionaryField({ [at]: item }, at) ?? {}))
  })
}

function readLeg(leg: Fields): LegFields {
  const destination = dictionaryField(leg, 'destination') ?? {}
  const given = (name: string) => present(destination, name) ?? present(leg, name)
  const names = [
    'destinationGeofenceTag',
    'destinationGeofenceExternalId',
    'destinationGeofenceId',
    'address',
    'coordinates',
    'arrivalRadius',
  ]
  const place = Object.fromEntries(names.map((name) => [name, given(name)]))
  return {
    id: textField(leg, '_id', MAX_ID_LENGTH),
    ...readTarget(place),
    stopDuration: numberField(leg, 'stopDuration', 0, MAX_STOP_MINUTES),
    metadata: readMetadata(leg),
  }
}

function readTarget(place: Fields): Pick<LegFields, 'target' | 'radius'> {
  const pair = readPair(place)
  if (pair !== undefined) return { target: { form: 'pair', ...pair }, radius: undefined }
  const id = textField(place, 'destinationGeofenceId', MAX_ID_LENGTH)
  if (id !== undefined) return { target: { form: 'geofence', id }, radius: undefined }
  const given = numberField(place, 'arrivalRadius', MIN_RADIUS_METERS, MAX_RADIUS_METERS)
  const radius = given ?? DEFAULT_RADIUS_METERS
  const address = textField(place, 'address', MAX_ADDRESS_LENGTH)
  if (address !== undefined) return { target: { form: 'address', address, radius }, radius: given }
  const position = pointField(place, 'coordinates')
  if (position !== undefined) return { target: { form: 'coordinates', position, radius }, radius: given }
  return { target: undefined, radius: given }
}

function pointField(fields: Fields, name: string): Position | undefined {
  const value = listField(fields, name)
  return value === undefined ? undefined : checkPoint(name, value)
}

/** The status that a call wants. */
export function readStatus(fields: Fields): WantedStatus | undefined {
  return choiceField(fields, 'status', STATUS_WORDS)
}

/** The `_id`s of legs, in order. */
export function readOrder(fields: Fields): readonly string[] {
  const list = listField(fields, 'legs')
  if (list === undefined || list.length === 0) throw badParam('legs', 'Required.')
  return list.map((item, i) => {
    const id = textField({ [`legs.${i}`]: item }, `legs.${i}`, MAX_ID_LENGTH)
    if (id === undefined) throw badParam('legs', 'Must contain the `_id`s of legs of this trip.')
    return id
  })
}

/** Runs a reader whose errors then name the field within its list. */
function blaming<T>(at: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    const { param, message } = error as { param?: string; message: string }
    if (param === undefined || param.startsWith(at)) throw error
    throw badParam(`${at}.${param}`, message.slice(param.length + 2), error)
  }
}
