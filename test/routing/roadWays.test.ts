/** Ways of trips: how many are measured at a time, how many wait, and what becomes of the rest. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { NoRoute, type RoutingEngine, type RoutingEngines } from '../../src/geo/routing/port.ts'
import { pointDistance } from '../../src/geometry/distance.ts'
import { encodePolyline, type LonLatPoint } from '../../src/geo/routing/polyline.ts'
import { RoadWays } from '../../src/geo/routing/roadWays.ts'
import { ApiError } from '../../src/runtime/errors.ts'

const WAY = {
  mode: 'car',
  latitude: -34.9,
  longitude: -56.19,
  stops: [{ location: [-56.15, -34.9] }],
} as const
/** Two kilometres to the north, which take two minutes. */
const NORTH: LonLatPoint[] = [
  [-56.19, -34.9],
  [-56.19, -34.9 + 2000 / 111_195],
]
const ANSWER = { trip: { legs: [{ summary: { time: 120, length: 2 }, shape: encodePolyline(NORTH, 6) }] } }
const MEASURED = { minutes: 2, meters: 2000 }

function waysOf(ask: () => Promise<unknown>): RoadWays {
  const engine = { attribution: undefined, ask } as unknown as RoutingEngine
  return new RoadWays({ containing: () => engine })
}

t.test('a way has minutes and metres for each stop, and a point half a minute ahead', async (t) => {
  const [leg] = ANSWER.trip.legs
  const ways = waysOf(async () => ({ trip: { legs: [leg, leg] } }))
  const sections = await ways.measure({ ...WAY, stops: [WAY.stops[0], WAY.stops[0]] })
  const { ahead, ...first } = sections![0]!
  t.strictSame([first, sections![1]], [MEASURED, MEASURED], 'only the first section needs the point')
  t.equal(ahead!.share, 0.25)
  t.equal(ahead!.location[0], -56.19)
  const meters = pointDistance(-34.9, -56.19, ahead!.location[1], ahead!.location[0])
  t.ok(Math.abs(meters - 500) < 0.01, `${meters} m`)
  const near = waysOf(async () => ({ trip: { legs: [{ ...leg, summary: { time: 30, length: 2 } }] } }))
  t.strictSame(await near.measure(WAY), [{ minutes: 0.5, meters: 2000 }], 'there is no such point')
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
    t.match(await later, [MEASURED], 'and there is room again')
    t.strictSame(ways.counters, { measured: 2, unknown: 599 })
  },
)

t.test('whoever would be answered too late is told so at once', async (t) => {
  const waysIn = (milliseconds: number) => waysOf(() => sleep(milliseconds, ANSWER))
  const ways = waysIn(50)
  const answered = () => ways.measure(WAY)
  const asked = Array.from({ length: 60 }, answered)
  t.notOk(ways.isHopeless(WAY), 'nobody knows yet how long an answer takes')
  await Promise.all(asked)
  // Four at a time, and 50 ms each: about 80 can be answered in a second.
  const found = Array.from({ length: 300 }, answered)
  t.ok(ways.isHopeless(WAY))
  const began = performance.now()
  t.equal(await ways.measure(WAY), undefined)
  t.ok(performance.now() - began < 500)
  const sections = await Promise.all(found)
  const known = sections.filter((one) => one !== undefined).length
  t.ok(known > 20 && known <= 100, `${known} were measured`)
  t.notOk(ways.isHopeless(WAY), 'and there is room again')
  ways.gaveUp()
  t.strictSame(ways.counters, { measured: 60 + known, unknown: 300 - known + 2 })
  const nowhere: RoutingEngines = {
    containing() {
      throw new ApiError(404, 'It is in no map region.')
    },
  }
  t.ok(new RoadWays(nowhere).isHopeless(WAY))
})

t.test('those that are about to ask count as waiting, and are forgotten if they do not', async (t) => {
  const ways = waysOf(() => sleep(50, ANSWER))
  await Promise.all(Array.from({ length: 60 }, () => ways.measure(WAY)))
  // A thousand updates of one frame ask before the first of them is measured.
  const hopeful = Array.from({ length: 1000 }, () => ways.isHopeless(WAY)).filter((one) => !one).length
  t.ok(hopeful > 20 && hopeful <= 60, `${hopeful} of 1,000 may ask`)
  const sections = await Promise.all(Array.from({ length: hopeful }, () => ways.measure(WAY)))
  t.equal(sections.filter((one) => one === undefined).length, 0, 'each of them is answered in time')
  while (!ways.isHopeless(WAY));
  await sleep(1050)
  t.notOk(ways.isHopeless(WAY), 'nobody has asked')
})
