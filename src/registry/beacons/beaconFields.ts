import type { TObject } from 'typebox'
import { numberField, textField } from '../../http/fields.ts'
import { neededBy } from '../../http/needs.ts'
import { Text } from '../../http/schemas.ts'
import { dashedUuid, type BeaconType } from '../../model/beacon.ts'
import { badParam } from '../../runtime/errors.ts'
import {
  bodyOf,
  bulkChanges,
  choice,
  custom,
  flag,
  list,
  metadata,
  reference,
  requiredRule,
  text,
} from '../records/fieldRules.ts'
import { MAX_DESCRIPTION_LENGTH, MAX_IDENTIFIER_LENGTH } from '../records/recordFields.ts'
import { NumberOrText } from '../records/recordSchemas.ts'

const BEACON_TYPES: readonly BeaconType[] = ['ibeacon', 'eddystone']

type Identifier = 'uuid' | 'uid' | 'instance'

/**
 * Hexadecimal digits of the identifiers that beacons broadcast: an iBeacon's UUID has 16 bytes, an Eddystone's
 * namespace 10, and its instance 6.
 */
const DIGITS: Readonly<Record<Identifier, number>> = { uuid: 32, uid: 20, instance: 12 }
/** The largest value of major and minor, which have 16 bits. */
const MAX_MAJOR = 65_535

/** The fields of a beacon definition. */
export const BEACON_FIELDS = {
  description: requiredRule(text(MAX_DESCRIPTION_LENGTH, 'Display name.')),
  type: requiredRule(choice(BEACON_TYPES, 'ibeacon or eddystone.')),
  coordinates: requiredRule(
    list(
      'Approximate location, [longitude, latitude]: devices within 1 km receive the beacon in responses. A list or its JSON text.',
    ),
  ),
  tag: reference('tag', 'Group of the beacon.'),
  externalId: reference(
    'externalId',
    'Your own id, unique within the tag. Tag and externalId together identify the beacon.',
  ),
  uuid: identifier(
    'uuid',
    'Required for an ibeacon: 32 hexadecimal digits, in any case, with or without dashes.',
  ),
  major: number16('Required for an ibeacon: 0 to 65,535.'),
  minor: number16('Required for an ibeacon: 0 to 65,535.'),
  uid: identifier('uid', 'Required for an eddystone: the namespace, 20 hexadecimal digits.'),
  instance: identifier('instance', 'Required for an eddystone: 12 hexadecimal digits.'),
  enabled: flag('Whether it causes events; default true.'),
  metadata: metadata(),
}

/** The fields that may be changed for many beacons at once. */
export const BEACON_CHANGES = bulkChanges(BEACON_FIELDS, 'BeaconChanges', ['enabled', 'metadata'], {
  enabled: true,
})

/** The body of a beacon definition. */
export const BeaconBody: TObject = bodyOf(
  BEACON_FIELDS,
  { title: 'BeaconDefinition' },
  neededBy('type', {
    ibeacon: { required: ['uuid', 'major', 'minor'] },
    eddystone: { required: ['uid', 'instance'] },
  }),
)

function identifier(kind: Identifier, description: string) {
  return custom(Text(MAX_IDENTIFIER_LENGTH, description), (fields, name) => {
    const value = textField(fields, name, MAX_IDENTIFIER_LENGTH)
    return value === undefined ? undefined : checkIdentifier(name, value, kind)
  })
}

/** A whole number of 16 bits, as decimal text, which SDKs send. */
function number16(description: string) {
  return custom(NumberOrText(description), (fields, name) => {
    const value = numberField(fields, name, 0, MAX_MAJOR)
    if (value === undefined) return undefined
    if (!Number.isInteger(value)) throw badParam(name, `Invalid ${name}. It must be a whole number.`)
    return String(value)
  })
}

/**
 * An identifier in its stored form: in its case, a UUID with dashes. Anything except the right number of digits is a
 * typing error, because no device would ever range it.
 * @param name the field for the error
 */
export function checkIdentifier(name: string, value: string, kind: Identifier): string {
  const digits = DIGITS[kind]
  const hex = kind === 'uuid' ? value.replaceAll('-', '') : value
  if (hex.length === digits && /^[0-9a-f]+$/i.test(hex)) return kind === 'uuid' ? dashedUuid(hex) : hex
  const what = {
    uuid: 'A uuid is 32 hexadecimal digits, with or without dashes, like e2c56db5-dffb-48d2-b060-d0f5a71096e0',
    uid: 'A uid is 20 hexadecimal digits, like edd1ebeac04e5defa017',
    instance: 'An instance is 12 hexadecimal digits, like 0bdb87539b67',
  }
  throw badParam(name, `Invalid ${name}. ${what[kind]}; ${JSON.stringify(value)} is none.`)
}
