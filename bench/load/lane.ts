/** The updates of some devices as bytes, for one connection: a device's updates stay in order whatever overtakes what. */

/** Bytes of updates one after another. */
interface Round {
  readonly bytes: Buffer
  /** Where each update ends. */
  readonly ends: Uint32Array
  /** Which device each is of: a number of its own within the lane. */
  readonly devices: Uint32Array
}

/** What a frame or pipeline is made of. */
export interface Batch {
  readonly bytes: Buffer
  readonly devices: Uint32Array
}

/** One update as it is sent. */
export interface EncodedUpdate {
  readonly device: number
  readonly text: string
}

/**
 * An endless walk through the rounds of the workload, forward and then backward, so that nobody jumps. A batch ends with
 * its round: a device is in it once.
 */
export class Lane {
  readonly #rounds: readonly Round[]
  /** Bytes between two updates, which are after the last of a batch too. */
  readonly #separator: number
  /** Rounds that are behind. */
  #walked = 0
  #at = 0

  /**
   * @param rounds each with every device of the lane
   * @param separator what is between two updates of a batch
   */
  constructor(rounds: readonly (readonly EncodedUpdate[])[], separator: string) {
    this.#separator = separator.length
    this.#rounds = rounds.map((updates) => {
      let end = 0
      return {
        bytes: Buffer.from(updates.map(({ text }) => text + separator).join('')),
        ends: Uint32Array.from(updates, ({ text }) => (end += Buffer.byteLength(text) + separator.length)),
        devices: Uint32Array.from(updates, ({ device }) => device),
      }
    })
  }

  /** @param most of updates, at least 1 */
  take(most: number): Batch {
    const { bytes, ends, devices } = this.#round
    const from = this.#at
    const to = Math.min(ends.length, from + most)
    this.#at = to
    if (to === ends.length) {
      this.#walked++
      this.#at = 0
    }
    return {
      bytes: bytes.subarray(from === 0 ? 0 : ends[from - 1], ends[to - 1]! - this.#separator),
      devices: devices.subarray(from, to),
    }
  }

  get #round(): Round {
    const count = this.#rounds.length
    const period = Math.max(1, 2 * (count - 1))
    const i = this.#walked % period
    return this.#rounds[i < count ? i : period - i]!
  }
}
