import type { Position } from '../../model/geofence.ts'
import type { Metadata } from '../../model/metadata.ts'
import { GEOFENCE_METADATA_KEYS, METADATA_TEXT_LENGTH } from '../../model/metadata.ts'
import { badParam } from '../../runtime/errors.ts'
import type { Fields } from '../../http/fields.ts'
import { checkNumber, checkTextField, dictionaryField, textField } from '../../http/fields.ts'

/** Readers of the fields that definitions of geofences and beacons have in common; like those of fields.ts. */

/** How many characters a tag, externalId, userId or placeId may have. */
export const MAX_ID_LENGTH = 256
export const MAX_DESCRIPTION_LENGTH = 1000
/** The largest length of a beacon's identifier; longer texts are not examined. */
export const MAX_IDENTIFIER_LENGTH = 64
export const MAX_ADDRESS_LENGTH = 1000
/** The largest length of a word from a fixed list; every word is shorter. */
export const MAX_WORD_LENGTH = 64
const MAX_METADATA_KEY_LENGTH = 256

/** Tag and externalId of a record. */
export interface Pair {
  readonly tag: string
  readonly externalId: string
}

/**
 * Reads the pair.
 * @param known the pair if the request names it elsewhere; a field that differs is refused
 */
export function pairField(
  fields: Fields,
  name: 'tag' | 'externalId',
  known: Pair | undefined,
): string | undefined {
  const value = textField(fields, name, MAX_ID_LENGTH)
  if (known === undefined) return value
  if (value !== undefined && value !== known[name]) {
    throw badParam(name, `Invalid ${name}. It differs from the ${name} in the path.`)
  }
  return checkTextField(name, known[name], MAX_ID_LENGTH)
}

/** Checks `[longitude, latitude]`. The numbers may have any size. */
export function checkPosition(name: string, value: unknown): Position {
  if (!Array.isArray(value) || value.length !== 2) {
    throw badParam(name, `Invalid ${name}. A position must be [longitude, latitude].`)
  }
  return [checkNumber(name, value[0]), checkNumber(name, value[1])]
}

/** A sentence about the order, because most maps show positions the other way round. */
const ORDER = 'A position is [longitude, latitude].'

/** Checks `[longitude, latitude]` in degrees, −180 to 180 and −90 to 90. */
export function checkPoint(name: string, value: unknown): Position {
  const point = checkPosition(name, value)
  const [longitude, latitude] = point
  if (Math.abs(longitude) > 180) throw badParam(name, `Invalid longitude. Valid range: [-180, 180]. ${ORDER}`)
  if (Math.abs(latitude) > 90) throw badParam(name, `Invalid latitude. Valid range: [-90, 90]. ${ORDER}`)
  return point
}

/** Reads a flat dictionary of texts, booleans and numbers, or its JSON text. Returns undefined if it has no keys. */
export function metadataField(
  fields: Fields,
  name = 'metadata',
  mostKeys = GEOFENCE_METADATA_KEYS,
): Metadata | undefined {
  const given = dictionaryField(fields, name)
  if (given === undefined) return undefined
  const entries = Object.entries(given).filter(([, value]) => value !== null)
  if (entries.length > mostKeys) {
    throw badParam(name, `Invalid ${name}. It must have at most ${mostKeys} keys.`)
  }
  for (const [key, value] of entries) {
    checkTextField(name, key, MAX_METADATA_KEY_LENGTH)
    if (key === '' || key === '__proto__') throw badParam(name, `Invalid ${name}. No key may be "${key}".`)
    if (typeof value === 'string') checkTextField(name, value, METADATA_TEXT_LENGTH)
    else if (typeof value !== 'boolean' && !Number.isFinite(value)) {
      throw badParam(name, `Invalid ${name}. Values must be strings, booleans or numbers.`)
    }
  }
  return entries.length === 0 ? undefined : (Object.fromEntries(entries) as Metadata)
}
