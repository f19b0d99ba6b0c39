/** What an update costs beside requests, from invented windows whose costs are known. */
import t from 'tap'
import { trackedRows, type TrackedRound, type TrackedWindow } from '../../bench/load/trackedRows.ts'

const SECONDS = 2
/** A processor is slower while the other one works. */
const SLOWER = 1.3
const UPDATES = 4000
const UPDATE = 80e-6
/** A request costs less beside updates, because the event loop is awake then. */
const REQUEST = 60e-6 * SLOWER
const REQUEST_ALONE = 100e-6 * SLOWER
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

/** @param more what an update costs more beside searches than beside those of another server, as a share */
function round(more: number, hasMemory = true): TrackedRound {
  const alone = window({ cpuSeconds: UPDATES * UPDATE })
  const slow = UPDATES * UPDATE * SLOWER
  return {
    alone,
    again: alone,
    beside: window({
      requests: 1400,
      cpuSeconds: slow * (1 + more) + 1400 * (REQUEST + WORK),
      backgroundSeconds: 1400 * SEARCH,
      p99Ms: 4.5,
    }),
    limit: window({ cpuSeconds: slow, requests: 1500, p99Ms: 4 }),
    // There were fewer of them, which must not change the figure.
    remembered: hasMemory
      ? window({ requests: 1200, cpuSeconds: slow + 1200 * REQUEST, p99Ms: 4.25 })
      : undefined,
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
    t.equal(beside.timesOfLimit, 1 + more)
    t.equal(beside.times, Math.round(1300 * (1 + more)) / 1000)
    t.equal(beside.updateMicros, Math.round(1040 * (1 + more)) / 10)
    t.strictSame([beside.laterMs, limit.laterMs, again.laterMs], [1.5, 1, 0])
    t.equal(beside.laterThanLimitMs, 0.5)
    t.strictSame([limit.times, again.times], [1.3, 1])
    t.strictSame([limit.timesOfLimit, again.timesOfLimit], [undefined, undefined])
    t.strictSame([beside.besidePerSecond, beside.requestMicros], [700, 1000])
  }
})

t.test('answers from memory: no cost of their own, but a wait', async (t) => {
  const { remembered, rows } = trackedRows('searches', SECONDS, [round(0.1)])
  t.strictSame(
    [remembered?.times, remembered?.updateMicros, remembered?.laterMs, remembered?.requestMicros],
    [undefined, undefined, 1.25, 0],
  )
  t.equal(rows.length, 7)
})

t.test('without a memory: less what the requests cost alone', async (t) => {
  const { beside, remembered, requestMicros, rows } = trackedRows('matrices', SECONDS, [round(0, false)])
  t.equal(remembered, undefined)
  t.equal(rows.length, 5)
  t.equal(requestMicros, 160)
  const subtracted = 1400 * (REQUEST_ALONE - REQUEST)
  t.equal(beside.times, Math.round(1000 * (SLOWER - subtracted / (UPDATES * UPDATE))) / 1000)
})

t.test('the median of the rounds', async (t) => {
  const { beside } = trackedRows('searches', SECONDS, [round(0.5), round(0.02), round(0.01)])
  t.equal(beside.timesOfLimit, 1.02)
})
