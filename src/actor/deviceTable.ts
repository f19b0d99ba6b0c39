import type { Profile } from '../model/device.ts'
import type { PlaceStays } from '../model/place.ts'
import type { ScopeId } from '../model/scope.ts'
import type { Sender, Update } from '../model/update.ts'
import { placesWith } from '../rules/placeStep.ts'
import { movedMeters } from '../rules/safeZone.ts'
import { Fifo } from '../runtime/fifo.ts'
import type { ActorTable } from './actorType.ts'
import type { FrameBytes, FrameWriter } from './commitCodec.ts'
import { DeviceChains } from './deviceChains.ts'
import { DeviceColumns, OF_DEVICE } from './deviceColumns.ts'
import { FLAG_IGNORED } from './deviceFlags.ts'
import { MemoryShare, type DeviceMemory } from './deviceMemory.ts'
import { readDeviceRow, writeWhole } from './deviceRows.ts'
import { HeadRests } from './headRests.ts'
import { LastSenders } from './lastSenders.ts'
import { PlacesAside } from './placesAside.ts'
import type { HeadRest } from './port.ts'
import { profileWithFirst, profileWithPlaces } from './profile.ts'
import { ProfileStore } from './profileStore.ts'

/**
 * The user records of one partition: numbers in columns (deviceColumns.ts), the rest as profiles (profileStore.ts).
 *
 * Owns: rows, their reuse, and that profiles, columns, look-ups (deviceChains.ts) and senders (lastSenders.ts) agree.
 * Does not own: what an update means, durability.
 *
 * Invariants
 * - DEVICES-1: A row number names one record for as long as the record exists. A freed row is not reused within the
 *   same second, so the id that is derived from (second, partition, row) stays unique.
 * - DEVICES-2: The records of one device form a chain that starts at its entry in the look-up. So do the records of a
 *   user who has a userId.
 */

/** The fields of the reply that rarely change. */
export interface UserHead {
  /** Finished JSON up to the beacons, made by userRecord.ts; or its bytes, see `UserParts.areBytes`. */
  readonly json: string
  readonly areBytes?: boolean
  /** What follows it. */
  readonly rest: HeadRest
}

/** Those that are kept. */
export interface ReplyHead extends UserHead {
  /** The registry revision with which the JSON was made. */
  readonly revision: number
  /** The server time from which the JSON is no longer valid. */
  readonly until: number
}

/** What {@link DeviceTable.fetch} reads of an update. */
interface Fetched {
  readonly update: Pick<Update, 'sender' | 'latitude' | 'longitude'>
}

const FREED_ROW_REST_MS = 2000

export class DeviceTable extends DeviceColumns implements ActorTable {
  /** How many rows were ever used. Some of them may be free. */
  length = 0
  /** Records that exist. */
  count = 0

  /** A value without a meaning, from {@link fetch}: so the compiler keeps the loads. */
  fetched = 0

  readonly #profiles = new ProfileStore()
  readonly #memory = new MemoryShare()
  /** The finished beginnings of replies by row. One is dropped whenever its profile changes. */
  readonly replyHead: (ReplyHead | undefined)[] = []
  /** Their second parts, which mostly outlive the first ones. */
  readonly headRests = new HeadRests()
  readonly #senders = new LastSenders(this)
  /**
   * What rows of the log say last about the first candidate of places, until the profile of the record is needed: reading and
   * writing a profile takes as long as evaluating an update.
   */
  readonly #firsts = new Map<number, PlaceStays['first']>()
  /** The places of records whose first candidate is another one than in the profile. */
  readonly placesAside = new PlacesAside()
  readonly #chains = new DeviceChains(this, this.#profiles)
  readonly #freed = new Fifo<{ readonly row: number; readonly at: number }>()

  limitUnpacked(bytes: number): void {
    this.#profiles.maxUnpackedBytes = bytes
  }

  /** Approximate bytes of all records. */
  get bytes(): number {
    return this.#memory.bytes
  }

  /** See {@link MemoryShare.countIn}. */
  countIn(memory: DeviceMemory): void {
    this.#memory.countIn(memory)
  }

  /** Whether there is room for another record; see {@link DeviceMemory.hasRoom}. */
  hasRoom(scope: ScopeId): boolean {
    return this.#memory.hasRoom(scope)
  }

  /** Approximate bytes of a record. */
  bytesOf(row: number): number {
    return this.#profiles.bytesOf(row)
  }

  /** Whether the last update was too inaccurate to touch any geofence. */
  isIgnored(row: number): boolean {
    return (this.flags(row) & FLAG_IGNORED) !== 0
  }

  /** The first record of the device; −1 if it has none. */
  firstOf(scope: ScopeId, deviceId: string): number {
    return this.#chains.firstOf(scope, deviceId)
  }

  /** The next record of the same device; −1 if this is the last. */
  nextOf(row: number): number {
    return this.next(OF_DEVICE, row)
  }

  /**
   * The device's only record, if its last update came from this same sender and, with a stream, in the same stream
   * with a lower number; −1 if it must be looked up.
   */
  rowOf(sender: Sender | undefined, stream: string | undefined, sequence: number | undefined): number {
    return this.#senders.rowOf(sender, stream, sequence)
  }

  /**
   * Loads what updates of these senders read first into the processor's cache. One after the other, each update would wait
   * for memory two or three times; here the waits overlap, because no load depends on another.
   */
  fetch(updates: readonly Fetched[]): void {
    const senders = this.#senders
    let sum = 0
    for (let i = 0; i < updates.length; i++) {
      const row = updates[i]!.update.sender?.hint ?? -1
      if (row < 0 || row >= senders.length) continue
      sum +=
        this.anyOf(row) + (senders.at(row) === undefined ? 1 : 0) + (this.#profiles.isUnpacked(row) ? 1 : 0)
    }
    this.fetched = sum
  }

  /** The same for what is read of devices that have left their zones. It must come after {@link fetch}. */
  fetchEvaluated(updates: readonly Fetched[]): void {
    const senders = this.#senders
    const { kindZones, placesAside, candidateCache } = this
    const passes = kindZones.areUsed
    let sum = 0
    for (let i = 0; i < updates.length; i++) {
      const { update } = updates[i]!
      const row = update.sender?.hint ?? -1
      if (row < 0 || row >= senders.length) continue
      const { latitude, longitude } = update
      const cosine = this.zoneCosine(row)
      const moved = movedMeters(this.zoneLatitude(row), this.zoneLongitude(row), cosine, latitude, longitude)
      if (moved <= this.zoneRadius(row)) continue
      sum += candidateCache.anyOf(row)
      if (passes) sum += kindZones.anyOf(row) + placesAside.anyOf(row)
    }
    this.fetched = sum
  }

  /**
   * Stores the sender of a record's last update, and its stream.
   * @param sender undefined if it is not a shared one, or the device has other records
   */
  remember(row: number, sender: Sender | undefined, stream: string | undefined): void {
    if (sender === undefined) this.#senders.forget(row)
    else this.#senders.put(row, sender, stream)
  }

  /** The records of a user, in no order. */
  rowsOfUser(scope: ScopeId, userId: string): readonly number[] {
    return this.#chains.rowsOfUser(scope, userId)
  }

  exists(row: number): boolean {
    return row < this.length && this.scope(row) >= 0
  }

  /** Whether the profile is an object, and not bytes. */
  isUnpacked(row: number): boolean {
    return this.#profiles.isUnpacked(row)
  }

  /** The profile, which stays unpacked. */
  profile(row: number): Profile {
    this.#settle(row)
    return this.activeProfile(row)
  }

  /**
   * The profile, which stays unpacked. The number of its newest mark may be old, and the first candidate of its places: writing
   * them into the profile takes about as long as a usual update.
   */
  activeProfile(row: number): Profile {
    if (this.#firsts.size > 0 && this.#firsts.has(row)) this.#settle(row)
    if (this.#profiles.isUnpacked(row)) return this.#profiles.get(row)
    const before = this.#profiles.bytesOf(row)
    const profile = this.#profiles.get(row)
    this.#countBytes(row, this.scope(row), before)
    return profile
  }

  /** The places of a record. */
  placesOf(row: number): PlaceStays {
    return this.placesAside.of(row) ?? this.activeProfile(row).places
  }

  /** The places of a record, but the first candidate may be an older one. */
  olderPlacesOf(row: number): PlaceStays {
    return this.placesAside.olderOf(row) ?? this.activeProfile(row).places
  }

  /** The `_id` of the place that is the first candidate; undefined if there is none. */
  firstIdOf(row: number): string | undefined {
    const { placesAside } = this
    const isAside = placesAside.olderOf(row) !== undefined
    return isAside ? placesAside.firstOf(row) : this.activeProfile(row).places.first?.id
  }

  /** `_id` of the user. */
  recordId(row: number): string {
    return this.activeProfile(row).id
  }

  /** The profile. If it was packed, it stays packed; this is for scans. */
  peek(row: number): Profile {
    this.#settle(row)
    return this.#profiles.peek(row)
  }

  /**
   * The profile like {@link peek}, but the number of its newest mark and the first candidate of its places may be old.
   * It is for code that runs for every update.
   */
  peekUnsettled(row: number): Profile {
    return this.#profiles.peek(row)
  }

  /**
   * False if the profile contains no such id (24 hex) of a geofence or beacon; true if it may. It is for scans, which
   * would otherwise unpack every idle profile.
   */
  mayMention(row: number, id: Buffer): boolean {
    return this.#profiles.mayMention(row, id)
  }

  /** False if the user belongs to no segment; true if the user may. It is for scans. */
  mayBeInSegment(row: number): boolean {
    return this.#profiles.mayBeInSegment(row)
  }

  /** Reserves room for this many records at once, instead of doubling again and again. */
  expect(records: number): void {
    if (records === 0) return
    this.reserve(records - 1)
    this.#chains.expect(records)
  }

  /** A row number for a new record; `now` is the server's time. */
  allocate(now: number): number {
    const oldest = this.#freed.first
    if (oldest !== undefined && now - oldest.at >= FREED_ROW_REST_MS) {
      this.#freed.shift()
      return oldest.row
    }
    return this.length
  }

  /** Takes back an allocated row that was not used. */
  giveBack(row: number, now: number): void {
    if (row < this.length) this.#freed.push({ row, at: now })
  }

  /** Puts a record into a row, new or replaced; the caller writes the columns of position and time. */
  setProfile(row: number, scope: ScopeId, profile: Profile): void {
    const isNew = this.#open(row, scope)
    const userBefore = isNew ? undefined : this.#profiles.userId(row)
    const before = this.#profiles.bytesOf(row)
    this.#forgetFirst(row)
    this.#profiles.set(row, profile)
    this.#countBytes(row, scope, before)
    this.setSequence(row, -1)
    this.candidateCache.forgetStays(row)
    if (!this.isUnpacked(row)) this.headRests.forget(row)
    this.#relink(row, scope, isNew, userBefore)
  }

  /**
   * Changes only the place that is first among the candidates. Neither look-ups nor replies depend on it, so they stay
   * as they are. The profile is changed when it is needed.
   * @param places those of the record, with that first candidate
   */
  setFirst(row: number, places: PlaceStays): void {
    const profile = this.activeProfile(row)
    if (!this.#profiles.isUnpacked(row)) return this.#replace(row, profileWithPlaces(profile, places))
    const { first } = places
    this.placesAside.put(row, places, first?.id, first?.since ?? 0, this.capacity)
  }

  /**
   * Like {@link setFirst}, without an object.
   * @param id undefined if there is no candidate
   * @param since the time since which it is the first, in epoch milliseconds
   */
  passFirst(row: number, id: string | undefined, since: number): void {
    const { placesAside } = this
    const places = this.olderPlacesOf(row)
    if (this.#profiles.isUnpacked(row)) return placesAside.put(row, places, id, since, this.capacity)
    this.setFirst(row, placesWith({ ...places, first: id === undefined ? undefined : { id, since } }))
  }

  /** Like {@link setFirst}, but does not even unpack the profile: a start reads a million of them. */
  readFirst(row: number, first: PlaceStays['first']): void {
    this.#firsts.set(row, first)
  }

  #forgetFirst(row: number): void {
    this.#firsts.delete(row)
    this.placesAside.forget(row)
  }

  /**
   * Like {@link setProfile} for a packed profile, which is copied and stays packed: a start reads a million of them.
   */
  setPacked(row: number, scope: ScopeId, packed: Buffer): void {
    const isNew = this.#open(row, scope)
    // If the record exists and stays with its user, nothing else changes.
    const isKnown = !isNew && this.#profiles.isOfUserIn(row, packed)
    const userBefore = isNew || isKnown ? undefined : this.#profiles.userId(row)
    const before = this.#profiles.bytesOf(row)
    this.#forgetFirst(row)
    this.#profiles.setPacked(row, packed)
    this.#countBytes(row, scope, before)
    this.setSequence(row, -1)
    this.candidateCache.forgetStays(row)
    this.headRests.forget(row)
    if (isKnown) this.replyHead[row] = undefined
    else this.#relink(row, scope, isNew, userBefore)
  }

  /** Removes a record; `now` is the server's time. */
  remove(row: number, now: number): void {
    const scope = this.scope(row)
    this.#chains.unlink(row, scope)
    const before = this.#profiles.bytesOf(row)
    this.#forgetFirst(row)
    this.#profiles.delete(row)
    this.#countBytes(row, scope, before)
    this.replyHead[row] = undefined
    this.headRests.forget(row)
    this.#senders.forget(row)
    this.free(row)
    this.count--
    this.#freed.push({ row, at: now })
  }

  readRow(frame: FrameBytes, at: number, end: number, time: number): void {
    readDeviceRow(this, frame, at, end, time)
  }

  writeAll(writer: FrameWriter): void {
    for (let row = 0; row < this.length; row++)
      if (this.exists(row)) writeWhole(writer, this, row, this.packedProfile(row))
  }

  /** Collects the free rows. */
  recovered(now: number): void {
    this.#freed.clear()
    for (let row = 0; row < this.length; row++) if (this.scope(row) < 0) this.#freed.push({ row, at: now })
  }

  /**
   * Packs the profiles of devices that have not reported for a while.
   * @param before the server's time since which they have not, in epoch milliseconds
   * @param from the first row that is looked at
   * @param to the row after the last one
   * @returns how many were packed
   */
  packIdle(before: number, from = 0, to = Infinity): number {
    let packed = 0
    for (let row = from; row < Math.min(to, this.length); row++) {
      if (!this.#profiles.isUnpacked(row) || this.receivedAt(row) >= before) continue
      this.#settle(row)
      const bytes = this.#profiles.bytesOf(row)
      this.#profiles.pack(row)
      this.#countBytes(row, this.scope(row), bytes)
      this.replyHead[row] = undefined
      this.headRests.forget(row)
      this.#senders.forget(row)
      packed++
    }
    return packed
  }

  /** The profile as bytes, without unpacking an idle one; they are valid until the next call. */
  packedProfile(row: number): Uint8Array {
    this.#settle(row)
    return this.#profiles.packed(row)
  }

  /**
   * Writes into the profile what is ahead of it: the first candidate, and the newest mark's number. An idle
   * profile stays packed.
   */
  #settle(row: number): void {
    const places = this.placesAside.of(row)
    if (places !== undefined) {
      this.placesAside.forget(row)
      this.#replace(row, profileWithPlaces(this.#profiles.peek(row), places))
    } else if (this.#firsts.size > 0 && this.#firsts.has(row)) {
      const first = this.#firsts.get(row)
      this.#firsts.delete(row)
      this.#replace(row, profileWithFirst(this.#profiles.peek(row), first))
    }
    const sequence = this.sequence(row)
    if (!(sequence >= 0) || !this.exists(row)) return
    const profile = this.#profiles.peek(row)
    const mark = profile.marks.at(-1)
    if (mark === undefined || mark.sequence >= sequence) return
    const marks = [...profile.marks.slice(0, -1), { stream: mark.stream, sequence }]
    this.#replace(row, { ...profile, marks })
  }

  /** Replaces the profile by one of the same device and user. If it was packed, it stays packed. */
  #replace(row: number, profile: Profile): void {
    const isIdle = !this.#profiles.isUnpacked(row)
    const before = this.#profiles.bytesOf(row)
    this.#profiles.set(row, profile)
    if (isIdle) this.#profiles.pack(row)
    this.#countBytes(row, this.scope(row), before)
  }

  /**
   * Counts a record that has changed.
   * @param before the record's bytes before the change
   */
  #countBytes(row: number, scope: ScopeId, before: number): void {
    this.#memory.add(scope, this.#profiles.bytesOf(row) - before)
  }

  /** Makes room for a record; returns whether it is a new one. */
  #open(row: number, scope: ScopeId): boolean {
    this.reserve(row)
    for (; this.length <= row; this.length++) {
      this.free(this.length)
      this.#profiles.delete(this.length)
    }
    if (this.exists(row)) return false
    this.count++
    this.take(row, scope)
    return true
  }

  /** Updates chains, columns and replies after a profile was put. */
  #relink(row: number, scope: ScopeId, isNew: boolean, userBefore: string | undefined): void {
    this.#chains.linkUser(row, scope, userBefore)
    if (isNew) {
      this.#chains.linkDevice(row, scope)
      // If a device has several records, none of them is its only one.
      for (let other = row; other >= 0; other = this.nextOf(other)) this.#senders.forget(other)
    }
    this.setCreatedAt(row, this.#profiles.createdAt(row))
    this.replyHead[row] = undefined
  }
}
