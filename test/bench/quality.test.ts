import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { fixesOf } from '../../bench/quality/receiver.ts'
import { median } from '../../bench/figures.ts'
import { Score, type Happening } from '../../bench/quality/score.ts'
import { trueStays, type Stay } from '../../bench/quality/truth.ts'
import { seededRandom } from '../../src/simulation/streets.ts'
import { pointDistance } from '../../src/geometry/distance.ts'

/** `100-200` is a stay in circle 0; with `?` the track only grazes the circle. */
function staysOf(text: string): Stay[] {
  return text.split(' ').map((one) => {
    const [from, to] = one.replace('?', '').split('-').map(Number)
    return { circle: 0, from: from!, to: to!, counts: !one.endsWith('?') }
  })
}

/** `+100 -210` means entered at 100 and exited at 210. */
function toldOf(text: string): Happening[] {
  return text
    .split(' ')
    .filter((one) => one !== '')
    .map((one) => ({
      circle: 0,
      kind: one.startsWith('+') ? 'entered' : 'exited',
      second: Math.abs(Number(one)),
    }))
}

t.test('scores, by hand', async (t) => {
  // Stays | events | stays, long, detected, missed long, false entries, false exits, flaps | late entries | late exits.
  const table = `
    100-200         | +102 -204                     | 1 1 1 0 0 0 0 | 2   | 4
    100-200         | +85 -215                      | 1 1 1 0 0 0 0 | -15 | 15
    100-200         | +84 -215                      | 1 1 0 1 1 0 0 |     |
    100-200         | +215 -230                     | 1 1 1 0 0 0 0 | 115 | 30
    100-200         | +216 -230                     | 1 1 0 1 1 0 0 |     |
    100-200         |                               | 1 1 0 1 0 0 0 |     |
    100-159         |                               | 1 0 0 0 0 0 0 |     |
    100-200         | +100 -150 +160 -201           | 1 1 1 0 0 1 1 | 0   | 1
    100-200         | +100 -184 +190 -201           | 1 1 1 0 0 1 1 | 0   | 1
    100-200         | +100 -185 +190 -201           | 1 1 1 0 0 0 1 | 0   | 1
    100-200         | +100 -120 +130 -140 +150 -200 | 1 1 1 0 0 2 2 | 0   | 0
    100-200 300-400 | +101 -402                     | 2 2 1 1 0 0 0 | 1   | 202
    100-200 300-400 | +101 -202 +303 -404           | 2 2 2 0 0 0 0 | 1 3 | 2 4
    100-120 130-150 | +126                          | 2 0 1 0 0 0 0 | -4  |
    100-110?        | +100 -111                     | 0 0 0 0 0 0 0 |     |
    100-110?        | +50 -60                       | 0 0 0 0 1 0 0 |     |
    100-200?        | +100 -150 +160 -170           | 0 0 0 0 0 0 0 |     |`
  for (const line of table.trim().split('\n')) {
    const [stays, told, counts, entries, exits] = line.split('|').map((cell) => cell.trim())
    const score = new Score()
    score.add(staysOf(stays!), toldOf(told!), 15)
    const { detected, missedLong, falseEntries, falseExits, flaps } = score
    const found = [score.stays, score.longStays, detected, missedLong, falseEntries, falseExits, flaps]
    t.equal(found.join(' '), counts, line)
    t.equal(score.entriesLate.join(' '), entries, line)
    t.equal(score.exitsLate.join(' '), exits, line)
  }
  t.equal(median([3, 1, 2]), 2)
  t.equal(median([4, 1, 2, 3]), 2.5)
})

t.test('true stays: short absences and grazes', async (t) => {
  // Moves east along the equator at 10 m per second; the circle of 100 m is centred on second 50.
  const at = (meters: number) => ({ latitude: 0, longitude: meters / 111_319.49 })
  const straight = Array.from({ length: 101 }, (_, second) => at(10 * second))
  const circle = { ...at(500), radiusMeters: 100.01 }
  t.same(trueStays(straight, [circle]), [{ circle: 0, from: 40, to: 60, counts: true }])
  const back = [...straight, ...straight.toReversed()]
  t.equal(trueStays(back, [circle]).length, 2)
  t.equal(trueStays([...straight.slice(0, 65), ...straight.slice(51, 65).toReversed()], [circle]).length, 1)
  const beside = { latitude: 98 / 110_574, longitude: circle.longitude, radiusMeters: 100 }
  t.match(trueStays(straight, [beside]), [{ counts: false }])
})

t.test('the receiver reports a correct accuracy on average, and drifts', async (t) => {
  const way = Array.from({ length: 200_000 }, () => ({ latitude: 52, longitude: -8 }))
  const fixes = fixesOf(way, 5, seededRandom(3))
  t.equal(fixes.length, 40_000)
  const errors = fixes.map(({ latitude, longitude }) => pointDistance(latitude, longitude, 52, -8))
  const within = errors.filter((error, i) => error <= fixes[i]!.accuracy).length / fixes.length
  t.ok(within > 0.64 && within < 0.72, `${within} within the accuracy`)
  const steps = fixes.slice(1).map((fix, i) => {
    const before = fixes[i]!
    return pointDistance(fix.latitude, fix.longitude, before.latitude, before.longitude)
  })
  t.ok(median(steps) < median(errors), 'from one fix to the next it moves less than it is off')
})

t.test('the bench runs without the recording', async (t) => {
  const script = join(import.meta.dirname, '..', '..', 'bench', 'quality.ts')
  const run = spawnSync(process.execPath, [script, '--smoke', '--gpx', 'nowhere.gpx'], { encoding: 'utf8' })
  t.equal(run.status, 0, run.stderr)
  t.match(run.stderr, /nowhere\.gpx is not there/)
  const { tracks, tables } = JSON.parse(run.stdout.trimEnd().split('\n').at(-1)!)
  t.same(tracks, { city: 4, bus: 0 })
  t.same(Object.keys(tables), ['cityEvery5s', 'cityEvery60s'])
})
