/** Subscriptions without sockets. The feed is real; its index and the connections are simulated. */
import t from 'tap'
import { FanoutGroups } from '../../src/events/fanoutGroup.ts'
import { EventFeed } from '../../src/events/feed.ts'
import { wants, type EventFilter } from '../../src/events/filter.ts'
import type { StoredEvent } from '../../src/events/port.ts'
import { CLOSE } from '../../src/stream/closeCodes.ts'
import { SlowReaderTimer } from '../../src/stream/slowReader.ts'
import { ResumeTokens } from '../../src/stream/resumeTokens.ts'
import { Subscriptions } from '../../src/stream/subscriptions.ts'
import { MemoryEvents, runs } from '../actor/kit.ts'
import { whole } from '../events/contract.ts'
import fc from '../kit/fastCheck.ts'
import { FakeConnection } from './fakeConnection.ts'

const tokens = new ResumeTokens('0123456789abcdef')

const log = {
  error(fields: Readonly<Record<string, unknown>>): void {
    throw fields.err
  },
}

/** Waits until everything that can happen has happened. */
async function settle(): Promise<void> {
  for (let i = 0; i < 12; i++) await new Promise((resolve) => setImmediate(resolve))
}

function subscribe(subscriptions: Subscriptions, connection: FakeConnection) {
  const feature = subscriptions.open(connection)
  return {
    feature,
    subscribe: (id: string, filter?: EventFilter, from?: string, batch = false) =>
      feature.receive({
        type: 'subscribe',
        id,
        ...(filter && { filter }),
        ...(from && { from }),
        ...(batch && { batch }),
      }),
    unsubscribe: (id: string) => feature.receive({ type: 'unsubscribe', id }),
    ids: (id: string): string[] =>
      connection.sent
        .filter(({ subscription }) => subscription === id)
        .flatMap(({ type, event, events }) =>
          type === 'event'
            ? [event._id]
            : type === 'events'
              ? events.map((one: typeof event) => one._id)
              : [],
        ),
  }
}

const drafts = fc.array(
  fc.record({
    scope: fc.constantFrom(0, 0, 0, 1),
    type: fc.constantFrom('user.entered_geofence', 'user.exited_geofence', 'bought'),
    deviceId: fc.constantFrom('d0', 'd1', 'd2'),
    userId: fc.constantFrom('u0', 'u1', undefined),
    tag: fc.constantFrom('store', 'home', undefined),
    externalId: fc.constantFrom('x0', 'x1'),
  }),
  { maxLength: 5 },
)
const list = (...items: string[]) =>
  fc.option(fc.uniqueArray(fc.constantFrom(...items), { minLength: 1, maxLength: 2 }), {
    nil: undefined,
    freq: 1,
  })
const filters = fc.record({
  types: list('user.entered_geofence', 'bought', 'unknown'),
  tags: list('store', 'home'),
  externalIds: list('x0', 'x1'),
  userIds: list('u0', 'u1'),
  deviceIds: list('d0', 'd1', 'd9'),
})
const steps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: drafts.map((events) => ({ kind: 'frame' as const, events })) },
    { weight: 2, arbitrary: fc.nat(9).map((who) => ({ kind: 'stall' as const, who })) },
    { weight: 3, arbitrary: fc.nat(9).map((who) => ({ kind: 'read' as const, who })) },
    { weight: 2, arbitrary: fc.nat(9).map((who) => ({ kind: 'reconnect' as const, who })) },
    { weight: 2, arbitrary: fc.constant({ kind: 'settle' as const }) },
    { weight: 2, arbitrary: fc.constant({ kind: 'breathe' as const }) },
  ),
  { maxLength: 40, size: 'max' },
)

/** A client that reconnects and resumes after the last event that it received. */
class Client {
  readonly filter: EventFilter
  readonly #isBatched: boolean
  readonly got: string[] = []
  #connection: FakeConnection
  #link: ReturnType<typeof subscribe>
  readonly #subscriptions: Subscriptions

  constructor(subscriptions: Subscriptions, filter: EventFilter, isBatched: boolean) {
    this.#subscriptions = subscriptions
    this.#isBatched = isBatched
    this.filter = Object.fromEntries(Object.entries(filter).filter(([, items]) => items !== undefined))
    this.#connection = new FakeConnection()
    this.#link = subscribe(subscriptions, this.#connection)
    this.#link.subscribe('s', this.filter, undefined, isBatched)
  }

  stall(): void {
    this.#connection.isStalled = true
  }

  read(): void {
    this.#connection.read()
    this.#link.feature.drained()
  }

  /** @param firstId where to begin as long as no event has come */
  reconnect(firstId: string): void {
    this.#link.feature.closed()
    this.#collect()
    this.#connection = new FakeConnection()
    this.#link = subscribe(this.#subscriptions, this.#connection)
    this.#link.subscribe('s', this.filter, this.got.at(-1) ?? firstId, this.#isBatched)
  }

  end(): string[] {
    this.#link.feature.closed()
    this.#collect()
    return this.got
  }

  #collect(): void {
    this.got.push(...this.#link.ids('s'))
  }
}

t.test('property: each wanted event once, in log order, however readers stall and come back', async () => {
  await fc.assert(
    fc.asyncProperty(
      steps,
      fc.array(fc.tuple(filters, fc.boolean()), { minLength: 1, maxLength: 4 }),
      fc.constantFrom(0, 1500, 1_000_000),
      async (script, wanted, recentBytes) => {
        const feed = new EventFeed(new MemoryEvents(), recentBytes)
        const subscriptions = new Subscriptions(feed, new FanoutGroups(feed, 1), log, tokens)
        const first = whole(0)
        feed.committed({ offset: 1, events: [first] })
        // Two clients for each filter, so that they form groups.
        const clients = [...wanted, ...wanted].map(
          ([filter, isBatched]) => new Client(subscriptions, filter, isBatched),
        )
        const all: StoredEvent[] = []
        let position = 1
        for (const step of script) {
          if (step.kind === 'frame') {
            const events = step.events.map((detail, i) => whole(all.length + i + 1, detail))
            feed.committed({ offset: ++position, events })
            all.push(...events)
          } else if (step.kind === 'settle') await settle()
          else if (step.kind === 'breathe') await Promise.resolve()
          else {
            const client = clients[step.who % clients.length]!
            if (step.kind === 'stall') client.stall()
            else if (step.kind === 'read') client.read()
            else client.reconnect(first.id)
          }
        }
        for (const client of clients) client.read()
        for (let i = 0; i < 4; i++) {
          await settle()
          // What is gathered is sent after a millisecond.
          await new Promise((resolve) => setTimeout(resolve, 2))
        }
        for (const client of clients) {
          const expected = all
            .filter((event) => event.scope === 0 && wants(client.filter, event))
            .map(({ id }) => id)
          const got = client.end()
          if (got.join() !== expected.join())
            throw new Error(`${JSON.stringify(client.filter)}: ${got.join()}, expected ${expected.join()}`)
        }
      },
    ),
    runs(150),
  )
})

t.test('who wants events gathered gets many at once, after a moment or when they fill a part', async (t) => {
  const feed = new EventFeed(new MemoryEvents())
  const subscriptions = new Subscriptions(feed, new FanoutGroups(feed, 1000), log, tokens)
  const [single, gathered] = [new FakeConnection(), new FakeConnection()]
  const links = [subscribe(subscriptions, single), subscribe(subscriptions, gathered)] as const
  links[0].subscribe('s')
  links[1].subscribe('s', undefined, undefined, true)
  const before = [single.sends, gathered.sends] as const
  for (let frame = 1; frame <= 5; frame++) {
    feed.committed({ offset: frame, events: [whole(frame)] })
    await settle()
  }
  t.equal(single.sends - before[0], 5)
  while (links[1].ids('s').length === 0) await new Promise((resolve) => setTimeout(resolve, 1))
  t.equal(gathered.sends - before[1], 1, 'one send')
  t.equal(gathered.sent.at(-1).events.length, 5, 'and one message')
  t.same(links[1].ids('s'), links[0].ids('s'))
  const many = Array.from({ length: 900 }, (_, i) => whole(6 + i))
  feed.committed({ offset: 6, events: many })
  await settle()
  t.ok(links[1].ids('s').length > 100, 'a full part is sent at once')
  while (links[1].ids('s').length < 905) await new Promise((resolve) => setTimeout(resolve, 1))
  t.same(links[1].ids('s'), links[0].ids('s'))
  for (const link of links) link.feature.closed()
})

t.test('a stalled reader costs one part, and later gets the rest from the disk', async (t) => {
  const feed = new EventFeed(new MemoryEvents(), 0)
  const subscriptions = new Subscriptions(feed, new FanoutGroups(feed), log, tokens)
  const slow = new FakeConnection()
  const quick = new FakeConnection()
  const links = [subscribe(subscriptions, slow), subscribe(subscriptions, quick)]
  for (const link of links) link.subscribe('all')
  slow.isStalled = true
  let number = 0
  for (let frame = 1; frame <= 20; frame++) {
    feed.committed({ offset: frame, events: Array.from({ length: 300 }, () => whole(++number)) })
    await settle()
  }
  await settle()
  t.equal(links[1]!.ids('all').length, 6000, 'nobody waits for it')
  t.ok(slow.mostUnread < 150_000, `${slow.mostUnread} bytes wait for it`)
  while (links[0]!.ids('all').length < 6000) {
    slow.read()
    slow.isStalled = true
    links[0]!.feature.drained()
    await settle()
  }
  t.ok(slow.mostUnread < 150_000, `${slow.mostUnread} bytes at most`)
  t.same(links[0]!.ids('all'), links[1]!.ids('all'))
  for (const link of links) link.feature.closed()
})

t.test('a reader that joins during a large delivery misses nothing and gets nothing twice', async (t) => {
  const feed = new EventFeed(new MemoryEvents())
  const subscriptions = new Subscriptions(feed, new FanoutGroups(feed), log, tokens)
  const links: ReturnType<typeof subscribe>[] = []
  const join = (filter?: EventFilter, from?: string) => {
    const link = subscribe(subscriptions, new FakeConnection())
    link.subscribe('s', filter, from)
    links.push(link)
  }
  feed.committed({ offset: 1, events: [whole(0)] })
  for (let i = 0; i < 3500; i++) join()
  const expected = links.map(() => 5)
  for (let frame = 1; frame <= 5; frame++) {
    feed.committed({ offset: frame + 1, events: [whole(frame, { deviceId: 'd0' })] })
    // By now the delivery has sent some of the thousands of events.
    for (let turns = 0; turns < 2; turns++) await new Promise((resolve) => setImmediate(resolve))
    join(undefined, whole(0).id)
    join({ deviceIds: ['d0'] }, whole(0).id)
    join({ deviceIds: ['d0'] })
    expected.push(5, 5, 5 - frame)
  }
  await settle()
  for (const [i, link] of links.entries()) {
    const ids = link.ids('s')
    if (
      ids.length !== expected[i] ||
      new Set(ids).size !== ids.length ||
      ids.toSorted().join() !== ids.join()
    )
      t.fail(`${i}: ${ids.join()}`)
    link.feature.closed()
  }
  t.equal(subscriptions.count, 0)
})

t.test('a reader that does not read for too long is closed, one that reads in time is not', async (t) => {
  const stalled = new FakeConnection()
  const timer = new SlowReaderTimer(stalled, 1)
  t.equal(timer.isTried, false)
  stalled.isStalled = true
  stalled.send({ type: 'pong' })
  t.equal(timer.isTried, true)
  t.equal(timer.isTried, true)
  while (stalled.closedWith === undefined) await new Promise((resolve) => setTimeout(resolve, 1))
  t.equal(stalled.closedWith, CLOSE.slowReader)
  const reads = new FakeConnection()
  const restored = new SlowReaderTimer(reads, 1)
  reads.isStalled = true
  reads.send({ type: 'pong' })
  t.equal(restored.isTried, true)
  reads.read()
  restored.restore()
  t.equal(restored.isTried, false)
  await new Promise((resolve) => setTimeout(resolve, 20))
  t.equal(reads.closedWith, undefined)
})

t.test('subscriptions that are refused, end, or are looked up for too long', async (t) => {
  const feed = new EventFeed(new MemoryEvents())
  feed.committed({ offset: 1, events: [whole(1), whole(2, { scope: 1 })] })
  const subscriptions = new Subscriptions(feed, new FanoutGroups(feed), log, tokens)
  const connection = new FakeConnection()
  const link = subscribe(subscriptions, connection)
  link.subscribe('a')
  t.throws(() => link.subscribe('a'), { code: 400, param: 'id' })
  t.throws(() => link.unsubscribe('b'), { code: 404 })
  link.subscribe('b', undefined, 'f'.repeat(24))
  t.throws(() => link.subscribe('b'), { code: 400, param: 'id' }, 'being looked up')
  await settle()
  t.match(connection.sent.at(-1), { type: 'error', subscription: 'b', code: 404, param: 'from' })
  link.subscribe('b', undefined, whole(1).id)
  link.unsubscribe('b')
  link.subscribe('b')
  await settle()
  feed.committed({ offset: 2, events: [whole(3)] })
  await settle()
  t.same(link.ids('b'), [whole(3).id], 'from now: the look-up was overtaken')
  link.unsubscribe('b')
  feed.committed({ offset: 3, events: [whole(4)] })
  await settle()
  t.same(link.ids('a'), [whole(3).id, whole(4).id])
  t.same(link.ids('b'), [whole(3).id])
  for (let i = 0; i < 99; i++) link.subscribe(`s${i}`)
  t.throws(() => link.subscribe('one more'), { code: 400, param: 'id' })
  link.feature.closed()
  const sent = connection.sent.length
  feed.committed({ offset: 4, events: [whole(5)] })
  await settle()
  t.equal(connection.sent.length, sent)
})

t.test('a publishable key gets only events of the devices and users that it names', async (t) => {
  const feed = new EventFeed(new MemoryEvents())
  feed.committed({ offset: 1, events: [whole(1)] })
  const connection = new FakeConnection(0, false)
  const link = subscribe(new Subscriptions(feed, new FanoutGroups(feed), log, tokens), connection)
  t.throws(() => link.subscribe('a'), { code: 403, param: 'filter' })
  t.throws(() => link.subscribe('a', { types: ['bought'], tags: ['t'] }), { code: 403, param: 'filter' })
  link.subscribe('device', { deviceIds: ['mine'] })
  link.subscribe('user', { userIds: ['me'] }, whole(1).id)
  await settle()
  feed.committed({
    offset: 2,
    events: [
      whole(2, { deviceId: 'mine' }),
      whole(3, { deviceId: 'other', userId: 'other' }),
      whole(4, { deviceId: 'third', userId: 'me' }),
      whole(5, { deviceId: 'mine', scope: 1 }),
    ],
  })
  await settle()
  t.same(link.ids('device'), [whole(2).id])
  t.same(link.ids('user'), [whole(4).id])
  link.feature.closed()
})

t.test('offsets are sealed for their scope and store', async (t) => {
  const token = tokens.seal(3, 12_345)
  t.equal(tokens.open(3, token), 12_345)
  t.equal(tokens.open(2, token), undefined)
  t.equal(new ResumeTokens('fedcba9876543210').open(3, token), undefined)
  for (const no of ['@7', '', `@${'0'.repeat(32)}`, token.slice(1), `${token}0`, token.toUpperCase()])
    t.equal(tokens.open(3, no), undefined, no)
})
