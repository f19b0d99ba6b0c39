/**
 * A hash of names that senders choose: HalfSipHash-1-3 (Aumasson, Bernstein 2012; its 32-bit form of 2016) with a key
 * drawn at the start of the process, so that nobody can send a million names that collide in a hash table.
 */

/** Drawn once: all hashes of one process have the same key, which is secret. */
const [KEY_0, KEY_1] = crypto.getRandomValues(new Int32Array(2)) as unknown as [number, number]
const ROUNDS_AT_THE_END = 3

/**
 * The hash of the four bytes of `scope`, followed by the text in UTF-16LE, under the key.
 * @returns a signed 32-bit number
 */
export function nameHash(scope: number, text: string, key0 = KEY_0, key1 = KEY_1): number {
  let v0 = key0
  let v1 = key1
  let v2 = key0 ^ 0x6c796765
  let v3 = key1 ^ 0x74656462
  const { length } = text
  // The words of the message are the scope, two characters each, and the rest with the length. The final rounds
  // follow.
  const last = (length >> 1) + 1
  let word = scope
  for (let i = 0, at = 0; i <= last + ROUNDS_AT_THE_END; i++) {
    v3 ^= word
    v0 = (v0 + v1) | 0
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
    v0 = (v0 << 16) | (v0 >>> 16)
    v2 = (v2 + v3) | 0
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
    v0 = (v0 + v3) | 0
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
    v2 = (v2 + v1) | 0
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
    v2 = (v2 << 16) | (v2 >>> 16)
    v0 ^= word
    if (i + 1 < last) {
      word = text.charCodeAt(at) | (text.charCodeAt(at + 1) << 16)
      at += 2
    } else if (i + 1 === last) {
      word = ((length * 2 + 4) << 24) | (at < length ? text.charCodeAt(at) : 0)
    } else {
      if (i === last) v2 ^= 0xff
      word = 0
    }
  }
  return v1 ^ v3
}
