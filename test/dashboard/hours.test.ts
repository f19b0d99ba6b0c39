/** Opening hours as texts and as cells of a grid. */
import t from 'tap'
import { hourStates, withHour } from '../../dashboard/src/pages/geofences/hours.ts'
import fc from '../kit/fastCheck.ts'

t.test('a text becomes 24 hours', async (t) => {
  const states = hourStates('08:30-12:00, 13:00-24:00')!
  t.equal(states.length, 24)
  t.strictSame(states.slice(7, 14), ['closed', 'part', 'open', 'open', 'open', 'closed', 'open'])
  t.equal(states[23], 'open')
  t.strictSame(new Set(hourStates('')), new Set(['closed']))
})

t.test('what the grid cannot show stays as it is', async (t) => {
  for (const text of ['08:', '22:00-02:00', '08:00-25:00', 'closed']) {
    t.equal(hourStates(text), undefined, text)
    t.equal(withHour(text, 8, true), text)
  }
})

t.test('an hour opens and closes; the rest stays, to the minute', async (t) => {
  t.equal(withHour('', 8, true), '08:00-09:00')
  t.equal(withHour('08:00-09:00', 9, true), '08:00-10:00')
  t.equal(withHour('07:15-18:45', 12, false), '07:15-12:00, 13:00-18:45')
  t.equal(withHour('08:00-09:00', 8, false), '')
  t.equal(withHour('', 23, true), '23:00-24:00')
})

t.test('any hours, in any order, are those that were set', async () => {
  const step = fc.tuple(fc.integer({ min: 0, max: 23 }), fc.boolean())
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const open = new Set<number>()
      let text = ''
      for (const [hour, isOpen] of steps) {
        text = withHour(text, hour, isOpen)
        if (isOpen) open.add(hour)
        else open.delete(hour)
      }
      const shown = hourStates(text)!.flatMap((state, hour) => (state === 'open' ? [hour] : []))
      return JSON.stringify(shown) === JSON.stringify([...open].toSorted((a, b) => a - b))
    }),
  )
})
