/** Of an id: what the workload sends, a UUID. */
export const ID_BYTES = 36

/** A row: the id, position, time and three more words; one line of the cache, where the memory is aligned. */
const ROW_WORDS = 16
const ID_WORDS = ID_BYTES / 4
/** Places for 100,000 devices: two thirds of them stay empty, so that the first is mostly the right one. */
const PLACES = 1 << 18

/**
 * The last row of each device by the bytes of its id: the place is found by a hash, and the next one is looked at where
 * another device is there. Nothing is checked, nothing is removed: this is what memory costs, and no device table.
 */
export class BareDevices {
  readonly #words = new Int32Array(PLACES * ROW_WORDS)
  readonly #doubles = new Float64Array(this.#words.buffer)
  readonly #id = new Int32Array(ID_WORDS)
  #count = 0

  /**
   * Reads the device's row and writes it.
   * @param bytes has the id at `start`
   * @returns latitude before, so that the reading is of use
   */
  move(bytes: Uint8Array, start: number, latitude: number, longitude: number, time: number): number {
    const words = this.#words
    const row = this.#find(bytes, start)
    const at = row >>> 1
    const doubles = this.#doubles
    // Doubles are aligned: words 10 to 15 are three of them.
    const before = doubles[at + 5]!
    doubles[at + 5] = latitude
    doubles[at + 6] = longitude
    doubles[at + 7] = time
    words[row + ID_WORDS]! += 1
    return before
  }

  /** @returns its first word; made where there is none */
  #find(bytes: Uint8Array, start: number): number {
    const words = this.#words
    const id = this.#id
    let hash = 0
    for (let i = 0; i < ID_WORDS; i++) {
      const at = start + 4 * i
      const word = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)
      id[i] = word
      hash = Math.imul(hash ^ word, 0x9e3779b1)
      hash ^= hash >>> 15
    }
    for (let place = hash & (PLACES - 1); ; place = (place + 1) & (PLACES - 1)) {
      const row = place * ROW_WORDS
      let i = 0
      while (i < ID_WORDS && words[row + i] === id[i]) i++
      if (i === ID_WORDS) return row
      if (words[row] !== 0) continue
      if (++this.#count > PLACES / 2) throw new Error('more devices than this table is made for')
      words.set(id, row)
      return row
    }
  }
}
