/** Readers that are behind: thousands of them take turns, and those that end cost nothing. */
import t from 'tap'
import { EventReader } from '../../src/events/eventReader.ts'
import { FanoutGroups, turn, type Outlet } from '../../src/events/fanoutGroup.ts'
import type { EventFeed } from '../../src/events/feed.ts'
import { whole } from './contract.ts'

const LAST = 1000
const EVENTS_A_READ = 200

/** A feed whose events are in memory: each read is done at once. */
class CountingFeed {
  readonly lastOffset = LAST
  reads = 0

  async read(_scope: number, after: number) {
    this.reads++
    const events = Array.from({ length: EVENTS_A_READ }, (_, i) => ({
      offset: after + i + 1,
      event: whole(after + i),
    }))
    return { events, offset: after + EVENTS_A_READ }
  }

  follow(): AsyncIterable<never> {
    return { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => undefined) }) }
  }
}

function outlet(): Outlet & { count: number } {
  return {
    count: 0,
    format: 'test',
    isBehind: false,
    encode: ({ json }) => json,
    send(messages) {
      this.count += messages.length
    },
    fail: (error) => t.fail('a reader fails', { error }),
  }
}

function readers(count: number) {
  const feed = new CountingFeed()
  const groups = new FanoutGroups(feed as unknown as EventFeed)
  const outlets = Array.from({ length: count }, outlet)
  const all = outlets.map((one) => new EventReader(0, {}, 0, one, groups))
  for (const reader of all) reader.advance()
  return { feed, outlets, all }
}

t.test('in one turn of the event loop few parts are read', async (t) => {
  const { feed, outlets, all } = readers(500)
  let most = 0
  while (outlets.some(({ count }) => count < LAST)) {
    const before = feed.reads
    await turn()
    most = Math.max(most, feed.reads - before)
  }
  t.ok(most <= 4, `${most} in one turn`)
  t.equal(feed.reads, (500 * LAST) / EVENTS_A_READ)
  t.ok(outlets.every(({ count }) => count === LAST))
  for (const reader of all) reader.end()
})

t.test('readers that end while they wait are not read for', async (t) => {
  const { feed, all, outlets } = readers(500)
  for (const reader of all.slice(1)) reader.end()
  while (outlets[0]!.count < LAST) await turn()
  t.ok(feed.reads <= LAST / EVENTS_A_READ + 2, `${feed.reads} reads`)
  all[0]!.end()
})
