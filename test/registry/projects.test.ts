/** Who may make requests, and how many: the operator's switches, the monthly count, and what survives a restart. */
import Database from 'better-sqlite3'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { scopeId } from '../../src/model/scope.ts'
import { REGISTRY_FILE } from '../../src/registry/store/database.ts'
import { openRegistry, type Registry } from '../../src/registry/registry.ts'
import { SharedUsage } from '../../src/registry/projects/sharedUsage.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import fc from '../kit/fastCheck.ts'

const RUNS = Number(process.env.RINGFENCE_TEST_RUNS ?? 1)
const START = Date.UTC(2026, 10, 20)
const DAY_MS = 86_400_000
const TEST = scopeId(1, false)
const LIVE = scopeId(1, true)

function open(
  t: Test,
  folder = t.testdir(),
  now = START,
): { registry: Registry; clock: ManualClock; folder: string } {
  const clock = new ManualClock(now)
  const registry = openRegistry({ folder, clock, createIndex: createGeofenceIndex })
  registry.createFirstProject()
  t.teardown(() => registry.close())
  return { registry, clock, folder }
}

t.test('a disabled project may do nothing, and its requests are not counted', async (t) => {
  const { registry, clock, folder } = open(t)
  const { projects } = registry
  projects.take(TEST, clock.now())
  t.equal(projects.setDisabled(1, true), true)
  const sentence = 'Payment required: the project is disabled.'
  for (const scope of [TEST, LIVE]) {
    t.throws(() => projects.take(scope, clock.now()), { code: 402, message: sentence })
  }
  t.match(projects.list(), [{ id: 1, name: 'default', disabled: true, quota: null, requests: 1 }])
  registry.close()

  const again = open(t, folder)
  t.throws(() => again.registry.projects.take(TEST, START), { code: 402 }, 'durable')
  again.registry.projects.setDisabled(1, false)
  again.registry.projects.take(TEST, START)
  t.match(again.registry.projects.list(), [{ disabled: false, requests: 2 }])
  t.equal(again.registry.projects.setDisabled(2, true), false, 'no such project')
  t.equal(again.registry.projects.setQuota(2, 1), false)
})

t.test('a quota applies to a UTC month and both environments', async (t) => {
  const { registry, clock } = open(t)
  const { projects } = registry
  projects.setQuota(1, 2)
  projects.take(TEST, clock.now())
  projects.take(LIVE, clock.now())
  const sentence =
    'Payment required: the monthly quota of 2 requests is used up; it starts again on 2026-12-01.'
  t.throws(() => projects.take(TEST, clock.now()), { code: 402, message: sentence })
  projects.giveBack(LIVE)
  projects.take(TEST, clock.now())
  t.throws(() => projects.take(TEST, clock.now()), { code: 402 }, 'what is given back is one')
  projects.setQuota(1, 3)
  projects.take(TEST, clock.now())
  projects.setDisabled(1, true)
  t.throws(() => projects.take(TEST, clock.now()), { message: /disabled/ })
  projects.setDisabled(1, false)
  t.throws(
    () => projects.take(TEST, clock.now()),
    { message: /quota of 3 requests/ },
    'the quota is still there',
  )

  clock.advance(11 * DAY_MS - 1)
  t.throws(() => projects.take(TEST, clock.now()), { code: 402 }, 'the last millisecond of the month')
  clock.advance(1)
  t.match(projects.list(), [{ requests: 0 }], 'told so before the first request')
  projects.take(TEST, clock.now())
  projects.giveBack(TEST)
  projects.giveBack(TEST)
  t.match(
    projects.list(),
    [{ requests: 0 }],
    'what the month before had counted is not given back to this one',
  )
  projects.take(TEST, clock.now())
  t.strictSame(projects.usage(1), [
    { month: '2026-12', requests: 1 },
    { month: '2026-11', requests: 3 },
  ])

  projects.setQuota(1, 4)
  projects.take(TEST, START)
  t.match(
    projects.usage(1)[1],
    { month: '2026-11', requests: 4 },
    'a clock set back finds the old month again',
  )
  projects.setQuota(1, 0)
  t.throws(() => projects.take(TEST, START), { code: 402 }, 'none at all')
  projects.setQuota(1, null)
  for (let i = 0; i < 100; i++) projects.take(TEST, START)
  t.match(projects.usage(1)[1], { requests: 104 })
  for (const bad of [-1, 1.5, Number.NaN, Infinity]) t.throws(() => projects.setQuota(1, bad), RangeError)
})

t.test('counts survive a stop; writing them does not change the revision', async (t) => {
  const { registry, clock, folder } = open(t)
  const second = registry.keys.createProject('second').project.id
  const { revision } = registry
  for (let i = 0; i < 5; i++) registry.projects.take(TEST, clock.now())
  registry.projects.take(scopeId(second, true), clock.now())
  registry.projects.flush()
  t.equal(registry.revision, revision, 'zones and snapshots stay valid')
  registry.projects.take(TEST, clock.now())
  registry.close()
  const file = new Database(join(folder, REGISTRY_FILE), { readonly: true })
  t.strictSame(file.prepare('SELECT * FROM usage ORDER BY project').raw().all(), [
    [1, '2026-11', 6],
    [second, '2026-11', 1],
  ])
  file.close()
  t.match(open(t, folder).registry.projects.list(), [{ requests: 6 }, { requests: 1 }])
})

t.test('no more than the quota is allowed, whatever is given back', async (t) => {
  const { registry, clock } = open(t)
  const { projects } = registry
  fc.assert(
    fc.property(
      fc.nat(20),
      fc.array(fc.constantFrom('take', 'giveBack', 'month'), { maxLength: 80 }),
      (quota, steps) => {
        clock.advance(32 * DAY_MS)
        projects.setQuota(1, quota)
        let used = 0
        for (const step of steps) {
          if (step === 'month') {
            clock.advance(32 * DAY_MS)
            used = 0
          } else if (step === 'giveBack') {
            if (projects.list()[0]!.requests !== used) return false
            projects.giveBack(TEST)
            used = Math.max(used - 1, 0)
          } else {
            let passed = true
            try {
              projects.take(TEST, clock.now())
            } catch {
              passed = false
            }
            if (passed !== used < quota) return false
            if (passed) used++
          }
        }
        return projects.list()[0]!.requests === used
      },
    ),
    { numRuns: 20 * RUNS },
  )
})

t.test('if the month changes while counts are in flight, it begins with the counts of others', async (t) => {
  const sums = new Map([['2026-12', new Map([[1, 100]])]])
  const of = (month: string) => sums.get(month) ?? sums.set(month, new Map()).get(month)!
  const gate = Promise.withResolvers<void>()
  const usage = new SharedUsage({
    async add({ month, added }) {
      await gate.promise
      for (const [project, count] of added) of(month).set(project, (of(month).get(project) ?? 0) + count)
    },
    of: async (month) => new Map(of(month)),
  })
  const november = [0, 5]
  usage.begin('2026-11', [], [])
  const underWay = usage.exchange(november)
  const december: number[] = []
  usage.begin('2026-12', december, november)
  december[1] = 3
  gate.resolve()
  await underWay
  await usage.exchange(december)
  t.equal(december[1], 103)
  t.equal(of('2026-12').get(1), 103)
  t.equal(of('2026-11').get(1), 5)
})
