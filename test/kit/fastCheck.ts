import fc from 'fast-check'

// As for all that tests draw: what CI draws for a commit it draws again for the same commit.
const seed = process.env['RINGFENCE_SEED']
if (seed !== undefined) fc.configureGlobal({ seed: Number(seed) })

/** fast-check, whose draws RINGFENCE_SEED decides where it is set. */
export default fc
