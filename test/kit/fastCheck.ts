import fc from 'fast-check'
import { progress } from './waiting.ts'

// As for all that tests draw: what CI draws for a commit it draws again for the same commit.
const seed = process.env['RINGFENCE_SEED']
fc.configureGlobal({ ...(seed !== undefined && { seed: Number(seed) }), beforeEach: progress })

/** fast-check, whose draws RINGFENCE_SEED decides where it is set. */
export default fc
