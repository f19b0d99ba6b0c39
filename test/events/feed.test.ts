import t from 'tap'
import { EventFeed } from '../../src/events/feed.ts'
import type { EventIndex, StoredEvent } from '../../src/events/port.ts'
import { MemoryEvents } from '../actor/kit.ts'
import fc from '../kit/fastCheck.ts'
import { whole } from './contract.ts'

const RUNS = Math.ceil(Number(process.env.RINGFENCE_TEST_RUNS ?? 1) * 100)

t.test(
  'property: a cursor returns every event of its scope, or of all scopes, once and in order, from memory and from the index',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 6 }), { maxLength: 30 }),
        fc.integer({ min: 0, max: 60 }),
        fc.integer({ min: 1, max: 7 }),
        // Sizes of the memory: from no events to all of them.
        fc.constantFrom(0, 1500, 6000, 1_000_000),
        fc.constantFrom(1, 'all' as const),
        // The frames between which another reader follows, so that the last events are in memory.
        fc.tuple(fc.integer({ min: 0, max: 30 }), fc.integer({ min: 0, max: 30 })),
        async (frames, start, limit, recentBytes, scopes, [from, to]) => {
          const feed = new EventFeed(new MemoryEvents(), recentBytes)
          const ended = new AbortController()
          const follower = feed.follow('all', Infinity, 1, ended.signal)
          let end: Promise<unknown> | undefined
          const all: StoredEvent[] = []
          const seen: StoredEvent[] = []
          let offset = start
          for (const [position, frame] of frames.entries()) {
            if (position === from) end = follower.next()
            if (position === to) ended.abort()
            if (position === to) await end
            const events = frame.map((scope, i) => whole(all.length + i, { scope }))
            feed.committed({ offset: position + 1, events })
            all.push(...events)
            // A reader that falls behind, and catches up at the end.
            if (position % 3 === 0 && offset < feed.lastOffset) offset = await readOn()
          }
          while (offset < feed.lastOffset) offset = await readOn()
          ended.abort()
          await end
          const expected = all.slice(start).filter(({ scope }) => scopes === 'all' || scope === scopes)
          if (JSON.stringify(seen) !== JSON.stringify(expected))
            throw new Error(`${seen.length} of ${expected.length}`)

          async function readOn(): Promise<number> {
            const part = await feed.read(scopes, offset, limit)
            if (part.offset <= offset) throw new Error(`stuck at ${offset}`)
            for (const { event, offset: its } of part.events) {
              if (its <= offset) throw new Error(`${its} again`)
              seen.push(event)
            }
            return part.offset
          }
        },
      ),
      { numRuns: RUNS },
    )
  },
)

t.test('large events are handed out a few at a time, also from memory', async (t) => {
  const feed = new EventFeed(new MemoryEvents())
  const ended = new AbortController()
  const following = feed.follow('all', Infinity, 1, ended.signal).next()
  feed.committed({
    offset: 1,
    events: Array.from({ length: 20 }, (_, i) => whole(i, { userId: 'x'.repeat(100_000) })),
  })
  const seen: number[] = []
  while (seen.length < 20) {
    const { events, offset } = await feed.read(0, seen.length, 1000)
    t.equal(offset, events.at(-1)!.offset)
    t.ok(events.length <= 3)
    seen.push(...events.map((placed) => placed.offset))
  }
  t.same(
    seen,
    Array.from({ length: 20 }, (_, i) => i + 1),
  )
  ended.abort()
  await following
})

t.test('the last events are kept in memory only while somebody follows', async (t) => {
  const memory = new MemoryEvents()
  let reads = 0
  const index: EventIndex = Object.create(memory, {
    read: {
      value(...asked: Parameters<EventIndex['read']>) {
        reads++
        return memory.read(...asked)
      },
    },
  })
  const feed = new EventFeed(index)
  const offsets = async (after: number) => {
    const { events } = await feed.read('all', after, 10)
    return events.map(({ offset }) => offset)
  }
  feed.committed({ offset: 1, events: [whole(1), whole(2)] })
  t.same(await offsets(0), [1, 2])
  t.equal(reads, 1, 'from the index')

  const ended = new AbortController()
  const follower = feed.follow('all', 2, 10, ended.signal)
  const following = follower.next()
  feed.committed({ offset: 2, events: [whole(3)] })
  t.same(await offsets(2), [3])
  t.equal(reads, 1, 'from memory')
  t.same(await offsets(0), [1, 2, 3])
  t.equal(reads, 2, 'what was before from the index')
  t.equal((await following).value?.offset, 3)

  const waiting = follower.next()
  ended.abort()
  t.ok((await waiting).done)
  feed.committed({ offset: 3, events: [whole(4)] })
  t.same(await offsets(3), [4])
  t.equal(reads, 3, 'from the index again')
})

t.test('of what every follower has read, only a quarter of a megabyte stays in memory', async (t) => {
  const memory = new MemoryEvents()
  const index: EventIndex = Object.create(memory, {
    read: { value: () => Promise.reject(new Error('index')) },
  })
  const feed = new EventFeed(index)
  const { signal } = new AbortController()
  const quick = feed.follow('all', 0, 100, signal)
  const slow = feed.follow('all', 0, 100, signal)
  const first = [quick.next(), slow.next()]
  const large = (i: number) => whole(i, { userId: 'x'.repeat(37_500) })
  for (let i = 0; i < 10; i++) feed.committed({ offset: i + 1, events: [large(i)] })
  const [, slowPart] = await Promise.all(first)
  const { offset } = slowPart!.value!
  for (let read = 0; read < 10;) read = (await quick.next()).value!.offset
  feed.committed({ offset: 11, events: [large(10)] })
  t.equal((await feed.read('all', offset, 1)).events.length, 1, 'the slow one has not read it')
  for (let read = 0; read < 11;) read = (await slow.next()).value!.offset
  for (let read = 0; read < 11;) read = (await quick.next()).value!.offset
  feed.committed({ offset: 12, events: [large(11)] })
  await t.rejects(feed.read('all', 1, 1), { message: 'index' })
  t.equal((await feed.read('all', 8, 1)).events.length, 1, 'the last ones stay')
})

t.test('a reader from memory skips deleted events and is not blocked by them', async (t) => {
  const feed = new EventFeed(new MemoryEvents())
  const ended = new AbortController()
  const following = feed.follow('all', Infinity, 1, ended.signal).next()
  feed.committed({ offset: 1, events: [whole(1), whole(2), whole(3), whole(4)] })
  feed.forget(0, whole(2).id)
  feed.forget(0, whole(4).id)
  feed.forget(1, whole(3).id)
  feed.forget(0, whole(9).id)
  const { events, offset } = await feed.read(0, 0, 10)
  t.same(
    events.map((placed) => placed.offset),
    [1, 3],
  )
  t.equal(offset, feed.lastOffset)
  t.same(await feed.read(0, 3, 10), { events: [], offset: feed.lastOffset })
  t.equal((await feed.read(0, 0, 1)).offset, 1)
  for (const one of [1, 3]) feed.forget(0, whole(one).id)
  feed.committed({ offset: 2, events: [whole(5)] })
  t.same((await feed.read(0, feed.lastOffset - 1, 10)).events, [{ offset: 5, event: whole(5) }])
  ended.abort()
  await following
})

t.test('however many readers are behind, only few read at a time, and none that has left', async (t) => {
  const memory = new MemoryEvents()
  let underWay = 0
  let most = 0
  let reads = 0
  const index: EventIndex = Object.create(memory, {
    read: {
      async value(...asked: Parameters<EventIndex['read']>) {
        reads++
        most = Math.max(most, ++underWay)
        await new Promise((resolve) => setImmediate(resolve))
        underWay--
        return memory.read(...asked)
      },
    },
  })
  const feed = new EventFeed(index, 0)
  feed.committed({ offset: 1, events: [whole(1), whole(2)] })
  const gone = new AbortController()
  const staying = Array.from({ length: 100 }, () => feed.read(0, 0, 10))
  const leaving = Array.from({ length: 100 }, () => feed.read(0, 0, 10, gone.signal))
  gone.abort()
  for (const part of await Promise.all(staying)) t.equal(part.events.length, 2)
  await Promise.all(leaving)
  t.equal(most, 16)
  t.equal(reads, 100)
})

t.test('followers are notified of new events until they end', async (t) => {
  const feed = new EventFeed(new MemoryEvents())
  feed.committed({ offset: 1, events: [whole(1), whole(2, { scope: 1 })] })
  const ended = new AbortController()
  const seen: string[] = []
  const following = (async () => {
    for await (const { events } of feed.follow(0, 0, 10, ended.signal))
      seen.push(...events.map(({ event }) => event.id))
  })()
  await new Promise((resolve) => setImmediate(resolve))
  t.same(seen, [whole(1).id])
  feed.committed({ offset: 2, events: [whole(3)] })
  feed.committed({ offset: 3, events: [whole(4), whole(5)] })
  await new Promise((resolve) => setImmediate(resolve))
  t.same(
    seen,
    [1, 3, 4, 5].map((number) => whole(number).id),
  )
  ended.abort()
  await following
  feed.committed({ offset: 4, events: [whole(6)] })
  t.equal(seen.length, 4)
})
