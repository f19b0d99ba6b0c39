import type { Profile } from '../model/device.ts'
import {
  profileCreatedAt,
  deviceIdField,
  fieldCount,
  isSameField,
  isText,
  readText,
  userIdField,
} from './packedFields.ts'
import { RowBytes } from '../runtime/rowBytes.ts'
import { textLength } from './profile.ts'
import { packProfile, SEGMENTS_FIELD, unpackProfile } from './profileCodec.ts'

/**
 * The profiles of one partition by row: an object while the device is active, packed bytes while it is idle.
 *
 * The obvious way keeps the bytes of each idle device in a separate array: two hundred bytes of objects for a hundred
 * and fifty of profile, and a million objects for the garbage collector. So they are in the chunks of
 * {@link RowBytes}.
 *
 * Owns: packing, what the profiles take. Does not own: the chunks (rowBytes.ts), which rows there are, look-ups.
 *
 * Invariants
 * - PROFILES-1: A row has an object or bytes, not both.
 */

/** The bytes of a record: its columns, its entries in look-ups, and an object or an entry of a chunk. */
const RECORD_BYTES = 350
/** Bytes of a place in which the device stays. */
const STAY_BYTES = 100
/** Bytes of the count of a kind of events, and of each time in it. */
const COUNT_BYTES = 120
const TIME_BYTES = 8
/**
 * A profile with more text than this is always packed, because the bytes are outside the heap of V8, whose size is
 * limited.
 */
const MAX_UNPACKED_TEXT = 16 * 1024
/** A profile with more stays than this is never packed, because unpacking it takes long. */
const MAX_PACKED_STAYS = 100

export class ProfileStore {
  /** The profiles of active devices. */
  readonly #active: (Profile | undefined)[] = []
  /** The profiles of idle devices. */
  readonly #idle = new RowBytes()
  /** The approximate bytes of each record, by row. */
  readonly #sizes: number[] = []
  /** Approximate bytes of the profiles that are not packed. */
  #unpackedBytes = 0
  /** If more bytes are unpacked than this, profiles are packed although their devices are active. */
  maxUnpackedBytes = Infinity

  /** Approximate bytes of the record; 0 if there is none. */
  bytesOf(row: number): number {
    return this.#sizes[row] ?? 0
  }

  /** The profile, which stays unpacked if there is room. Throws if there is none. */
  get(row: number): Profile {
    const known = this.#active[row]
    if (known !== undefined) return known
    const profile = this.#unpack(row)
    const bytes = unpackedBytesOf(profile)
    if (!this.#staysPacked(profile, bytes)) this.#keep(row, profile, bytes)
    return profile
  }

  /** The profile, without keeping an idle one unpacked. Throws if there is none. */
  peek(row: number): Profile {
    return this.#active[row] ?? this.#unpack(row)
  }

  set(row: number, profile: Profile): void {
    const bytes = unpackedBytesOf(profile)
    if (this.#staysPacked(profile, bytes)) this.setPacked(row, packProfile(profile))
    else this.#keep(row, profile, bytes)
  }

  #staysPacked({ visits }: Profile, bytes: number): boolean {
    if (visits.length > MAX_PACKED_STAYS) return false
    return (
      bytes > RECORD_BYTES + 2 * MAX_UNPACKED_TEXT + STAY_BYTES * visits.length ||
      this.#unpackedBytes + bytes > this.maxUnpackedBytes
    )
  }

  /**
   * Keeps an object.
   * @param bytes the approximate size of the profile
   */
  #keep(row: number, profile: Profile, bytes: number): void {
    this.#letGo(row)
    this.#size(row, bytes)
    this.#active[row] = profile
    this.#unpackedBytes += bytes
  }

  /** Stores the size of a record. It leaves no gaps in the arrays, which would make V8 keep them as dictionaries. */
  #size(row: number, bytes: number): void {
    while (this.#sizes.length <= row) {
      this.#sizes.push(0)
      this.#active.push(undefined)
    }
    this.#sizes[row] = bytes
  }

  /** Empties the row. */
  #letGo(row: number): void {
    this.#idle.delete(row)
    this.#letGoActive(row)
  }

  #letGoActive(row: number): void {
    if (!this.isUnpacked(row)) return
    this.#active[row] = undefined
    this.#unpackedBytes -= this.#sizes[row]!
  }

  /** Puts a packed profile, which is copied. */
  setPacked(row: number, packed: Uint8Array): void {
    this.#letGoActive(row)
    this.#size(row, RECORD_BYTES + packed.length)
    this.#idle.set(row, packed, packed.length)
  }

  delete(row: number): void {
    this.#letGo(row)
    this.#size(row, 0)
  }

  /** Whether there is a profile that is not packed. */
  isUnpacked(row: number): boolean {
    return this.#active[row] !== undefined
  }

  pack(row: number): void {
    const profile = this.#active[row]
    if (profile !== undefined) this.setPacked(row, packProfile(profile))
  }

  /** The profile as bytes; they are valid until the next call. */
  packed(row: number): Uint8Array {
    return this.#isPacked(row) ? this.#idle.bytes(row) : packProfile(this.peek(row))
  }

  #isPacked(row: number): boolean {
    return this.#idle.has(row)
  }

  deviceId(row: number): string {
    if (!this.#isPacked(row)) return this.peek(row).deviceId
    const bytes = this.#idle.buffer(row)
    return readText(bytes, deviceIdField(bytes, this.#idle.start(row)))!
  }

  userId(row: number): string | undefined {
    if (!this.#isPacked(row)) return this.peek(row).userId
    const bytes = this.#idle.buffer(row)
    return readText(bytes, userIdField(bytes, this.#idle.start(row)))
  }

  /** In epoch milliseconds. */
  createdAt(row: number): number {
    if (!this.#isPacked(row)) return this.peek(row).createdAt
    return profileCreatedAt(this.#idle.buffer(row), this.#idle.start(row))
  }

  isOfDevice(row: number, deviceId: string): boolean {
    if (!this.#isPacked(row)) return this.peek(row).deviceId === deviceId
    const bytes = this.#idle.buffer(row)
    return isText(bytes, deviceIdField(bytes, this.#idle.start(row)), deviceId)
  }

  isOfUser(row: number, userId: string): boolean {
    if (!this.#isPacked(row)) return this.peek(row).userId === userId
    const bytes = this.#idle.buffer(row)
    return isText(bytes, userIdField(bytes, this.#idle.start(row)), userId)
  }

  /** Whether a packed profile contains these bytes anywhere; always true for one that is not packed. */
  mayMention(row: number, bytes: Buffer): boolean {
    return !this.#isPacked(row) || this.#idle.bytes(row).includes(bytes)
  }

  /** Whether a packed profile has anything about segments; always true for one that is not packed. */
  mayBeInSegment(row: number): boolean {
    return !this.#isPacked(row) || fieldCount(this.#idle.buffer(row), this.#idle.start(row)) > SEGMENTS_FIELD
  }

  /** Whether the record belongs to the user that the packed profile names, or to no user if it names none. */
  isOfUserIn(row: number, packed: Buffer): boolean {
    const field = userIdField(packed, 0)
    if (!this.#isPacked(row)) return this.peek(row).userId === readText(packed, field)
    const bytes = this.#idle.buffer(row)
    return isSameField(bytes, userIdField(bytes, this.#idle.start(row)), packed, field)
  }

  #unpack(row: number): Profile {
    if (!this.#isPacked(row)) throw new Error(`device row ${row} is free`)
    return unpackProfile(this.#idle.bytes(row))
  }
}

/** The approximate bytes of a profile's object. The text counts twice, because the user's JSON is kept for answers. */
function unpackedBytesOf(profile: Profile): number {
  const { counts } = profile.segments
  const times = counts.reduce((sum, one) => sum + one.times.length, 0)
  const counted = COUNT_BYTES * counts.length + TIME_BYTES * times
  return RECORD_BYTES + STAY_BYTES * profile.visits.length + counted + 2 * textLength(profile)
}
