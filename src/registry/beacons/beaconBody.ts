import Type from 'typebox'
import { neededBy } from '../../http/needs.ts'
import { Text } from '../../http/schemas.ts'
import {
  MAX_DESCRIPTION_LENGTH,
  MAX_ID_LENGTH,
  MAX_IDENTIFIER_LENGTH,
  MAX_WORD_LENGTH,
} from '../records/recordFields.ts'
import {
  BooleanOrText,
  DictionaryOrText,
  ListOrText,
  NumberOrText,
  optional,
} from '../records/recordSchemas.ts'

/** The body of a beacon definition: it says what is required; the rules are those of beaconSchema.ts. */
export const BeaconBody = Type.Object(
  {
    description: Text(MAX_DESCRIPTION_LENGTH, 'Display name.'),
    type: Text(MAX_WORD_LENGTH, 'ibeacon or eddystone.'),
    coordinates: ListOrText(
      'Approximate location, [longitude, latitude]: devices within 1 km receive the beacon in responses. A list or its JSON text.',
    ),
    ...optional({
      tag: Text(MAX_ID_LENGTH, 'Group of the beacon.'),
      externalId: Text(
        MAX_ID_LENGTH,
        'Your own id, unique within the tag. Tag and externalId together identify the beacon.',
      ),
      uuid: Text(
        MAX_IDENTIFIER_LENGTH,
        'Required for an ibeacon: 32 hexadecimal digits, in any case, with or without dashes.',
      ),
      major: NumberOrText('Required for an ibeacon: 0 to 65,535.'),
      minor: NumberOrText('Required for an ibeacon: 0 to 65,535.'),
      uid: Text(MAX_IDENTIFIER_LENGTH, 'Required for an eddystone: the namespace, 20 hexadecimal digits.'),
      instance: Text(MAX_IDENTIFIER_LENGTH, 'Required for an eddystone: 12 hexadecimal digits.'),
      enabled: BooleanOrText('Whether it causes events; default true.'),
      metadata: DictionaryOrText('Up to 16 keys; values are strings, booleans or numbers.'),
    }),
  },
  {
    title: 'BeaconDefinition',
    allOf: neededBy('type', {
      ibeacon: { required: ['uuid', 'major', 'minor'] },
      eddystone: { required: ['uid', 'instance'] },
    }),
  },
)
