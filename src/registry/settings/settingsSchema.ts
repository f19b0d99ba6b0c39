import Type, { IsArray } from 'typebox'
import type { TSchema } from 'typebox'
import { MAX_DECIMAL_LENGTH } from '../../model/decimal.ts'
import type { Settings } from '../../model/settings.ts'
import { badParam } from '../../runtime/errors.ts'
import { checkIdentifier } from '../beacons/beaconSchema.ts'
import type { Fields } from '../../http/fields.ts'
import {
  booleanField,
  checkNumber,
  numberField,
  positiveField,
  present,
  textsField,
} from '../../http/fields.ts'
import { MAX_IDENTIFIER_LENGTH } from '../records/recordFields.ts'
import { optional } from '../records/recordSchemas.ts'

const MAX_DELAY_SECONDS = 86_400
const MAX_IDENTIFIERS = 100

const Flag = (description: string) => Type.Boolean({ description })
const Identifier = Type.String({ maxLength: MAX_IDENTIFIER_LENGTH })
const Identifiers = (description: string) =>
  Type.Array(Identifier, { maxItems: MAX_IDENTIFIERS, description })

/** The settings of an environment, for the reference. */
export const SettingsRecord = Type.Object(
  {
    stopDetection: Flag('An entry requires that the user has stopped or that the app is in the foreground.'),
    bufferEntries: Flag('An entry also happens if the distance from the geofence is at most the accuracy.'),
    bufferExits: Flag('An exit requires that the distance from the geofence is more than the accuracy.'),
    restrictToOperatingHours: Flag('No geofence events outside operating hours.'),
    dwellEvents: Flag(
      'Whether user.dwelled_in_geofence is generated, after the dwellThreshold of the geofence, or else of the settings.',
    ),
    dwellThreshold: Type.Union([Type.Number({ exclusiveMinimum: 0 }), Type.Null()], {
      description:
        'Minutes, for geofences without their own dwellThreshold. null: only geofences with their own threshold have dwell events.',
    }),
    beaconUuids: Identifiers(
      'iBeacon UUIDs handed to clients: 32 hexadecimal digits, with or without dashes.',
    ),
    beaconUids: Identifiers('Eddystone UIDs handed to clients: 20 hexadecimal digits.'),
    minimumConfidence: Type.Integer({
      minimum: 1,
      maximum: 3,
      description: 'An entry or exit below it does not happen yet.',
    }),
    entryDelaySeconds: Type.Number({ minimum: 0, maximum: MAX_DELAY_SECONDS }),
    exitDelaySeconds: Type.Number({ minimum: 0, maximum: MAX_DELAY_SECONDS }),
    maxAccuracyMeters: Type.Union([Type.Number({ exclusiveMinimum: 0 }), Type.Null()], {
      description: 'A less accurate location moves the device but does not change its geofences.',
    }),
    detectCrossings: Flag('A geofence that is crossed between two locations causes an entry and an exit.'),
    maxGapSeconds: Type.Number({ exclusiveMinimum: 0, maximum: MAX_DELAY_SECONDS }),
  },
  { title: 'Settings' },
)

/** A change of settings for the reference; a form has texts, and JSON may have them too. The rules are those below. */
export const SettingsChange = Type.Object(
  optional(
    Object.fromEntries(
      Object.entries<TSchema>(SettingsRecord.properties).map(([name, setting]) => {
        const { description } = setting as { description?: string }
        const forms = 'anyOf' in setting ? (setting.anyOf as TSchema[]) : [setting]
        const given = IsArray(setting) ? [Type.Array(Identifier), Type.Null()] : forms
        const text = Type.String(IsArray(setting) ? {} : { maxLength: MAX_DECIMAL_LENGTH })
        return [name, Type.Union([...given, text], { ...(description && { description }) })]
      }),
    ),
  ),
  // A mistyped name must not pass for a change.
  { title: 'SettingsChange', additionalProperties: false },
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
  beaconUuids: (fields, name) => identifiersField(fields, name, 'uuid'),
  beaconUids: (fields, name) => identifiersField(fields, name, 'uid'),
  minimumConfidence: confidenceField,
  entryDelaySeconds: (fields, name) => numberField(fields, name, 0, MAX_DELAY_SECONDS),
  exitDelaySeconds: (fields, name) => numberField(fields, name, 0, MAX_DELAY_SECONDS),
  maxAccuracyMeters: nullable(positiveField),
  detectCrossings: booleanField,
  maxGapSeconds: gapField,
}

/**
 * Reads a change of settings. `null` or an empty text takes away dwellThreshold and maxAccuracyMeters and empties
 * beaconUuids and beaconUids; elsewhere it means absent.
 * @throws ApiError 400 naming the setting; a name that is none is refused by {@link SettingsChange} before
 */
export function parseSettingsChange(body: Fields): Partial<Settings> {
  const change: Record<string, unknown> = {}
  for (const name of Object.keys(body)) {
    const read = READERS[name as keyof Settings] as (fields: Fields, name: string) => unknown
    const value = read(body, name)
    if (value !== undefined) change[name] = value
  }
  return change as Partial<Settings>
}

function nullable(read: (fields: Fields, name: string) => number | undefined) {
  return (fields: Fields, name: string) => (present(fields, name) === undefined ? null : read(fields, name))
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

/** Identifiers of beacons, each once, as a list, its JSON text or comma-separated; none is a value of its own. */
function identifiersField(fields: Fields, name: string, kind: 'uuid' | 'uid'): readonly string[] {
  const texts = textsField(fields, name, MAX_IDENTIFIERS, MAX_IDENTIFIER_LENGTH) ?? []
  return [...new Set(texts.map((text) => checkIdentifier(name, text, kind)))]
}
