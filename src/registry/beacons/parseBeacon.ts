import { checkRequired, type Fields } from '../../http/fields.ts'
import { readFields } from '../records/fieldRules.ts'
import { checkPoint, type Pair } from '../records/recordFields.ts'
import { BEACON_FIELDS, BeaconBody } from './beaconFields.ts'
import type { BeaconDefinition } from './beaconRows.ts'

/** The identifiers of each type of beacon. */
const IDENTIFIERS = {
  ibeacon: ['uuid', 'major', 'minor'],
  eddystone: ['uid', 'instance'],
} as const

/**
 * Reads the definition of a beacon from a body or row: every rule of the interface's field table. Absent, null and
 * empty fields get their defaults; unknown ones, and the identifiers of the other type, are ignored.
 *
 * @param known the pair if the request names it elsewhere; a field that differs is refused
 * @throws ApiError 400 naming the field
 */
export function parseBeacon(fields: Fields, known?: Pair): BeaconDefinition {
  checkRequired(BeaconBody, fields)
  const read = <Name extends keyof typeof BEACON_FIELDS>(names: readonly Name[]) =>
    readFields(BEACON_FIELDS, fields, known, names)
  const { description, type, ...reference } = read(['description', 'type', 'tag', 'externalId', 'metadata'])
  const identifiers = read(IDENTIFIERS[type])
  const { enabled = true, coordinates } = read(['enabled', 'coordinates'])
  return {
    description,
    type,
    ...identifiers,
    ...reference,
    enabled,
    coordinates: checkPoint('coordinates', coordinates),
  }
}
