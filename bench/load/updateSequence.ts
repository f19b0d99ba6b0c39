/** The updates of some devices as bytes, for one connection, so that the updates of a device stay in order. */

/** Bytes of updates one after another. */
interface Round {
  readonly bytes: Buffer
  /** Where each update ends. */
  readonly ends: Uint32Array
  /** The device of each update, as a number within the sequence. */
  readonly devices: Uint32Array
}

/** The content of a frame or pipeline. */
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
 * An endless walk through the rounds of the workload, forwards and then backwards, so that no device jumps. A batch
 * ends with its round, so a device is in it once.
 */
export class UpdateSequence {
  readonly #rounds: readonly Round[]
  /** Bytes between two updates, which also follow the last one of a batch. */
  readonly #separator: number
  /** The number of rounds that are completed. */
  #walked = 0
  #at = 0

  /**
   * Prepares the walk.
   * @param rounds each with every device of the sequence
   * @param separator bytes between two updates of a batch
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

  /**
   * Takes the next batch.
   * @param most maximum number of updates, at least 1
   */
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
