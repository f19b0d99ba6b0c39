import { roomFor } from './growth.ts'

/**
 * Bytes by row number, one after the other in chunks: millions of packed values only cost their bytes, and nothing
 * for the garbage collector.
 *
 * Owns: offsets, the sizes of chunks, the room of removed entries. Does not own: the meaning of the bytes, which rows exist.
 *
 * Invariants
 * - ROWS-1: An entry of a chunk is in use exactly as long as its row holds the entry's offset.
 * - ROWS-2: At least half of each chunk except the last is in use. Otherwise its entries are moved and the chunk is
 *   dropped.
 */

const CHUNK_BYTES = 64 * 1024
/** The size of the smallest chunks. The objects of a chunk take some hundred bytes besides. */
const LEAST_CHUNK_BYTES = 4 * 1024
/**
 * A new chunk has this share of the bytes of all chunks, but no more than {@link CHUNK_BYTES}. If all chunks were that large,
 * much of what a few hundred rows take would be empty.
 */
const CHUNK_SHARE = 1 / 8
/** The share of each chunk except the last that is always in use, and the one after {@link RowBytes.compact}. */
const LEAST_SHARE = 1 / 2
const COMPACT_SHARE = 7 / 8
/** Positions are counted in units of this many bytes, so that 32 bits can address 32 GiB. */
const UNIT_BYTES = 8
const UNITS_PER_CHUNK = CHUNK_BYTES / UNIT_BYTES
/** The bytes before each entry: its row and its length, u32 each. */
const HEADER_BYTES = 8
const FIRST_ROWS = 64
/** The position that stands for none. The first chunk begins with an unused unit. */
const NONE = 0

interface Chunk {
  readonly bytes: Buffer
  /** A view of the same bytes, because a Buffer's own methods for numbers take several times as long. */
  readonly view: DataView
  /** The end of the entries, in use or not. */
  end: number
  /** How many bytes the entries in use have. */
  used: number
}

export class RowBytes {
  #offsets = new Uint32Array(FIRST_ROWS)
  /** The chunks by number. The numbers of removed chunks are used again. */
  readonly #chunks: (Chunk | undefined)[] = []
  readonly #freeNumbers: number[] = []
  /** The bytes of all chunks. */
  #bytes = 0
  /** The number of the chunk that is being filled; −1 if there is none. */
  #last = -1

  has(row: number): boolean {
    return row < this.#offsets.length && this.#offsets[row] !== NONE
  }

  /** The buffer with the bytes of a row, valid until the next change. The row must have bytes. */
  buffer(row: number): Buffer {
    return this.#chunkOf(row).bytes
  }

  /** A view of {@link buffer}. */
  view(row: number): DataView {
    return this.#chunkOf(row).view
  }

  #chunkOf(row: number): Chunk {
    return this.#chunks[Math.floor(this.#offsets[row]! / UNITS_PER_CHUNK)]!
  }

  /** Where the bytes of a row begin in {@link buffer}. */
  start(row: number): number {
    return (this.#offsets[row]! % UNITS_PER_CHUNK) * UNIT_BYTES + HEADER_BYTES
  }

  /** How many bytes a row has. It must have some. */
  length(row: number): number {
    return this.view(row).getUint32(this.start(row) - HEADER_BYTES + 4, true)
  }

  /** All bytes of a row, valid until the next change. The row must have bytes. */
  bytes(row: number): Buffer {
    const from = this.start(row)
    return this.buffer(row).subarray(from, from + this.length(row))
  }

  /** Replaces the bytes of a row by a copy of the first `length` of `bytes`. */
  set(row: number, bytes: Uint8Array, length: number): void {
    if (row >= this.#offsets.length) this.#resize(roomFor(row + 1, this.#offsets.length))
    else if (this.has(row)) {
      const buffer = this.buffer(row)
      const from = this.start(row)
      const lengthAt = from - HEADER_BYTES + 4
      // Many values are replaced by one of the same length, for instance when a log is read.
      if (entryBytes(buffer.readUInt32LE(lengthAt)) === entryBytes(length)) {
        buffer.writeUInt32LE(length, lengthAt)
        buffer.set(bytes.subarray(0, length), from)
        return
      }
      this.delete(row)
    }
    this.#append(row, bytes, 0, length)
  }

  /** Removes the bytes of a row. Rows without bytes are ignored. */
  delete(row: number): void {
    if (!this.has(row)) return
    const offset = this.#offsets[row]!
    this.#offsets[row] = NONE
    const number = Math.floor(offset / UNITS_PER_CHUNK)
    const chunk = this.#chunks[number]!
    chunk.used -= entryBytes(chunk.bytes.readUInt32LE((offset % UNITS_PER_CHUNK) * UNIT_BYTES + 4))
    if (number !== this.#last) this.#tidy(number, LEAST_SHARE)
  }

  /** Makes room for this many rows. */
  expect(rows: number): void {
    if (rows > this.#offsets.length) this.#resize(rows)
  }

  /**
   * Moves entries together, so that of each chunk except the last at least seven eighths are in use. It yields after each
   * chunk that it has moved. Rows may change in the meantime.
   */
  *compact(): Generator<void> {
    const { length } = this.#chunks
    for (let number = 0; number < length; number++) {
      if (this.#chunks[number] === undefined || number === this.#last) continue
      if (this.#tidy(number, COMPACT_SHARE)) yield
    }
  }

  #append(row: number, bytes: Uint8Array, from: number, length: number): void {
    const size = entryBytes(length)
    const number = size > CHUNK_BYTES - UNIT_BYTES ? this.#newChunk(size + UNIT_BYTES) : this.#chunkWith(size)
    const chunk = this.#chunks[number]!
    const { end } = chunk
    chunk.bytes.writeUInt32LE(row, end)
    chunk.bytes.writeUInt32LE(length, end + 4)
    chunk.bytes.set(bytes.subarray(from, from + length), end + HEADER_BYTES)
    chunk.end += size
    chunk.used += size
    this.#offsets[row] = number * UNITS_PER_CHUNK + end / UNIT_BYTES
  }

  /** The last chunk, or a new one if that has no room for this many bytes. */
  #chunkWith(size: number): number {
    while (this.#last < 0 || !hasRoom(this.#chunks[this.#last]!, size)) {
      const full = this.#last
      const wanted = Math.max(size + UNIT_BYTES, LEAST_CHUNK_BYTES, this.#bytes * CHUNK_SHARE)
      this.#last = this.#newChunk(Math.min(wanted, CHUNK_BYTES) & ~(UNIT_BYTES - 1))
      // Entries may have been freed while the chunk was being filled.
      if (full >= 0) this.#tidy(full, LEAST_SHARE)
    }
    return this.#last
  }

  /** Creates a chunk. Returns its number. */
  #newChunk(size: number): number {
    const number = this.#freeNumbers.pop() ?? this.#chunks.length
    const bytes = Buffer.allocUnsafeSlow(size)
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#chunks[number] = { bytes, view, end: UNIT_BYTES, used: 0 }
    this.#bytes += size
    return number
  }

  /** Empties a chunk of which less than a share is in use. Returns whether it did. */
  #tidy(number: number, least: number): boolean {
    const { bytes, end, used } = this.#chunks[number]!
    if (used >= least * (end - UNIT_BYTES)) return false
    for (let at = UNIT_BYTES; at < end; at += entryBytes(bytes.readUInt32LE(at + 4))) {
      const row = bytes.readUInt32LE(at)
      if (this.#offsets[row] !== number * UNITS_PER_CHUNK + at / UNIT_BYTES) continue
      this.#append(row, bytes, at + HEADER_BYTES, bytes.readUInt32LE(at + 4))
    }
    this.#chunks[number] = undefined
    this.#bytes -= bytes.length
    this.#freeNumbers.push(number)
    return true
  }

  #resize(rows: number): void {
    const offsets = new Uint32Array(rows)
    offsets.set(this.#offsets)
    this.#offsets = offsets
  }
}

function hasRoom({ bytes, end }: Chunk, size: number): boolean {
  return end + size <= bytes.length
}

/** The size of an entry in its chunk, including the header. It is a multiple of {@link UNIT_BYTES}. */
function entryBytes(length: number): number {
  return (length + HEADER_BYTES + UNIT_BYTES - 1) & ~(UNIT_BYTES - 1)
}
