import type { Position } from './geofence.ts'
import type { Metadata } from './metadata.ts'
import type { ScopeId } from './scope.ts'

export type BeaconType = 'ibeacon' | 'eddystone'

/** What a beacon sends: `uuid`, `major` and `minor` of an iBeacon, `uid` and `instance` of an Eddystone. */
export interface BeaconIdentifiers {
  readonly type: BeaconType
  readonly uuid?: string | undefined
  readonly major?: string | undefined
  readonly minor?: string | undefined
  readonly uid?: string | undefined
  readonly instance?: string | undefined
}

/** A beacon as the registry holds it: validated, immutable, replaced whole by an edit. */
export interface Beacon extends BeaconIdentifiers {
  /** 24 hex, given at creation, kept by edits. */
  readonly id: string
  readonly scope: ScopeId
  readonly description: string
  /** With `externalId` its unique reference; a beacon may lack either. */
  readonly tag?: string
  readonly externalId?: string
  /** About where it is: decides to whom it is synced, and when it is left without being ranged. */
  readonly coordinates: Position
  readonly enabled: boolean
  readonly metadata?: Metadata
  /** Epoch milliseconds. */
  readonly createdAt: number
  /** Epoch milliseconds. */
  readonly updatedAt: number
}

/** A beacon that a device ranges now, as an update lists it. */
export type RangedBeacon = BeaconIdentifiers

/** Equal for the same type and identifiers, whatever their case. */
export function beaconKey(beacon: BeaconIdentifiers): string {
  const { type, uuid = '', major = '', minor = '', uid = '', instance = '' } = beacon
  const parts = type === 'ibeacon' ? [type, uuid, major, minor] : [type, uid, instance]
  return parts.join('\0').toLowerCase()
}
