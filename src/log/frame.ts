/**
 * Layout of one frame, little-endian, aligned to 32 bytes in its file:
 *
 *     0  u32 magic "RFfr"        32  payload, then zeros up to the tail
 *     4  u32 payload bytes        …  u32 CRC-32 of payload and zeros, seeded with the header's CRC
 *     8  u64 offset             …  u32 "TAIL"
 *    16  u32 flags: 1 = masked
 *    20  u32 0
 *    24  u32 CRC-32 of bytes 0–23, seeded with the store's id
 *    28  u32 "HEAD"
 *
 * Recovery must tell a frame that was cut off while it was written (never acknowledged: dropped) from one that was
 * damaged later (perhaps acknowledged: refused). Disks write whole sectors of 512 bytes, and an unwritten part of a
 * segment reads as zeros. Hence four properties:
 * - A header never crosses a sector (32 divides 512), so it is there whole or not at all. A write that the system cut
 *   short may end anywhere: then "HEAD" or "TAIL", which are written last, are incomplete.
 * - No written sector is ever blank, whatever the payload: a frame that would have a sector with fewer than two
 *   non-zero words is stored masked (XOR with a pseudo-random sequence). So a blank sector was never written.
 * - Each write but the last of a frame ends at the end of a sector: the system may bring a sector to the disk between two
 *   writes, and one with half of its bytes is not blank.
 * - No single flipped bit makes a sector blank or one of the words incomplete.
 */
import { crc32 } from 'node:zlib'

export const FRAME_HEADER_BYTES = 32
const TAIL_BYTES = 8
export const ALIGNMENT_BYTES = 32
const SECTOR_BYTES = 512
/** The most bytes of one frame. A batch is far below it. It limits what a reader allocates. */
export const MAX_PAYLOAD_BYTES = 256 * 1024 * 1024

const MAGIC = Buffer.from('RFfr').readUInt32LE(0)
const HEAD = Buffer.from('HEAD')
const TAIL = Buffer.from('TAIL')
const MASKED = 1
const TWO_32 = 2 ** 32
/** A larger frame is encoded in a separate buffer, so that it does not stay allocated for ever. */
const KEPT_BUFFER_BYTES = 4 * 1024 * 1024
/** How many bytes of a large frame are encoded in a step. */
const STEP_BYTES = 1024 * 1024

/** How many bytes a frame takes in its segment. */
export function frameBytes(payloadBytes: number): number {
  const bytes = FRAME_HEADER_BYTES + payloadBytes + TAIL_BYTES
  return Math.ceil(bytes / ALIGNMENT_BYTES) * ALIGNMENT_BYTES
}

/** The seed of the header CRCs of a store, so that a frame of another store is not accepted. */
export function storeSeed(storeId: string): number {
  return crc32(storeId)
}

/** Encodes frames of one store into a buffer that the next call overwrites. */
export class FrameEncoder {
  readonly #seed: number
  #kept = Buffer.alloc(64 * 1024)

  constructor(storeId: string) {
    this.#seed = storeSeed(storeId)
  }

  /**
   * Encodes a frame.
   * @param byteOffset where in its file the frame will be, which decides which of its bytes share a sector
   */
  encode(parts: readonly Uint8Array[], payloadBytes: number, offset: number, byteOffset: number): Buffer {
    const bytes = this.#copy(parts, payloadBytes)
    const tail = bytes.length - TAIL_BYTES
    const crc = this.#writeHeader(bytes, payloadBytes, offset, isSparse(bytes, 0, payloadBytes, byteOffset))
    if (isMasked(bytes)) mask(bytes, FRAME_HEADER_BYTES, tail, firstMask(crc))
    writeTail(bytes, crc32(bytes.subarray(FRAME_HEADER_BYTES, tail), crc))
    return bytes
  }

  /**
   * Encodes a large frame in steps, each of which takes a millisecond. The first one copies the parts.
   * @param byteOffset see {@link encode}
   * @param areKept whether nobody changes the parts until the frame is written. Then a single part is not copied, unless it is
   * masked: the system takes longer to provide so much new memory than everything else takes. What is copied is copied in steps
   * @returns the frame in pieces, in order, none of which ends within a sector but the last
   */
  *encodeInSteps(
    parts: readonly Uint8Array[],
    payloadBytes: number,
    offset: number,
    byteOffset: number,
    areKept = false,
  ): Generator<void, readonly Uint8Array[], undefined> {
    const [part] = parts
    if (areKept && part?.length === payloadBytes) {
      const bytes = Buffer.from(part.buffer, part.byteOffset, payloadBytes)
      if (!isSparse(bytes, FRAME_HEADER_BYTES, payloadBytes, byteOffset))
        return yield* this.#around(bytes, offset, byteOffset)
    }
    const bytes = areKept ? yield* this.#copyInSteps(parts, payloadBytes) : this.#copy(parts, payloadBytes)
    yield
    const tail = bytes.length - TAIL_BYTES
    let crc = this.#writeHeader(bytes, payloadBytes, offset, isSparse(bytes, 0, payloadBytes, byteOffset))
    let state = firstMask(crc)
    for (let from = FRAME_HEADER_BYTES; from < tail; from += STEP_BYTES) {
      yield
      const to = Math.min(tail, from + STEP_BYTES)
      if (isMasked(bytes)) state = mask(bytes, from, to, state)
      crc = crc32(bytes.subarray(from, to), crc)
    }
    writeTail(bytes, crc)
    return [bytes]
  }

  /**
   * An unmasked frame: a piece with its header, the payload as it is, and a piece with its tail. No sector of the file is in
   * two pieces, so the bytes of the payload that share one with the header or the tail are copied.
   */
  *#around(
    payload: Buffer,
    offset: number,
    byteOffset: number,
  ): Generator<void, readonly Uint8Array[], undefined> {
    const begin = byteOffset + FRAME_HEADER_BYTES
    const first = Math.min(payload.length, SECTOR_BYTES - (begin % SECTOR_BYTES))
    const last = payload.length - Math.min(payload.length - first, (begin + payload.length) % SECTOR_BYTES)
    const head = Buffer.alloc(FRAME_HEADER_BYTES + first)
    let crc = this.#writeHeader(head, payload.length, offset, false)
    head.set(payload.subarray(0, first), FRAME_HEADER_BYTES)
    for (let from = 0; from < payload.length; from += STEP_BYTES) {
      yield
      crc = crc32(payload.subarray(from, from + STEP_BYTES), crc)
    }
    const end = Buffer.alloc(frameBytes(payload.length) - FRAME_HEADER_BYTES - last)
    end.set(payload.subarray(last))
    writeTail(end, crc32(end.subarray(payload.length - last, end.length - TAIL_BYTES), crc))
    return [head, payload.subarray(first, last), end]
  }

  /** A frame with nothing but its payload and zeros up to the tail. */
  #copy(parts: readonly Uint8Array[], payloadBytes: number): Buffer {
    const bytes = this.#buffer(frameBytes(payloadBytes))
    let end = FRAME_HEADER_BYTES
    for (let i = 0; i < parts.length; i++) {
      const part = parts[i]!
      bytes.set(part, end)
      end += part.length
    }
    bytes.fill(0, end, bytes.length - TAIL_BYTES)
    return bytes
  }

  *#copyInSteps(parts: readonly Uint8Array[], payloadBytes: number): Generator<void, Buffer, undefined> {
    const bytes = this.#buffer(frameBytes(payloadBytes))
    let end = FRAME_HEADER_BYTES
    for (const part of parts) {
      for (let from = 0; from < part.length; from += STEP_BYTES) {
        const piece = part.subarray(from, from + STEP_BYTES)
        bytes.set(piece, end)
        end += piece.length
        yield
      }
    }
    bytes.fill(0, end, bytes.length - TAIL_BYTES)
    return bytes
  }

  /** Writes the header of a frame. Returns its CRC. */
  #writeHeader(bytes: Buffer, payloadBytes: number, offset: number, masked: boolean): number {
    bytes.writeUInt32LE(MAGIC, 0)
    bytes.writeUInt32LE(payloadBytes, 4)
    bytes.writeUInt32LE(offset % TWO_32, 8)
    bytes.writeUInt32LE(Math.floor(offset / TWO_32), 12)
    bytes.writeUInt32LE(masked ? MASKED : 0, 16)
    bytes.writeUInt32LE(0, 20)
    const crc = crc32(bytes.subarray(0, 24), this.#seed)
    bytes.writeUInt32LE(crc, 24)
    bytes.set(HEAD, 28)
    return crc
  }

  #buffer(size: number): Buffer {
    if (size > KEPT_BUFFER_BYTES) return Buffer.allocUnsafe(size)
    if (size > this.#kept.length) this.#kept = Buffer.alloc(2 ** Math.ceil(Math.log2(size)))
    return this.#kept.subarray(0, size)
  }
}

function isMasked(bytes: Buffer): boolean {
  return bytes.readUInt32LE(16) === MASKED
}

function writeTail(bytes: Buffer, crc: number): void {
  const tail = bytes.length - TAIL_BYTES
  bytes.writeUInt32LE(crc, tail)
  bytes.set(TAIL, tail + 4)
}

/** The contents of a complete header with a correct CRC. */
export interface FrameHeader {
  readonly offset: number
  readonly payloadBytes: number
  readonly masked: boolean
  /** The size of the frame, including header, padding and tail. */
  readonly size: number
  readonly crc: number
}

/** The header at `offset`, or undefined if there is no correct one. 32 bytes must be there. */
export function readHeader(bytes: Buffer, byteOffset: number, seed: number): FrameHeader | undefined {
  if (bytes.readUInt32LE(byteOffset) !== MAGIC || !isComplete(bytes, byteOffset + 28, HEAD)) return undefined
  const crc = bytes.readUInt32LE(byteOffset + 24)
  if (crc !== crc32(bytes.subarray(byteOffset, byteOffset + 24), seed)) return undefined
  const payloadBytes = bytes.readUInt32LE(byteOffset + 4)
  return {
    offset: bytes.readUInt32LE(byteOffset + 8) + bytes.readUInt32LE(byteOffset + 12) * TWO_32,
    payloadBytes,
    masked: bytes.readUInt32LE(byteOffset + 16) === MASKED,
    size: frameBytes(payloadBytes),
    crc,
  }
}

/** Whether the 32 bytes at `offset` are a header that was not written, or only partly. */
export function isHeaderUnwritten(bytes: Buffer, byteOffset: number): boolean {
  return isCutOff(bytes, byteOffset + 28, HEAD)
}

/** Whether payload and tail of the frame at `offset` are as they were written. All of it must be in `bytes`. */
export function isBodyWhole(bytes: Buffer, byteOffset: number, header: FrameHeader): boolean {
  const tail = byteOffset + header.size - TAIL_BYTES
  return (
    isComplete(bytes, tail + 4, TAIL) &&
    bytes.readUInt32LE(tail) === crc32(bytes.subarray(byteOffset + FRAME_HEADER_BYTES, tail), header.crc)
  )
}

/**
 * Whether a part of the frame at `offset` was never written: its tail is cut off, or a sector's share of it is blank.
 * `offset` must be the frame's offset in its file.
 */
export function isBodyUnwritten(bytes: Buffer, byteOffset: number, header: FrameHeader): boolean {
  const end = byteOffset + header.size
  if (isCutOff(bytes, end - 4, TAIL)) return true
  for (let from = byteOffset; from < end;) {
    const to = Math.min(end, from + SECTOR_BYTES - (from % SECTOR_BYTES))
    if (isBlank(bytes, from, to)) return true
    from = to
  }
  return false
}

/** The payload of a whole frame at `offset`: a view of `bytes`, unmasked in place. */
export function readPayload(bytes: Buffer, byteOffset: number, header: FrameHeader): Uint8Array {
  const from = byteOffset + FRAME_HEADER_BYTES
  if (header.masked) mask(bytes, from, byteOffset + header.size - TAIL_BYTES, firstMask(header.crc))
  return bytes.subarray(from, from + header.payloadBytes)
}

export function isBlank(bytes: Uint8Array, from: number, to: number): boolean {
  for (let i = from; i < to; i++) if (bytes[i] !== 0) return false
  return true
}

function isComplete(bytes: Uint8Array, byteOffset: number, word: Uint8Array): boolean {
  for (let i = 0; i < 4; i++) if (bytes[byteOffset + i] !== word[i]) return false
  return true
}

/** Whether the word consists of its first n bytes, n from 0 to 3, followed by zeros. */
function isCutOff(bytes: Uint8Array, byteOffset: number, word: Uint8Array): boolean {
  let written = 0
  while (written < 4 && bytes[byteOffset + written] === word[written]) written++
  return written < 4 && isBlank(bytes, byteOffset + written, byteOffset + 4)
}

/**
 * Whether a sector that holds neither the header nor the tail has fewer than two non-zero words.
 * @param bytes of the frame, up to the end of the payload at least
 * @param start which byte of the frame is the first of them
 */
function isSparse(bytes: Buffer, start: number, payloadBytes: number, byteOffset: number): boolean {
  const first = SECTOR_BYTES - (byteOffset % SECTOR_BYTES) - start
  const tail = frameBytes(payloadBytes) - TAIL_BYTES - start
  // Behind the payload there are zeros.
  const end = FRAME_HEADER_BYTES + payloadBytes - start
  for (let from = first; from + SECTOR_BYTES <= tail; from += SECTOR_BYTES) {
    const to = Math.min(from + SECTOR_BYTES, end - 3)
    let found = 0
    for (let i = from; i < to && found < 2; i += 4) {
      if (bytes.readUInt32LE(i) !== 0) found++
    }
    if (found < 2) return true
  }
  return false
}

/** The state of {@link mask} at the beginning of the payload of a frame. */
function firstMask(headerCrc: number): number {
  return headerCrc | 1
}

/** Masks with a xorshift32 sequence (Marsaglia 2003). It is its own inverse. Returns the state for what follows. */
function mask(bytes: Uint8Array, from: number, to: number, state: number): number {
  for (let i = from; i < to; i++) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    bytes[i] = bytes[i]! ^ (state & 255)
  }
  return state
}
