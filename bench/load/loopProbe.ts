/**
 * Preloaded into a server: measures the longest uninterrupted work of its main thread, and reports it over HTTP on a
 * separate port.
 *
 * A timer of a millisecond fires in every turn of the event loop that is longer than that. What the thread has
 * computed between two of them was not interrupted by anything. CPU time of the thread counts, so that other
 * processes on the machine do not. It is only active with `LOOP_PROBE_PORT` in the environment, and only in the main
 * thread.
 */
import { createServer } from 'node:http'
import { isMainThread } from 'node:worker_threads'

const port = process.env['LOOP_PROBE_PORT']

if (port !== undefined && isMainThread) {
  let last = cpuMicroseconds()
  let longest = 0
  setInterval(() => {
    const now = cpuMicroseconds()
    longest = Math.max(longest, now - last)
    last = now
  }, 1).unref()
  createServer((_, response) => {
    response.end(String(longest / 1000))
    longest = 0
  })
    .listen(Number(port), '127.0.0.1')
    .unref()
}

/** Of this thread so far. */
function cpuMicroseconds(): number {
  const { user, system } = process.threadCpuUsage()
  return user + system
}
