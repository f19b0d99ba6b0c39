/** When nightly runs are due, with clocks that skip and repeat hours. */
import t from 'tap'
import { isTimeZone, lastNight, nextNight } from '../../src/sync/schedule.ts'

const at = (text: string): number => Date.parse(text)
const next = (from: string, time: string, zone: string) => {
  const night = nextNight(at(from), time, zone)
  return [night.date, new Date(night.at).toISOString()]
}

t.test('the next time of day in its zone', async (t) => {
  t.strictSame(next('2026-01-10T02:59:59Z', '03:00', 'UTC'), ['2026-01-10', '2026-01-10T03:00:00.000Z'])
  t.strictSame(next('2026-01-10T03:00:00Z', '03:00', 'UTC'), ['2026-01-11', '2026-01-11T03:00:00.000Z'])
  t.strictSame(next('2026-01-10T12:00:00Z', '03:00', 'Europe/Berlin'), [
    '2026-01-11',
    '2026-01-11T02:00:00.000Z',
  ])
  t.strictSame(next('2026-01-10T12:00:00Z', '00:15', 'Pacific/Kiritimati'), [
    '2026-01-12',
    '2026-01-11T10:15:00.000Z',
  ])
  t.strictSame(next('2026-01-10T12:00:00Z', '23:45', 'Pacific/Pago_Pago'), [
    '2026-01-10',
    '2026-01-11T10:45:00.000Z',
  ])
  t.strictSame(next('2026-01-10T12:00:00Z', '03:00', 'Asia/Kathmandu'), [
    '2026-01-11',
    '2026-01-10T21:15:00.000Z',
  ])
})

t.test('a time that the clock skips: the minute after; one that it repeats: the first', async (t) => {
  const skipped = ['2026-03-29', '2026-03-29T01:00:00.000Z']
  t.strictSame(next('2026-03-28T12:00:00Z', '02:30', 'Europe/Berlin'), skipped)
  t.strictSame(next('2026-03-28T12:00:00Z', '02:00', 'Europe/Berlin'), skipped)
  t.strictSame(next('2026-03-29T01:00:00Z', '02:30', 'Europe/Berlin'), [
    '2026-03-30',
    '2026-03-30T00:30:00.000Z',
  ])
  t.strictSame(next('2026-10-24T12:00:00Z', '02:30', 'Europe/Berlin'), [
    '2026-10-25',
    '2026-10-25T00:30:00.000Z',
  ])
  t.strictSame(next('2026-10-25T00:30:00Z', '02:30', 'Europe/Berlin'), [
    '2026-10-26',
    '2026-10-26T01:30:00.000Z',
  ])
  t.strictSame(next('2026-10-03T12:00:00Z', '02:15', 'Australia/Lord_Howe'), [
    '2026-10-04',
    '2026-10-03T15:30:00.000Z',
  ])
  t.strictSame(next('2026-03-07T12:00:00Z', '02:30', 'America/New_York'), [
    '2026-03-08',
    '2026-03-08T07:00:00.000Z',
  ])
})

t.test(
  'each night of a year in each of many zones comes once, and the last one is the next of before',
  async (t) => {
    for (const zone of [
      'UTC',
      'Europe/Berlin',
      'America/St_Johns',
      'Africa/Casablanca',
      'America/Santiago',
      'Asia/Gaza',
    ]) {
      for (const time of ['00:00', '00:30', '02:30', '23:59']) {
        const dates: string[] = []
        let now = at('2026-01-05T12:00:00Z')
        for (let days = 0; days < 365; days++) {
          const night = nextNight(now, time, zone)
          dates.push(night.date)
          if (lastNight(night.at, time, zone).at !== night.at || lastNight(night.at - 1, time, zone).at > now)
            t.fail(`${zone} ${time} ${night.date}`)
          now = night.at
        }
        t.equal(new Set(dates).size, 365, `${zone} ${time}`)
      }
    }
  },
)

t.test('zones are named by their places', async (t) => {
  for (const name of ['UTC', 'Europe/Berlin', 'America/Argentina/Buenos_Aires', 'Etc/GMT+5'])
    t.ok(isTimeZone(name), name)
  for (const name of ['+01:00', 'Berlin', '', 'Europe/Berlin\n', '../UTC', 'x'.repeat(300)])
    t.notOk(isTimeZone(name), name)
})
