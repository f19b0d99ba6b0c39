/**
 * Preloaded into a server: measures the longest uninterrupted work of its main thread, and reports it over HTTP on a
 * separate port.
 *
 * A timer of a millisecond fires in every turn of the event loop that is longer than that. What the thread has
 * computed between two of them was not interrupted by anything. CPU time of the thread counts, so that other
 * processes on the machine do not. With it comes how much of that time the garbage collector took, in wall-clock
 * time. It is only active with `LOOP_PROBE_PORT` in the environment, and only in the main
 * thread.
 *
 * With `LOOP_PROBE_PROFILE=on` it also takes a CPU profile, and each answer says which functions took the time of the
 * longest work.
 */
import { createServer } from 'node:http'
import { PerformanceObserver } from 'node:perf_hooks'
import { isMainThread } from 'node:worker_threads'
import { LoopProfile } from './loopProfile.ts'

const port = process.env['LOOP_PROBE_PORT']

if (port !== undefined && isMainThread) {
  let last = cpuMicroseconds()
  let lastAt = performance.now()
  let longest = { microseconds: 0, from: 0, to: 0 }
  let collections: { from: number; to: number }[] = []
  setInterval(() => {
    const now = cpuMicroseconds()
    const at = performance.now()
    if (now - last > longest.microseconds) longest = { microseconds: now - last, from: lastAt, to: at }
    last = now
    lastAt = at
  }, 1).unref()
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries())
      collections.push({ from: startTime, to: startTime + duration })
  }).observe({ entryTypes: ['gc'] })
  const profile = process.env['LOOP_PROBE_PROFILE'] === 'on' ? new LoopProfile() : undefined
  createServer((_, response) => {
    const { microseconds, from, to } = longest
    const collected = collections.reduce(
      (sum, gc) => sum + Math.max(0, Math.min(gc.to, to) - Math.max(gc.from, from)),
      0,
    )
    const functions = profile?.take(from, to)
    response.end(JSON.stringify({ blockedMs: microseconds / 1000, collectedMs: collected, functions }))
    longest = { microseconds: 0, from: 0, to: 0 }
    collections = []
    // Taking a profile is work, too.
    last = cpuMicroseconds()
    lastAt = performance.now()
  })
    .listen(Number(port), '127.0.0.1')
    .unref()
}

/** The CPU time that this thread has used so far. */
function cpuMicroseconds(): number {
  const { user, system } = process.threadCpuUsage()
  return user + system
}
