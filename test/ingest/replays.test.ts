/** What replays may cost: their events, before they begin and while they wait for their answer (G7). */
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import type { Answer, Reply } from '../../src/http/route.ts'
import { waitingEventsBound } from '../../src/actor/waitingEvents.ts'
import { checkReplay, ReplayRoom } from '../../src/ingest/replayBound.ts'
import { ReplayExchange, type ExchangeParts } from '../../src/ingest/trackExchanges.ts'
import type { Update } from '../../src/model/update.ts'
import type { ScopeView } from '../../src/rules/port.ts'
import { ApiError } from '../../src/runtime/errors.ts'

const MIB = 1024 * 1024

/** A reply that keeps the answer until the test says that it was sent. */
class HeldReply implements Reply {
  aborted = false
  answer: Answer | undefined
  error: Error | undefined

  send(answer: Answer): void {
    this.answer = answer
  }

  fail(error: Error): void {
    this.error = error
  }
}

const parts = {
  registry: { scope: () => ({ beacons: { nearest: () => [] } }) },
  rateLimits: false,
} as unknown as ExchangeParts

const updatesOf = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ deviceId: `d${i}` }) as Update)

t.test('replays that wait keep a bounded number of events, and count the others', async (t) => {
  const bound = waitingEventsBound()
  const event = 'x'.repeat(MIB)
  const replays = Array.from({ length: 12 }, (_, i) => {
    const reply = new HeldReply()
    const updates = updatesOf(21)
    const share = bound.share(`key ${i % 6}`)
    let left = 0
    const exchange = new ReplayExchange(reply, parts, updates, 0, share, () => left++)
    return { reply, updates, exchange, left: () => left }
  })
  const apply = ({ exchange, updates }: (typeof replays)[number], from: number, to: number) => {
    for (const update of updates.slice(from, to))
      exchange.applied({ user: '', events: [event], repeated: false }, update)
  }
  for (const replay of replays) apply(replay, 0, 20)
  t.equal(bound.used, 128 * MIB, 'of 240 MiB')
  const [first, second, third, ...others] = replays as [any, any, any, ...any]
  const held = bound.used
  first.exchange.refused(new ApiError(503, 'too late'), first.updates[20])
  t.match(first.reply.error, { code: 503 })
  t.equal(held - bound.used, 20 * MIB, 'a replay that failed keeps nothing')
  apply(first, 0, 5)
  t.equal(held - bound.used, 20 * MIB, 'nor does what is applied later')
  t.equal(first.left(), 1)
  second.reply.aborted = true
  const before = bound.used
  apply(second, 20, 21)
  t.equal(bound.used, before, 'nobody receives more')
  t.equal(second.left(), 1, 'it has ended')
  t.notOk(third.left(), 'it has not')
  for (const { exchange, updates } of others) exchange.refused(new ApiError(503, 'too late'), updates[20])
  third.exchange.refused(new ApiError(503, 'too late'), third.updates[20])
  await nextTurn()
  second.reply.answer?.sent?.()
  t.equal(bound.used, 0, 'everything is given back')
})

/** A view in which each update at a latitude has the geofences of that list. */
function viewOf(geofences: Readonly<Record<number, readonly number[]>>): ScopeView {
  return {
    settings: { bufferEntries: false },
    index: {
      candidates: ({ latitude }: { latitude: number }, _: number, slots: number[]) => {
        slots.push(...(geofences[latitude] ?? []))
        return 0
      },
    },
  } as unknown as ScopeView
}

const many = (count: number, from = 0) => Array.from({ length: count }, (_, i) => from + i)
const at = (deviceId: string, latitude: number) => ({ deviceId, latitude, longitude: 0 }) as Update

t.test('the events that a replay may cause are counted by entries and exits of each device', (t) => {
  const view = viewOf({ 1: many(100), 2: [], 3: many(100, 50) })
  const count = (...updates: Update[]) => checkReplay(updates, view, 1_000_000)
  t.equal(count(at('a', 1)), 100)
  t.equal(count(at('a', 1), at('a', 1), at('a', 1)), 100, 'a device that stays')
  t.equal(count(at('a', 1), at('a', 2)), 200)
  t.equal(count(at('a', 1), at('a', 3)), 200, 'half of them are the same')
  t.equal(count(at('a', 1), at('b', 2), at('a', 1), at('b', 1)), 200, 'devices in turns')
  const alternating = many(50).map((i) => at('a', 1 + (i % 2)))
  t.doesNotThrow(() => checkReplay(alternating, view), 'without a bound')
  t.throws(() => checkReplay(alternating, view, 1000), {
    code: 400,
    param: 'replays',
    message:
      'replays: The first 11 of the 50 updates may cause 1100 events. At most 1000 are allowed in one request to this server. Send at most 10 of them at a time.',
  })
  t.equal(checkReplay(alternating.slice(0, 10), view, 1000), 1000, 'the advice is right')
  t.equal(checkReplay([at('a', 1)], view, 10), 100, 'a single update is always accepted')
  t.end()
})

t.test('a replay for which there is no time is refused before it begins', (t) => {
  const room = new ReplayRoom(1000)
  const first = room.enter('one', 900)
  t.throws(() => room.enter('one', 200), {
    code: 503,
    retryAfter: 2,
    message:
      /^This replay may cause 200 events, and others that are in progress 900, .*Nothing of it was applied/,
  })
  t.doesNotThrow(() => room.enter('one', 0)(), 'one that causes none')
  const second = room.enter('other', 1000)
  t.throws(() => room.enter('third', 200), { code: 503 })
  first()
  const third = room.enter('one', 1000)
  second()
  third()
  t.equal(room.events, 0)
  const large = room.enter('one', 5000)
  t.throws(() => room.enter('other', 1), { code: 503 })
  large()
  t.doesNotThrow(() => room.enter('other', 1)())
  const unbounded = new ReplayRoom(Infinity)
  for (let i = 0; i < 10; i++) unbounded.enter('one', 1_000_000)
  t.end()
})
