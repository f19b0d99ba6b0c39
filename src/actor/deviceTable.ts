import type { Profile } from '../model/device.ts'
import type { ScopeId } from '../model/scope.ts'
import { DeviceColumns } from './deviceColumns.ts'
import { packProfile, unpackProfile } from './profileCodec.ts'

/**
 * The user records of one partition: numbers in columns (deviceColumns.ts), the rest as a profile object while the
 * device is active and as packed bytes while it is idle.
 *
 * Owns: rows, their reuse, look-ups by device, by user and by row, packing.
 * Does not own: what an update means, durability.
 *
 * Invariants
 * 1. A row number names one record as long as it lives; a freed row is not reused within the same second, so that
 *    the id derived from (second, partition, row) stays unique.
 * 2. The records of one device form a chain through `nextOfDevice`, headed by its entry in the look-up.
 */

export const FLAG_FOREGROUND = 1
export const FLAG_STOPPED = 2
export const FLAG_REPLAYED = 4
/** The update was too inaccurate to touch any geofence. */
export const FLAG_IGNORED = 8
/** The update left the profile as it was: what that says of the stays before the last update is of an earlier one. */
export const FLAG_SETTLED = 16

/** The fields of the reply that seldom change. */
export interface ReplyHead {
  /** Finished JSON, see userRecord.ts. */
  readonly json: string
  /** Of the registry that it was made with. */
  readonly revision: number
  /** Server time from which it holds no more. */
  readonly until: number
}

const FREED_ROW_REST_MS = 2000

export class DeviceTable extends DeviceColumns {
  /** Rows ever used; some may be free. */
  length = 0
  /** Records that exist. */
  count = 0

  private readonly profiles: (Profile | Uint8Array | undefined)[] = []
  /** Dropped whenever the profile changes. */
  readonly replyHead: (ReplyHead | undefined)[] = []
  private readonly byDevice = new Map<ScopeId, Map<string, number>>()
  private readonly byUser = new Map<ScopeId, Map<string, number[]>>()
  private readonly freed: { readonly row: number; readonly at: number }[] = []

  /** The first record of the device; −1 when it has none. */
  firstOf(scope: ScopeId, deviceId: string): number {
    return this.byDevice.get(scope)?.get(deviceId) ?? -1
  }

  /** The records of a user, in no order. */
  rowsOfUser(scope: ScopeId, userId: string): readonly number[] {
    return this.byUser.get(scope)?.get(userId) ?? []
  }

  exists(row: number): boolean {
    return row < this.length && this.scope(row) >= 0
  }

  /** The profile, unpacked and kept so. */
  profile(row: number): Profile {
    const held = this.profiles[row]
    if (held === undefined) throw new Error(`device row ${row} is free`)
    if (!(held instanceof Uint8Array)) return held
    return (this.profiles[row] = unpackProfile(held))
  }

  /** The profile, without keeping an idle one unpacked: for scans. */
  peek(row: number): Profile {
    const held = this.profiles[row]
    return held instanceof Uint8Array ? unpackProfile(held) : this.profile(row)
  }

  /** A row number for a new record; `now` is the server's time. */
  allocate(now: number): number {
    const oldest = this.freed[0]
    if (oldest !== undefined && now - oldest.at >= FREED_ROW_REST_MS) {
      this.freed.shift()
      return oldest.row
    }
    return this.length
  }

  /** Takes back an allocated row into which nothing was put. */
  giveBack(row: number, now: number): void {
    if (row < this.length) this.freed.push({ row, at: now })
  }

  /** Puts a record into a row, new or replaced; the caller writes the columns of position and time. */
  setProfile(row: number, scope: ScopeId, profile: Profile): void {
    this.reserve(row)
    for (; this.length <= row; this.length++) this.free(this.length)
    const existing = this.exists(row) ? this.profile(row) : undefined
    if (existing === undefined) {
      this.count++
      this.take(row, scope)
      this.link(row, scope, profile.deviceId)
    }
    if (existing === undefined || existing.userId !== profile.userId) {
      if (existing?.userId !== undefined) this.unlinkUser(row, scope, existing.userId)
      if (profile.userId !== undefined) this.linkUser(row, scope, profile.userId)
    }
    this.setCreatedAt(row, profile.createdAt)
    this.profiles[row] = profile
    this.replyHead[row] = undefined
  }

  /** Removes a record; `now` is the server's time. */
  remove(row: number, now: number): void {
    const scope = this.scope(row)
    const profile = this.profile(row)
    this.unlink(row, scope, profile.deviceId)
    if (profile.userId !== undefined) this.unlinkUser(row, scope, profile.userId)
    this.profiles[row] = undefined
    this.replyHead[row] = undefined
    this.free(row)
    this.count--
    this.freed.push({ row, at: now })
  }

  /** Notes the free rows after recovery, when the table was filled out of snapshot and log. */
  recoverFreeRows(now: number): void {
    this.freed.length = 0
    for (let row = 0; row < this.length; row++) if (this.scope(row) < 0) this.freed.push({ row, at: now })
  }

  /** Packs the profiles of devices that have not reported since `before` (server time); returns how many. */
  packIdle(before: number): number {
    let packed = 0
    for (let row = 0; row < this.length; row++) {
      const held = this.profiles[row]
      if (held === undefined || held instanceof Uint8Array || this.receivedAt(row) >= before) continue
      this.profiles[row] = packProfile(held)
      this.replyHead[row] = undefined
      packed++
    }
    return packed
  }

  /** The profile as bytes, without unpacking an idle one. */
  packedProfile(row: number): Uint8Array {
    const held = this.profiles[row]!
    return held instanceof Uint8Array ? held : packProfile(held)
  }

  private link(row: number, scope: ScopeId, deviceId: string): void {
    const devices = mapOf(this.byDevice, scope)
    this.setNextOf(row, devices.get(deviceId) ?? -1)
    devices.set(deviceId, row)
  }

  private unlink(row: number, scope: ScopeId, deviceId: string): void {
    const devices = this.byDevice.get(scope)!
    const next = this.nextOf(row)
    let at = devices.get(deviceId)!
    if (at === row) {
      if (next < 0) devices.delete(deviceId)
      else devices.set(deviceId, next)
      return
    }
    while (this.nextOf(at) !== row) at = this.nextOf(at)
    this.setNextOf(at, next)
  }

  private linkUser(row: number, scope: ScopeId, userId: string): void {
    const users = mapOf(this.byUser, scope)
    const rows = users.get(userId)
    if (rows === undefined) users.set(userId, [row])
    else rows.push(row)
  }

  private unlinkUser(row: number, scope: ScopeId, userId: string): void {
    const users = this.byUser.get(scope)!
    const rows = users.get(userId)!.filter((other) => other !== row)
    if (rows.length === 0) users.delete(userId)
    else users.set(userId, rows)
  }
}

function mapOf<V>(maps: Map<ScopeId, Map<string, V>>, scope: ScopeId): Map<string, V> {
  let map = maps.get(scope)
  if (map === undefined) maps.set(scope, (map = new Map()))
  return map
}
