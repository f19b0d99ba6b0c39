import Type from 'typebox'
import type { TInteger, TString } from 'typebox'
import { METADATA_TEXT_LENGTH, USER_METADATA_KEYS } from '../model/metadata.ts'
import { decimalOf } from '../model/decimal.ts'
import { badParam } from '../runtime/errors.ts'

/** Schemas that many routes share, and readers of texts that a schema cannot describe. */

/**
 * The largest length of a text for a pair of coordinates or a date. A date as JavaScript prints it ends with the name
 * of its zone: in Berlin's winter it has 66 characters.
 */
const MAX_TEXT_LENGTH = 128

export const Latitude = Type.Number({ minimum: -90, maximum: 90, description: 'Degrees.' })
export const Longitude = Type.Number({ minimum: -180, maximum: 180, description: 'Degrees.' })

/** `latitude,longitude` in a query; {@link parseCoordinates} reads it. */
export const CoordinatesText = Type.String({
  maxLength: MAX_TEXT_LENGTH,
  description: '`latitude,longitude` in degrees.',
  examples: ['40.7342,-73.9911'],
})

const DATE_FORMS =
  'ISO 8601 text, a date as JavaScript prints it, or a Unix time in milliseconds (or seconds).'

/** A date in a body or query; {@link parseDate} reads it. */
export const DateText = dateText()

/** {@link DateText} with a sentence that says what it is for. */
export function dateText(sentence?: string) {
  return Type.Union([Type.String({ maxLength: MAX_TEXT_LENGTH }), Type.Number()], {
    description: sentence === undefined ? DATE_FORMS : `${sentence} ${DATE_FORMS}`,
    examples: ['2026-11-20T04:21:00.123Z'],
  })
}

/** A date in an answer. */
export const DateTime = Type.String({ format: 'date-time', examples: ['2026-11-20T04:21:00.123Z'] })

/** Members of the metadata to search for; `metadataMatcher` reads it. */
export const MetadataFilter = Type.Record(Type.String(), Type.String({ maxLength: METADATA_TEXT_LENGTH }), {
  maxProperties: USER_METADATA_KEYS,
  description: '`metadata[key]=value`: matches the value as a string, and also as a boolean or number.',
})

/** A text of at most that many characters. */
export function Text(maxLength: number, description?: string): TString {
  return Type.String(description === undefined ? { maxLength } : { maxLength, description })
}

/** A text of one to that many characters. */
export function Name(maxLength: number, description?: string): TString {
  return Type.String(
    description === undefined ? { minLength: 1, maxLength } : { minLength: 1, maxLength, description },
  )
}

/** The page size of a list; if absent, the default. */
export function limitOf(standard: number, max: number): TInteger {
  return Type.Integer({
    minimum: 1,
    maximum: max,
    default: standard,
    description: 'Maximum number of records in the response.',
  })
}

/** The members of `meta` in a list besides `code`. */
export const Page = Type.Object({
  hasMore: Type.Boolean({ description: 'Whether more records match than `limit`.' }),
})

/** Asks a list for `total` in {@link CountedPage}. */
export const IncludeTotal = Type.Optional(
  Type.Boolean({ description: 'Whether the answer should contain `meta.total`.' }),
)

/** {@link Page} of lists that can count. */
export const CountedPage = Type.Object({
  ...Page.properties,
  total: Type.Optional(
    Type.Integer({
      description: 'How many records match the filters on all pages; only with `includeTotal`.',
    }),
  ),
})

/**
 * Reads `latitude,longitude`.
 * @param which precedes the sentence if the parameter has several
 * @throws ApiError 400 naming the parameter
 */
export function parseCoordinates(
  param: string,
  text: string,
  which = '',
): { latitude: number; longitude: number } {
  if (text.length > MAX_TEXT_LENGTH)
    throw badParam(param, `${which}Must be at most ${MAX_TEXT_LENGTH} characters.`)
  const parts = text.split(',').map((part) => decimalOf(part.trim()))
  if (parts.length !== 2 || parts.some((part) => Number.isNaN(part))) {
    throw badParam(param, `${which}Must be latitude,longitude.`)
  }
  const [latitude, longitude] = parts as [number, number]
  if (!(latitude >= -90 && latitude <= 90)) {
    throw badParam(param, `${which}Invalid latitude. Valid range: [-90, 90].`)
  }
  if (!(longitude >= -180 && longitude <= 180)) {
    throw badParam(param, `${which}Invalid longitude. Valid range: [-180, 180].`)
  }
  return { latitude, longitude }
}

/** Smaller Unix times than this are seconds: as milliseconds they would lie before March 1973. */
const SECONDS_BELOW = 1e11
/** The first and the last time that a date with a year of four digits can name. */
const EARLIEST = Date.parse('0001-01-01T00:00:00Z')
const LATEST = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

const ISO =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s?(Z|[+-]\d{2}(?::?\d{2})?)?)?$/i
/** `Fri, 20 Nov 2026 04:21:00 GMT` and `Fri Nov 20 2026 04:21:00 GMT+0100 (CET)`. */
const PRINTED =
  /^[a-z]{3},? (?:\d{2} [a-z]{3}|[a-z]{3} \d{2}) \d{4} \d{2}:\d{2}:\d{2} (?:GMT|UTC)(?:[+-]\d{4})?(?: \([^)]*\))?$/i

/**
 * Reads a date: ISO 8601 (a date alone, or with a time; without an offset it is UTC), a date as JavaScript prints it,
 * or a Unix time in milliseconds or seconds, as a number or its digits (nine or more: fewer would be a year or a day).
 * @returns epoch milliseconds
 * @throws ApiError 400 naming the parameter
 */
export function parseDate(param: string, value: string | number): number {
  if (typeof value === 'string' && value.length > MAX_TEXT_LENGTH)
    throw badParam(param, `Must be at most ${MAX_TEXT_LENGTH} characters.`)
  const time = typeof value === 'number' ? fromUnix(value) : fromDateText(value.trim())
  if (!(time >= EARLIEST && time <= LATEST)) throw badParam(param, 'Must be a date or ISO 8601 date text.')
  return time
}

function fromUnix(value: number): number {
  return Math.round(Math.abs(value) < SECONDS_BELOW ? value * 1000 : value)
}

/** The time of a date; NaN if the text is not a date. */
function fromDateText(text: string): number {
  const match = ISO.exec(text)
  if (match === null) {
    if (/^\d{9,16}(?:\.\d{1,6})?$/.test(text)) return fromUnix(Number(text))
    return PRINTED.test(text) ? Date.parse(text) : Number.NaN
  }
  const [, year, month, day, hour = '00', minute = '00', second = '00', fraction = '', zone = 'Z'] = match
  const millisecond = Number(`${fraction}000`.slice(0, 3))
  const date = new Date(0)
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day))
  // The day does not exist: there is no 30 February.
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return Number.NaN
  const [hours, minutes, seconds] = [Number(hour), Number(minute), Number(second)]
  if (hours > 24 || minutes > 59 || seconds > 60 || (hours === 24 && minutes + seconds + millisecond > 0)) {
    return Number.NaN
  }
  const offset = offsetMinutes(zone)
  return date.getTime() + ((hours * 60 + minutes - offset) * 60 + seconds) * 1000 + millisecond
}

/** The offset in minutes east of UTC; NaN if there is no such zone. */
function offsetMinutes(zone: string): number {
  if (zone.toUpperCase() === 'Z') return 0
  const hours = Number(zone.slice(1, 3))
  const minutes = Number(zone.slice(3).replace(':', '') || '0')
  if (hours > 14 || minutes > 59) return Number.NaN
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes)
}
