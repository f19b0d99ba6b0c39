/** Pictures over time: what happens when. */
import { isOpen, parseOperatingHours } from '../../../src/model/operatingHours.ts'
import type { Settings } from '../../../src/model/settings.ts'
import { PLAIN_OFFSETS } from '../../../src/model/zoneOffsets.ts'
import { box, circle, label, line, path, picture } from './svg.ts'
import { circleAt, decideTrace, noise, type Decided, type TracePoint } from './world.ts'

/** A phone that lies near the edge of a circle while its locations jump; the same trace under several settings. */
export function delays(): string {
  const fence = circleAt(80)
  const trace = noisyStay()
  const rows: readonly { readonly text: string; readonly settings: Partial<Settings> }[] = [
    { text: 'defaults', settings: {} },
    { text: 'minimumConfidence 2', settings: { minimumConfidence: 2 } },
    { text: 'maxAccuracyMeters 50', settings: { maxAccuracyMeters: 50 } },
    { text: 'exitDelaySeconds 90', settings: { exitDelaySeconds: 90 } },
    { text: 'all three', settings: { minimumConfidence: 2, maxAccuracyMeters: 50, exitDelaySeconds: 90 } },
  ]
  const last = trace.at(-1)!.second
  const x = (second: number) => 170 + (second / last) * 500
  const y = (distance: number) => 165 - distance * 0.42
  const parts = [
    label(20, 26, 'Distance from the boundary, and the accuracy of each location', 'strong'),
    line(x(0), y(0), x(last), y(0), 'grid'),
    label(160, y(0) + 4, 'boundary', 'small', 'end'),
    label(160, y(100) + 4, '100 m outside', 'small', 'end'),
    label(160, y(-70) + 4, '70 m inside', 'small', 'end'),
  ]
  const truth = decideTrace(fence, trace, {})
  for (const { second, distance, accuracy } of truth)
    parts.push(line(x(second), y(distance - accuracy), x(second), y(distance + accuracy), 'grid'))
  parts.push(
    path(
      truth.map(({ second, distance }) => [x(second), y(distance)] as const),
      'way',
    ),
  )
  for (const { second, distance, accuracy } of truth)
    parts.push(circle(x(second), y(distance), 2.6, accuracy > 50 ? 'bar1' : 'dot'))
  for (const [i, { text, settings }] of rows.entries()) {
    const top = 222 + i * 30
    const decided = decideTrace(fence, usable(trace, settings), settings)
    const exits = decided.filter(({ decision }) => decision.outcome === 'exited').length
    parts.push(label(160, top + 13, text, '', 'end'), line(x(0), top + 9, x(last), top + 9, 'grid'))
    for (const [from, to] of stays(decided))
      parts.push(box(x(from), top, Math.max(2, x(to) - x(from)), 18, 'inside'))
    parts.push(
      label(684, top + 13, exits === 1 ? '1 exit' : `${exits} exits`, exits === 1 ? 'text3' : 'text1'),
    )
  }
  for (let second = 0; second <= last; second += 300)
    parts.push(label(x(second), 388, `${second / 60} min`, 'small', 'middle'))
  return picture(760, 402, 'Entries and exits of one noisy trace under several settings', parts)
}

/** Half an hour inside near the edge, then away. GPS of some metres, now and then a cell tower. */
function noisyStay(): TracePoint[] {
  const random = noise(7)
  return Array.from({ length: 91 }, (_, i) => {
    const second = i * 20
    const isTower = i % 17 === 11
    const accuracy = isTower ? 120 : 14 + Math.abs(random()) * 10
    const east = second < 1500 ? 66 : 66 + (second - 1500) * 0.9
    const offset = isTower ? 95 : random() * accuracy * 0.62
    return { second, at: [east + offset, 0] as const, accuracy }
  })
}

/** The updates that touch geofences. */
function usable(
  trace: readonly TracePoint[],
  { maxAccuracyMeters = null }: Partial<Settings>,
): readonly TracePoint[] {
  return trace.filter(({ accuracy }) => maxAccuracyMeters === null || accuracy <= maxAccuracyMeters)
}

/** From and to of each stay, seconds. */
function stays(decided: readonly Decided[]): (readonly [number, number])[] {
  const found: [number, number][] = []
  for (const [i, { second, isInside }] of decided.entries()) {
    if (isInside && !decided[i - 1]?.isInside) found.push([second, second])
    if (found.length > 0 && (isInside || decided[i - 1]?.isInside)) found.at(-1)![1] = second
  }
  return found
}

/** A stay with its threshold: the dwell event comes with the first update after it. */
export function dwell(): string {
  const fence = circleAt(80)
  const minutes = [0, 2, 5, 9, 14, 18, 21, 26]
  const trace = minutes.map((minute) => ({
    second: minute * 60,
    at: [minute === 0 ? -200 : minute === 26 ? 200 : 10, 0] as const,
    accuracy: 15,
  }))
  const decided = decideTrace(fence, trace, { dwellEvents: true, dwellThreshold: 10 })
  const x = (minute: number) => 50 + minute * 23.5
  const y = 92
  const enteredAt = minutes[decided.findIndex(({ decision }) => decision.outcome === 'entered')]!
  const exitedAt = minutes[decided.findIndex(({ decision }) => decision.outcome === 'exited')]!
  const parts = [
    line(x(0), y, x(26), y, 'grid'),
    box(x(enteredAt), y - 9, x(exitedAt) - x(enteredAt), 18, 'inside'),
    line(x(enteredAt + 10), 34, x(enteredAt + 10), y + 20, 'dashed'),
    label(x(enteredAt + 10), 26, 'dwellThreshold: 10 minutes after entry', 'small', 'middle'),
  ]
  for (const [i, { decision }] of decided.entries()) {
    const minute = minutes[i]!
    parts.push(circle(x(minute), y, 4, 'dot'), label(x(minute), y + 40, `${minute} min`, 'small', 'middle'))
    const { event } = decision
    if (event === undefined) continue
    const text = event.slice('user.'.length).replace('_geofence', '').replace('_in', '')
    parts.push(
      line(x(minute), y + 46, x(minute), y + 58, 'way'),
      label(x(minute), y + 74, text, 'strong', 'middle'),
    )
    if (event === 'user.exited_geofence')
      parts.push(label(x(minute), y + 90, `duration ${exitedAt - enteredAt}`, 'small', 'middle'))
  }
  return picture(720, 196, 'A dwell event comes with the first update after the threshold', parts)
}

/** A week of opening hours, two nights of them over midnight. */
export function hours(): string {
  const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
  const operating = parseOperatingHours({
    Mon: [['9:00 AM', '5:00 PM']],
    Tue: [
      ['09:00', '12:00'],
      ['14:00', '18:00'],
    ],
    Fri: [['18:00', '02:00']],
    Sat: [['18:00', '24:00']],
  })!
  /** A Sunday, midnight in UTC. */
  const sunday = Date.UTC(2025, 4, 4)
  const x = (hour: number) => 120 + hour * 24
  const parts: string[] = []
  for (let hour = 0; hour <= 24; hour += 6)
    parts.push(
      label(x(hour), 26, `${String(hour).padStart(2, '0')}:00`, 'small', 'middle'),
      line(x(hour), 34, x(hour), 252, 'grid'),
    )
  for (const [day, name] of days.entries()) {
    const y = 40 + day * 30
    parts.push(label(105, y + 16, name, '', 'end'))
    let from: number | undefined
    for (let quarter = 0; quarter <= 96; quarter++) {
      const isOpenNow =
        quarter < 96 &&
        isOpen(operating, 'UTC', sunday + day * 86_400_000 + quarter * 15 * 60_000, PLAIN_OFFSETS)
      if (isOpenNow) from ??= quarter / 4
      else if (from !== undefined) {
        parts.push(box(x(from), y, x(quarter / 4) - x(from), 22, 'inside'))
        from = undefined
      }
    }
  }
  return picture(720, 262, 'A week of opening hours; Friday’s evening goes on until two on Saturday', parts)
}
