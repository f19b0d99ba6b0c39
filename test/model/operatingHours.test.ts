/** Operating hours: the rules with examples, and with a property against a slow, obvious implementation. */
import t from 'tap'
import { isOpen, OperatingHoursError, parseOperatingHours } from '../../src/model/operatingHours.ts'
import type { OperatingHours } from '../../src/model/operatingHours.ts'
import { CachedOffsets, PLAIN_OFFSETS } from '../../src/model/zoneOffsets.ts'
import fc from '../kit/fastCheck.ts'

const RUNS = 200 * Number(process.env['RINGFENCE_TEST_RUNS'] ?? 1)

const zones = new CachedOffsets()

function hours(definition: unknown): OperatingHours {
  return parseOperatingHours(definition)!
}

t.test('times in both formats, days in both spellings', async (t) => {
  const NINE_TO_FIVE = [540, 1020]
  const SPELLINGS: readonly (readonly [day: string, open: string, close: string])[] = [
    ['Monday', '9:00 AM', '5:00 PM'],
    ['monday', '09:00 am', '05:00 pm'],
    ['Mon', '9:00AM', '5:00pm'],
    ['MON', '09:00', '17:00'],
    ['mOnDaY', '9:00', '17:00'],
  ]
  for (const [day, open, close] of SPELLINGS) {
    const { week, source } = hours({ [day]: [[open, close]] })
    t.strictSame(week, [[], [NINE_TO_FIVE], [], [], [], [], []], `${day} ${open} ${close}`)
    t.strictSame(source, { [day]: [[open, close]] }, 'kept as given')
  }
  t.strictSame(hours({ sun: [['12:00 AM', '12:00 PM']] }).week[0], [[0, 720]], 'midnight and noon')
  t.strictSame(hours({ sun: [['12:30 PM', '24:00']] }).week[0], [[750, 1440]], '24:00 closes')
  t.strictSame(hours({ sat: [['22:00', '02:00']] }).week[6], [[1320, 1560]], 'over midnight')
  t.strictSame(hours({ sat: [['09:00', '09:00']] }).week[6], [[540, 1980]], 'equal times: 24 hours')
  t.strictSame(hours({ sat: [['00:00', '24:00']] }).week[6], [[0, 1440]])
  t.strictSame(
    hours({ Sun: [], Mon: null }).week,
    [[], [], [], [], [], [], []],
    'listed without pairs: closed',
  )
  t.equal(parseOperatingHours({}), undefined, 'no days: always open')
})

t.test('an invalid definition is refused with a clear message', async (t) => {
  const BAD: readonly (readonly [definition: unknown, sentence: RegExp])[] = [
    [[], /dictionary/],
    ['Mon', /dictionary/],
    [{ Montag: [] }, /"Montag" is not a day/],
    [{ Mo: [] }, /"Mo" is not a day/],
    [JSON.parse('{"__proto__": []}'), /"__proto__" is not a day/],
    [{ Sun: [], sunday: [] }, /Sun and sunday are the same day/],
    [{ Sun: ['9:00', '17:00'] }, /Sun must be a list of \[open, close\] pairs/],
    [{ Sun: '9:00-17:00' }, /list of \[open, close\] pairs/],
    [{ Sun: [['9:00']] }, /pairs/],
    [{ Sun: [['9:00', '10:00', '11:00']] }, /pairs/],
    [{ Sun: [[9, 17]] }, /as text/],
    [{ Sun: [['9', '17']] }, /"9", which is not a time/],
    [{ Sun: [['25:00', '26:00']] }, /"25:00", which is not a time/],
    [{ Sun: [['09:60', '10:00']] }, /not a time/],
    [{ Sun: [['13:00 PM', '14:00']] }, /not a time/],
    [{ Sun: [['0:30 AM', '14:00']] }, /not a time/],
    [{ Sun: [['24:00', '02:00']] }, /cannot open at 24:00/],
    [{ Sun: [['09:00', '24:01']] }, /not a time/],
    [{ Sun: Array.from({ length: 49 }, () => ['9:00', '10:00']) }, /49 pairs; at most 48/],
  ]
  for (const [definition, sentence] of BAD) {
    t.throws(() => parseOperatingHours(definition), { name: 'OperatingHoursError', message: sentence })
  }
  t.ok(new OperatingHoursError('') instanceof Error)
})

t.test('open minutes, close minutes, midnight', async (t) => {
  const shop = hours({ Sat: [['22:00', '02:00']], Mon: [['9:00', '17:00']] })
  // 2026-01-03 was a Saturday.
  const CASES: readonly (readonly [time: string, open: boolean])[] = [
    ['2026-01-03T21:59:59.999Z', false],
    ['2026-01-03T22:00:00Z', true],
    ['2026-01-03T23:59:59.999Z', true],
    ['2026-01-04T00:00:00Z', true],
    ['2026-01-04T01:59:59.999Z', true],
    ['2026-01-04T02:00:00Z', false],
    ['2026-01-04T22:30:00Z', false],
    ['2026-01-05T08:59:59.999Z', false],
    ['2026-01-05T09:00:00Z', true],
    ['2026-01-05T17:00:00Z', false],
    ['2026-01-10T01:00:00Z', false],
  ]
  for (const [time, open] of CASES) t.equal(isOpen(shop, 'Etc/UTC', Date.parse(time), zones), open, time)
})

t.test('clock changes: the wall clock decides', async (t) => {
  const night = hours({ Sun: [['02:30', '03:30']] })
  // New York skips 02:00 to 03:00 on 2026-03-08 and has 01:00 to 02:00 twice on 2026-11-01.
  t.equal(isOpen(night, 'America/New_York', Date.parse('2026-03-08T06:59:59Z'), zones), false, '01:59 EST')
  t.equal(isOpen(night, 'America/New_York', Date.parse('2026-03-08T07:00:00Z'), zones), true, '03:00 EDT')
  t.equal(isOpen(night, 'America/New_York', Date.parse('2026-03-08T07:30:00Z'), zones), false, '03:30 EDT')
  const early = hours({ Sun: [['01:30', '01:45']] })
  t.equal(isOpen(early, 'America/New_York', Date.parse('2026-11-01T05:30:00Z'), zones), true, '01:30 EDT')
  t.equal(isOpen(early, 'America/New_York', Date.parse('2026-11-01T05:45:00Z'), zones), false, '01:45 EDT')
  t.equal(isOpen(early, 'America/New_York', Date.parse('2026-11-01T06:30:00Z'), zones), true, '01:30 EST')
  // Lord Howe moves by half an hour, at 02:00 local daylight time on 2026-04-05 (15:00 UTC the day before).
  const howe = hours({ Sun: [['01:30', '02:00']] })
  t.equal(
    isOpen(howe, 'Australia/Lord_Howe', Date.parse('2026-04-04T14:59:59Z'), zones),
    true,
    '01:59 the first time',
  )
  t.equal(isOpen(howe, 'Australia/Lord_Howe', Date.parse('2026-04-04T15:15:00Z'), zones), true, '01:45 again')
  t.equal(isOpen(howe, 'Australia/Lord_Howe', Date.parse('2026-04-04T15:30:00Z'), zones), false, '02:00')
})

const DAY_NAMES = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const ZONES = [
  'America/New_York',
  'Europe/Berlin',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Pacific/Chatham',
  'Pacific/Apia',
  'Africa/Monrovia',
  'Etc/UTC',
]

/** The wall clock according to Intl, for every minute of every pair. */
function isOpenSlowly(
  definition: Record<string, [number, number][]>,
  timeZone: string,
  time: number,
): boolean {
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone,
    weekday: 'long',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).formatToParts(time)
  const part = (type: string) => parts.find((one) => one.type === type)!.value
  const day = DAY_NAMES.indexOf(part('weekday'))
  const now = `${day} ${Number(part('hour')) * 60 + Number(part('minute'))}`
  const open = new Set<string>()
  for (const [name, pairs] of Object.entries(definition)) {
    for (const [from, to] of pairs) {
      const length = to > from ? to - from : to + 1440 - from
      for (let i = 0; i < length; i++) {
        const minute = from + i
        open.add(`${(DAY_NAMES.indexOf(name) + Math.floor(minute / 1440)) % 7} ${minute % 1440}`)
      }
    }
  }
  return open.has(now)
}

function text24(minute: number): string {
  return `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`
}

function text12(minute: number): string {
  if (minute === 1440) return '24:00'
  const hour = Math.floor(minute / 60)
  return `${hour % 12 === 0 ? 12 : hour % 12}:${String(minute % 60).padStart(2, '0')} ${hour < 12 ? 'AM' : 'PM'}`
}

/** Times of the year near changes of the offset in some of the zones, and any others. */
const timeArbitrary = fc.oneof(
  fc.integer({ min: Date.UTC(1971, 0, 1), max: Date.UTC(2037, 0, 1) }),
  fc
    .tuple(
      fc.constantFrom(
        Date.UTC(2026, 2, 8, 7),
        Date.UTC(2026, 10, 1, 6),
        Date.UTC(2026, 2, 29, 1),
        Date.UTC(2026, 9, 25, 1),
        Date.UTC(2026, 3, 4, 15),
        Date.UTC(2026, 9, 3, 15, 30),
        Date.UTC(2011, 11, 30, 10),
        Date.UTC(1972, 0, 7, 0, 44, 30),
      ),
      fc.integer({ min: -3 * 3_600_000, max: 3 * 3_600_000 }),
    )
    .map(([time, shift]) => time + shift),
)

const pairsArbitrary = fc.dictionary(
  fc.constantFrom(...DAY_NAMES),
  fc.array(fc.tuple(fc.integer({ min: 0, max: 1439 }), fc.integer({ min: 0, max: 1440 })), { maxLength: 4 }),
  { minKeys: 1, maxKeys: 7 },
)

t.test('property: isOpen agrees with a check of every minute', async (t) => {
  fc.assert(
    fc.property(
      pairsArbitrary,
      fc.constantFrom(...ZONES),
      timeArbitrary,
      fc.boolean(),
      (definition, zone, time, asAmPm) => {
        const text = asAmPm ? text12 : text24
        const given = Object.fromEntries(
          Object.entries(definition).map(([day, pairs]) => [
            day,
            pairs.map(([from, to]) => [text(from), text(to)]),
          ]),
        )
        const parsed = hours(given)
        for (const at of [time, time + 60_000, time + 3_600_000]) {
          if (isOpen(parsed, zone, at, zones) !== isOpenSlowly(definition, zone, at)) return false
        }
        return true
      },
    ),
    { numRuns: RUNS },
  )
  t.pass('held')
})

t.test(
  'remembered offsets are those of Intl, in any order of zones and times, also when it begins again',
  (t) => {
    const names = Intl.supportedValuesOf('timeZone')
    const spelled = (name: string, i: number) => (i % 3 === 0 ? name.toUpperCase() : name)
    const cached = new CachedOffsets()
    // More names than are remembered, with their spellings, and the quarters around changes of the clocks.
    const times = [
      '2026-03-08T06:59:59.999Z',
      '2026-03-08T07:00:00Z',
      '2026-04-04T15:07:00Z',
      '1890-01-01T00:00:30Z',
    ]
    for (let round = 0; round < 3; round++) {
      for (const [i, name] of names.entries()) {
        const zone = spelled(name, i + round)
        const time = Date.parse(times[(i + round) % times.length]!)
        const [given, expected] = [cached.offsetMs(zone, time), PLAIN_OFFSETS.offsetMs(zone, time)]
        if (given !== expected) t.fail(`${zone} at ${time}: ${given}, not ${expected}`)
      }
    }
    t.ok(names.length > 400, `${names.length} zones`)
    t.end()
  },
)
