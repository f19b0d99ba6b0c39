/**
 * Measures whether cost grows linearly. A reader that takes eight times as long for eight times as much input is
 * good. One that takes sixty-four times as long lets anybody attack the server with large input. The lowest processor
 * time of several runs is compared, and a cost that is too small to measure passes.
 */

/** How much larger the larger input is. */
const FACTOR = 8
/** Growth up to this many times linear counts as linear, because caches fill and garbage is collected. */
const TOLERANCE = 3
const RUNS = 3

export interface Growth {
  /** Processor time in milliseconds, for an input and for one {@link FACTOR} times as large. */
  readonly small: number
  readonly large: number
  readonly isLinear: boolean
}

/**
 * @param cost processor time in milliseconds of the work on an input of that size
 * @param size of the larger input
 * @param leastMs anything below this cannot be told from noise
 */
export async function growthOf(
  cost: (size: number) => number | Promise<number>,
  size: number,
  leastMs: number,
): Promise<Growth> {
  // One run to warm up the compiler, because code is slow when it runs for the first time.
  await cost(Math.floor(size / FACTOR))
  let small = Infinity
  let large = Infinity
  for (let run = 0; run < RUNS; run++) {
    small = Math.min(small, await cost(Math.floor(size / FACTOR)))
    large = Math.min(large, await cost(size))
    if (large <= bound(small, leastMs)) break
  }
  return { small, large, isLinear: large <= bound(small, leastMs) }
}

function bound(small: number, leastMs: number): number {
  return TOLERANCE * FACTOR * Math.max(small, leastMs)
}

/** Processor time in milliseconds of a function in this process. */
export function ownCost(run: () => void): number {
  const before = process.cpuUsage()
  run()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
