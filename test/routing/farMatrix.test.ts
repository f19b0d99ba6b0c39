/**
 * Matrices over tens of kilometres, compared with a known matrix: each cell comes from the search that is right for
 * it, for any points.
 */
import t from 'tap'
import { pointDistance } from '../../src/geometry/distance.ts'
import { answerMatrix, NEAR_METERS, type AskMatrix } from '../../src/geo/routing/farMatrix.ts'
import type {
  Costing,
  MatrixAnswer,
  MatrixRequest,
  RoutingLocation,
} from '../../src/geo/routing/valhallaJson.ts'
import fc from '../kit/fastCheck.ts'

const RUNS = 200 * Number(process.env.RINGFENCE_TEST_RUNS ?? 1)

/** A search whose cells depend on their destination, multiplied by a factor that identifies the search. */
function search(factor: number, calls: MatrixRequest[]): AskMatrix {
  return async (request) => {
    const asked = JSON.parse(request) as MatrixRequest
    calls.push(asked)
    const { sources, targets } = asked
    const durations = sources.map((from) => targets.map((to) => factor * secondsOf(from, to)))
    return JSON.stringify({ sources_to_targets: { durations, distances: durations }, algorithm: `${factor}` })
  }
}

function secondsOf(from: RoutingLocation, to: RoutingLocation): number {
  return 1 + Math.round(pointDistance(from.lat, from.lon, to.lat, to.lon))
}

const points = fc.array(
  fc.record({
    lat: fc.double({ min: 50, max: 51.5, noNaN: true }),
    lon: fc.double({ min: 8, max: 9, noNaN: true }),
  }),
  { minLength: 1, maxLength: 8 },
)

t.test('near cells come from the exact search, the others from the other one', async (t) => {
  await fc.assert(
    fc.asyncProperty(points, points, async (sources, targets) => {
      const near: MatrixRequest[] = []
      const request = { sources, targets, costing: 'auto', verbose: false } as const
      const text = await answerMatrix(JSON.stringify(request), search(2, near), search(3, []))
      const { durations } = (JSON.parse(text) as MatrixAnswer).sources_to_targets
      for (const [i, from] of sources.entries()) {
        for (const [k, to] of targets.entries()) {
          const isNear = pointDistance(from.lat, from.lon, to.lat, to.lon) <= NEAR_METERS
          if (durations[i]![k] !== (isNear ? 2 : 3) * secondsOf(from, to)) return false
        }
      }
      return near.length <= Math.max(1, Math.min(sources.length, targets.length))
    }),
    { numRuns: RUNS },
  )
  t.pass()
})

t.test('the exact search alone', async (t) => {
  const ask = async (costing: Costing, lat: number, count = 1): Promise<string> => {
    const targets = Array.from({ length: count }, () => ({ lat, lon: 8 }))
    const request = { sources: [{ lat: 50, lon: 8 }], targets, costing, verbose: false }
    const answer = await answerMatrix(JSON.stringify(request), search(2, []), search(3, []))
    return (JSON.parse(answer) as MatrixAnswer).algorithm
  }
  t.equal(await ask('auto', 50.1), '2', 'within a city')
  t.equal(await ask('truck', 51), '3')
  t.equal(await ask('pedestrian', 51), '2', 'on foot')
  t.equal(await ask('auto', 51, 625), '2', 'from one to many')
  t.equal(await ask('auto', 54), '2', 'farther than it goes, which it says')
})

t.test('a part without any route keeps its empty cells', async (t) => {
  const request = {
    sources: [{ lat: 50, lon: 8 }],
    targets: [
      { lat: 50.1, lon: 8 },
      { lat: 51, lon: 8 },
    ],
    costing: 'auto',
    verbose: false,
  }
  const far = async (): Promise<string> =>
    JSON.stringify({ sources_to_targets: { durations: [[null, 7]], distances: [[null, 8]] } })
  const near = (): Promise<string> =>
    Promise.reject(new Error('Matrix error: No path could be found for input'))
  t.match(JSON.parse(await answerMatrix(JSON.stringify(request), near, far)), {
    sources_to_targets: { durations: [[null, 7]], distances: [[null, 8]] },
  })
})
