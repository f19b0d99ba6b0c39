import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { EventDatabase, READ_OF_SCOPE } from '../../src/events/eventDatabase.ts'
import { openEventIndex } from '../../src/events/eventIndex.ts'
import type { EventIndex, StoredEvent } from '../../src/events/port.ts'
import { event, pruneAll, whole } from './contract.ts'

/** Files of older versions, and indexes with several blocks. */

const unexpected = (error: Error) => t.fail(`the index failed: ${error.stack}`)

let files = 0
const folder = t.testdir()
const newFile = () => join(folder, `events${++files}.sqlite`)

/**
 * Turns a closed file into one of an older version: removes what later versions added, and restores what they
 * replaced.
 */
function makeOld(file: string, version: 1 | 2 | 3): void {
  const database = new Database(file)
  database.exec(`
    DROP TABLE owners; DROP TABLE blocks; DROP TRIGGER eventDeleted; DELETE FROM meta WHERE name = 'owned';
    CREATE INDEX eventsByUser ON events (scope, userId, createdAt) WHERE userId IS NOT NULL;
    CREATE INDEX eventsByDevice ON events (scope, deviceId, createdAt);
  `)
  if (version < 3) database.exec('DROP INDEX eventsByScope')
  if (version < 2) database.exec(`DELETE FROM meta WHERE name = 'place'`)
  database.pragma(`user_version = ${version}`)
  database.close()
}

t.test('a file of version 1, where SQLite numbered the rows, is brought up to date', async (t) => {
  const file = newFile()
  const before = await openEventIndex({ file, failed: unexpected })
  before.add(1, [event(1), event(2), event(3)])
  await before.delete(0, event(3).id)
  await before.close()
  makeOld(file, 1)

  const index = await openEventIndex({ file, failed: unexpected })
  t.teardown(() => index.close())
  t.equal(index.lastOffset, 2)
  index.add(2, [event(4)])
  t.equal(await index.offsetOf(0, event(2).id), 2)
  t.equal(await index.offsetOf(0, event(4).id), 3)
})

t.test('reads of one scope use an index, also in a file of version 2', async (t) => {
  const file = newFile()
  const before = await openEventIndex({ file, failed: unexpected })
  before.add(1, [whole(1), whole(2, { scope: 1 }), whole(3)])
  await before.close()
  makeOld(file, 2)

  const index = await openEventIndex({ file, failed: unexpected })
  t.same((await index.read(1, 0, 10)).events, [{ offset: 2, event: whole(2, { scope: 1 }) }])
  await index.close()
  const plan = new Database(file).prepare(`EXPLAIN QUERY PLAN ${READ_OF_SCOPE}`).all(1, 0, 10)
  t.match(plan, [{ detail: 'SEARCH events USING INDEX eventsByScope (scope=? AND rowid>?)' }])
})

t.test(
  'the events of each device and user are found in many blocks, in a file of version 3 too',
  async (t) => {
    const file = newFile()
    const before = await openEventIndex({ file, failed: unexpected })
    // Three blocks. Every third event is earlier than the one before, by a growing distance.
    const events = Array.from({ length: 80_000 }, (_, i) =>
      event(i, {
        deviceId: `d${(i * 7919) % 1000}`,
        userId: i % 2 === 0 ? `u${i % 999}` : undefined,
        createdAt: i % 3 === 0 ? 80_000 - i : i,
        json: `"${i}"`,
      }),
    )
    for (let i = 0; i < events.length; i += 5000) before.add(i + 1, events.slice(i, i + 5000))
    const gone = new Set<StoredEvent>()
    const check = async (index: EventIndex, name: string) => {
      for (const query of [
        { deviceId: 'd1' },
        { deviceId: 'd999', createdAfter: 20_000, createdBefore: 50_000 },
        { userId: 'u4' },
        { userId: 'u0', updatedAfter: 2_060_000, type: 'user.entered_geofence' },
        { userId: 'u0', deviceId: 'd0' },
        { deviceId: 'd1', type: 'unknown' },
        { deviceId: 'nobody' },
      ]) {
        const expected = events
          .filter(
            (each) =>
              !gone.has(each) &&
              (query.deviceId === undefined || each.deviceId === query.deviceId) &&
              (query.userId === undefined || each.userId === query.userId) &&
              (query.type === undefined || each.type === query.type) &&
              (query.createdAfter === undefined || each.createdAt > query.createdAfter) &&
              (query.createdBefore === undefined || each.createdAt < query.createdBefore) &&
              (query.updatedAfter === undefined || each.actualCreatedAt > query.updatedAfter),
          )
          .toReversed()
          .toSorted((a, b) => b.createdAt - a.createdAt)
          .map(({ json }) => json)
        const all = await index.list(0, { ...query, limit: 1000 })
        t.same(all, { events: expected, hasMore: false }, `${name}: ${JSON.stringify(query)}`)
        const page = await index.list(0, { ...query, limit: 10 })
        t.same(page, { events: expected.slice(0, 10), hasMore: expected.length > 10 })
      }
    }
    await check(before, 'new')
    for (const victim of [0, 33_352, 79_998]) {
      gone.add(events[victim]!)
      t.equal(await before.delete(0, events[victim]!.id), true)
    }
    await check(before, 'after some were deleted')
    await before.close()

    makeOld(file, 3)
    const done: number[] = []
    const old = new EventDatabase(file, (offset, offsets) => {
      t.equal(offsets, 80_000)
      done.push(offset)
    })
    old.close()
    t.ok(done.length === 10 && done.at(-1) === 80_000, `brought up to date in ${done.length} steps`)
    const index = await openEventIndex({ file, failed: unexpected })
    t.teardown(() => index.close())
    await check(index, 'version 3')

    t.equal(await pruneAll(index, 2_060_000), 60_000 - 2)
    for (const each of events) if (each.actualCreatedAt < 2_060_000) gone.add(each)
    await check(index, 'after old ones were removed')
    const left = new Database(file, { readonly: true })
    t.same(left.prepare('SELECT block FROM blocks').pluck().all(), [1, 2])
    t.equal(left.prepare('SELECT count(*) FROM owners').pluck().get(), 19_999 + 9_999)
    left.close()
  },
)
