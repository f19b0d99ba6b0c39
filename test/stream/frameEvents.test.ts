/** What is kept of the events of a frame until it is acknowledged (G7). */
import fc from 'fast-check'
import t from 'tap'
import { FrameReceipt, type FrameOwner } from '../../src/stream/receipt.ts'
import { waitingEventsBound } from '../../src/actor/waitingEvents.ts'
import type { Update } from '../../src/model/update.ts'
import type { Share } from '../../src/runtime/keyedBound.ts'
import { KeyedBound } from '../../src/runtime/keyedBound.ts'

const MIB = 1024 * 1024
const MOST = 4 * MIB

class Owner implements FrameOwner {
  readonly rateLimited = false
  events: Share | undefined
  done = 0

  constructor(share: Share) {
    this.events = share
  }

  frameDone(): void {
    this.done++
  }

  updateRefused(): void {}
  updateUnanswered(): void {}
}

const updatesOf = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ deviceId: `d${i}` }) as Update)
const outcomeOf = (events: readonly string[]) => ({ user: '', events, repeated: false })

/** What an acknowledgement had when everything was kept until then. */
function atTheEnd(lists: readonly (readonly string[])[]) {
  const events: string[] = []
  let characters = 0
  let omitted = 0
  for (const event of lists.flat()) {
    characters += event.length
    if (characters <= MOST) events.push(event)
    else omitted++
  }
  return { events, omitted }
}

t.test('the same events are acknowledged as if all were kept, in whatever order they come', (t) => {
  const sizes = fc.array(fc.array(fc.integer({ min: 1, max: MIB }), { maxLength: 8 }), {
    minLength: 1,
    maxLength: 10,
  })
  let cut = 0
  fc.assert(
    fc.property(sizes, fc.infiniteStream(fc.nat()), (lengths, order) => {
      let number = 0
      const lists = lengths.map((list) => list.map((length) => String(number++).padEnd(length, 'x')))
      const share = waitingEventsBound().share('key')
      const owner = new Owner(share)
      const updates = updatesOf(lists.length)
      const receipt = new FrameReceipt(owner, { id: 1, wantsEvents: true, updates }, 100)
      const left = updates.map((_, i) => i)
      let most = 0
      while (left.length > 0) {
        const [place] = left.splice(order.next().value! % left.length, 1) as [number]
        receipt.applied(outcomeOf(lists[place]!), updates[place]!)
        most = Math.max(most, share.used)
      }
      const { events = [], omittedEvents = 0 } = receipt.toAck()
      const expected = atTheEnd(lists)
      if (expected.omitted > 0) cut++
      return (
        events.length === expected.events.length &&
        events.every((event, i) => event === expected.events[i]) &&
        omittedEvents === expected.omitted &&
        most <= MOST &&
        share.used === 0
      )
    }),
    { numRuns: 300 },
  )
  t.ok(cut > 30, `${cut} of 300 did not fit`)
  t.end()
})

t.test('frames of all streams together have a bound, and none is held up by it', (t) => {
  const bound = new KeyedBound('Events of updates', { connection: 5 * MIB, key: 5 * MIB, all: 8 * MIB })
  const event = 'x'.repeat(MIB)
  const frames = Array.from({ length: 12 }, (_, i) => {
    const owner = new Owner(bound.share(`key ${i % 2}`))
    const updates = updatesOf(3)
    return { owner, updates, receipt: new FrameReceipt(owner, { id: 1, wantsEvents: true, updates }, 100) }
  })
  for (const { updates, receipt } of frames)
    for (const update of updates) receipt.applied(outcomeOf([event]), update)
  t.equal(bound.used, 8 * MIB)
  t.ok(frames.every(({ owner }) => owner.done === 1))
  let events = 0
  let omitted = 0
  for (const { receipt } of frames) {
    const ack = receipt.toAck()
    events += ack.events!.length
    omitted += ack.omittedEvents ?? 0
  }
  t.strictSame([events, omitted], [8, 28])
  t.equal(bound.used, 0)
  t.end()
})

t.test('a stream that has ended keeps nothing more', (t) => {
  const bound = waitingEventsBound()
  const owner = new Owner(bound.share('key'))
  const updates = updatesOf(2)
  const receipt = new FrameReceipt(owner, { id: 1, wantsEvents: true, updates }, 100)
  owner.events = undefined
  receipt.applied(outcomeOf(['{}']), updates[0]!)
  t.equal(bound.used, 0)
  t.end()
})
