import fc from 'fast-check'
import { progress } from './waiting.ts'

// As with all random choices of tests, CI repeats the same ones for the same commit.
const seed = process.env['RINGFENCE_SEED']
fc.configureGlobal({ ...(seed !== undefined && { seed: Number(seed) }), beforeEach: progress })

/**
 * How often something is drawn: a third of `count` in the quick suite. RINGFENCE_TEST_RUNS=1 draws it that often, and
 * larger numbers more often; `npm run test:slow` sets 2.
 */
export function draws(count: number): number {
  const times = process.env['RINGFENCE_TEST_RUNS']
  return Math.ceil(times === undefined ? count / 3 : count * Number(times))
}

/** fast-check, with RINGFENCE_SEED as its seed if that is set. */
export default fc
