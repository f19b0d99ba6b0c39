/** What an update costs beside requests, from invented windows whose costs are known. */
import t from 'tap'
import { trackedRows, type TrackedRound, type TrackedWindow } from '../../bench/load/trackedRows.ts'

const SECONDS = 2
const UPDATES = 4000
const UPDATE = 80e-6
/** A request costs less beside updates, because the event loop is awake then. */
const REQUEST = 60e-6
const REQUEST_ALONE = 100e-6
const SEARCH = 1e-3
/** What the work for a request costs other threads, with or without updates. */
const WORK = 30e-6

function window(parts: Partial<TrackedWindow>): TrackedWindow {
  return {
    cpuSeconds: 0,
    backgroundSeconds: 0,
    updates: UPDATES,
    requests: 0,
    loopP99Ms: 0.3,
    p99Ms: 3,
    ...parts,
  }
}

/** @param more what an update costs more beside searches, as a share */
function round(more: number, hasMemory = true): TrackedRound {
  const alone = window({ cpuSeconds: UPDATES * UPDATE })
  return {
    alone,
    again: alone,
    beside: window({
      requests: 1400,
      cpuSeconds: UPDATES * UPDATE * (1 + more) + 1400 * (REQUEST + WORK),
      backgroundSeconds: 1400 * SEARCH,
      p99Ms: 4.5,
    }),
    // There were fewer of them, which must not change the figure.
    remembered: hasMemory
      ? window({ requests: 1200, cpuSeconds: UPDATES * UPDATE + 1200 * REQUEST, p99Ms: 3.5 })
      : undefined,
    limit: window({ cpuSeconds: UPDATES * UPDATE * 1.02, requests: 1500, p99Ms: 4 }),
    requestsAlone: window({
      updates: 0,
      requests: 1800,
      cpuSeconds: 1800 * (REQUEST_ALONE + WORK),
      backgroundSeconds: 1800 * SEARCH,
      p99Ms: 0,
    }),
    rememberedAlone: hasMemory
      ? window({ updates: 0, requests: 1700, cpuSeconds: 1700 * REQUEST_ALONE, p99Ms: 0 })
      : undefined,
  }
}

t.test('beside searches: what the searches cost updates, and not what their requests cost', async (t) => {
  for (const more of [0, 0.04, 0.3]) {
    const { beside, limit, again } = trackedRows('searches', SECONDS, [round(more), round(more), round(more)])
    t.equal(beside.times, 1 + more)
    t.equal(beside.updateMicros, Math.round(800 * (1 + more)) / 10)
    t.strictSame([beside.laterMs, limit.laterMs, again.laterMs], [1.5, 1, 0])
    t.strictSame([limit.times, again.times], [1.02, 1])
    t.strictSame([beside.besidePerSecond, beside.requestMicros], [700, 1000])
  }
})

t.test('answers from memory: no cost of their own, but a wait', async (t) => {
  const { remembered, rows } = trackedRows('searches', SECONDS, [round(0.1)])
  t.strictSame(
    [remembered?.times, remembered?.updateMicros, remembered?.laterMs, remembered?.requestMicros],
    [undefined, undefined, 0.5, 0],
  )
  t.equal(rows.length, 7)
})

t.test('without a memory: less what the requests cost alone', async (t) => {
  const { beside, remembered, requestMicros, rows } = trackedRows('matrices', SECONDS, [round(0, false)])
  t.equal(remembered, undefined)
  t.equal(rows.length, 5)
  t.equal(requestMicros, 130)
  t.equal(beside.times, 1 - (1400 * (REQUEST_ALONE - REQUEST)) / (UPDATES * UPDATE))
})

t.test('the median of the rounds', async (t) => {
  const { beside } = trackedRows('searches', SECONDS, [round(0.5), round(0.02), round(0.01)])
  t.equal(beside.times, 1.02)
})
