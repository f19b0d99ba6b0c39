/** How long entries of the audit are kept, how many, and that no reader of them holds up the others. */
import t from 'tap'
import { AuditSweep } from '../../src/registry/audit/auditSweep.ts'
import { parseBeacon } from '../../src/registry/beacons/parseBeacon.ts'
import { openRegistry } from '../../src/registry/registry.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { inSlices } from '../../src/runtime/slices.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import { KEYS } from '../kit/server.ts'

const DAY = 86_400_000
const START = Date.UTC(2026, 10, 20)
const SCOPE = 2
const beacon = (id: number) =>
  parseBeacon({
    description: 'Door',
    type: 'eddystone',
    uid: 'a'.repeat(20),
    instance: 'b'.repeat(12),
    coordinates: [1, 2],
    tag: 't',
    externalId: `${id}`,
  })

t.test('entries older than auditDays go, and the others stay', async (t) => {
  const clock = new ManualClock(START)
  const registry = openRegistry({
    folder: t.testdir({}),
    clock,
    createIndex: createGeofenceIndex,
    firstKeys: KEYS,
  })
  t.teardown(() => registry.close())
  const targets = async () =>
    (await inSlices(registry.audit.listSteps(1, { limit: 1000 }))).rows
      .filter(({ action }) => action === 'beacon.created')
      .map(({ target }) => target)
  for (let day = 0; day < 5; day++) {
    await registry.edit(() => registry.beacons.put(SCOPE, beacon(day)))
    clock.advance(DAY)
  }
  t.strictSame(await targets(), ['t/4', 't/3', 't/2', 't/1', 't/0'])
  await new AuditSweep(registry.audit, 365).run()
  t.equal((await targets()).length, 5)
  await new AuditSweep(registry.audit, 3).run()
  t.strictSame(await targets(), ['t/4', 't/3', 't/2'], 'those of the last three days')
  clock.advance(10 * DAY)
  await new AuditSweep(registry.audit, 3).run()
  t.strictSame(await targets(), [])
})

t.test('the oldest ones beyond the bound go; those of an import leave the others in place', async (t) => {
  const clock = new ManualClock(START)
  const registry = openRegistry({
    folder: t.testdir({}),
    clock,
    createIndex: createGeofenceIndex,
    firstKeys: KEYS,
  })
  t.teardown(() => registry.close())
  const few = async (from: number) => {
    for (let i = from; i < from + 3; i++) {
      clock.advance(1)
      await registry.edit(() => registry.beacons.put(SCOPE, beacon(i)))
    }
  }
  await few(0)
  const many = Array.from({ length: 1200 }, (_, i) => beacon(100 + i))
  for (let at = 0; at < many.length; at += 400) {
    clock.advance(1)
    await registry.edit(() => registry.beacons.putMany(SCOPE, many.slice(at, at + 400)))
  }
  const { audit } = registry
  const all = async () =>
    (await inSlices(audit.listSteps(1, { action: 'beacon.created', limit: 10_000 }))).rows
  t.equal((await all()).length, 1203, 'each row of a large commit has its entry')
  t.match(
    JSON.parse((await all())[0]!.detail),
    { after: { description: 'Door', tag: 't' } },
    'with its values',
  )

  // An edit of the registry of one process is made at once, so others would wait for all of them.
  let turns = 0
  const turn = () => (handle = setImmediate(() => (turns++, turn())))
  let handle = setImmediate(() => {})
  turn()
  await new AuditSweep(audit, 365, 5).run()
  clearImmediate(handle)
  t.ok(turns >= 3, `others have a turn after each commit: ${turns}`)
  const left = (await all()).map(({ target }) => target)
  t.equal(left.length, 8)
  t.strictSame(left.slice(-3), ['t/2', 't/1', 't/0'], 'the few are counted by themselves')
  await new AuditSweep(audit, 365, 2).run()
  t.strictSame((await all()).map(({ target }) => target).slice(-2), ['t/2', 't/1'])
})
