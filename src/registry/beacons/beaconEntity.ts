import type { Beacon } from '../../model/beacon.ts'
import type { Collection } from '../records/collection.ts'
import type { Entity } from '../records/entity.ts'
import { BEACON_CHANGES, BeaconBody } from './beaconFields.ts'
import { BeaconRecord, beaconRecord } from './beaconRecord.ts'
import { BEACON_ROWS, type BeaconDefinition } from './beaconRows.ts'
import { parseBeacon } from './parseBeacon.ts'

/** The beacons of all scopes. */
export type Beacons = Collection<BeaconDefinition, Beacon>

export const BEACONS: Entity<BeaconDefinition, Beacon> = {
  singular: 'beacon',
  plural: 'beacons',
  tag: 'Beacons',
  rows: BEACON_ROWS,
  changes: BEACON_CHANGES,
  newBody: BeaconBody,
  body: BeaconBody,
  parse: parseBeacon,
  record: BeaconRecord,
  answer: beaconRecord,
}
