/**
 * The log over JetStream, with real servers and everything that may end at the wrong moment. The guarantees are those of
 * docs/protocol.md: G1 what is acknowledged stays, G2 each event once, G3 in order, G4 one owner.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { JetStreamJournal } from '../../src/log/jetStreamJournal.ts'
import type { Journal } from '../../src/log/jetStreamPort.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { framesOf, until } from './contract.ts'
import {
  commit,
  drawer,
  event,
  eventsOf,
  journalWith,
  openLog,
  openOwner,
  withStreams,
  type Client,
} from './jetStreamKit.ts'

const skip = await skipWithout(NATS_SERVER)
const ignore = (): void => {}
/** Of what is lost; printed with the test. */
const SEED = Number(process.env['RINGFENCE_SEED'] ?? 1 + Math.floor(Math.random() * 1e6))

/** The texts of the frames of a partition, as the next owner reads them. */
async function framesIn(streams: Client, partition = 0): Promise<string[]> {
  const log = await openLog(streams, partition, { troubled: ignore })
  const frames = await framesOf(log, 1)
  t.strictSame(
    frames.map(({ position }) => position),
    frames.map((_, i) => i + 1),
    'positions ascend by one',
  )
  await log.close()
  return frames.map(({ payload }) => Buffer.from(payload).toString())
}

t.test(
  'frames of any size, with any number of events, which come once and in their order',
  { skip },
  async (t) => {
    const streams = await withStreams(t)
    const log = await openLog(streams, 1)
    const sizes = [
      [10, 0],
      [10, 3],
      [3_000_000, 5],
      [0, 999],
      [500, 1_000],
      [2_100_000, 2_345],
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
  },
)

t.test('an owner is fenced out by the next, even while it is idle', { skip }, async (t) => {
  const streams = await withStreams(t)
  let fenced: Error | undefined
  const first = await openLog(streams, 0, { troubled: ignore, fencedOut: (error) => (fenced = error) })
  await commit(first, 'one')
  const second = await openLog(streams, 0, { owner: 'the next' })
  t.equal(second.position, 1)
  t.ok(second.epoch > first.epoch)
  first.append([Buffer.from('two, by the first')], () => t.fail('it is not durable'))
  await commit(second, 'two')
  await first.close()
  t.match(fenced, { name: 'FencedOut', message: 'Partition 0 has another owner: the next.' })
  t.throws(() => first.append([Buffer.from('three')], ignore), /another owner/)
  t.strictSame(await framesIn(streams), ['one', 'two'])
})

t.test(
  'several that take the partition from each other (G4): each acknowledged frame is there once',
  { skip },
  async (t) => {
    const streams = await withStreams(t)
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
        await sleep(Math.random() * 50)
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

/** A journal that loses some of what is asked, or of what is answered. */
function unreliable(journal: Journal, draw: () => number): Journal {
  return journalWith(journal, {
    async append(messages, after) {
      const fate = draw()
      if (fate < 0.2) throw new Error('lost on the way')
      const answer = journal.append(messages, after)
      if (fate > 0.5) return answer
      // Else what is stored, or still on its way.
      if (fate < 0.4) await answer
      else answer.catch(ignore)
      throw new Error('the answer was lost')
    },
    async last(subject) {
      if (draw() < 0.2) throw new Error('no answer')
      return journal.last(subject)
    },
  })
}

t.test(
  `requests and answers are lost (seed ${SEED}): each frame once, none in doubt`,
  { skip },
  async (t) => {
    const streams = await withStreams(t)
    const draw = drawer(SEED)
    const journal = unreliable(new JetStreamJournal(streams.connection, streams.manager, 0), draw)
    const frames: string[] = []
    const ids: string[] = []
    for (let round = 0; round < 5; round++) {
      const opened = () => openOwner(streams, 0, { journal }).catch(() => undefined)
      let owner = await opened()
      // A claim of before may come late and be another's for this one.
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
  'an owner that dies before all events of a large frame are out: the next publishes the rest',
  { skip },
  async (t) => {
    const streams = await withStreams(t)
    const events = Array.from({ length: 3_500 }, (_, n) => event(`d${n % 5}`, n))
    for (const [partition, appends] of [1, 2, 3, 4].entries()) {
      const journal = new JetStreamJournal(streams.connection, streams.manager, partition)
      let left = appends + 2
      const dying = journalWith(journal, {
        maxDataBytes: 100_000,
        append: (messages, after) =>
          left-- > 0 ? journal.append(messages, after) : new Promise<number>(ignore),
      })
      const log = await openLog(streams, partition, { journal: dying })
      const mine = events.map((one) => ({ ...one, id: `${partition}${one.id.slice(1)}` }))
      log.append([Buffer.from('large')], ignore, mine)
      await until(() => left < 0)
      t.strictSame(await framesIn(streams, partition), ['large'])
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
