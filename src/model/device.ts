import type { FraudRecord } from './fraud.ts'
import type { Metadata } from './metadata.ts'
import type { PlaceStays } from './place.ts'
import type { RegionStays } from './region.ts'
import type { SegmentStays } from './segment.ts'
import type { DeviceType } from './update.ts'

/** The deviceId of all devices that want nothing stored; also the `_id` of their user. */
export const ANONYMOUS = 'anonymous'

/** One stay of a user inside a geofence. Immutable: a change makes a new one. */
export interface Visit {
  readonly geofenceId: string
  /** The time t of the update that entered, in epoch milliseconds. */
  readonly enteredAt: number
  /** Whether the dwell event of this visit has been generated. */
  readonly dwelled: boolean
  /** The time since which the exit condition holds, in epoch milliseconds; absent while it does not. */
  readonly leavingSince?: number
}

/** A geofence that a user is about to enter: the entry condition holds, but not yet for `entryDelaySeconds`. */
export interface Approach {
  readonly geofenceId: string
  /** The time t of the first update at which the condition held, in epoch milliseconds. */
  readonly since: number
}

/** One stay of a user within range of a beacon. Immutable. */
export interface BeaconVisit {
  readonly beaconId: string
  /** The time t of the update that entered, in epoch milliseconds. */
  readonly enteredAt: number
}

/** The highest sequence number that was applied of a sender's stream. */
export interface StreamMark {
  readonly stream: string
  readonly sequence: number
}

/** How many streams a device remembers to recognize a resend (G9). */
export const STREAM_MARKS = 4

/**
 * The part of a user record that rarely changes: its identity and its stays. The fields that every update changes
 * (position, times, flags) are in columns of the device table.
 */
export interface Profile {
  /** 24 hex digits. */
  readonly id: string
  readonly deviceId: string
  readonly userId?: string | undefined
  readonly installId?: string | undefined
  readonly description?: string | undefined
  readonly metadata?: Metadata | undefined
  readonly deviceType?: DeviceType | undefined
  readonly deviceOS?: string | undefined
  readonly deviceMake?: string | undefined
  readonly deviceModel?: string | undefined
  readonly source?: string | undefined
  /** The address of the last requester. */
  readonly ip: string
  /** In epoch milliseconds. */
  readonly createdAt: number
  /** The current stays, in the order of entry. */
  readonly visits: readonly Visit[]
  /**
   * The stays before the update that last changed the profile, for `explain`. It is the same array if that update
   * changed none.
   */
  readonly visitsBefore: readonly Visit[]
  /** Entries that wait for their delay, and those that waited before that update, as with the visits. */
  readonly approaches: readonly Approach[]
  readonly approachesBefore: readonly Approach[]
  /** The `_id`s of the geofences that that update crossed on its way. */
  readonly crossed: readonly string[]
  /** The beacons in range, in the order of entry. */
  readonly beacons: readonly BeaconVisit[]
  readonly regions: RegionStays
  /**
   * The regions before the update that last changed the profile. It is the same object if that update changed none.
   */
  readonly regionsBefore: RegionStays
  readonly fraud: FraudRecord
  readonly places: PlaceStays
  /** The places before that update, as with the regions. */
  readonly placesBefore: PlaceStays
  readonly segments: SegmentStays
  /** At most {@link STREAM_MARKS} marks, the most recently used one last. */
  readonly marks: readonly StreamMark[]
}
