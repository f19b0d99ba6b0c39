/** The settings of fraud, and of countries from which updates are refused. */
import Type from 'typebox'
import {
  booleanField,
  dictionaryField,
  numberField,
  present,
  textsField,
  type Fields,
} from '../../http/fields.ts'
import { DEFAULT_FRAUD, type FraudSettings } from '../../model/fraud.ts'
import { badParam } from '../../runtime/errors.ts'

const MAX_ENTRIES = 10_000
const MAX_ENTRY_LENGTH = 256
/** The most bytes of the JSON text of a setting. */
const MAX_BYTES = 512_000
const MAX_COUNTRIES = 300
const MAX_SPEED = 1_000_000
/** Half the circumference of the Earth. */
const MAX_METERS = 20_100_000

const Entry = Type.String({ maxLength: MAX_ENTRY_LENGTH })
const Countries = (description: string) =>
  Type.Array(Type.String({ pattern: '^[A-Z]{2}$' }), { maxItems: MAX_COUNTRIES, description })

export const FRAUD_SETTINGS = {
  blockedCountries: {
    schema: Countries('Alpha-2 codes of countries: updates and contexts from there are answered 451.'),
    read: countriesField,
  },
  allowedCountries: {
    schema: Countries('If there are any, updates and contexts from all other countries are answered 451.'),
    read: countriesField,
  },
  fraud: {
    schema: Type.Object(
      {
        enabled: Type.Boolean(),
        jumpSpeed: Type.Number({ exclusiveMinimum: 0, description: 'Kilometres per hour.' }),
        jumpMeters: Type.Number({ minimum: 0 }),
        maxAccuracy: Type.Number({ exclusiveMinimum: 0, description: 'Metres.' }),
        ipCountry: Type.Boolean(),
        bypassed: Type.Array(Entry, { maxItems: MAX_ENTRIES }),
        blocked: Type.Array(Entry, { maxItems: MAX_ENTRIES }),
      },
      {
        description:
          'Whether and how fraud is judged: the speed and length of a jump, the worst accuracy, and whether the country of the IP address counts. The lists `bypassed` and `blocked` have `_id`s, userIds and deviceIds; `blocked` may also have IP addresses and ranges. Members that are absent get their defaults.',
      },
    ),
    read: fraudField,
  },
}

function countriesField(fields: Fields, name: string): readonly string[] {
  const texts = textsField(fields, name, MAX_COUNTRIES, MAX_ENTRY_LENGTH) ?? []
  return [
    ...new Set(
      texts.map((text) => {
        const code = text.toUpperCase()
        if (/^[A-Z]{2}$/.test(code)) return code
        throw badParam(name, `Invalid ${name}. Each item must be a country code of two letters, such as US.`)
      }),
    ),
  ]
}

function fraudField(fields: Fields, name: string): FraudSettings {
  const given = present(fields, name) === undefined ? {} : (dictionaryField(fields, name) ?? {})
  const unknown = Object.keys(given).find((key) => !Object.hasOwn(DEFAULT_FRAUD, key))
  if (unknown !== undefined) {
    const members = Object.keys(DEFAULT_FRAUD).join(', ')
    throw badParam(name, `Invalid ${name}. Its members are ${members}.`)
  }
  const fraud: FraudSettings = inside(name, () => ({
    enabled: booleanField(given, 'enabled') ?? DEFAULT_FRAUD.enabled,
    jumpSpeed: positive(given, 'jumpSpeed', MAX_SPEED) ?? DEFAULT_FRAUD.jumpSpeed,
    jumpMeters: numberField(given, 'jumpMeters', 0, MAX_METERS) ?? DEFAULT_FRAUD.jumpMeters,
    maxAccuracy: positive(given, 'maxAccuracy', MAX_METERS) ?? DEFAULT_FRAUD.maxAccuracy,
    ipCountry: booleanField(given, 'ipCountry') ?? DEFAULT_FRAUD.ipCountry,
    bypassed: textsField(given, 'bypassed', MAX_ENTRIES, MAX_ENTRY_LENGTH) ?? [],
    blocked: textsField(given, 'blocked', MAX_ENTRIES, MAX_ENTRY_LENGTH) ?? [],
  }))
  if (Buffer.byteLength(JSON.stringify(fraud)) <= MAX_BYTES) return fraud
  throw badParam(name, `Invalid ${name}. It must take at most ${MAX_BYTES / 1000} kB.`)
}

function positive(fields: Fields, name: string, most: number): number | undefined {
  const value = numberField(fields, name, 0, most)
  if (value === 0) throw badParam(name, `Invalid ${name}. Valid range: (0, ${most}].`)
  return value
}

/** Reads members of a dictionary. Errors name the setting, and then the member. */
function inside<Value>(name: string, read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    throw badParam(name, (error as Error).message)
  }
}
