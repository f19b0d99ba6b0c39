import type { RangedBeacon } from './beacon.ts'
import type { Metadata } from './metadata.ts'
import type { ScopeId } from './scope.ts'

export type DeviceType = 'iOS' | 'Android' | 'Web'

/** One validated location update, stamped with server time, requester address and scope. */
export interface Update {
  readonly scope: ScopeId
  readonly deviceId: string
  readonly userId?: string | undefined
  readonly installId?: string | undefined
  /** Degrees, −90 to 90. */
  readonly latitude: number
  /** Degrees, −180 to 180. */
  readonly longitude: number
  /** Metres, > 0; absent only when an SDK sent none: evaluated as 0, confidence 1. */
  readonly accuracy?: number | undefined
  readonly foreground: boolean
  readonly stopped: boolean
  readonly replayed: boolean
  /** Epoch milliseconds as the device sent it; absent: the server's time counts. */
  readonly updatedAt?: number | undefined
  readonly description?: string | undefined
  readonly metadata?: Metadata | undefined
  readonly deviceType?: DeviceType | undefined
  readonly deviceOS?: string | undefined
  readonly deviceMake?: string | undefined
  readonly deviceModel?: string | undefined
  /** What the device ranges now; absent: the update does not say. */
  readonly beacons?: readonly RangedBeacon[] | undefined
  /** The sender's stream and its ascending number in it: a resend is applied once (G9). Both or neither. */
  readonly stream?: string | undefined
  readonly sequence?: number | undefined
  /** Epoch milliseconds, the server's clock when it was received. */
  readonly receivedAt: number
  /** The requester's address. */
  readonly ip: string
}
