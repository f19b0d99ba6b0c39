import type { Profile } from '../model/device.ts'
import type { ScopeId } from '../model/scope.ts'
import { packProfile, unpackProfile } from './profileCodec.ts'

/**
 * The user records of one partition, as columns: what every update writes lies in typed arrays, the rest is a
 * profile object while the device is active and packed bytes while it is idle.
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

const FREED_ROW_REST_MS = 2000
const FIRST_CAPACITY = 256

export class DeviceTable {
  /** Rows ever used; some may be free. */
  length = 0
  /** Records that exist. */
  count = 0

  latitude = new Float64Array(FIRST_CAPACITY)
  longitude = new Float64Array(FIRST_CAPACITY)
  /** Metres; NaN when the update came without. */
  accuracy = new Float64Array(FIRST_CAPACITY)
  /** Time t of the last update, epoch milliseconds. */
  updatedAt = new Float64Array(FIRST_CAPACITY)
  /** Server time of the last update, epoch milliseconds. */
  receivedAt = new Float64Array(FIRST_CAPACITY)
  /** Server time of the first update, epoch milliseconds; of the profile, for scans. */
  createdAt = new Float64Array(FIRST_CAPACITY)
  flags = new Uint8Array(FIRST_CAPACITY)
  /** −1: the row is free. */
  scope = new Int32Array(FIRST_CAPACITY)

  // What follows is not durable: recovery leaves it empty, the next full evaluation fills it.
  zoneLatitude = new Float64Array(FIRST_CAPACITY)
  zoneLongitude = new Float64Array(FIRST_CAPACITY)
  zoneCosine = new Float64Array(FIRST_CAPACITY)
  /** Metres; 0: no zone. */
  zoneRadius = new Float64Array(FIRST_CAPACITY)
  zoneAccuracy = new Float64Array(FIRST_CAPACITY)
  zoneUntil = new Float64Array(FIRST_CAPACITY)
  zoneUntilReceived = new Float64Array(FIRST_CAPACITY)
  zoneRevision = new Float64Array(FIRST_CAPACITY)
  /** What {@link replyHead} was made with, and the server time until which it holds. */
  headRevision = new Float64Array(FIRST_CAPACITY)
  headUntil = new Float64Array(FIRST_CAPACITY)
  /** Server time from which the rate limit lets the device's next update pass. */
  nextAllowedAt = new Float64Array(FIRST_CAPACITY)

  /** The next record of the same device; −1 ends the chain. */
  private nextOfDevice = new Int32Array(FIRST_CAPACITY)
  private readonly profiles: (Profile | Uint8Array | undefined)[] = []
  /** Finished JSON of the fields that seldom change, for the reply; dropped whenever the profile changes. */
  readonly replyHead: (string | undefined)[] = []
  private readonly byDevice = new Map<ScopeId, Map<string, number>>()
  private readonly byUser = new Map<ScopeId, Map<string, number[]>>()
  private readonly freed: { readonly row: number; readonly at: number }[] = []

  /** The first record of the device; −1 when it has none. */
  firstOf(scope: ScopeId, deviceId: string): number {
    return this.byDevice.get(scope)?.get(deviceId) ?? -1
  }

  /** The record after this one of the same device; −1 when it is the last. */
  nextOf(row: number): number {
    return this.nextOfDevice[row]!
  }

  /** The records of a user, in no order. */
  rowsOfUser(scope: ScopeId, userId: string): readonly number[] {
    return this.byUser.get(scope)?.get(userId) ?? []
  }

  exists(row: number): boolean {
    return row < this.length && this.scope[row]! >= 0
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
    while (row >= this.capacity) this.grow()
    for (; this.length <= row; this.length++) this.scope[this.length] = -1
    const existing = this.exists(row) ? this.profile(row) : undefined
    if (existing === undefined) {
      this.count++
      this.scope[row] = scope
      this.zoneRadius[row] = 0
      this.nextAllowedAt[row] = 0
      this.link(row, scope, profile.deviceId)
    }
    if (existing === undefined || existing.userId !== profile.userId) {
      if (existing?.userId !== undefined) this.unlinkUser(row, scope, existing.userId)
      if (profile.userId !== undefined) this.linkUser(row, scope, profile.userId)
    }
    this.createdAt[row] = profile.createdAt
    this.profiles[row] = profile
    this.replyHead[row] = undefined
  }

  /** Removes a record; `now` is the server's time. */
  remove(row: number, now: number): void {
    const scope = this.scope[row]!
    const profile = this.profile(row)
    this.unlink(row, scope, profile.deviceId)
    if (profile.userId !== undefined) this.unlinkUser(row, scope, profile.userId)
    this.profiles[row] = undefined
    this.replyHead[row] = undefined
    this.scope[row] = -1
    this.count--
    this.freed.push({ row, at: now })
  }

  /** Notes the free rows after recovery, when the table was filled out of snapshot and log. */
  recoverFreeRows(now: number): void {
    this.freed.length = 0
    for (let row = 0; row < this.length; row++) if (this.scope[row]! < 0) this.freed.push({ row, at: now })
  }

  /** Packs the profiles of devices that have not reported since `before` (server time); returns how many. */
  packIdle(before: number): number {
    let packed = 0
    for (let row = 0; row < this.length; row++) {
      const held = this.profiles[row]
      if (held === undefined || held instanceof Uint8Array || this.receivedAt[row]! >= before) continue
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
    this.nextOfDevice[row] = devices.get(deviceId) ?? -1
    devices.set(deviceId, row)
  }

  private unlink(row: number, scope: ScopeId, deviceId: string): void {
    const devices = this.byDevice.get(scope)!
    const next = this.nextOfDevice[row]!
    let at = devices.get(deviceId)!
    if (at === row) {
      if (next < 0) devices.delete(deviceId)
      else devices.set(deviceId, next)
      return
    }
    while (this.nextOfDevice[at]! !== row) at = this.nextOfDevice[at]!
    this.nextOfDevice[at] = next
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

  private get capacity(): number {
    return this.flags.length
  }

  private grow(): void {
    const capacity = this.capacity * 2
    this.latitude = grown(this.latitude, capacity)
    this.longitude = grown(this.longitude, capacity)
    this.accuracy = grown(this.accuracy, capacity)
    this.updatedAt = grown(this.updatedAt, capacity)
    this.receivedAt = grown(this.receivedAt, capacity)
    this.createdAt = grown(this.createdAt, capacity)
    this.zoneLatitude = grown(this.zoneLatitude, capacity)
    this.zoneLongitude = grown(this.zoneLongitude, capacity)
    this.zoneCosine = grown(this.zoneCosine, capacity)
    this.zoneRadius = grown(this.zoneRadius, capacity)
    this.zoneAccuracy = grown(this.zoneAccuracy, capacity)
    this.zoneUntil = grown(this.zoneUntil, capacity)
    this.zoneUntilReceived = grown(this.zoneUntilReceived, capacity)
    this.zoneRevision = grown(this.zoneRevision, capacity)
    this.headRevision = grown(this.headRevision, capacity)
    this.headUntil = grown(this.headUntil, capacity)
    this.nextAllowedAt = grown(this.nextAllowedAt, capacity)
    const flags = new Uint8Array(capacity)
    flags.set(this.flags)
    this.flags = flags
    const scope = new Int32Array(capacity)
    scope.set(this.scope)
    this.scope = scope
    const next = new Int32Array(capacity)
    next.set(this.nextOfDevice)
    this.nextOfDevice = next
  }
}

function grown(from: Float64Array, capacity: number): Float64Array<ArrayBuffer> {
  const to = new Float64Array(capacity)
  to.set(from)
  return to
}

function mapOf<V>(maps: Map<ScopeId, Map<string, V>>, scope: ScopeId): Map<string, V> {
  let map = maps.get(scope)
  if (map === undefined) maps.set(scope, (map = new Map()))
  return map
}
