/**
 * Preloaded into a server: measures the longest uninterrupted work of its main thread, and says it over HTTP on a port of its own.
 *
 * A timer of a millisecond comes up in every turn of the event loop that is longer than that. What the thread has worked
 * between two of them was not interrupted by anything: CPU time of the thread, so that other processes on the machine do not count.
 * With the environment's `LOOP_PROBE_PORT` only, which a thread of the server does not look at.
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
