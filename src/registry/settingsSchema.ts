import Type from 'typebox'
import { DEFAULT_SETTINGS } from '../model/settings.ts'
import type { Settings } from '../model/settings.ts'
import { badParam } from '../runtime/errors.ts'
import type { Fields } from './fields.ts'
import { booleanField, checkNumber, checkText, numberField, positiveField, present } from './fields.ts'

const MAX_DELAY_SECONDS = 86_400
const MAX_IDENTIFIERS = 100
const MAX_IDENTIFIER_LENGTH = 64

const Flag = (description: string) => Type.Boolean({ description })
const Identifiers = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: MAX_IDENTIFIER_LENGTH }), {
    maxItems: MAX_IDENTIFIERS,
    description,
  })

/** The settings of an environment, for the reference. */
export const SettingsRecord = Type.Object(
  {
    stopDetection: Flag('An entry needs the user to have stopped, or the app in the foreground.'),
    bufferEntries: Flag("An entry also happens within the location's accuracy outside the boundary."),
    bufferExits: Flag("An exit needs more than the location's accuracy outside the boundary."),
    restrictToOperatingHours: Flag('No geofence events outside operating hours.'),
    dwellEvents: Flag('user.dwelled_in_geofence is generated.'),
    dwellThreshold: Type.Union([Type.Number({ exclusiveMinimum: 0 }), Type.Null()], {
      description: 'Minutes, for geofences without their own.',
    }),
    beaconUuids: Identifiers('iBeacon UUIDs handed to clients.'),
    beaconUids: Identifiers('Eddystone UIDs handed to clients.'),
    minimumConfidence: Type.Integer({
      minimum: 1,
      maximum: 3,
      description: 'An entry or exit below it does not happen yet.',
    }),
    entryDelaySeconds: Type.Number({ minimum: 0, maximum: MAX_DELAY_SECONDS }),
    exitDelaySeconds: Type.Number({ minimum: 0, maximum: MAX_DELAY_SECONDS }),
    maxAccuracyMeters: Type.Union([Type.Number({ exclusiveMinimum: 0 }), Type.Null()], {
      description: 'A worse location moves the device but touches no geofence.',
    }),
    detectCrossings: Flag('Geofences crossed between two locations give an entry and an exit.'),
    maxGapSeconds: Type.Number({ exclusiveMinimum: 0, maximum: MAX_DELAY_SECONDS }),
  },
  { title: 'Settings' },
)

type Readers = { readonly [K in keyof Settings]: (fields: Fields, name: K) => Settings[K] | undefined }

/** How each setting is read from a body; undefined: not named, so it stays. */
const READERS: Readers = {
  stopDetection: booleanField,
  bufferEntries: booleanField,
  bufferExits: booleanField,
  restrictToOperatingHours: booleanField,
  dwellEvents: booleanField,
  dwellThreshold: nullable(positiveField),
  beaconUuids: identifiersField,
  beaconUids: identifiersField,
  minimumConfidence: confidenceField,
  entryDelaySeconds: (fields, name) => numberField(fields, name, 0, MAX_DELAY_SECONDS),
  exitDelaySeconds: (fields, name) => numberField(fields, name, 0, MAX_DELAY_SECONDS),
  maxAccuracyMeters: nullable(positiveField),
  detectCrossings: booleanField,
  maxGapSeconds: gapField,
}

/**
 * Reads a change of settings. `null` takes away dwellThreshold and maxAccuracyMeters; elsewhere it means absent.
 * @throws ApiError 400 naming the setting; also for a name that is none, so that a typo does not pass for a change
 */
export function parseSettingsChange(body: Fields): Partial<Settings> {
  const change: Record<string, unknown> = {}
  for (const name of Object.keys(body)) {
    if (!Object.hasOwn(DEFAULT_SETTINGS, name)) throw badParam(name, 'There is no such setting.')
    const read = READERS[name as keyof Settings] as (fields: Fields, name: string) => unknown
    const value = read(body, name)
    if (value !== undefined) change[name] = value
  }
  return change as Partial<Settings>
}

function nullable(read: (fields: Fields, name: string) => number | undefined) {
  return (fields: Fields, name: string) => (fields[name] === null ? null : read(fields, name))
}

function confidenceField(fields: Fields, name: string): number | undefined {
  const value = numberField(fields, name, 1, 3)
  if (value !== undefined && !Number.isInteger(value))
    throw badParam(name, `Invalid ${name}. It must be 1, 2 or 3.`)
  return value
}

function gapField(fields: Fields, name: string): number | undefined {
  const value = present(fields, name)
  if (value === undefined) return undefined
  const seconds = checkNumber(name, value)
  if (seconds <= 0 || seconds > MAX_DELAY_SECONDS) {
    throw badParam(name, `Invalid ${name}. Valid range: (0, ${MAX_DELAY_SECONDS}].`)
  }
  return seconds
}

/** A list of texts; here the empty list is a value of its own. */
function identifiersField(fields: Fields, name: string): readonly string[] | undefined {
  const value = present(fields, name)
  if (value === undefined) return undefined
  if (!Array.isArray(value)) throw badParam(name, `Invalid ${name}. It must be a list.`)
  if (value.length > MAX_IDENTIFIERS) {
    throw badParam(name, `Invalid ${name}. It must have at most ${MAX_IDENTIFIERS} items.`)
  }
  const identifiers = value.map((item) => checkText(name, item, MAX_IDENTIFIER_LENGTH).trim())
  if (identifiers.includes('')) throw badParam(name, `Invalid ${name}. No item may be empty.`)
  return [...new Set(identifiers)]
}
