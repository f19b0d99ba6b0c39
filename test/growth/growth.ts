/**
 * Whether cost grows linearly: a reader that takes eight times as long for eight times as much is good, one that takes
 * sixty-four times as long is an attack for whoever sends much. Processor time is compared, of which the least of several
 * runs counts, and what is too little to be measured passes.
 */

/** How much larger the larger input is. */
const FACTOR = 8
/** Linear growth times this is still linear: caches fill, garbage is collected. */
const TOLERANCE = 3
const RUNS = 3

export interface Growth {
  /** Processor time in milliseconds, of an input and of one {@link FACTOR} times as large. */
  readonly small: number
  readonly large: number
  readonly isLinear: boolean
}

/**
 * @param cost processor time in milliseconds of work on an input of that size
 * @param size of the larger input
 * @param leastMs what is less cannot be told from noise
 */
export async function growthOf(
  cost: (size: number) => number | Promise<number>,
  size: number,
  leastMs: number,
): Promise<Growth> {
  // Once for the compiler: what runs for the first time is slow, however little it is.
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
