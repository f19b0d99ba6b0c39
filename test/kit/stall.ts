/**
 * Ends a test file that makes no progress. `tap` loads it into each test process (package.json, "node-arg").
 *
 * How long a test takes depends on the machine, so no test has a fixed time-out. A file may take as long as it needs, provided
 * that it keeps reporting results; one that reports nothing for STALL_SECONDS hangs, and fails.
 */

/** Far longer than the slowest single assertion takes on a loaded machine with two slow cores. */
const STALL_SECONDS = 300
const CHECK_MS = 5000

let reportedAt = performance.now()

const write = process.stdout.write.bind(process.stdout) as (...args: unknown[]) => boolean
process.stdout.write = (...args: unknown[]) => {
  reportedAt = performance.now()
  return write(...args)
}

setInterval(() => {
  if (performance.now() - reportedAt < STALL_SECONDS * 1000) return
  write(`\nnot ok - no result for ${STALL_SECONDS} seconds: the test hangs\n`, () => process.exit(1))
}, CHECK_MS).unref()
