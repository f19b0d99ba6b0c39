/** Ways of trips: how many are measured at a time, how many wait, and what becomes of the rest. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { NoRoute, type RoutingEngine, type RoutingEngines } from '../../src/geo/routing/port.ts'
import { RoadWays } from '../../src/geo/routing/roadWays.ts'
import { ApiError } from '../../src/runtime/errors.ts'

const WAY = {
  mode: 'car',
  latitude: -34.9,
  longitude: -56.19,
  stops: [{ location: [-56.15, -34.9] }],
} as const
const ANSWER = { trip: { legs: [{ summary: { time: 120, length: 2 } }] } }

function waysOf(ask: () => Promise<unknown>): RoadWays {
  const engine = { attribution: undefined, ask } as unknown as RoutingEngine
  return new RoadWays({ containing: () => engine })
}

t.test('a way has minutes and metres for each stop', async (t) => {
  t.strictSame(await waysOf(async () => ANSWER).measure(WAY), [{ minutes: 2, meters: 2000 }])
})

t.test('no region, no way, or a failure of the engine: unknown', async (t) => {
  const nowhere: RoutingEngines = {
    containing() {
      throw new ApiError(503, 'There is no map region.')
    },
  }
  t.equal(await new RoadWays(nowhere).measure(WAY), undefined)
  const ways = waysOf(() => Promise.reject(new NoRoute(442, 'No path.')))
  t.equal(await ways.measure(WAY), undefined)
  t.equal(await waysOf(() => Promise.reject(new Error('broken'))).measure(WAY), undefined)
  t.strictSame(ways.counters, { measured: 0, unknown: 1 })
})

t.test(
  'four are measured at a time, 500 wait for it, beyond that and after a second they are unknown',
  async (t) => {
    let asked = 0
    const answers: (() => void)[] = []
    const ways = waysOf(() => {
      asked++
      return new Promise((resolve) => answers.push(() => resolve(ANSWER)))
    })
    let known = 0
    let unknown = 0
    const began = performance.now()
    const all = Array.from({ length: 600 }, async () => {
      if ((await ways.measure(WAY)) === undefined) unknown++
      else known++
    })
    await sleep(100)
    t.strictSame([asked, unknown], [4, 96], 'the engine is busy')
    answers.shift()!()
    await sleep(50)
    t.strictSame([asked, known], [5, 1], 'the next one has its turn')
    await Promise.all(all)
    t.ok(performance.now() - began < 2500, 'nobody waits longer')
    t.strictSame([asked, known, unknown], [5, 1, 599])
    // The engine answers at last: nobody wants the ways that still wait.
    for (const answer of answers) answer()
    await sleep(50)
    t.equal(asked, 5)
    const later = ways.measure(WAY)
    await sleep(0)
    answers.at(-1)!()
    t.strictSame(await later, [{ minutes: 2, meters: 2000 }], 'and there is room again')
    t.strictSame(ways.counters, { measured: 2, unknown: 599 })
  },
)
