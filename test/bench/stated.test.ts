/** The table of stated figures, checked with stored results and with invented ones. */
import t from 'tap'
import { keptResult, statedRows } from '../../bench/stated.ts'

t.test('each stated figure is in the stored results', async (t) => {
  const missing = statedRows(keptResult).filter(({ measured }) => measured === undefined)
  t.strictSame(
    missing.map(({ figure }) => figure),
    [],
  )
})

t.test('a figure that was not measured is neither reached nor missed', async (t) => {
  for (const row of statedRows(() => undefined))
    t.strictSame([row['measured'], row['reached'], row['limit']], [undefined, undefined, undefined])
})

t.test('at least and at most', async (t) => {
  const measuredOf = (
    rows: { case: string; ratio?: number; millisPerEvent?: number; bareMicros?: number }[],
  ) =>
    statedRows(() => ({ rows }))
      .filter(({ measured }) => measured !== undefined)
      .map(({ figure, reached, limit }) => [figure, reached, limit])
  const name = 'POST /v1/track, 256 connections'
  const figure = 'HTTP, 256 connections: bare / Ringfence'
  t.strictSame(measuredOf([{ case: name, ratio: 0.7 }]), [[figure, 'yes', undefined]])
  t.strictSame(measuredOf([{ case: name, ratio: 0.69 }]), [[figure, 'no', undefined]])
  const most = { case: 'websocket, 10,000 readers', bareMicros: 4.02 }
  const fanout = 'an event to 10,000 WebSockets, ms of CPU'
  t.strictSame(measuredOf([{ ...most, millisPerEvent: 50 }]), [[fanout, 'yes', 40.2]])
  t.strictSame(measuredOf([{ ...most, millisPerEvent: 50.1 }]), [[fanout, 'no', 40.2]])
})
