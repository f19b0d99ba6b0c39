/** Opening hours of OpenStreetMap as operating hours, against weekly plans that are drawn. */
import t from 'tap'
import { weeklyHours } from '../../src/geo/records/openingHours.ts'
import { parseOperatingHours } from '../../src/model/operatingHours.ts'
import fc from '../kit/fastCheck.ts'

const DAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']
const codeOf = (day: number): string => DAYS[day]!.slice(0, 2)
const days = (names: readonly string[], ...pairs: [string, string][]) =>
  Object.fromEntries(names.map((name) => [name, pairs]))

t.test('weekly plans as people write them', async (t) => {
  const [week, sunday] = [DAYS.slice(0, 5), 'Sunday']
  for (const [text, hours] of [
    ['24/7', days(DAYS, ['00:00', '24:00'])],
    ['08:00-22:00', days(DAYS, ['08:00', '22:00'])],
    ['9:30-23:30', days(DAYS, ['09:30', '23:30'])],
    ['Mo-Fr 09:00-12:00,13:00-18:00', days(week, ['09:00', '12:00'], ['13:00', '18:00'])],
    ['Mo-Fr 09:00-12:00, Mo-Fr 13:00-18:00', days(week, ['09:00', '12:00'], ['13:00', '18:00'])],
    ['Mo-Fr 09:00-12:00; Mo-Fr 13:00-18:00', days(week, ['13:00', '18:00'])],
    ['Mo-Su 08:00-18:00; Su off', days(DAYS.slice(0, 6), ['08:00', '18:00'])],
    ['Mo-Su 08:00-18:00, Su closed;', days(DAYS.slice(0, 6), ['08:00', '18:00'])],
    ['Mo, We,Fr 20:00 - 21:30', days(['Monday', 'Wednesday', 'Friday'], ['20:00', '21:30'])],
    ['Fr-Mo 19:00-01:00', days(['Friday', 'Saturday', 'Sunday', 'Monday'], ['19:00', '01:00'])],
    ['Su 10:00-26:00', days([sunday], ['10:00', '02:00'])],
    ['Su 19:00-24:00', days([sunday], ['19:00', '24:00'])],
    ['Su,PH 10:00-12:00; SH off', days([sunday], ['10:00', '12:00'])],
  ] as const)
    t.same(weeklyHours(text), hours, text)
})

t.test('everything else is no weekly plan', async (t) => {
  for (const text of [
    '',
    ';',
    'off',
    'PH off',
    'Mo-Fr',
    'Mo-Fr 09:00-18:00; Sa',
    'Mo-Fr 09:00',
    'Mo-Fr 09:00+',
    'Mo-Fri 09:00-18:00',
    'Mo-Fr 09:0-18:00',
    'Mo-Fr 09:60-18:00',
    'Mo-Fr 24:00-25:00',
    'Mo-Fr 10:00-48:01',
    'Mo-Fr 10:00-99:99',
    'Mo-PH 09:00-18:00',
    'sunrise-sunset',
    'Apr-Oct Mo-Fr 09:00-18:00',
    'week 1-20 Mo 09:00-18:00',
    'Mo[1] 09:00-18:00',
    'Mo-Fr 09:00-18:00 "by appointment"',
    'Mo-Fr 09:00-18:00 || Sa 10:00-12:00',
    'Mo-Fr 09:00-18:00,,',
    '10:00-20:00 off',
    'Mo '.repeat(100_000),
    '10:00-12:00,'.repeat(100_000),
    '__proto__',
  ])
    t.equal(weeklyHours(text), undefined, text.slice(0, 60))
})

const time = (minutes: number): string =>
  [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, '0')).join(':')

t.test('property: any weekly plan is read again, and a geofence takes it', async (t) => {
  const pair = fc.tuple(fc.nat(1439), fc.nat(1440)).map((both) => both.map(time) as [string, string])
  const plans = fc.array(
    fc.record({
      first: fc.nat(6),
      length: fc.integer({ min: 1, max: 7 }),
      pairs: fc.array(pair, { maxLength: 3 }),
      isAdded: fc.boolean(),
    }),
    { minLength: 1, maxLength: 5 },
  )
  fc.assert(
    fc.property(plans, (rules) => {
      const week: [string, string][][] = DAYS.map(() => [])
      let text = ''
      for (const [i, { first, length, pairs, isAdded }] of rules.entries()) {
        const named = Array.from({ length }, (_, day) => (first + day) % 7)
        for (const day of named)
          week[day] = isAdded && i > 0 && pairs.length > 0 ? [...week[day]!, ...pairs] : pairs
        const range = length === 1 ? codeOf(first) : `${codeOf(first)}-${codeOf((first + length - 1) % 7)}`
        const times = pairs.map(([open, close]) => `${open}-${close}`).join(',') || 'off'
        text += `${i === 0 ? '' : isAdded ? ', ' : '; '}${range} ${times}`
      }
      if (text.length > 255) return
      const expected = DAYS.map((name, i) => [name, week[i]!] as const).filter(
        ([, pairs]) => pairs.length > 0,
      )
      const hours = weeklyHours(text)
      t.same(hours, expected.length === 0 ? undefined : Object.fromEntries(expected), text)
      if (hours !== undefined) t.same(parseOperatingHours(hours)!.source, hours)
    }),
  )
})

t.test('property: any text is read or refused', async () => {
  const parts = fc.constantFrom(
    'Mo',
    'Su',
    'PH',
    '-',
    ' ',
    ',',
    ';',
    '09:00',
    '24:00',
    'off',
    '"',
    '24/7',
    'x',
  )
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(parts).map((list) => list.join('')),
      ),
      (text) => {
        const hours = weeklyHours(text)
        if (hours !== undefined) parseOperatingHours(hours)
      },
    ),
  )
})
