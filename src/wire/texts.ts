/** Texts that are kept: few enough to stay in the processor's cache. */
const SLOTS = 4096
/** Ids of devices are longer, and as many as there are devices: looking for one costs more than making it. */
const MAX_KEPT_LENGTH = 16

/** Begins the hash of a text (FNV-1a). */
export const FIRST_HASH = 0x811c9dc5

/** Goes on with the hash of a text; printable ASCII characters only. */
export function nextHash(hash: number, byte: number): number {
  return Math.imul(hash ^ byte, 0x01000193)
}

/** The hash of a text, 31 bits, out of what {@link nextHash} has made of all its characters. */
export function endHash(hash: number): number {
  return hash & 0x7fffffff
}

/** The hash of a text, 31 bits; −1 where one is no printable ASCII character. */
export function hashText(bytes: Buffer, start: number, end: number): number {
  let hash = FIRST_HASH
  for (let i = start; i < end; i++) {
    const byte = bytes[i]!
    if (byte < 0x20 || byte > 0x7e) return -1
    hash = nextHash(hash, byte)
  }
  return endHash(hash)
}

/**
 * Makes texts of bytes and keeps the short ones, because senders send the same few names over and over: a text that
 * exists needs no memory and no garbage collection. Of two texts that share a slot, it holds the later one.
 */
class Texts {
  readonly #kept: (string | undefined)[] = Array.from({ length: SLOTS })

  /**
   * The text of `bytes` from `start` to `end`, printable ASCII characters all.
   * @param hash of the text
   */
  find(bytes: Buffer, start: number, end: number, hash: number): string {
    const length = end - start
    if (length === 0) return ''
    if (length > MAX_KEPT_LENGTH) return bytes.toString('latin1', start, end)
    // The low bits of this hash are its worst.
    const slot = (hash ^ (hash >>> 15)) & (SLOTS - 1)
    const kept = this.#kept[slot]
    if (kept !== undefined && kept.length === length && isSame(kept, bytes, start)) return kept
    return (this.#kept[slot] = bytes.toString('latin1', start, end))
  }
}

function isSame(text: string, bytes: Buffer, start: number): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) !== bytes[start + i]) return false
  return true
}

/** One for all of the process. */
export const texts = new Texts()
