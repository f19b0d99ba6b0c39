/** An update that enters very many geofences is counted in time in proportion to them, however many events a rule asks for. */
import t from 'tap'
import type { Transition } from '../../src/model/event.ts'
import { NO_SEGMENTS, type UserSegment } from '../../src/model/segment.ts'
import { DEFAULT_SETTINGS } from '../../src/model/settings.ts'
import { NO_STATE } from '../../src/rules/deviceState.ts'
import type { Situation } from '../../src/rules/evaluator.ts'
import { stepSegments } from '../../src/rules/segments.ts'
import { ownCost } from '../growth/growth.ts'

const TYPE = 'user.entered_geofence'
const ENTERED = 10_000
const CONDITIONS = 20
const RUNS = 3

t.test('the latest events are counted, whatever their order is', async (t) => {
  const times = [50, 10, 40, 40, 20, 30]
  const { segments } = step(segmentsOf(1, 4), times)!
  t.strictSame(segments.counts, [{ segment: 1, condition: 0, times: [30, 40, 40, 50] }])
})

t.test('to count to a hundred takes about as long as to count to one', async (t) => {
  const times = Array.from({ length: ENTERED }, (_, i) => 1000 + (i % 2 === 0 ? i : 0))
  const cost = (atLeast: number) =>
    Math.min(
      ...Array.from({ length: RUNS }, () => ownCost(() => void step(segmentsOf(CONDITIONS, atLeast), times))),
    )
  cost(1)
  const [one, hundred] = [cost(1), cost(100)]
  t.ok(hundred < 2.5 * Math.max(one, 5), `${hundred} ms instead of ${one}`)
})

function segmentsOf(count: number, atLeast: number): readonly UserSegment[] {
  return Array.from({ length: count }, (_, i) => ({
    description: `${i}`,
    externalId: `${i}`,
    number: i + 1,
    rule: { event: { type: TYPE, atLeast, withinDays: 30 } },
  }))
}

/** An update that enters a geofence at each of these times. */
function step(segments: readonly UserSegment[], times: readonly number[]) {
  const transitions = times.map((time) => ({ type: TYPE, geofence: {}, at: { time } }) as Transition)
  const settings = { ...DEFAULT_SETTINGS, segments }
  return stepSegments(NO_SEGMENTS, NO_STATE, transitions, { now: { time: 0, settings } } as Situation)
}
