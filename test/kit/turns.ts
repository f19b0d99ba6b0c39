/** How tests see that work is done in turns. */
import type { Test as TapTest } from 'tap'

/** By this clock, a millisecond goes by with each look at it, on any machine. */
export function slowly(t: Test) {
  let now = performance.now()
  t.intercept(performance, 'now', { value: () => now++ })
}

type Test = Pick<TapTest, 'intercept'>

/** In how many turns of the event loop work is done. */
export async function turnsOf(work: () => Promise<unknown>): Promise<number> {
  let turns = 0
  let isOver = false
  const count = () => {
    turns++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  await work()
  isOver = true
  return turns
}
