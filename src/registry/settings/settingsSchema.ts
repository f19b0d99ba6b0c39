import Type, { IsArray, IsObject, IsRecord } from 'typebox'
import type { TObject, TSchema } from 'typebox'
import { MAX_DECIMAL_LENGTH } from '../../model/decimal.ts'
import { REGION_KINDS, type RegionKind } from '../../model/region.ts'
import type { PublicSettings, Settings } from '../../model/settings.ts'
import { isEmail, MAX_EMAIL_LENGTH } from '../../model/email.ts'
import { badParam } from '../../runtime/errors.ts'
import { checkIdentifier } from '../beacons/beaconFields.ts'
import type { Fields } from '../../http/fields.ts'
import {
  booleanField,
  checkNumber,
  numberField,
  positiveField,
  present,
  textsField,
} from '../../http/fields.ts'
import { FRAUD_SETTINGS } from './fraudSettings.ts'
import { PLACE_SETTINGS } from './placeSettings.ts'
import { SEGMENT_SETTINGS } from './segmentSettings.ts'
import { TRIP_SETTINGS } from './tripSettings.ts'
import { MAX_IDENTIFIER_LENGTH } from '../records/recordFields.ts'
import { optional } from '../records/recordSchemas.ts'

const MAX_DELAY_SECONDS = 86_400
const MAX_IDENTIFIERS = 100
const MAX_EMAILS = 10

interface SettingRule<T> {
  /** The schema of the record. A change may also have the text form. */
  readonly schema: TSchema
  /** Reads the setting. Undefined means that the field is absent, and the setting stays. */
  read(fields: Fields, name: string): T | undefined
}

const Identifier = Type.String({ maxLength: MAX_IDENTIFIER_LENGTH })

const flag = (description: string) => ({ schema: Type.Boolean({ description }), read: booleanField })

const identifiers = (kind: 'uuid' | 'uid', description: string) => ({
  schema: Type.Array(Identifier, { maxItems: MAX_IDENTIFIERS, description }),
  read: (fields: Fields, name: string) => identifiersField(fields, name, kind),
})

const delay = (description: string) => ({
  schema: Type.Number({ minimum: 0, maximum: MAX_DELAY_SECONDS, description }),
  read: (fields: Fields, name: string) => numberField(fields, name, 0, MAX_DELAY_SECONDS),
})

const positiveOrNull = (description: string) => ({
  schema: Type.Union([Type.Number({ exclusiveMinimum: 0 }), Type.Null()], { description }),
  read: (fields: Fields, name: string) =>
    present(fields, name) === undefined ? null : positiveField(fields, name),
})

const SETTINGS: { readonly [K in keyof PublicSettings]: SettingRule<Settings[K]> } = {
  stopDetection: flag('An entry requires that the user has stopped or that the app is in the foreground.'),
  bufferEntries: flag('An entry also happens if the distance from the geofence is at most the accuracy.'),
  bufferExits: flag('An exit requires that the distance from the geofence is more than the accuracy.'),
  restrictToOperatingHours: flag('No geofence events outside operating hours.'),
  dwellEvents: flag(
    'Whether user.dwelled_in_geofence is generated, after the dwellThreshold of the geofence, or else of the settings.',
  ),
  dwellThreshold: positiveOrNull(
    'Minutes, for geofences without their own dwellThreshold. null: only geofences with their own threshold have dwell events.',
  ),
  beaconUuids: identifiers(
    'uuid',
    'iBeacon UUIDs handed to clients: 32 hexadecimal digits, with or without dashes.',
  ),
  beaconUids: identifiers('uid', 'Eddystone UIDs handed to clients: 20 hexadecimal digits.'),
  minimumConfidence: {
    schema: Type.Integer({
      minimum: 1,
      maximum: 3,
      description: 'An entry or exit below it does not happen yet.',
    }),
    read: confidenceField,
  },
  entryDelaySeconds: delay(
    'Seconds for which the condition of an entry must hold before the entry happens; 0: it happens at once.',
  ),
  exitDelaySeconds: delay(
    'Seconds for which the condition of an exit must hold before the exit happens; 0: it happens at once.',
  ),
  maxAccuracyMeters: positiveOrNull(
    'A less accurate location moves the device but does not change its geofences.',
  ),
  detectCrossings: flag('A geofence that is crossed between two locations causes an entry and an exit.'),
  maxGapSeconds: {
    schema: Type.Number({
      exclusiveMinimum: 0,
      maximum: MAX_DELAY_SECONDS,
      description:
        'The most seconds between two locations for which detectCrossings counts what lies between them.',
    }),
    read: gapField,
  },
  regions: flag(
    'Whether users have their country and, in the United States, their state, DMA and postal code; entries and exits are events.',
  ),
  regionEvents: {
    schema: Type.Array(Type.Enum([...REGION_KINDS]), {
      maxItems: REGION_KINDS.length,
      description: 'The kinds of regions whose entries and exits are events.',
    }),
    read: regionKindsField,
  },
  notificationEmails: {
    schema: Type.Array(Type.String({ maxLength: MAX_EMAIL_LENGTH }), {
      maxItems: MAX_EMAILS,
      description:
        'E-mail addresses that are told when a webhook pauses and when 90 % of the quota is used. The operator sets the mail server.',
    }),
    read: emailsField,
  },
  ...FRAUD_SETTINGS,
  ...PLACE_SETTINGS,
  ...SEGMENT_SETTINGS,
  ...TRIP_SETTINGS,
}

/** The settings of an environment, for the reference. */
export const SettingsRecord: TObject = Type.Object(
  Object.fromEntries(Object.entries(SETTINGS).map(([name, { schema }]) => [name, schema])),
  { title: 'Settings' },
)

/** A change of settings, for the reference. A form has texts, and JSON may also have them. The rules are below. */
export const SettingsChange = Type.Object(
  optional(
    Object.fromEntries(
      Object.entries<TSchema>(SettingsRecord.properties).map(([name, setting]) => {
        const { description } = setting as { description?: string }
        const isWhole = IsArray(setting) || IsObject(setting) || IsRecord(setting)
        const text = Type.String(isWhole ? {} : { maxLength: MAX_DECIMAL_LENGTH })
        return [name, Type.Union([...formsOf(setting), text], { ...(description && { description }) })]
      }),
    ),
  ),
  // Other names are refused, because a mistyped name must not look like a change.
  { title: 'SettingsChange', additionalProperties: false },
)

/** The forms that a change may have for a setting, besides its text. The rules of lists and dictionaries are below. */
function formsOf(setting: TSchema): TSchema[] {
  if (IsArray(setting)) {
    const isOfRecords = IsObject(setting.items)
    return [Type.Array(isOfRecords ? Type.Record(Type.String(), Type.Unknown()) : Identifier), Type.Null()]
  }
  // The dictionary stays, because its members decide how a form's texts are read.
  if (IsRecord(setting)) return [setting, Type.Null()]
  if (IsObject(setting)) return [Type.Record(Type.String(), Type.Unknown()), Type.Null()]
  return 'anyOf' in setting ? (setting.anyOf as TSchema[]) : [setting]
}

/**
 * Reads a change of settings. `null` or an empty text removes dwellThreshold, maxAccuracyMeters and the minutes of
 * trips, and empties lists and dictionaries; for other settings it means absent.
 * @throws ApiError 400 naming the setting; unknown names are refused by {@link SettingsChange} before
 */
export function parseSettingsChange(body: Fields): Partial<Settings> {
  const change: Record<string, unknown> = {}
  for (const name of Object.keys(body)) {
    const value = SETTINGS[name as keyof PublicSettings].read(body, name)
    if (value !== undefined) change[name] = value
  }
  return change as Partial<Settings>
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

/** The kinds without duplicates, in their usual order. */
function regionKindsField(fields: Fields, name: string): readonly RegionKind[] {
  const texts = textsField(fields, name, MAX_IDENTIFIERS, MAX_IDENTIFIER_LENGTH) ?? []
  if (!texts.every((text) => REGION_KINDS.some((kind) => kind === text)))
    throw badParam(name, `Invalid ${name}. Each item must be one of ${REGION_KINDS.join(', ')}.`)
  return REGION_KINDS.filter((kind) => texts.includes(kind))
}

function emailsField(fields: Fields, name: string): readonly string[] {
  const emails = textsField(fields, name, MAX_EMAILS, MAX_EMAIL_LENGTH) ?? []
  if (!emails.every(isEmail)) throw badParam(name, `Invalid ${name}. Each item must be an e-mail address.`)
  return emails
}

/**
 * Identifiers of beacons without duplicates, as a list, its JSON text or comma-separated. An empty list is a value.
 */
function identifiersField(fields: Fields, name: string, kind: 'uuid' | 'uid'): readonly string[] {
  const texts = textsField(fields, name, MAX_IDENTIFIERS, MAX_IDENTIFIER_LENGTH) ?? []
  return [...new Set(texts.map((text) => checkIdentifier(name, text, kind)))]
}
