/** The indexes of several processes over one stream, which is truncated: src/cluster/journal/sharedIndex.ts. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { openEventIndex } from '../../src/events/eventIndex.ts'
import { EventFeed } from '../../src/events/feed.ts'
import type { EventChange, SharedEvents, SharedMessage, StoredEvent } from '../../src/events/port.ts'
import { subjectOf } from '../../src/model/eventSubject.ts'
import { SharedIndex } from '../../src/cluster/journal/sharedIndex.ts'
import { JetStreamEventReader } from '../../src/cluster/journal/jetStreamEventReader.ts'
import { JetStreamEvents } from '../../src/cluster/journal/jetStreamEvents.ts'
import { EVENT_CHANGES, EVENTS } from '../../src/cluster/journal/jetStreamStreams.ts'
import fc from '../kit/fastCheck.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { until } from '../kit/waiting.ts'
import { withStreams } from '../cluster/jetStreamKit.ts'
import { whole } from './contract.ts'

const RUNS = Math.ceil(Number(process.env.RINGFENCE_TEST_RUNS ?? 1) * 8)

/** A stream that disconnects its reader after a given number of messages. */
class MemoryStream implements SharedEvents {
  readonly messages: Omit<SharedMessage, 'behind'>[] = []
  /** Sequence of the last event. */
  lastEvent = 0
  cutAfter: number
  isDown = false

  constructor(cutAfter: number) {
    this.cutAfter = cutAfter
  }

  add(entry: Pick<SharedMessage, 'event' | 'change'>): number {
    // Marks of partitions have sequence numbers, too.
    const sequence = (this.messages.at(-1)?.sequence ?? 0) + 2
    this.messages.push({ sequence, ...entry })
    if (entry.event !== undefined) this.lastEvent = sequence
    return sequence
  }

  async lastSequence(): Promise<number> {
    return this.messages.at(-1)?.sequence ?? 0
  }

  async newestEvent(): Promise<number> {
    if (this.isDown) throw new Error('down')
    return this.lastEvent
  }

  async follow(after: number, signal: AbortSignal): Promise<AsyncIterable<SharedMessage>> {
    if (this.isDown) throw new Error('down')
    return this.#messages(after, signal)
  }

  async *#messages(after: number, signal: AbortSignal): AsyncGenerator<SharedMessage> {
    let next = this.messages.findIndex(({ sequence }) => sequence > after)
    if (next < 0) next = this.messages.length
    for (let given = 0; !signal.aborted;) {
      if (this.isDown || given === this.cutAfter) throw new Error('cut')
      const message = this.messages[next]
      await nextTurn()
      if (message === undefined) continue
      next++
      given++
      yield { ...message, behind: this.messages.length - next }
    }
  }

  async append(change: EventChange): Promise<number> {
    if (this.isDown) throw new Error('down')
    return this.add({ change })
  }
}

/** Long pauses never end. */
function pause(milliseconds: number): Promise<unknown> {
  return milliseconds > 1000 ? new Promise(() => {}) : nextTurn()
}

async function open(file: string, shared: SharedEvents) {
  const index = await openEventIndex({
    file,
    failed(error) {
      throw error
    },
  })
  const feed = new EventFeed(index, undefined, () => opened.upToDate())
  const opened: SharedIndex = await SharedIndex.open({ shared, index, feed, troubled() {}, pause }).catch(
    async (error) => {
      await index.close()
      throw error
    },
  )
  opened.start()
  const close = async () => {
    await opened.stop()
    await index.close()
  }
  const ids = async (scope: number) => {
    const { events } = await opened.list(scope, { limit: 1000 })
    return events.map((json) => JSON.parse(json)._id as string)
  }
  return { opened, feed, close, ids }
}

/** The positions of all events in a feed, which must be those of the stream. */
async function placesIn(feed: EventFeed): Promise<number[]> {
  const { events } = await feed.read('all', 0, 1000)
  return events.map(({ offset }) => offset)
}

function folderOf(test: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'ringfence-shared-'))
  test.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

t.test('property: indexes that are cut off, start late or restart contain the same', async (t) => {
  const folder = folderOf(t)
  let runs = 0
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ is: fc.constant('event' as const), scope: fc.nat(1) }) },
    { weight: 2, arbitrary: fc.record({ is: fc.constant('delete' as const), pick: fc.nat(99) }) },
    { weight: 2, arbitrary: fc.record({ is: fc.constant('verify' as const), pick: fc.nat(99) }) },
    { weight: 1, arbitrary: fc.record({ is: fc.constant('restart' as const) }) },
  )
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 30 }),
      fc.integer({ min: 1, max: 6 }),
      async (steps, cutAfter) => {
        const run = join(folder, String(runs++))
        const shared = new MemoryStream(cutAfter)
        let one = await open(`${run}a`, shared)
        const made: StoredEvent[] = []
        const verdicts = new Map<string, number>()
        for (const each of steps) {
          const picked = made.length === 0 ? undefined : made['pick' in each ? each.pick % made.length : 0]
          if (each.is === 'event') {
            const event = whole(made.length, { scope: each.scope })
            made.push(event)
            shared.add({ event: { scope: event.scope, json: event.json } })
          } else if (each.is === 'restart') {
            await one.close()
            one = await open(`${run}a`, shared)
          } else if (picked !== undefined) {
            // A process can only answer for events that it has seen.
            while (one.feed.lastOffset < shared.lastEvent) await nextTurn()
            const isThere = verdicts.get(picked.id) !== -2
            if (each.is === 'delete') {
              if ((await one.opened.delete(picked.scope, picked.id)) !== isThere)
                throw new Error('was it there?')
              verdicts.set(picked.id, -2)
            } else {
              const json = await one.opened.verify(picked.scope, picked.id, { verification: 1 })
              if ((json !== undefined) !== isThere) throw new Error('is it there?')
              if (json !== undefined && JSON.parse(json).verification !== 1) throw new Error(json)
            }
          }
        }
        const late = await open(`${run}b`, shared)
        await late.opened.caughtUp()
        while (one.feed.lastOffset < shared.lastEvent) await nextTurn()
        while (
          [one, late].some(
            ({ opened }) => !opened.status.detail.startsWith(`at ${shared.messages.at(-1)?.sequence ?? 0} `),
          )
        )
          await nextTurn()
        const [offsets, others] = await Promise.all([one, late].map(({ feed }) => placesIn(feed)))
        if (JSON.stringify(offsets) !== JSON.stringify(others)) throw new Error('other offsets')
        for (const scope of [0, 1]) {
          const expected = made.filter((event) => event.scope === scope && verdicts.get(event.id) !== -2)
          for (const { ids } of [one, late]) {
            const found = await ids(scope)
            if (JSON.stringify(found.toReversed()) !== JSON.stringify(expected.map(({ id }) => id)))
              throw new Error(`${found.length} of ${expected.length}`)
          }
        }
        await one.close()
        await late.close()
      },
    ),
    { numRuns: RUNS },
  )
})

t.test('a stream that cannot be reached, and a different stream', async (t) => {
  const folder = folderOf(t)
  const file = join(folder, 'index')
  const shared = new MemoryStream(Infinity)
  const event = whole(1)
  shared.add({ event })
  shared.add({ event: { scope: 0, json: 'no event' } })
  shared.add({})
  const { opened, feed, close } = await open(file, shared)
  await opened.caughtUp()
  t.equal(feed.lastOffset, 2, 'what is no event of ours is passed over')
  t.match(opened.status, { ok: true })
  shared.isDown = true
  while (opened.status.ok) await nextTurn()
  t.match(opened.status, { ok: false, detail: /out of reach/ })
  t.ok(await opened.get(0, event.id), 'what is here is answered')
  await t.rejects(opened.delete(0, event.id), { code: 503, retryAfter: 1 })
  await close()
  await t.rejects(open(file, new MemoryStream(1)), { name: 'EventsMissing' })
})

t.test('under load, an index is ready once it has what existed when it began', async (t) => {
  const shared = new MemoryStream(Infinity)
  for (let i = 0; i < 10; i++) shared.add({ event: whole(i) })
  const { opened, close } = await open(join(folderOf(t), 'index'), shared)
  // An event arrives whenever one is read, so something is always behind.
  let count = 10
  for (; !opened.status.ok && count < 1000; count++) {
    shared.add({ event: whole(count) })
    shared.add({ event: whole(count + 10_000) })
    await nextTurn()
  }
  t.match(opened.status, { ok: true })
  t.ok(count < 1000)
  await close()
})

t.test('where to continue after what another process has already told the client', async (t) => {
  const shared = new MemoryStream(Infinity)
  const { feed, close } = await open(join(folderOf(t), 'index'), shared)
  const events = Array.from({ length: 20 }, (_, i) => whole(i))
  for (const event of events.slice(0, 19)) shared.add({ event })
  shared.add({})
  t.equal(await feed.offsetOf(0, events[18]!.id), 38, 'an event that has not come here yet')
  t.equal(await feed.offsetOf(0, events[19]!.id), undefined, 'one that does not exist')
  shared.add({ event: events[19]! })
  t.equal(await feed.within(shared.lastEvent), shared.lastEvent, 'a place that has not come here yet')
  t.equal(await feed.within(1000), shared.lastEvent, 'one after the end')
  shared.isDown = true
  await t.rejects(feed.offsetOf(0, whole(99).id), { code: 503, retryAfter: 1 })
  await close()
})

const skip = await skipWithout(NATS_SERVER)

t.test('an unreadable change is skipped, and so are the marks of partitions', { skip }, async (t) => {
  const { connection, manager } = await withStreams(t)
  const events = new JetStreamEvents(connection, manager)
  const event = whole(1)
  const messages = [{ subject: subjectOf(event), id: event.id, data: Buffer.from(event.json) }]
  await events.publish([{ partition: 0, after: 0, progress: { offset: 1, events: 1 }, messages }])
  const unreadable: number[] = []
  const reader = new JetStreamEventReader(connection, manager, (sequence) => unreadable.push(sequence))
  const one = await open(join(folderOf(t), 'one'), reader)
  const verdicts = ['null', '{}', '{"verification":2}', '{"verification":1,"verifiedPlaceId":{}}']
  const bad = ['null', '5', '{', '{"scope":2}', ...verdicts.map((v) => `{"scope":2,"id":"a","verdict":${v}}`)]
  for (const text of bad) await connection.request(EVENT_CHANGES, text)
  const last = await reader.append({ scope: 2, id: 'a', verdict: { verification: -1 } })
  while (!one.opened.status.detail.startsWith(`at ${last} `)) await nextTurn()
  t.equal(unreadable.length, bad.length)
  t.strictSame(await one.ids(event.scope), [event.id])
  await one.close()
})

t.test(
  'an index that is closed leaves no consumer behind, and one that is killed leaves it for 30 s',
  { skip },
  async (t) => {
    const { connection, manager } = await withStreams(t)
    const reader = new JetStreamEventReader(connection, manager, () => {})
    const consumers = () => manager.consumers.list(EVENTS).next()
    const one = await open(join(folderOf(t), 'one'), reader)
    const two = await open(join(folderOf(t), 'two'), reader)
    await until(async () => (await consumers()).length === 2)
    for (const { config } of await consumers()) t.equal(config.inactive_threshold, 30e9)
    await one.close()
    await until(async () => (await consumers()).length === 1)
    await two.close()
    await until(async () => (await consumers()).length === 0)
  },
)
