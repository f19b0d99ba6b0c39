import type { BeaconIdentifiers, BeaconType } from '../model/beacon.ts'
import { dashedUuid } from '../model/beacon.ts'
import { badParam } from '../runtime/errors.ts'
import type { BeaconDefinition } from './beaconRow.ts'
import type { Fields } from './fields.ts'
import { booleanField, choiceField, listField, numberField, required, textField } from './fields.ts'
import type { Pair } from './recordFields.ts'
import {
  checkPoint,
  MAX_DESCRIPTION_LENGTH,
  metadataField,
  pairField,
  withoutUndefined,
} from './recordFields.ts'

const BEACON_TYPES: readonly BeaconType[] = ['ibeacon', 'eddystone']
const MAX_IDENTIFIER_LENGTH = 64
/** What an iBeacon's uuid, an Eddystone's namespace and its instance have: 16, 10 and 6 bytes. */
const UUID_DIGITS = 32
const UID_DIGITS = 20
const INSTANCE_DIGITS = 12
/** major and minor are 16 bits on the air. */
const MAX_MAJOR = 65_535

/**
 * Reads the definition of a beacon from a body or row: every rule of the interface's field table.
 * Absent, null and empty fields are at their defaults; unknown ones, and the identifiers of the other type, are ignored.
 *
 * @param known the pair where the request names it elsewhere; a field that says otherwise is refused
 * @throws ApiError 400 naming the field
 */
export function parseBeacon(fields: Fields, known?: Pair): BeaconDefinition {
  const description = required('description', textField(fields, 'description', MAX_DESCRIPTION_LENGTH))
  const type = required('type', choiceField(fields, 'type', BEACON_TYPES))
  const optional = {
    tag: pairField(fields, 'tag', known),
    externalId: pairField(fields, 'externalId', known),
    metadata: metadataField(fields),
  }
  return {
    description,
    ...parseIdentifiers(fields, type),
    ...withoutUndefined(optional),
    enabled: booleanField(fields, 'enabled') ?? true,
    coordinates: checkPoint('coordinates', required('coordinates', listField(fields, 'coordinates'))),
  }
}

function parseIdentifiers(fields: Fields, type: BeaconType): BeaconIdentifiers {
  return type === 'ibeacon'
    ? {
        type,
        uuid: dashedUuid(identifier(fields, 'uuid', type, UUID_DIGITS)),
        major: number16(fields, 'major'),
        minor: number16(fields, 'minor'),
      }
    : {
        type,
        uid: identifier(fields, 'uid', type, UID_DIGITS),
        instance: identifier(fields, 'instance', type, INSTANCE_DIGITS),
      }
}

/**
 * One to 64 visible characters. Hexadecimal text of more than half the digits that the air carries must have all of
 * them: it is a mistyped identifier, which no device would ever range. Other names are a gateway's own.
 */
function identifier(
  fields: Fields,
  name: 'uuid' | 'uid' | 'instance',
  type: BeaconType,
  digits: number,
): string {
  const given = textField(fields, name, MAX_IDENTIFIER_LENGTH)
  const text = required(name, given, `Required for an ${type}.`)
  if (!/^[!-~]+$/.test(text)) throw badParam(name, `Invalid ${name}. It must be visible ASCII characters.`)
  const hex = name === 'uuid' ? text.replaceAll('-', '') : text
  if (!/^[0-9a-f]+$/i.test(hex) || hex.length <= digits / 2) return text
  if (hex.length !== digits) {
    throw badParam(name, `Invalid ${name}. It must have ${digits} hexadecimal digits, not ${hex.length}.`)
  }
  return hex
}

/** A whole number of 16 bits as the decimal text that SDKs write. */
function number16(fields: Fields, name: 'major' | 'minor'): string {
  const number = numberField(fields, name, 0, MAX_MAJOR)
  const value = required(name, number, 'Required for an ibeacon.')
  if (!Number.isInteger(value)) throw badParam(name, `Invalid ${name}. It must be a whole number.`)
  return String(value)
}
