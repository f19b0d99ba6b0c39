import type { Beacon } from '../../model/beacon.ts'

/** A beacon without what the registry gives it: the content of one definition. */
export type BeaconDefinition = Omit<Beacon, 'id' | 'scope' | 'createdAt' | 'updatedAt'>

/** A row of the table `beacons`: what is looked up by stands in columns, the rest is JSON. */
export interface BeaconRow {
  readonly id: string
  readonly scope: number
  readonly tag: string | null
  readonly externalId: string | null
  /** Epoch milliseconds. */
  readonly createdAt: number
  /** Epoch milliseconds. */
  readonly updatedAt: number
  readonly definition: string
}

/** The inverse of {@link beaconOfRow}. */
export function rowOfBeacon(beacon: Beacon): BeaconRow {
  const { id, scope, tag = null, externalId = null, createdAt, updatedAt, ...rest } = beacon
  return { id, scope, tag, externalId, createdAt, updatedAt, definition: JSON.stringify(rest) }
}

/** The inverse of {@link rowOfBeacon}. Throws SyntaxError where the JSON is not what we wrote. */
export function beaconOfRow(row: BeaconRow): Beacon {
  const { id, scope, tag, externalId, createdAt, updatedAt, definition } = row
  return {
    id,
    scope,
    ...(tag !== null && { tag }),
    ...(externalId !== null && { externalId }),
    createdAt,
    updatedAt,
    ...JSON.parse(definition),
  }
}
