import type { TObject } from 'typebox'
import { cleanValue } from './cleanValue.ts'
import { missingMember, type Needs } from './needs.ts'
import { parseJson } from './jsonStructure.ts'
import { parseDate } from './schemas.ts'
import { decimalOf, MAX_DECIMAL_LENGTH } from '../model/decimal.ts'
import { ApiError, badParam, outOfRange } from '../runtime/errors.ts'

/**
 * Readers of single fields of a body or query, for definitions that come as JSON, as a form or from a file: a number
 * or boolean may be text, a dictionary or list may be JSON text. Each returns undefined for an absent field (missing,
 * null or empty text), and throws the ApiError 400 that names the field.
 */

/** A dictionary in a body, before it is checked. */
export type Fields = Readonly<Record<string, unknown>>

/** The value of a field; undefined if it is missing, null or the empty text. */
export function present(fields: Fields, name: string): unknown {
  if (!Object.hasOwn(fields, name)) return undefined
  const value = fields[name]
  return value === null || value === '' ? undefined : value
}

/**
 * Checks that a definition has what the schema of its body requires, also if it comes from a file or has empty texts.
 * @throws ApiError 400 naming the first absent field
 */
export function checkRequired(schema: TObject, fields: Fields): void {
  const given = Object.fromEntries(Object.keys(fields).map((name) => [name, present(fields, name)]))
  const error = missingMember(schema as Needs, given)
  if (error !== undefined) throw error
}

/** Throws the 400 of a required field that is absent. */
export function required<T>(name: string, value: T | undefined, sentence = 'Required.'): T {
  if (value === undefined) throw badParam(name, sentence)
  return value
}

/** Reads a text of 1 to `maxLength` UTF-16 units without NUL and lone surrogates, which no store keeps unchanged. */
export function textField(fields: Fields, name: string, maxLength: number): string | undefined {
  const value = present(fields, name)
  return value === undefined ? undefined : checkTextField(name, value, maxLength)
}

/**
 * Checks such a text.
 * @param name the name of the field for the error
 */
export function checkTextField(name: string, value: unknown, maxLength: number): string {
  if (typeof value !== 'string') throw badParam(name, `Invalid ${name}. It must be a string.`)
  if (value.length > maxLength) {
    throw badParam(name, `Invalid ${name}. It must be at most ${maxLength} characters long.`)
  }
  if (value.includes('\0') || !value.isWellFormed()) {
    throw badParam(name, `Invalid ${name}. It must be valid Unicode without NUL characters.`)
  }
  return value
}

/** Reads a boolean: `true` or `false`, also as text. As text, `1` and `0` are accepted, too. */
export function booleanField(fields: Fields, name: string): boolean | undefined {
  const value = present(fields, name)
  if (value === undefined || typeof value === 'boolean') return value
  const lower = typeof value === 'string' ? value.trim().toLowerCase() : ''
  if (lower === 'true' || lower === '1') return true
  if (lower === 'false' || lower === '0') return false
  throw badParam(name, `Invalid ${name}. It must be true or false.`)
}

/** Reads a finite number within [low, high], or its decimal text. */
export function numberField(fields: Fields, name: string, low: number, high: number): number | undefined {
  const value = present(fields, name)
  if (value === undefined) return undefined
  const number = checkNumber(name, value)
  if (number < low || number > high) throw outOfRange(name, low, high)
  return number
}

/** Reads a finite number above 0, or its decimal text. */
export function positiveField(fields: Fields, name: string): number | undefined {
  const value = present(fields, name)
  if (value === undefined) return undefined
  const number = checkNumber(name, value)
  if (number <= 0) throw badParam(name, `Invalid ${name}. It must be greater than 0.`)
  return number
}

/**
 * Checks a number.
 * @param name the name of the field for the error
 */
export function checkNumber(name: string, value: unknown): number {
  if (typeof value === 'string' && value.length > MAX_DECIMAL_LENGTH)
    throw badParam(name, `Invalid ${name}. It must be at most ${MAX_DECIMAL_LENGTH} characters long.`)
  const number =
    typeof value === 'number' ? value : typeof value === 'string' ? decimalOf(value.trim()) : Number.NaN
  if (!Number.isFinite(number)) throw badParam(name, `Invalid ${name}. It must be a number.`)
  return number
}

/** Reads one of `choices`. */
export function choiceField<T extends string>(
  fields: Fields,
  name: string,
  choices: readonly T[],
): T | undefined {
  const value = present(fields, name)
  if (value === undefined) return undefined
  const choice = choices.find((one) => one === value)
  if (choice === undefined) throw badParam(name, `Invalid ${name}. Valid values: ${choices.join(', ')}.`)
  return choice
}

/** Reads a dictionary, or its JSON text. */
export function dictionaryField(fields: Fields, name: string): Fields | undefined {
  const value = jsonField(fields, name)
  if (value === undefined) return undefined
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw badParam(name, `Invalid ${name}. It must be a dictionary.`)
  }
  return value as Fields
}

/** Reads a list, or its JSON text. */
export function listField(fields: Fields, name: string): readonly unknown[] | undefined {
  const value = jsonField(fields, name)
  if (value !== undefined && !Array.isArray(value))
    throw badParam(name, `Invalid ${name}. It must be a list.`)
  return value
}

function jsonField(fields: Fields, name: string): unknown {
  const value = present(fields, name)
  if (typeof value !== 'string') return value
  return parseJsonText(name, value, 'valid JSON') ?? undefined
}

/**
 * The value of a JSON text, under the rules for values in a body.
 * @param name the field or column for the error
 * @param what completes the sentence `It must be …`
 * @throws ApiError 400 if it is not JSON; if a body may not contain it, naming the part
 */
export function parseJsonText(name: string, text: string, what: string): unknown {
  let value: unknown
  try {
    value = parseJson(text, name)
  } catch (error) {
    if (error instanceof ApiError) throw error
    throw badParam(name, `Invalid ${name}. It must be ${what}.`)
  }
  cleanValue(value, undefined, [name], text.includes('\\u'))
  return value
}

/** How many texts may be given, with those that are empty or given twice. A cell of a file has room for two million. */
const MOST_GIVEN_TEXTS = 100_000

/**
 * Reads texts given as a list, its JSON text or comma-separated. They are trimmed, in order, without duplicates;
 * undefined if there are none.
 */
export function textsField(
  fields: Fields,
  name: string,
  maxCount: number,
  maxLength: number,
): readonly string[] | undefined {
  const value = present(fields, name)
  if (value === undefined) return undefined
  if (typeof value !== 'string' && !Array.isArray(value)) {
    throw badParam(name, `Invalid ${name}. It must be a list or a comma-separated string.`)
  }
  const given: readonly unknown[] = typeof value === 'string' ? splitTexts(name, value) : value
  const texts = new Set<string>()
  if (given.length > MOST_GIVEN_TEXTS)
    throw badParam(name, `Invalid ${name}. It must have at most ${maxCount} items.`)
  for (const item of given) {
    const text = checkTextField(name, item, maxLength).trim()
    if (text !== '') texts.add(text)
    // There may be a million, and one too many is enough.
    if (texts.size > maxCount)
      throw badParam(name, `Invalid ${name}. It must have at most ${maxCount} items.`)
  }
  return texts.size === 0 ? undefined : [...texts]
}

/**
 * Splits a text at its commas. A text that contains a comma can only be given in JSON, and a text that begins with a
 * bracket need not be a JSON list.
 */
function splitTexts(name: string, text: string): readonly unknown[] {
  if (text.startsWith('[')) {
    try {
      const list = parseJson(text, name)
      if (Array.isArray(list)) return list
    } catch (error) {
      if (error instanceof ApiError) throw error
      // It is not JSON, so it is comma-separated.
    }
  }
  return text.split(',', MOST_GIVEN_TEXTS + 1)
}

/** Reads a date in any form that the interface accepts. Returns epoch milliseconds. */
export function dateField(fields: Fields, name: string): number | undefined {
  const value = present(fields, name)
  if (value === undefined) return undefined
  if (typeof value !== 'string' && typeof value !== 'number') {
    throw badParam(name, `Invalid ${name}. It must be a date or ISO 8601 date text.`)
  }
  return parseDate(name, value)
}
