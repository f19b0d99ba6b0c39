/** Texts that are kept: for some hundred thousand devices, a few megabytes. */
const SLOTS = 1 << 17
/** Longer ones are made anew each time. */
const MAX_KEPT_LENGTH = 64

/**
 * Makes texts of bytes and keeps them, because senders send the same few names over and over: a text that exists needs no
 * memory and no garbage collection, and maps know its hash. What two texts share a slot for, the later one takes.
 */
class Texts {
  readonly #kept: (string | undefined)[] = Array.from({ length: SLOTS })

  /** The text of `bytes` from `start` to `end`; undefined where one is no printable ASCII character. */
  read(bytes: Buffer, start: number, end: number): string | undefined {
    let hash = 0x811c9dc5
    for (let i = start; i < end; i++) {
      const byte = bytes[i]!
      if (byte < 0x20 || byte > 0x7e) return undefined
      hash = Math.imul(hash ^ byte, 0x01000193)
    }
    const length = end - start
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

/** One for all streams. */
export const texts = new Texts()
