/** Bytes that are written and read number by number: LEB128 numbers, zigzag for signed ones, as in Protocol Buffers. */

const FIRST_BYTES = 256
/** Longer texts have a length of two bytes. */
const MOST_SHORT = 127
/** So many bytes are copied one by one faster than with a view of them. */
const MOST_COPIED = 64
const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** Writes into memory that grows by doubling. */
export class ByteWriter {
  #bytes = new Uint8Array(FIRST_BYTES)
  length = 0

  /** From 0 to 255. */
  byte(value: number): void {
    if (this.length === this.#bytes.length) this.#grow(1)
    this.#bytes[this.length++] = value
  }

  /** A whole number from 0 to 2^32 - 1. */
  number(value: number): void {
    if (this.length + 5 > this.#bytes.length) this.#grow(5)
    const bytes = this.#bytes
    let at = this.length
    let rest = value >>> 0
    while (rest > 127) {
      bytes[at++] = (rest & 127) | 128
      rest >>>= 7
    }
    bytes[at++] = rest
    this.length = at
  }

  /** A whole number from -2^31 to 2^31 - 1. */
  signed(value: number): void {
    this.number((value << 1) ^ (value >> 31))
  }

  /** Eight bytes. */
  double(value: number): void {
    const bytes = new Uint8Array(8)
    new DataView(bytes.buffer).setFloat64(0, value, true)
    this.raw(bytes)
  }

  /** Writes a text, with its length before it. */
  text(text: string): void {
    if (!this.#shortText(text)) this.bytes(encoder.encode(text))
  }

  /** Most texts are short and of ASCII, which is written faster without the encoder. @returns whether it was written */
  #shortText(text: string): boolean {
    const { length } = text
    if (length > MOST_SHORT) return false
    if (this.length + 1 + length > this.#bytes.length) this.#grow(1 + length)
    const from = this.length + 1
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i)
      if (code > 127) return false
      this.#bytes[from + i] = code
    }
    this.#bytes[this.length] = length
    this.length = from + length
    return true
  }

  /** Writes bytes, with their length before them. */
  bytes(bytes: Uint8Array): void {
    this.number(bytes.length)
    this.raw(bytes)
  }

  /** Writes what another writer has, with its length before it. */
  content(other: ByteWriter): void {
    const { length } = other
    this.number(length)
    if (this.length + length > this.#bytes.length) this.#grow(length)
    if (length > MOST_COPIED) this.#bytes.set(other.written(), this.length)
    else for (let i = 0; i < length; i++) this.#bytes[this.length + i] = other.#bytes[i]!
    this.length += length
  }

  raw(bytes: Uint8Array): void {
    if (this.length + bytes.length > this.#bytes.length) this.#grow(bytes.length)
    this.#bytes.set(bytes, this.length)
    this.length += bytes.length
  }

  /** What was written. It is only valid until more is written. */
  written(): Uint8Array {
    return this.#bytes.subarray(0, this.length)
  }

  /** Empties the writer, and keeps its memory. */
  clear(): this {
    this.length = 0
    return this
  }

  #grow(more: number): void {
    const grown = new Uint8Array(Math.max(2 * this.#bytes.length, this.length + more))
    grown.set(this.written())
    this.#bytes = grown
  }
}

/**
 * The inverse of {@link ByteWriter}. Reading beyond the end gives zeros, because what is read was written by this
 * program.
 */
export class ByteReader {
  readonly #bytes: Uint8Array
  at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  number(): number {
    let byte = this.#bytes[this.at++] ?? 0
    if (byte < 128) return byte
    let value = byte & 127
    for (let shift = 7; byte > 127 && shift < 35; shift += 7) {
      byte = this.#bytes[this.at++] ?? 0
      value |= (byte & 127) << shift
    }
    return value >>> 0
  }

  signed(): number {
    const value = this.number()
    return (value >>> 1) ^ -(value & 1)
  }

  /** Bytes with a length before them. */
  bytes(): Uint8Array {
    const length = this.number()
    return this.#bytes.subarray(this.at, (this.at += length))
  }

  /**
   * Skips bytes with a length.
   * @returns their position, for {@link textAt}
   */
  skipBytes(): number {
    const { at } = this
    const length = this.number()
    this.at += length
    return at
  }

  /** A text that was skipped. */
  textAt(place: number): string {
    const { at } = this
    this.at = place
    const length = this.number()
    const text = decoder.decode(this.#bytes.subarray(this.at, this.at + length))
    this.at = at
    return text
  }
}

/**
 * Writes signed numbers in two columns: the first byte of each, and the other bytes of those that have more. Most
 * numbers of a line have one byte, and are compressed better without the others in between.
 */
export class SplitWriter {
  readonly first = new ByteWriter()
  readonly rests = new ByteWriter()

  /** A whole number from -2^31 to 2^31 - 1. */
  signed(value: number): void {
    const unsigned = ((value << 1) ^ (value >> 31)) >>> 0
    if (unsigned < 128) {
      this.first.byte(unsigned)
      return
    }
    this.first.byte((unsigned & 127) | 128)
    this.rests.number(unsigned >>> 7)
  }
}

/** The inverse of {@link SplitWriter}. */
export class SplitReader {
  readonly #first: Uint8Array
  readonly #rests: ByteReader
  #at = 0

  constructor(first: Uint8Array, rests: Uint8Array) {
    this.#first = first
    this.#rests = new ByteReader(rests)
  }

  signed(): number {
    const byte = this.#first[this.#at++] ?? 0
    const value = byte < 128 ? byte : ((this.#rests.number() << 7) | (byte & 127)) >>> 0
    return (value >>> 1) ^ -(value & 1)
  }
}
