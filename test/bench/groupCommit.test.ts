/** The simulation behind docs/scaling.md, where the answer is known without it. */
import t, { type Test } from 'tap'
import { simulateGroupCommit, type GroupCommitLoad } from '../../bench/sim/groupCommit.ts'
import { seededRandom } from '../../demo/streets.ts'

function simulate(load: Partial<GroupCommitLoad>) {
  return simulateGroupCommit({
    rate: 1000,
    writers: 10,
    gatherMs: 0,
    most: Infinity,
    busyMs: () => 1,
    roundTripMs: 0,
    seconds: 5,
    random: seededRandom(1),
    ...load,
  })
}

function near(t: Test, found: number, expected: number, share = 0.05): void {
  t.ok(Math.abs(found - expected) <= share * expected, `${found} is about ${expected}`)
}

t.test('an idle server: each item is a write of its own, and waits for nobody', async (t) => {
  const found = simulate({ rate: 10, busyMs: () => 2, roundTripMs: 3 })
  near(t, found.itemsPerWrite, 1)
  near(t, found.p50Ms, 5)
  near(t, found.busy, 0.02, 0.3)
})

t.test('a busy server: writers take turns, and a write holds what came in a round of them', async (t) => {
  const found = simulate({ rate: 20_000, writers: 10, busyMs: () => 2 })
  t.equal(found.busy, 1)
  near(t, found.writesPerSecond, 500)
  near(t, found.itemsPerWrite, 40)
  // An item arrives at any time of a round of 20 ms, waits for its end, and then for nine others and its own write.
  near(t, found.p50Ms, 30)
})

t.test('items that cost the server time of their own make writes longer', async (t) => {
  // Ten writes of n items take 10 (1 + 0.04 n) ms, in which each writer gets 2 items a millisecond: n = 20 + 0.8 n.
  const found = simulate({ rate: 20_000, writers: 10, busyMs: (items) => 1 + 0.04 * items })
  near(t, found.itemsPerWrite, 100)
  near(t, found.writesPerSecond, 200)
})

t.test('more than writes can hold waits ever longer', async (t) => {
  const found = simulate({ rate: 20_000, busyMs: () => 2, most: 30 })
  t.equal(found.itemsPerWrite, 30)
  t.ok(Number.isNaN(found.p99Ms))
})
