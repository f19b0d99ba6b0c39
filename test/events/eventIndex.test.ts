import { fork } from 'node:child_process'
import { once } from 'node:events'
import fs, { copyFileSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import Database from 'better-sqlite3'
import t from 'tap'
import { EventDatabase } from '../../src/events/eventDatabase.ts'
import { packEvents, type PackedEvents } from '../../src/events/packedEvents.ts'
import { EventIndexFailed, openEventIndex } from '../../src/events/eventIndex.ts'
import { EventIndexDamaged, EventIndexTooNew } from '../../src/events/eventTables.ts'
import { eventRoutes } from '../../src/events/eventRoutes.ts'
import type { EventIndex } from '../../src/events/port.ts'
import { event, eventIndexContract } from './contract.ts'
import { framesFor } from './indexingChild.ts'

const unexpected = (error: Error) => t.fail(`the index failed: ${error.stack}`)

let files = 0
const folder = t.testdir()
const newFile = () => join(folder, `events${++files}.sqlite`)

eventIndexContract(t, 'SQLite', () => openEventIndex({ file: newFile(), failed: unexpected }))

t.test('a reopened index has its events and continues from its position', async (t) => {
  const file = newFile()
  const first = await openEventIndex({ file, failed: unexpected })
  for (let position = 1; position <= 300; position++) first.add(position, [event(position)])
  t.ok(first.pendingBytes > 0, 'the lag can be seen')
  await first.list(0, { limit: 1 })
  t.equal(first.pendingBytes, 0, 'a query waits for what was added before')
  t.equal(await first.delete(0, event(7).id), true)
  await first.close()
  t.equal(first.durableLogOffset, 300)
  await t.rejects(first.list(0, { limit: 1 }), EventIndexFailed)
  first.add(301, [event(301)])
  await first.close()

  const second = await openEventIndex({ file, failed: unexpected })
  t.equal(second.durableLogOffset, 300)
  t.equal(second.lastOffset, 300)
  second.add(300, [event(7)])
  t.equal(
    await second.get(0, event(7).id),
    undefined,
    'a replayed frame does not bring back what was deleted',
  )
  second.add(301, [event(301)])
  t.equal(await second.offsetOf(0, event(301).id), 301)
  const { events } = await second.list(0, { limit: 1000 })
  t.equal(events.length, 300)
  await second.close()
})

t.test('killed at any moment, it replays from its position to the same events', async (t) => {
  const file = newFile()
  let survived = 0
  for (let round = 0; round < 4; round++) {
    const child = fork(join(import.meta.dirname, 'indexingChild.ts'), [file], { stdio: 'inherit' })
    const [from] = (await once(child, 'message')) as [number]
    t.ok(from >= survived, `round ${round}: position ${from} is not behind what was durable, ${survived}`)
    let durable = from
    child.on('message', (position: number) => (durable = position))
    await new Promise((resolve) => setTimeout(resolve, 40 + round * 160))
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
    survived = durable
  }
  t.ok(survived > 0, `${survived} frames were durable before the last kill`)

  const index = await openEventIndex({ file, failed: unexpected })
  t.teardown(() => index.close())
  const end = index.durableLogOffset + 20
  for (let position = index.durableLogOffset + 1; position <= end; position++) {
    index.add(position, framesFor(position))
  }
  const stored = new Map<string, number>()
  let createdBefore: number | undefined
  for (;;) {
    const { events, hasMore } = await index.list(0, { limit: 1000, createdBefore })
    for (const json of events) stored.set(json, (stored.get(json) ?? 0) + 1)
    if (!hasMore) break
    createdBefore = JSON.parse(events.at(-1)!).createdAt
  }
  let expected = 0
  for (let position = 1; position <= end; position++) {
    for (const { json } of framesFor(position)) {
      if (stored.get(json) !== 1) t.fail(`${json} is there ${stored.get(json) ?? 0} times`)
      expected++
    }
  }
  t.equal(stored.size, expected, `${end} frames hold ${expected} events, each there once`)
})

t.test(
  'durable events are in the file itself, not in a write-ahead log that was never flushed',
  async (t) => {
    const file = newFile()
    const index = await openEventIndex({ file, failed: unexpected })
    t.teardown(() => index.close())
    for (let position = 1; position <= 50; position++) index.add(position, framesFor(position))
    while (index.durableLogOffset < 50) await new Promise((resolve) => setTimeout(resolve, 5))
    for (let position = 51; position <= 60; position++) index.add(position, framesFor(position))
    await index.list(0, { limit: 1 })

    const copy = newFile()
    copyFileSync(file, copy)
    const recovered = await openEventIndex({ file: copy, failed: unexpected })
    t.teardown(() => recovered.close())
    t.equal(recovered.durableLogOffset, 50)
    const events = Array.from({ length: 50 }, (_, i) => framesFor(i + 1)).flat()
    t.equal((await recovered.list(0, { limit: 1000 })).events.length, events.length)
  },
)

t.test(
  'a frame with megabytes of events goes to the thread in pieces, and is stored as a whole',
  async (t) => {
    const file = newFile()
    const index = await openEventIndex({ file, failed: unexpected })
    const many = 3000
    const padding = 'x'.repeat(1000)
    const large = Array.from({ length: many }, (_, i) =>
      event(i + 1, { json: JSON.stringify({ _id: event(i + 1).id, padding }) }),
    )
    index.add(1, large)
    // Some of its pieces are sent, and not the last one.
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
    index.add(2, [event(many + 1)])
    const { events } = await index.list(0, { limit: 1000 })
    t.equal(events.length, 1000)
    t.match(events[0], event(many + 1).id, 'a query sees what was added while the pieces were under way')
    t.equal(index.pendingBytes, 0)
    await index.close()
    t.equal(index.durableLogOffset, 2)
    const reopened = await openEventIndex({ file, failed: unexpected })
    t.teardown(() => reopened.close())
    t.equal(reopened.lastOffset, many + 1)
    for (const number of [1, 2, 1500, many, many + 1])
      t.equal(await reopened.offsetOf(0, event(number).id), number)
  },
)

t.test('events are handed to the thread while their batch gathers, and stored with it', async (t) => {
  const file = newFile()
  const index = await openEventIndex({ file, failed: unexpected })
  const calls = t.capture(Worker.prototype, 'postMessage', Worker.prototype.postMessage)
  // The batch is never due, however slow the machine is.
  const timers = t.capture(globalThis, 'setTimeout', () => undefined)
  const methods = () => calls().map(({ args: [message] }) => (message as { method: string }).method)
  const padding = 'x'.repeat(1000)
  const many = 500
  for (let number = 1; number <= many; number++) {
    index.add(number, [event(number, { json: JSON.stringify({ _id: event(number).id, padding }) })])
    if (number % 50 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  timers.restore()
  t.same(methods(), ['addLater', 'addLater', 'addLater'], 'half a megabyte has three full pieces')
  const stored = new Database(file, { readonly: true })
  t.teardown(() => stored.close())
  t.equal(stored.prepare('SELECT count(*) FROM events').pluck().get(), 0, 'nothing is stored in parts')
  await index.list(0, { limit: 1 })
  t.equal(stored.prepare('SELECT count(*) FROM events').pluck().get(), many)
  t.same(
    stored.prepare('SELECT lower(hex(id)) FROM events ORDER BY rowid').pluck().all(),
    Array.from({ length: many }, (_, i) => event(i + 1).id),
    'in order',
  )
  t.equal(index.pendingBytes, 0)
  await index.close()
  t.equal(index.durableLogOffset, many)
})

t.test('lists wait for their turn, and too many of them are refused', async (t) => {
  let release = () => {}
  const released = new Promise<void>((resolve) => (release = resolve))
  let underWay = 0
  let most = 0
  const index = {
    list: async () => {
      most = Math.max(most, ++underWay)
      await released
      underWay--
      return { events: [], hasMore: false }
    },
  }
  const ask = caller(index as unknown as EventIndex)
  const asked = Array.from({ length: 1000 }, () => ask('GET /v1/events', {}, { limit: 1 }))
  const settled = Promise.allSettled(asked)
  release()
  const refused = (await settled).flatMap((each) => (each.status === 'rejected' ? [each.reason.code] : []))
  t.ok(refused.length > 0 && refused.length < 1000 && refused.every((code) => code === 503))
  t.equal(most, 4)
  await ask('GET /v1/events', {}, { limit: 1 })
})

t.test('a verdict is in the write-ahead log together with everything that it depends on', async (t) => {
  const file = newFile()
  const index = await openEventIndex({ file, failed: unexpected })
  t.teardown(() => index.close())
  index.add(1, framesFor(1))
  const { id } = framesFor(1)[0]!
  const verified = await index.verify(0, id, { verification: -1 })
  t.match(verified, /"verification":-1/)

  // A copy of the two files, as a crash leaves them.
  const copy = newFile()
  copyFileSync(file, copy)
  copyFileSync(`${file}-wal`, `${copy}-wal`)
  const recovered = await openEventIndex({ file: copy, failed: unexpected })
  t.teardown(() => recovered.close())
  t.equal(recovered.durableLogOffset, 1)
  recovered.add(1, framesFor(1))
  t.equal(await recovered.get(0, id), verified)
})

t.test(
  'data that a reader keeps from being checkpointed is flushed before it counts as durable',
  async (t) => {
    const file = newFile()
    const database = new EventDatabase(file)
    t.teardown(() => database.close())
    const { fsyncSync } = fs
    const flushed: number[] = []
    fs.fsyncSync = (descriptor) => {
      flushed.push(fs.fstatSync(descriptor).ino)
      fsyncSync(descriptor)
    }
    syncBuiltinESMExports()
    t.teardown(() => {
      fs.fsyncSync = fsyncSync
      syncBuiltinESMExports()
    })
    const add = (number: number) => {
      const rows: PackedEvents = []
      packEvents([event(number)], number - 1, rows)
      database.add(number, rows)
    }
    add(1)
    t.equal(database.checkpoint(), 1)
    t.same(flushed, [], 'SQLite flushes what it copies')
    const reader = new Database(file, { readonly: true })
    reader.exec('BEGIN')
    t.equal(reader.prepare('SELECT count(*) FROM events').pluck().get(), 1)
    add(2)
    t.equal(database.checkpoint(), 2)
    t.same(flushed, [statSync(`${file}-wal`).ino], 'the write-ahead log')
    reader.close()
    add(3)
    t.equal(database.checkpoint(), 3)
    t.equal(flushed.length, 1)
  },
)

t.test('a batch that fails changes neither events nor position', async (t) => {
  const file = newFile()
  const database = new EventDatabase(file)
  const rows: PackedEvents = []
  packEvents([event(1)], 0, rows)
  database.add(3, rows)
  packEvents([event(2), event(3, { type: null as never })], 1, rows)
  t.throws(() => database.add(4, rows), { code: 'SQLITE_CONSTRAINT_NOTNULL' })
  t.equal(database.logOffset, 3)
  database.close()
  const again = new EventDatabase(file)
  t.teardown(() => again.close())
  t.equal(again.logOffset, 3)
  t.same(again.list(0, { limit: 10 }), { events: [event(1).json], hasMore: false })
})

t.test('an unreadable file is refused by name and not changed', async (t) => {
  const cases: [string, (file: string) => void, typeof EventIndexDamaged | typeof EventIndexTooNew][] = [
    ['not SQLite', (file) => writeFileSync(file, 'GPX or something else '.repeat(100)), EventIndexDamaged],
    [
      'another application',
      (file) => new Database(file).exec('CREATE TABLE offsets (name TEXT)').close(),
      EventIndexDamaged,
    ],
    [
      'a newer format',
      (file) => {
        const database = new Database(file)
        database.pragma('user_version = 99')
        database.close()
      },
      EventIndexTooNew,
    ],
    ['a table is missing', (file) => new Database(file).exec('DROP TABLE events').close(), EventIndexDamaged],
  ]
  for (const [what, spoil, expected] of cases) {
    const file = newFile()
    await (await openEventIndex({ file, failed: unexpected })).close()
    if (what === 'not SQLite' || what === 'another application') rmSync(file)
    spoil(file)
    const before = readFileSync(file)
    const error: unknown = await openEventIndex({ file, failed: unexpected }).then(
      () => undefined,
      (reason: unknown) => reason,
    )
    t.ok(error instanceof expected, `${what}: ${String(error)}`)
    t.ok(String(error).includes(file), 'the message names the file')
    t.ok(readFileSync(file).equals(before), 'the file is as it was')
  }
})

t.test('a database that fails later is reported once, and nothing hangs', async (t) => {
  const file = newFile()
  const failures: Error[] = []
  const index = await openEventIndex({ file, failed: (error) => failures.push(error) })
  index.add(1, [event(1)])
  await index.list(0, { limit: 1 })
  const thief = new Database(file)
  thief.exec('DROP TABLE events')
  thief.close()
  index.add(2, [event(2)])
  await t.rejects(index.list(0, { limit: 1 }), EventIndexFailed)
  await t.rejects(index.get(0, event(1).id), EventIndexFailed)
  index.add(3, [event(3)])
  await index.close()
  t.equal(failures.length, 1)
  t.match(failures[0]!.message, /no such table/)
  t.ok(index.durableLogOffset < 2, 'what failed is not durable')
})

t.test('the routes answer stored JSON as it is', async (t) => {
  const index = await openEventIndex({ file: newFile(), failed: unexpected })
  t.teardown(() => index.close())
  index.add(1, [event(1), event(2, { userId: 'u' }), event(3, { scope: 1 })])
  const ask = caller(index)
  t.same(await ask('GET /v1/events', {}, { limit: 1 }), {
    meta: { hasMore: true },
    pieces: ['"events":[', event(2).json, ']'],
  })
  t.same(await ask('GET /v1/events', {}, { limit: 5, createdBefore: '1970-01-01T00:16:40.002Z' }), {
    meta: { hasMore: false },
    pieces: ['"events":[', event(1).json, ']'],
  })
  t.same(await ask('GET /v1/events/:id', { id: event(2).id }, {}), { json: `"event":${event(2).json}` })
  await t.rejects(ask('GET /v1/events/:id', { id: event(3).id }, {}), { code: 404 })
  t.same(await ask('DELETE /v1/events/:id', { id: event(2).id }, {}), {})
  await t.rejects(ask('DELETE /v1/events/:id', { id: event(2).id }, {}), { code: 404 })
})

/** Calls a route's handler as the API would after validation, with a secret key of scope 0. */
function caller(index: EventIndex) {
  const routes = eventRoutes(index, { forget() {} })
  return async (name: string, params: object, query: object) => {
    const found = routes.find((each) => `${each.method} ${each.path}` === name)!
    const credentials = { scope: 0, level: 'secret', keyId: 'test' } as const
    const call = { params, query, body: undefined, credentials, ip: '::1', receivedAt: 0 }
    return found.handler(
      { ...call, requestId: 'r', fromSdk: false } as Parameters<typeof found.handler>[0],
      undefined as never,
    )
  }
}
