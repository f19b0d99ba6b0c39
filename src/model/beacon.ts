import type { Position } from './geofence.ts'
import type { Metadata } from './metadata.ts'
import type { ScopeId } from './scope.ts'

export type BeaconType = 'ibeacon' | 'eddystone'

/**
 * The identifiers that a beacon broadcasts: `uuid`, `major` and `minor` of an iBeacon, `uid` and `instance` of an
 * Eddystone.
 */
export interface BeaconIdentifiers {
  readonly type: BeaconType
  readonly uuid?: string | undefined
  readonly major?: string | undefined
  readonly minor?: string | undefined
  readonly uid?: string | undefined
  readonly instance?: string | undefined
}

/** A beacon in the registry: validated, immutable, replaced as a whole by an edit. */
export interface Beacon extends BeaconIdentifiers {
  /** 24 hex digits, which are drawn at creation and kept by edits. */
  readonly id: string
  readonly scope: ScopeId
  readonly description: string
  /** Together with `externalId` the unique reference. A beacon may lack either. */
  readonly tag?: string
  readonly externalId?: string
  /**
   * Its approximate location. It decides which clients get the beacon, and when a device leaves it without ranging it.
   */
  readonly coordinates: Position
  readonly enabled: boolean
  readonly metadata?: Metadata
  /** In epoch milliseconds. */
  readonly createdAt: number
  /** In epoch milliseconds. */
  readonly updatedAt: number
}

/** A beacon that a device ranges now, as an update lists it. */
export type RangedBeacon = BeaconIdentifiers

const UUID = /^([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})$/i

/** A UUID in the form that SDKs read and write, 8-4-4-4-12, in its case; any other text unchanged. */
export function dashedUuid(text: string): string {
  return text.replace(UUID, '$1-$2-$3-$4-$5')
}

/** A key that is equal for the same type and identifiers, whatever their case and a UUID's dashes. */
export function beaconKey(beacon: BeaconIdentifiers): string {
  const { type, uuid = '', major = '', minor = '', uid = '', instance = '' } = beacon
  const parts = type === 'ibeacon' ? [type, dashedUuid(uuid), major, minor] : [type, uid, instance]
  return parts.join('\0').toLowerCase()
}
