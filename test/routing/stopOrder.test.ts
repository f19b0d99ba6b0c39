/** The order of stops, compared with trying all orders. */
import t from 'tap'
import { quickestOrder } from '../../src/geo/routing/stopOrder.ts'
import fc from '../kit/fastCheck.ts'

const RUNS = 300 * Number(process.env['RINGFENCE_TEST_RUNS'] ?? 1)

function* orders(list: readonly number[]): Generator<readonly number[]> {
  if (list.length === 0) yield []
  for (const first of list)
    for (const rest of orders(list.filter((one) => one !== first))) yield [first, ...rest]
}

const times = fc.integer({ min: 2, max: 8 }).chain((count) => {
  const time = fc.oneof(
    { arbitrary: fc.nat(1000), weight: 4 },
    { arbitrary: fc.constant(Infinity), weight: 1 },
  )
  const row = fc.array(time, { minLength: count, maxLength: count })
  return fc.array(row, { minLength: count, maxLength: count })
})

t.test('none is faster, ends stay, each stop is visited once', async (t) => {
  fc.assert(
    fc.property(times, (seconds) => {
      const last = seconds.length - 1
      const cost = (order: readonly number[]) =>
        order.slice(1).reduce((sum, to, k) => sum + seconds[order[k]!]![to]!, 0)
      const stops = seconds.map((_, i) => i).slice(1, -1)
      const best = Math.min(...[...orders(stops)].map((order) => cost([0, ...order, last])))
      const order = quickestOrder(seconds)
      if (order === undefined) return best === Infinity
      const isWhole = order[0] === 0 && order.at(-1) === last && new Set(order).size === seconds.length
      return isWhole && order.length === seconds.length && cost(order) === best
    }),
    { numRuns: RUNS },
  )
  t.pass()
})
