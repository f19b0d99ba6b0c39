import type { BeaconIdentifiers, BeaconType } from '../../model/beacon.ts'
import { dashedUuid } from '../../model/beacon.ts'
import { badParam } from '../../runtime/errors.ts'
import { BeaconBody } from './beaconBody.ts'
import type { BeaconDefinition } from './beaconRows.ts'
import type { Fields } from '../../http/fields.ts'
import {
  booleanField,
  checkRequired,
  choiceField,
  listField,
  numberField,
  textField,
} from '../../http/fields.ts'
import type { Pair } from '../records/recordFields.ts'
import {
  checkPoint,
  MAX_DESCRIPTION_LENGTH,
  MAX_IDENTIFIER_LENGTH,
  metadataField,
  pairField,
  withoutUndefined,
} from '../records/recordFields.ts'

const BEACON_TYPES: readonly BeaconType[] = ['ibeacon', 'eddystone']

type Identifier = 'uuid' | 'uid' | 'instance'

/** What an iBeacon's UUID, an Eddystone's namespace and its instance have on the air: 16, 10 and 6 bytes. */
const DIGITS: Readonly<Record<Identifier, number>> = { uuid: 32, uid: 20, instance: 12 }
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
  checkRequired(BeaconBody, fields)
  const description = textField(fields, 'description', MAX_DESCRIPTION_LENGTH)!
  const type = choiceField(fields, 'type', BEACON_TYPES)!
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
    coordinates: checkPoint('coordinates', listField(fields, 'coordinates')!),
  }
}

function parseIdentifiers(fields: Fields, type: BeaconType): BeaconIdentifiers {
  return type === 'ibeacon'
    ? {
        type,
        uuid: identifier(fields, 'uuid'),
        major: number16(fields, 'major'),
        minor: number16(fields, 'minor'),
      }
    : {
        type,
        uid: identifier(fields, 'uid'),
        instance: identifier(fields, 'instance'),
      }
}

function identifier(fields: Fields, name: Identifier): string {
  return checkIdentifier(name, textField(fields, name, MAX_IDENTIFIER_LENGTH)!, name)
}

/**
 * An identifier as it is kept: in its case, a UUID with its dashes. Anything but the digits that the air carries is a
 * mistyped one, which no device would ever range.
 * @param name the field that is blamed
 */
export function checkIdentifier(name: string, text: string, kind: Identifier): string {
  const digits = DIGITS[kind]
  const hex = kind === 'uuid' ? text.replaceAll('-', '') : text
  if (hex.length === digits && /^[0-9a-f]+$/i.test(hex)) return kind === 'uuid' ? dashedUuid(hex) : hex
  const what = {
    uuid: 'A uuid is 32 hexadecimal digits, with or without dashes, like e2c56db5-dffb-48d2-b060-d0f5a71096e0',
    uid: 'A uid is 20 hexadecimal digits, like edd1ebeac04e5defa017',
    instance: 'An instance is 12 hexadecimal digits, like 0bdb87539b67',
  }
  throw badParam(name, `Invalid ${name}. ${what[kind]}; ${JSON.stringify(text)} is none.`)
}

/** A whole number of 16 bits as the decimal text that SDKs write. */
function number16(fields: Fields, name: 'major' | 'minor'): string {
  const value = numberField(fields, name, 0, MAX_MAJOR)!
  if (!Number.isInteger(value)) throw badParam(name, `Invalid ${name}. It must be a whole number.`)
  return String(value)
}
