import type { Profile } from '../model/device.ts'
import {
  profileCreatedAt,
  deviceIdField,
  isSameField,
  isText,
  readText,
  userIdField,
} from './packedFields.ts'
import { textLength } from './profile.ts'
import { packProfile, unpackProfile } from './profileCodec.ts'

/**
 * The profiles of one partition by row: an object while the device is active, packed bytes while it is idle.
 *
 * The obvious way keeps the bytes of each idle device in a separate array: two hundred bytes of objects for a hundred
 * and fifty of profile, and a million objects for the garbage collector. Here they are stored one after the other in
 * chunks, and a row holds the number of their place.
 *
 * Owns: packing, the chunks. Does not own: which rows there are, look-ups.
 *
 * Invariants
 * - PROFILES-1: An entry of a chunk is in use exactly as long as its row holds the entry's place.
 * - PROFILES-2: At least half of each chunk except the last is in use. Otherwise its entries are moved and the chunk
 *   is dropped.
 */

const CHUNK_BYTES = 64 * 1024
/** Of a record: its columns, its entries in look-ups, an object or an entry of a chunk. */
const RECORD_BYTES = 350
/** Of a place in which the device stays. */
const STAY_BYTES = 100
/** A profile with more text is always packed: the bytes are outside the heap of V8, whose size is limited. */
const MAX_UNPACKED_TEXT = 16 * 1024
/** Unpacking one with more stays takes long. */
const MAX_PACKED_STAYS = 100
/** Before each packed profile: its row and its length in bytes, u32 each. */
const HEADER_BYTES = 8

/** A longer profile has its own chunk. */
interface Chunk {
  readonly bytes: Buffer
  /** Of the entries, in use or not. */
  end: number
  /** Of the entries in use. */
  used: number
}

export class ProfileStore {
  /** Of a packed profile, its place: the chunk's number times {@link CHUNK_BYTES}, plus the offset of its entry. */
  private readonly held: (Profile | number | undefined)[] = []
  /** By number; numbers of removed chunks are used again. */
  private readonly chunks: (Chunk | undefined)[] = []
  private readonly freeNumbers: number[] = []
  /** The chunk that is being filled; −1: none. */
  private last = -1
  /** By row, approximate bytes. */
  private readonly sizes: number[] = []
  /** Approximate bytes of the profiles that are not packed. */
  private unpackedBytes = 0
  /** Beyond it, profiles are packed although their devices are active. */
  maxUnpackedBytes = Infinity

  /** Approximate bytes of the record; 0 if there is none. */
  bytesOf(row: number): number {
    return this.sizes[row] ?? 0
  }

  /** The profile, which stays unpacked if there is room. Throws if there is none. */
  get(row: number): Profile {
    const held = this.held[row]
    if (typeof held === 'object') return held
    const profile = this.unpack(row, held)
    const bytes = unpackedBytesOf(profile)
    if (!this.staysPacked(profile, bytes)) this.keep(row, profile, bytes)
    return profile
  }

  /** The profile, without keeping an idle one unpacked. Throws if there is none. */
  peek(row: number): Profile {
    const held = this.held[row]
    return typeof held === 'object' ? held : this.unpack(row, held)
  }

  set(row: number, profile: Profile): void {
    const bytes = unpackedBytesOf(profile)
    if (this.staysPacked(profile, bytes)) this.setPacked(row, packProfile(profile))
    else this.keep(row, profile, bytes)
  }

  private staysPacked({ visits }: Profile, bytes: number): boolean {
    if (visits.length > MAX_PACKED_STAYS) return false
    return (
      bytes > RECORD_BYTES + 2 * MAX_UNPACKED_TEXT + STAY_BYTES * visits.length ||
      this.unpackedBytes + bytes > this.maxUnpackedBytes
    )
  }

  /** @param bytes of the profile, approximately */
  private keep(row: number, profile: Profile, bytes: number): void {
    this.letGo(row)
    this.held[row] = profile
    this.size(row, bytes)
    this.unpackedBytes += bytes
  }

  private size(row: number, bytes: number): void {
    while (this.sizes.length < row) this.sizes.push(0)
    this.sizes[row] = bytes
  }

  /** Empties the row. */
  private letGo(row: number): void {
    const held = this.held[row]
    this.held[row] = undefined
    if (typeof held === 'number') this.drop(held)
    else if (held !== undefined) this.unpackedBytes -= this.sizes[row]!
  }

  /** Puts a packed profile, which is copied. */
  setPacked(row: number, packed: Uint8Array): void {
    const held = this.held[row]
    if (typeof held === 'object') this.letGo(row)
    this.size(row, RECORD_BYTES + packed.length)
    if (typeof held === 'number') {
      const chunk = this.chunkOf(held)
      const at = held % CHUNK_BYTES
      // In a tail of the log, most rows come again with the same length.
      if (entryBytes(chunk.bytes.readUInt32LE(at + 4)) === entryBytes(packed.length)) {
        chunk.bytes.writeUInt32LE(packed.length, at + 4)
        chunk.bytes.set(packed, at + HEADER_BYTES)
        return
      }
      // Before the new one is appended, which may move entries in use.
      this.letGo(row)
    }
    this.held[row] = this.append(row, packed)
  }

  delete(row: number): void {
    this.letGo(row)
    this.size(row, 0)
  }

  /** Whether there is a profile that is not packed. */
  isUnpacked(row: number): boolean {
    return typeof this.held[row] === 'object'
  }

  pack(row: number): void {
    if (this.isUnpacked(row)) this.setPacked(row, packProfile(this.peek(row)))
  }

  /** The profile as bytes; they are valid until the next call. */
  packed(row: number): Uint8Array {
    const held = this.held[row]
    return typeof held === 'number' ? this.bytesAt(held) : packProfile(this.peek(row))
  }

  deviceId(row: number): string {
    const held = this.held[row]
    if (typeof held !== 'number') return this.peek(row).deviceId
    const { bytes } = this.chunkOf(held)
    return readText(bytes, deviceIdField(bytes, profileAt(held)))!
  }

  userId(row: number): string | undefined {
    const held = this.held[row]
    if (typeof held !== 'number') return this.peek(row).userId
    const { bytes } = this.chunkOf(held)
    return readText(bytes, userIdField(bytes, profileAt(held)))
  }

  /** Epoch milliseconds. */
  createdAt(row: number): number {
    const held = this.held[row]
    if (typeof held !== 'number') return this.peek(row).createdAt
    return profileCreatedAt(this.chunkOf(held).bytes, profileAt(held))
  }

  isOfDevice(row: number, deviceId: string): boolean {
    const held = this.held[row]
    if (typeof held !== 'number') return this.peek(row).deviceId === deviceId
    const { bytes } = this.chunkOf(held)
    return isText(bytes, deviceIdField(bytes, profileAt(held)), deviceId)
  }

  isOfUser(row: number, userId: string): boolean {
    const held = this.held[row]
    if (typeof held !== 'number') return this.peek(row).userId === userId
    const { bytes } = this.chunkOf(held)
    return isText(bytes, userIdField(bytes, profileAt(held)), userId)
  }

  /** Whether a packed profile contains these bytes anywhere; always true for one that is not packed. */
  mayMention(row: number, bytes: Buffer): boolean {
    const held = this.held[row]
    return typeof held !== 'number' || this.bytesAt(held).includes(bytes)
  }

  /** Whether the record belongs to the user that the packed profile names, or to no user if it names none. */
  isOfUserIn(row: number, packed: Buffer): boolean {
    const held = this.held[row]
    const field = userIdField(packed, 0)
    if (typeof held !== 'number') return this.peek(row).userId === readText(packed, field)
    const { bytes } = this.chunkOf(held)
    return isSameField(bytes, userIdField(bytes, profileAt(held)), packed, field)
  }

  private unpack(row: number, held: Profile | number | undefined): Profile {
    if (typeof held !== 'number') throw new Error(`device row ${row} is free`)
    return unpackProfile(this.bytesAt(held))
  }

  private bytesAt(place: number): Buffer {
    const { bytes } = this.chunkOf(place)
    const from = profileAt(place)
    return bytes.subarray(from, from + bytes.readUInt32LE(from - 4))
  }

  private chunkOf(place: number): Chunk {
    return this.chunks[Math.floor(place / CHUNK_BYTES)]!
  }

  /** Returns the entry's place. */
  private append(row: number, packed: Uint8Array): number {
    const size = entryBytes(packed.length)
    if (size > CHUNK_BYTES) return this.write(this.newChunk(size), row, packed)
    while (this.last < 0 || this.chunks[this.last]!.end + size > CHUNK_BYTES) {
      const full = this.last
      this.last = this.newChunk(CHUNK_BYTES)
      // For the entries that were freed while it was being filled.
      if (full >= 0) this.tidy(full)
    }
    return this.write(this.last, row, packed)
  }

  private write(number: number, row: number, packed: Uint8Array): number {
    const chunk = this.chunks[number]!
    const { bytes, end } = chunk
    bytes.writeUInt32LE(row, end)
    bytes.writeUInt32LE(packed.length, end + 4)
    bytes.set(packed, end + HEADER_BYTES)
    chunk.end += entryBytes(packed.length)
    chunk.used += entryBytes(packed.length)
    return number * CHUNK_BYTES + end
  }

  /** Returns its number. */
  private newChunk(size: number): number {
    const number = this.freeNumbers.pop() ?? this.chunks.length
    this.chunks[number] = { bytes: Buffer.allocUnsafeSlow(size), end: 0, used: 0 }
    return number
  }

  /** Marks the entry at a place as unused. */
  private drop(place: number): void {
    const chunk = this.chunkOf(place)
    chunk.used -= entryBytes(chunk.bytes.readUInt32LE((place % CHUNK_BYTES) + 4))
    const number = Math.floor(place / CHUNK_BYTES)
    if (number !== this.last) this.tidy(number)
  }

  /** Empties a chunk of which less than half is in use. */
  private tidy(number: number): void {
    const { bytes, end, used } = this.chunks[number]!
    if (2 * used >= end) return
    for (let at = 0; at < end; at += entryBytes(bytes.readUInt32LE(at + 4))) {
      const row = bytes.readUInt32LE(at)
      if (this.held[row] !== number * CHUNK_BYTES + at) continue
      const from = at + HEADER_BYTES
      this.held[row] = this.append(row, bytes.subarray(from, from + bytes.readUInt32LE(at + 4)))
    }
    this.chunks[number] = undefined
    this.freeNumbers.push(number)
  }
}

/** The text counts twice: the user's JSON is kept for answers. */
function unpackedBytesOf(profile: Profile): number {
  return RECORD_BYTES + STAY_BYTES * profile.visits.length + 2 * textLength(profile)
}

/** Where the profile of the entry at a place begins in its chunk. */
function profileAt(place: number): number {
  return (place % CHUNK_BYTES) + HEADER_BYTES
}

/** Of an entry in its chunk: a multiple of 8, so that one whose length changes a little can stay. */
function entryBytes(profileBytes: number): number {
  return (profileBytes + HEADER_BYTES + 7) & ~7
}
