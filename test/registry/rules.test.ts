/** Operating hours and IP ranges: the rules by example, and by property against slow obvious twins. */
import t from 'tap'
import { isOpen, OperatingHoursError, parseOperatingHours } from '../../src/model/operatingHours.ts'
import type { OperatingHours } from '../../src/model/operatingHours.ts'
import { IpRangesError, matchesIp, parseIpRanges } from '../../src/model/ipRanges.ts'
import { metadataMatcher } from '../../src/model/metadata.ts'
import fc from '../kit/fastCheck.ts'

const RUNS = 200 * Number(process.env['RINGFENCE_TEST_RUNS'] ?? 1)

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

t.test('what is no definition is refused with a sentence', async (t) => {
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
  for (const [time, open] of CASES) t.equal(isOpen(shop, 'Etc/UTC', Date.parse(time)), open, time)
})

t.test('clock changes: the wall clock decides', async (t) => {
  const night = hours({ Sun: [['02:30', '03:30']] })
  // New York skips 02:00 to 03:00 on 2026-03-08 and has 01:00 to 02:00 twice on 2026-11-01.
  t.equal(isOpen(night, 'America/New_York', Date.parse('2026-03-08T06:59:59Z')), false, '01:59 EST')
  t.equal(isOpen(night, 'America/New_York', Date.parse('2026-03-08T07:00:00Z')), true, '03:00 EDT')
  t.equal(isOpen(night, 'America/New_York', Date.parse('2026-03-08T07:30:00Z')), false, '03:30 EDT')
  const early = hours({ Sun: [['01:30', '01:45']] })
  t.equal(isOpen(early, 'America/New_York', Date.parse('2026-11-01T05:30:00Z')), true, '01:30 EDT')
  t.equal(isOpen(early, 'America/New_York', Date.parse('2026-11-01T05:45:00Z')), false, '01:45 EDT')
  t.equal(isOpen(early, 'America/New_York', Date.parse('2026-11-01T06:30:00Z')), true, '01:30 EST')
  // Lord Howe moves by half an hour, at 02:00 local daylight time on 2026-04-05 (15:00 UTC the day before).
  const howe = hours({ Sun: [['01:30', '02:00']] })
  t.equal(
    isOpen(howe, 'Australia/Lord_Howe', Date.parse('2026-04-04T14:59:59Z')),
    true,
    '01:59 the first time',
  )
  t.equal(isOpen(howe, 'Australia/Lord_Howe', Date.parse('2026-04-04T15:15:00Z')), true, '01:45 again')
  t.equal(isOpen(howe, 'Australia/Lord_Howe', Date.parse('2026-04-04T15:30:00Z')), false, '02:00')
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

/** The wall clock by Intl, minute by minute of every pair. */
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

/** Times of the year around which offsets change in some of the zones, and any others. */
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

t.test('property: isOpen is what a minute-by-minute twin says', async (t) => {
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
          if (isOpen(parsed, zone, at) !== isOpenSlowly(definition, zone, at)) return false
        }
        return true
      },
    ),
    { numRuns: RUNS },
  )
  t.pass('held')
})

t.test('IP ranges by example', async (t) => {
  const CASES: readonly (readonly [ranges: string, inside: readonly string[], outside: readonly string[]])[] =
    [
      ['203.0.113.7', ['203.0.113.7', '::ffff:203.0.113.7', '::ffff:cb00:7107'], ['203.0.113.8', '::1']],
      ['203.0.113.*', ['203.0.113.0', '203.0.113.255'], ['203.0.112.255', '203.0.114.0']],
      ['10.0.0.0/8', ['10.255.255.255', '::ffff:10.1.2.3'], ['11.0.0.0']],
      ['10.1.2.3/8', ['10.9.9.9'], ['11.1.2.3']],
      ['0.0.0.0/0', ['1.2.3.4', '::ffff:1.2.3.4'], ['::1', '2001:db8::1']],
      ['::/0', ['2001:db8::1'], ['1.2.3.4', '::ffff:1.2.3.4']],
      ['2001:db8::/32', ['2001:db8:ffff::1', '2001:DB8::1'], ['2001:db9::']],
      ['2001:db8::7:*', ['2001:db8::7:0', '2001:db8::7:ffff'], ['2001:db8::8:0']],
      ['2001:db8::*', ['2001:db8::', '2001:db8::ffff'], ['2001:db8::1:0']],
      ['::ffff:10.0.0.0/104', ['10.200.0.1'], ['11.0.0.1']],
      ['::ffff:10.0.0.*', ['10.0.0.200'], ['10.0.1.0']],
      [' 10.0.0.1 , 10.0.0.3 ', ['10.0.0.1', '10.0.0.3'], ['10.0.0.2']],
      ['fe80::1', ['fe80::1%eth0'], []],
      ['10.0.0.1', [], ['', 'nonsense', '10.0.0.1.1', '010.0.0.1', '167772161']],
    ]
  for (const [text, inside, outside] of CASES) {
    const ranges = parseIpRanges(text)
    for (const ip of inside) t.equal(matchesIp(ranges, ip), true, `${ip} in ${text}`)
    for (const ip of outside) t.equal(matchesIp(ranges, ip), false, `${ip} not in ${text}`)
  }
})

t.test('what is no IP range is refused', async (t) => {
  const BAD =
    ' |,|10.0.0.1,|10.0.0|10.0.0.256|010.0.0.1|1|10.*.0.1|10.0.*|*|10.0.0.0/33|10.0.0.*/24|10.0.0.0/|10.0.0.0/-1|' +
    '2001:db8::/129|2001:db8:*:1::|:::|fe80::1%eth0|a.b.c.d|10.0.0.1-10.0.0.9|2001:db8::1/64/64|' +
    '1:2:3:4:5:6:7:8:*|localhost'
  for (const text of BAD.split('|'))
    t.throws(() => parseIpRanges(text), { name: 'IpRangesError' }, JSON.stringify(text))
  const many = Array.from({ length: 1001 }, () => '10.0.0.1').join(',')
  t.throws(() => parseIpRanges(many), new IpRangesError('has 1001 ranges; at most 1000.'))
})

t.test('property: an address is in a CIDR range when its leading bits are', async (t) => {
  const v4 = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255))
  const v6 = fc.array(fc.nat(0xffff), { minLength: 8, maxLength: 8 })
  const big = (groups: readonly number[], bits: bigint) =>
    groups.reduce((sum, one) => (sum << bits) | BigInt(one), 0n)
  const hex = (groups: readonly number[]) => groups.map((group) => group.toString(16)).join(':')
  fc.assert(
    fc.property(v4, v4, fc.nat(32), fc.nat(32), (base, other, bits, shared) => {
      // An address that shares its first bits with the base, so that both answers come up.
      const mask = (1n << BigInt(32 - shared)) - 1n
      const ip = (big(base, 8n) & ~mask) | (big(other, 8n) & mask)
      const text = [24n, 16n, 8n, 0n].map((by) => (ip >> by) & 255n).join('.')
      const expected = ip >> BigInt(32 - bits) === big(base, 8n) >> BigInt(32 - bits)
      const ranges = parseIpRanges(`${base.join('.')}/${bits}`)
      return matchesIp(ranges, text) === expected && matchesIp(ranges, `::ffff:${text}`) === expected
    }),
    { numRuns: RUNS },
  )
  fc.assert(
    fc.property(v6, v6, fc.nat(128), fc.nat(8), (base, other, bits, shared) => {
      const groups = [...base.slice(0, shared), ...other.slice(shared)]
      const mapped = (one: readonly number[]) =>
        one.slice(0, 5).every((group) => group === 0) && one[5] === 0xffff
      if (mapped(base) || mapped(groups)) return true
      const expected = big(groups, 16n) >> BigInt(128 - bits) === big(base, 16n) >> BigInt(128 - bits)
      return matchesIp(parseIpRanges(`${hex(base)}/${bits}`), hex(groups)) === expected
    }),
    { numRuns: RUNS },
  )
  t.pass('held')
})

t.test('metadata filters: a text, or the boolean or number that it reads as', async (t) => {
  const CASES: readonly (readonly [value: string | number | boolean, wanted: string, matches: boolean])[] = [
    ['red', 'red', true],
    ['red', 'Red', false],
    [7, '7', true],
    [7, '7.0', true],
    [7, '0x7', false],
    [7, '', false],
    [0, '', false],
    ['7', '7', true],
    ['007', '007', true],
    ['007', '7', false],
    [true, 'true', true],
    [true, '1', false],
    [false, 'false', true],
    ['true', 'true', true],
  ]
  for (const [value, wanted, matches] of CASES) {
    t.equal(
      metadataMatcher({ key: wanted })({ key: value }),
      matches,
      `${JSON.stringify(value)} by ${wanted}`,
    )
  }
  t.equal(metadataMatcher({})(undefined), true)
  t.equal(metadataMatcher({ key: '1' })(undefined), false)
  t.equal(metadataMatcher({ a: '1', b: '3' })({ a: 1, b: 2 }), false)
  t.equal(metadataMatcher({ toString: 'x' })({}), false)
})
