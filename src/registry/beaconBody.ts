import Type from 'typebox'
import { BooleanOrText, DictionaryOrText, ListOrText, NumberOrText, optional, Text } from './recordSchemas.ts'

/** The body of a beacon definition as the reference shows it; the rules are those of beaconSchema.ts. */
export const BeaconBody = Type.Object(
  optional({
    description: Text('Required. Display name.'),
    type: Text('Required. ibeacon or eddystone.'),
    tag: Text('Group of the beacon.'),
    externalId: Text('Your own id, unique within the tag. Tag and externalId together identify the beacon.'),
    uuid: Text('Required for an ibeacon: 32 hexadecimal digits, in any case, with or without dashes.'),
    major: NumberOrText('Required for an ibeacon: 0 to 65,535.'),
    minor: NumberOrText('Required for an ibeacon: 0 to 65,535.'),
    uid: Text('Required for an eddystone: the namespace, 20 hexadecimal digits.'),
    instance: Text('Required for an eddystone: 12 hexadecimal digits.'),
    coordinates: ListOrText(
      'Required. Approximate location, [longitude, latitude]: devices within 1 km receive the beacon in responses. A list or its JSON text.',
    ),
    enabled: BooleanOrText('Whether it causes events; default true.'),
    metadata: DictionaryOrText('Up to 16 keys; values are strings, booleans or numbers.'),
  }),
  { title: 'BeaconDefinition' },
)
