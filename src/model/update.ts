import type { RangedBeacon } from './beacon.ts'
import type { Metadata } from './metadata.ts'
import type { ScopeId } from './scope.ts'
import type { TripOptions } from './trip.ts'

export type DeviceType = 'iOS' | 'Android' | 'Web'

/**
 * The sender of updates, with the data about the device that consecutive updates repeat. The updates of a stream
 * share it (src/wire/senders.ts), so if the same object comes again, nothing needs to be compared.
 */
export interface Sender {
  readonly scope: ScopeId
  readonly deviceId: string
  /** The device hash of {@link deviceId}, see deviceHash.ts. */
  readonly deviceHash: number
  readonly userId: string | undefined
  readonly installId: string | undefined
  readonly deviceType: DeviceType | undefined
  readonly deviceOS: string | undefined
  readonly deviceMake: string | undefined
  readonly deviceModel: string | undefined
  /** The requester's address. */
  readonly ip: string
  /**
   * A number stored by code that remembers senders, to find this one again. It must be checked, because it may belong
   * to another. Below 0: none yet.
   */
  hint: number
}

/** One validated location update, stamped with server time, requester address and scope. */
export interface Update {
  /** The sender whose fields this update shares; absent if none. */
  readonly sender?: Sender | undefined
  readonly scope: ScopeId
  readonly deviceId: string
  readonly userId?: string | undefined
  readonly installId?: string | undefined
  /** In degrees, −90 to 90. */
  readonly latitude: number
  /** In degrees, −180 to 180. */
  readonly longitude: number
  /** In metres, more than 0. It is only absent if an SDK sent none; then it is evaluated as 0, with confidence 1. */
  readonly accuracy?: number | undefined
  readonly foreground: boolean
  readonly stopped: boolean
  readonly replayed: boolean
  /** The time that the device sent, in epoch milliseconds. If absent, the server's time counts. */
  readonly updatedAt?: number | undefined
  readonly description?: string | undefined
  readonly metadata?: Metadata | undefined
  readonly deviceType?: DeviceType | undefined
  readonly deviceOS?: string | undefined
  readonly deviceMake?: string | undefined
  readonly deviceModel?: string | undefined
  /** Why an SDK sent it, in its own words. */
  readonly source?: string | undefined
  /** What the app says about its device: bits of `CLAIM` in fraud.ts; absent if it says nothing. */
  readonly claims?: number | undefined
  /** The beacons in range; absent if the update does not say. */
  readonly beacons?: readonly RangedBeacon[] | undefined
  /** The trip that the device is on; absent if the update does not say. */
  readonly tripOptions?: TripOptions | undefined
  /** The sender's stream and its ascending number in it: a resend is applied once (G9). Both or neither. */
  readonly stream?: string | undefined
  readonly sequence?: number | undefined
  /** When it was received by the server's clock, in epoch milliseconds. */
  readonly receivedAt: number
  /** The requester's address. */
  readonly ip: string
}
