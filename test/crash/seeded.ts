/**
 * Random numbers determined by a seed: mulberry32 (Tommy Ettinger, public domain), which is good enough for choosing
 * test cases.
 */
export class Seeded {
  #state: number

  constructor(seed: number) {
    this.#state = seed | 0
  }

  /** 0 ≤ number < 1. */
  fraction(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  between(low: number, high: number): number {
    return low + this.fraction() * (high - low)
  }

  /** low ≤ integer ≤ high. */
  integer(low: number, high: number): number {
    return Math.floor(this.between(low, high + 1))
  }

  chance(probability: number): boolean {
    return this.fraction() < probability
  }

  pick<T>(list: readonly T[]): T {
    return list[this.integer(0, list.length - 1)]!
  }
}
