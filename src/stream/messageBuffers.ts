/** Smaller messages are copied into memory of their own, which costs little. */
const LEAST_BYTES = 16 * 1024
/** How many bytes are kept for later messages. */
const KEPT_BYTES = 16 * 1024 * 1024

/**
 * Memory for messages that wait for their turn, which is used again and again: memory that is new to the process costs
 * several times as much as the copy into it, and the garbage collector counts it besides.
 */
export class MessageBuffers {
  /** Buffers that nobody uses, by their length. */
  readonly #free = new Map<number, Buffer[]>()
  #freeBytes = 0

  /** How many bytes are kept for later messages. */
  get freeBytes(): number {
    return this.#freeBytes
  }

  /** Copies a message. */
  copy(bytes: Uint8Array): Buffer {
    if (bytes.length < LEAST_BYTES) return Buffer.from(bytes)
    const size = roundedUp(bytes.length)
    const free = this.#free.get(size)?.pop()
    if (free !== undefined) this.#freeBytes -= size
    const copy = (free ?? Buffer.allocUnsafeSlow(size)).subarray(0, bytes.length)
    copy.set(bytes)
    return copy
  }

  /** Takes back the memory of a {@link copy} that nobody uses any more. */
  release(copy: Buffer): void {
    // A smaller one shares its memory with others.
    if (copy.length < LEAST_BYTES) return
    const size = copy.buffer.byteLength
    if (this.#freeBytes + size > KEPT_BYTES) {
      // They may be of lengths that no longer come.
      this.#free.clear()
      this.#freeBytes = 0
    }
    const free = this.#free.get(size)
    if (free === undefined) this.#free.set(size, [Buffer.from(copy.buffer)])
    else free.push(Buffer.from(copy.buffer))
    this.#freeBytes += size
  }
}

/** A few lengths for all messages, so that memory is used again; at most a quarter of it is left over. */
function roundedUp(bytes: number): number {
  const step = 2 ** (Math.floor(Math.log2(bytes)) - 2)
  return Math.ceil(bytes / step) * step
}
