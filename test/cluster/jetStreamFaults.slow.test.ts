/**
 * The log over JetStream with real servers, while anything may end at the wrong moment. The guarantees are those of
 * docs/protocol.md: G1 what is acknowledged stays, G2 each event once, G3 in order, G4 one owner.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { DiscardPolicy } from '@nats-io/jetstream'
import t from 'tap'
import { JetStreamEvents } from '../../src/cluster/journal/jetStreamEvents.ts'
import { JetStreamJournal } from '../../src/cluster/journal/jetStreamJournal.ts'
import type { PartitionLog } from '../../src/log/port.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { framesOf } from '../log/contract.ts'
import { until } from '../kit/waiting.ts'
import {
  append,
  commit,
  drawer,
  event,
  eventsOf,
  journalWith,
  openLog,
  openOwner,
  publisherOf,
  withStreams,
  type Client,
} from './jetStreamKit.ts'

const skip = await skipWithout(NATS_SERVER)
const ignore = (): void => {}
/** Seed of all random choices; the titles of the tests that use it contain it. */
const SEED = Number(process.env['RINGFENCE_SEED'] ?? 1 + Math.floor(Math.random() * 1e6))

/** The texts of the frames of a partition, as read by its next owner. */
async function framesIn(streams: Client, partition = 0): Promise<string[]> {
  const log = await openLog(streams, partition, { troubled: ignore })
  const frames = await framesOf(log, 1)
  t.strictSame(
    frames.map(({ offset }) => offset),
    frames.map((_, i) => i + 1),
    'positions ascend by one',
  )
  await log.close()
  return frames.map(({ payload }) => Buffer.from(payload).toString())
}

t.test('frames of any size, with any number of events, which come once and in order', { skip }, async (t) => {
  const streams = await withStreams(t)
  const log = await openLog(streams, 1)
  const sizes = [
    [10, 0],
    [10, 3],
    [3_000_000, 5],
    [0, 999],
    [500, 1_000],
    [2_100_000, 3_456],
    [10, 1],
  ] as const
  const ids: string[] = []
  for (const [i, [bytes, count]] of sizes.entries()) {
    const events = Array.from({ length: count }, (_, n) => event(`d${n % 7}`, n))
    ids.push(...events.map(({ id }) => id))
    await commit(log, Buffer.alloc(bytes, i + 1), events)
  }
  t.strictSame(
    (await framesOf(log, 1)).map(({ payload }) => [payload.length, payload[0]]),
    sizes.map(([bytes], i) => [bytes, bytes === 0 ? undefined : i + 1]),
  )
  await log.close()
  t.strictSame(await eventsOf(streams.server, ids.length), ids)
})

t.test('an owner is fenced out by the next one, even while it is idle', { skip }, async (t) => {
  const streams = await withStreams(t)
  let fenced: Error | undefined
  const first = await openLog(streams, 0, { troubled: ignore, fencedOut: (error) => (fenced = error) })
  await commit(first, 'one')
  const second = await openLog(streams, 0, { owner: 'the next' })
  t.equal(second.offset, 1)
  t.ok(second.epoch > first.epoch)
  append(first, 'two, by the first', () => t.fail('it is not durable'))
  await commit(second, 'two')
  await first.close()
  t.match(fenced, { name: 'FencedOut', message: 'Partition 0 has another owner: the next.' })
  t.throws(() => first.append([Buffer.from('three')], ignore), /another owner/)
  t.strictSame(await framesIn(streams), ['one', 'two'])
})

t.test(
  `several owners take the partition from each other (G4, seed ${SEED}): each acknowledged frame is there once`,
  { skip },
  async (t) => {
    const streams = await withStreams(t)
    const draw = drawer(SEED)
    const acknowledged: string[] = []
    const tried = new Set<string>()
    const events: string[] = []
    const host = async (name: string) => {
      for (let round = 0; acknowledged.length < 100; round++) {
        const owner = await openOwner(streams, 0).catch(() => undefined)
        if (owner === undefined) continue
        for (let i = 0; i < 20; i++) {
          const frame = `${name}.${round}.${i}`
          tried.add(frame)
          const some = i % 4 === 0 ? [event(name, i), event(name, i)] : []
          if (!(await owner.commit(frame, some))) break
          acknowledged.push(frame)
          events.push(...some.map(({ id }) => id))
        }
        await sleep(draw() * 50)
      }
    }
    await Promise.all(['a', 'b', 'c'].map(host))
    const frames = await framesIn(streams)
    t.equal(new Set(frames).size, frames.length, 'none is there twice')
    t.ok(frames.every((frame) => tried.has(frame)))
    const found = new Set(frames)
    t.strictSame(
      acknowledged.filter((frame) => !found.has(frame)),
      [],
      'none is lost',
    )
    t.ok(tried.size > acknowledged.length, `${acknowledged.length} of ${tried.size} acknowledged`)
    const ids = await eventsOf(streams.server, events.length)
    t.equal(new Set(ids).size, ids.length)
    t.strictSame(
      events.filter((id) => !ids.includes(id)),
      [],
    )
  },
)

/** Loses the request or the answer of some of the calls. */
async function unreliably<T>(draw: () => number, ask: () => Promise<T>): Promise<T> {
  const fate = draw()
  if (fate < 0.2) throw new Error('lost on the way')
  const answer = ask()
  if (fate > 0.5) return answer
  // Otherwise the frame is stored, or still on its way.
  if (fate < 0.4) await answer
  else answer.catch(ignore)
  throw new Error('the answer was lost')
}

t.test(
  `requests and answers are lost (seed ${SEED}): each frame is there once, and none is uncertain`,
  { skip },
  async (t) => {
    const streams = await withStreams(t)
    const draw = drawer(SEED)
    const kept = new JetStreamJournal(streams.connection, streams.manager, 0)
    const journal = journalWith(kept, {
      append: (messages, after) => unreliably(draw, () => kept.append(messages, after)),
      last: (subject) => unreliably(draw, () => kept.last(subject)),
    })
    const stream = new JetStreamEvents(streams.connection, streams.manager)
    const publisher = publisherOf(streams, {
      stream: {
        mark: (n) => unreliably(draw, () => stream.mark(n)),
        publish: (some) => unreliably(draw, () => stream.publish(some)),
      },
    })
    const frames: string[] = []
    const ids: string[] = []
    for (let round = 0; round < 5; round++) {
      const opened = () => openOwner(streams, 0, { journal, publisher }).catch(() => undefined)
      let owner = await opened()
      // An earlier claim may arrive late, and looks like another owner's claim to this one.
      while (owner === undefined) owner = await opened()
      for (let i = 0; i < 20; i++) {
        const events = Array.from({ length: i % 4 === 0 ? 0 : i }, (_, n) => event('d', n))
        frames.push(`${round}.${i}`)
        ids.push(...events.map(({ id }) => id))
        t.ok(await owner.commit(`${round}.${i}`, events))
      }
      await owner.log.close()
    }
    t.strictSame(await framesIn(streams), frames)
    t.strictSame(await eventsOf(streams.server, ids.length), ids)
  },
)

t.test(
  'an owner dies before its events are published: the next one publishes the rest',
  { skip },
  async (t) => {
    const streams = await withStreams(t)
    const events = Array.from({ length: 3_500 }, (_, n) => event(`d${n % 5}`, n))
    for (const [partition, batches] of [0, 1, 2, 3].entries()) {
      const stream = new JetStreamEvents(streams.connection, streams.manager)
      let left = batches
      const publisher = publisherOf(streams, {
        stream: {
          mark: (n) => stream.mark(n),
          publish: (some) => (left-- > 0 ? stream.publish(some) : new Promise<number[]>(ignore)),
        },
      })
      const log = await openLog(streams, partition, { publisher })
      const mine = events.map((one) => ({ ...one, id: `${partition}${one.id.slice(1)}` }))
      await commit(log, `large ${partition}`, mine.slice(0, 3_000))
      await commit(log, `small ${partition}`, mine.slice(3_000))
      await until(() => left < 0)
      t.strictSame(await framesIn(streams, partition), [`large ${partition}`, `small ${partition}`])
    }
    const ids = await eventsOf(streams.server, 4 * events.length)
    for (let partition = 0; partition < 4; partition++) {
      t.strictSame(
        ids.filter((id) => id.startsWith(String(partition))),
        events.map(({ id }) => `${partition}${id.slice(1)}`),
      )
    }
  },
)

t.test(
  'a host continues to publish after another has published its events (G2), including those of its other partitions',
  { skip },
  async (t) => {
    const streams = await withStreams(t)
    const stream = new JetStreamEvents(streams.connection, streams.manager)
    const troubles: string[] = []
    let still = Promise.resolve()
    let goOn = ignore
    const publisher = publisherOf(streams, {
      stream: {
        mark: (n) => stream.mark(n),
        publish: (some) => still.then(() => stream.publish(some)),
      },
      troubled: ({ message }) => troubles.push(message),
    })
    const logs = [
      await openLog(streams, 0, { publisher, troubled: ignore, fencedOut: ignore }),
      await openLog(streams, 1, { publisher }),
    ] as const
    const ids: string[] = []
    const commitTo = async (log: PartitionLog, frame: string) => {
      const events = [event('d', 1), event('d', 2)]
      ids.push(...events.map(({ id }) => id))
      await commit(log, frame, events)
    }
    await commitTo(logs[0], 'one')
    await until(() => publisher.backlogBytes === 0)
    still = new Promise((resolve) => (goOn = resolve))
    await commitTo(logs[0], 'two')
    const next = await openLog(streams, 0)
    await commitTo(next, 'three')
    await next.close()
    await commitTo(logs[1], 'of another')
    goOn()
    await until(() => publisher.backlogBytes === 0)
    t.match(troubles[0], /The stream EVENTS did not take \d messages: wrong last sequence: \d+\./)
    t.strictSame(await eventsOf(streams.server, ids.length), ids)
    await logs[1].close()
  },
)

t.test('while EVENTS accepts nothing, the owner commits no more than the limit (G7)', { skip }, async (t) => {
  const streams = await withStreams(t)
  const { config } = await streams.manager.streams.info('EVENTS')
  await streams.manager.streams.update('EVENTS', { ...config, max_msgs: 2, discard: DiscardPolicy.New })
  const publisher = publisherOf(streams, { maxBacklogBytes: 5_000 })
  const log = await openLog(streams, 0, { publisher })
  const ids: string[] = []
  let isWaiting = false
  for (let i = 0; !isWaiting && i < 100; i++) {
    const events = [event('d', i)]
    ids.push(events[0]!.id)
    let isDurable = false
    void commit(log, `frame ${i}`, events).then(() => (isDurable = true))
    // A frame for which there is no room waits as long as it takes. This condition must not leave a wait behind,
    // because that would never end.
    await until(() => isDurable || publisher.backlogBytes >= 5_000)
    isWaiting = publisher.backlogBytes >= 5_000
  }
  t.ok(isWaiting)
  t.ok(log.offset < 40, `${log.offset} frames`)
  await streams.manager.streams.update('EVENTS', { ...config, discard: DiscardPolicy.New })
  t.strictSame(await eventsOf(streams.server, ids.length), ids)
  await log.close()
})
