import Type from 'typebox'
import type { Beacon } from '../../model/beacon.ts'
import { recordRows, StoredMetadata } from '../records/recordRows.ts'

/** A beacon without the fields that the registry adds: the content of one definition. */
export type BeaconDefinition = Omit<Beacon, 'id' | 'scope' | 'createdAt' | 'updatedAt'>

/** The rows of beacons. */
export const BEACON_ROWS = recordRows(
  'beacons',
  'some',
  Type.Object({
    type: Type.Enum(['ibeacon', 'eddystone']),
    description: Type.String(),
    coordinates: Type.Tuple([Type.Number(), Type.Number()]),
    enabled: Type.Boolean(),
    metadata: Type.Optional(StoredMetadata),
  }),
)
