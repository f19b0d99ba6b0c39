/** How many texts are cached. There are few enough to stay in the processor's cache. */
const SLOTS = 4096
/**
 * Longer texts are not cached. Device ids are longer, and there are as many as devices; looking one up would cost more
 * than creating it.
 */
const MAX_KEPT_LENGTH = 16

/** The initial hash of a text (FNV-1a). */
export const FIRST_HASH = 0x811c9dc5

/** Adds a character to the hash of a text. It must be printable ASCII. */
export function nextHash(hash: number, byte: number): number {
  return Math.imul(hash ^ byte, 0x01000193)
}

/** The final hash of a text, 31 bits, from what {@link nextHash} computed over all its characters. */
export function endHash(hash: number): number {
  return hash & 0x7fffffff
}

/** The hash of a text, 31 bits; −1 if a character is not printable ASCII. */
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
 * Creates strings from bytes and caches the short ones, because clients send the same few names over and over. A
 * cached string needs no memory and no garbage collection. If two texts share a slot, the later one stays.
 */
class Texts {
  readonly #kept: (string | undefined)[] = Array.from({ length: SLOTS })

  /**
   * The text of `bytes` from `start` to `end`, which must be printable ASCII.
   * @param hash the hash of the text
   */
  find(bytes: Buffer, start: number, end: number, hash: number): string {
    const length = end - start
    if (length === 0) return ''
    if (length > MAX_KEPT_LENGTH) return bytes.toString('latin1', start, end)
    // The low bits of this hash are the weakest.
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

/** One cache for the process. */
export const texts = new Texts()
