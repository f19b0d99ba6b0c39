/** The directory of trips: names, users, and that several processes agree. */
import t from 'tap'
import type { Registry } from '../../src/registry/registry.ts'
import { openRegistry } from '../../src/registry/registry.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import { MemoryStream } from './memoryStream.ts'
import { folderOf, openReplica, SCOPE, START } from './replicatedKit.ts'

let drawn = 0
const newId = () => `${++drawn}`.padStart(24, '0')

function open(folder: string, clock = new ManualClock(START)): Registry {
  return openRegistry({ folder, clock, createIndex: createGeofenceIndex })
}

t.test('names and users are there after a restart', async (t) => {
  const folder = folderOf(t)
  const registry = open(folder)
  const { trips } = registry
  const entry = await trips.edit(() => trips.reserve(SCOPE, 'a/b', 'ann', newId))
  t.strictSame(
    await trips.edit(() => trips.reserve(SCOPE, 'a/b', 'bob', newId)),
    entry,
    'a name has one trip',
  )
  await trips.edit(() => trips.reserve(SCOPE, 'c', undefined, newId))
  await trips.edit(() => trips.assign(SCOPE, trips.of(SCOPE).named('c')!.id, 'ann'))
  const gone = await trips.edit(() => trips.reserve(SCOPE, 'd', 'bob', newId))
  await trips.edit(() => trips.bury(SCOPE, gone.id, 'd'))
  const view = (one: Registry) => ({
    names: ['a/b', 'c', 'd'].map((name) => one.trips.of(SCOPE).named(name)),
    ann: one.trips.of(SCOPE).ofUser('ann'),
    hasBob: one.trips.of(SCOPE).hasUser('bob'),
    deletedAt: one.trips.of(SCOPE).deletedAt('d'),
    isEmpty: [SCOPE, SCOPE + 1].map((scope) => one.trips.of(scope).isEmpty),
  })
  const before = view(registry)
  t.match(before, { hasBob: false, deletedAt: START, isEmpty: [false, true] })
  t.equal(before.ann.length, 2)
  registry.close()
  const again = open(folder)
  t.strictSame(view(again), before)
  again.close()
})

t.test('a change of the directory ends no safe zone', async (t) => {
  const registry = open(folderOf(t))
  const before = registry.scope(SCOPE).revision
  await registry.trips.edit(() => registry.trips.reserve(SCOPE, 'a', 'ann', newId))
  t.equal(registry.scope(SCOPE).revision, before)
  registry.close()
})

t.test('a name is taken, held and released', async (t) => {
  const registry = open(folderOf(t))
  const { trips } = registry
  const edit = <T>(work: () => T) => trips.edit(work)
  const first = await edit(() => trips.reserve(SCOPE, 'a', 'ann', newId))
  const other = newId()
  await t.rejects(
    edit(() => trips.hold(SCOPE, other, 'a', 'ann')),
    { code: 400, param: 'status' },
  )
  await edit(() => trips.hold(SCOPE, first.id, 'a', 'ann'))
  await edit(() => trips.release(SCOPE, first.id))
  await edit(() => trips.hold(SCOPE, other, 'a', 'ann'))
  await edit(() => trips.release(SCOPE, first.id))
  t.equal(trips.of(SCOPE).named('a')?.id, other)
  t.equal(await edit(() => trips.renew(SCOPE, first.id)), undefined)
  for (let i = 1; i < 50; i++) await edit(() => trips.reserve(SCOPE, `n${i}`, 'ann', newId))
  await t.rejects(
    edit(() => trips.reserve(SCOPE, 'n50', 'ann', newId)),
    { code: 400, param: 'userId' },
  )
  t.equal(trips.of(SCOPE).ofUser('ann').length, 50)
  registry.close()
})

t.test('entries are removed together, but none that was written since it was seen', async (t) => {
  const registry = open(folderOf(t), new ManualClock(START))
  const { trips } = registry
  const edit = <T>(work: () => T) => trips.edit(work)
  const [a, b, c, d] = [newId(), newId(), newId(), newId()]
  for (const [name, id] of Object.entries({ a, b, c }))
    await edit(() => trips.reserve(SCOPE, name, 'ann', () => id))
  await edit(() => trips.bury(SCOPE, d, 'd'))
  const seen = [a, b, c, d].map((id) => ({ scope: SCOPE, id, version: trips.of(SCOPE).versionOf(id)! }))
  await edit(() => trips.renew(SCOPE, b))
  await edit(() => trips.release(SCOPE, c))
  const { revision } = trips
  await edit(() => trips.remove(seen))
  t.equal(trips.revision, revision + 1, 'one commit')
  t.strictSame(
    [...trips.of(SCOPE).all()].map(({ id }) => id),
    [b],
  )
  await edit(() => trips.remove(seen))
  t.equal(trips.revision, revision + 1, 'nothing is left to remove')
  registry.close()
})

t.test('of two processes that take a name at once, both get the same trip', async (t) => {
  const stream = new MemoryStream()
  const replicas = [
    await openReplica(t, async () => stream.client()),
    await openReplica(t, async () => stream.client()),
  ]
  const names = ['a', 'b', 'c', 'd', 'e']
  const taken = await Promise.all(
    names.map((name) =>
      Promise.all(
        replicas.map(({ trips }, i) => trips.edit(() => trips.reserve(SCOPE, name, `user-${i}`, newId))),
      ),
    ),
  )
  for (const [one, other] of taken) t.strictSame(one, other)
  const users = [0, 1].map((i) => replicas[0]!.trips.of(SCOPE).ofUser(`user-${i}`).length)
  t.equal(users[0]! + users[1]!, names.length)
})
