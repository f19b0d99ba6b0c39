/** What the soak of a cluster calls growing memory. */
import t from 'tap'
import { levelOf, livesOf } from '../../bench/soakMemory.ts'

const WINDOW_SECONDS = 5
const WINDOWS = 192

/** Sixteen minutes, as a soak of an hour has without faults behind its warm-up. */
function samplesOf(rssMiB: (minute: number) => number) {
  return Array.from({ length: WINDOWS }, (_, i) => {
    const seconds = 480 + i * WINDOW_SECONDS
    return { seconds, pid: 1, rssMiB: rssMiB((i * WINDOW_SECONDS) / 60) }
  })
}

/** As V8 makes it: the young generation takes 64 MiB more for a while, and gives them back. */
const sway = (minute: number) => 64 * (Math.floor(minute / 1.3) % 2)

t.test('what grows', async (t) => {
  for (const [what, rssMiB] of [
    ['a leak', (minute: number) => 300 + 1.5 * minute],
    [
      'a leak beside something that fills',
      (minute: number) => 300 + 20 * (1 - Math.exp(-minute / 3)) + 2 * minute,
    ],
    ['a leak under a sway', (minute: number) => 300 + sway(minute) + 8 * minute],
    ['what begins to leak in the middle', (minute: number) => 300 + 6 * Math.max(0, minute - 8)],
    ['what leaks in steps', (minute: number) => 300 + 30 * Math.floor(minute / 3)],
  ] as const)
    t.equal(levelOf(samplesOf(rssMiB)).isSteady, false, what)
})

t.test('what does not', async (t) => {
  for (const [what, rssMiB] of [
    ['what is level', () => 300],
    ['what fills', (minute: number) => 280 + 27 * (1 - Math.exp(-minute / 3))],
    ['what fills under a sway', (minute: number) => 300 + sway(minute) + 90 * (1 - Math.exp(-minute / 3))],
    ['one step of a heap that is not collected yet', (minute: number) => (minute < 6 ? 300 : 355)],
    ['what sways', (minute: number) => 300 + sway(minute)],
    ['what shrinks', (minute: number) => 300 - 3 * minute],
  ] as const)
    t.equal(levelOf(samplesOf(rssMiB)).isSteady, true, what)
})

t.test('a line through all of it rises where it only fills', async (t) => {
  const level = levelOf(samplesOf((minute) => 280 + 27 * (1 - Math.exp(-minute / 3))))
  t.ok(level.calmDriftMiB > 0.05 * level.calmMiB, `${level.calmDriftMiB}`)
  t.ok(level.lateDriftMiB < 4, `${level.lateDriftMiB}`)
})

t.test('a moment without the process, or a single sample, is not judged', async (t) => {
  const gap = samplesOf((minute) => (minute > 4 && minute < 5 ? Number.NaN : 300))
  t.match(levelOf(gap), { isSteady: true, calmMiB: 300, calmDriftMiB: 0 })
  t.match(levelOf(samplesOf(() => 300).slice(0, 1)), { isSteady: true, calmMiB: 300, lateDriftMiB: 0 })
})

t.test('each start of a process begins a life, also if no sample fell between two of them', async (t) => {
  const lives = livesOf([
    { seconds: 0, pid: 1, rssMiB: 100 },
    { seconds: 60, pid: 1, rssMiB: 150 },
    { seconds: 120, pid: 1, rssMiB: 140 },
    { seconds: 180, pid: 2, rssMiB: 90 },
    { seconds: 240, pid: 2, rssMiB: Number.NaN },
    { seconds: 300, pid: 3, rssMiB: 80 },
    { seconds: 330, pid: 3, rssMiB: 95 },
  ])
  t.strictSame(lives, [
    { fromMinute: 0, minutes: 2, mostMiB: 150, lastMiB: 140 },
    { fromMinute: 3, minutes: 0, mostMiB: 90, lastMiB: 90 },
    { fromMinute: 5, minutes: 0.5, mostMiB: 95, lastMiB: 95 },
  ])
})
