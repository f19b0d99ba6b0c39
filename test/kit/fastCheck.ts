import fc from 'fast-check'
import { progress } from './waiting.ts'

// As with all random choices of tests, CI repeats the same ones for the same commit.
const seed = process.env['RINGFENCE_SEED']
fc.configureGlobal({ ...(seed !== undefined && { seed: Number(seed) }), beforeEach: progress })

export { draws } from './draws.ts'

/** fast-check, with RINGFENCE_SEED as its seed if that is set. */
export default fc
