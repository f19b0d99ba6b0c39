/**
 * Who is next, compared with the definition of fairness: equal bytes for all that always wait, whatever the size of
 * their messages.
 */
import assert from 'node:assert/strict'
import t from 'tap'
import { FairQueue } from '../../src/stream/fairQueue.ts'
import fc from '../kit/fastCheck.ts'
import { runs } from '../geometry/shapes.ts'

const QUANTUM = 64 * 1024
const LARGEST = 1024 * 1024

interface Item {
  readonly number: number
  readonly bytes: number
}

t.test('nothing is lost or doubled, and each flow keeps its order', async () => {
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ flow: fc.nat(8), bytes: fc.integer({ min: 1, max: LARGEST }) }) },
    { weight: 4, arbitrary: fc.constant('next' as const) },
    { weight: 1, arbitrary: fc.record({ removed: fc.nat(8) }) },
  )
  const keyOf = (flow: number) => String(flow % 3)
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
      const queue = new FairQueue<number, Item>()
      const waiting = new Map<number, Item[]>()
      let number = 0
      for (const one of steps) {
        if (one === 'next') {
          const next = queue.next()
          const count = [...waiting.values()].reduce((sum, items) => sum + items.length, 0)
          assert.equal(next === undefined, count === 0)
          if (next !== undefined) assert.equal(waiting.get(next.owner)!.shift(), next.item)
        } else if ('removed' in one) {
          queue.remove(keyOf(one.removed), one.removed)
          waiting.delete(one.removed)
        } else {
          const item = { number: number++, bytes: one.bytes }
          queue.push(keyOf(one.flow), one.flow, item)
          waiting.set(one.flow, [...(waiting.get(one.flow) ?? []), item])
        }
        assert.equal(
          queue.isEmpty,
          [...waiting.values()].every((items) => items.length === 0),
        )
      }
    }),
    runs(300),
  )
})

t.test('keys that always wait get equal bytes, and so do the flows of a key', async () => {
  const sizes = fc.array(fc.integer({ min: 100, max: LARGEST }), { minLength: 2, maxLength: 6 })
  fc.assert(
    fc.property(fc.array(sizes, { minLength: 1, maxLength: 4 }), (keys) => {
      const queue = new FairQueue<string, Item>()
      const served = new Map<string, number>()
      const ofKey = keys.map(() => 0)
      const push = (key: number, flow: number) =>
        queue.push(String(key), `${key} ${flow}`, { number: 0, bytes: keys[key]![flow]! })
      for (const [key, flows] of keys.entries())
        for (const flow of flows.keys()) for (let i = 0; i < 2; i++) push(key, flow)
      for (let i = 0; i < 3000; i++) {
        const { owner, item } = queue.next()!
        const [key, flow] = owner.split(' ').map(Number) as [number, number]
        served.set(owner, (served.get(owner) ?? 0) + item.bytes)
        ofKey[key]! += item.bytes
        push(key, flow)
      }
      // They may be one round apart, plus the amount by which a message may exceed its share.
      const apart = 2 * (QUANTUM + LARGEST)
      assert(Math.max(...ofKey) - Math.min(...ofKey) <= apart, `keys: ${ofKey}`)
      for (const [key, flows] of keys.entries()) {
        const all = [...flows.keys()].map((flow) => served.get(`${key} ${flow}`) ?? 0)
        assert(Math.max(...all) - Math.min(...all) <= apart, `flows of key ${key}: ${all}`)
      }
    }),
    runs(50),
  )
})

t.test('a flow with little traffic waits at most one round, however much others have waiting', async () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 50 }),
      fc.integer({ min: 1000, max: LARGEST }),
      fc.nat(200),
      (floods, bytes, before) => {
        const queue = new FairQueue<number, Item>()
        for (let flow = 1; flow <= floods; flow++)
          for (let i = 0; i < 100; i++) queue.push('key', flow, { number: i, bytes })
        for (let i = 0; i < Math.min(before, 50 * floods); i++) queue.next()
        queue.push('key', 0, { number: 0, bytes: 200 })
        let waited = 0
        for (let next = queue.next()!; next.owner !== 0; next = queue.next()!) waited += next.item.bytes
        assert(waited <= floods * (2 * QUANTUM + bytes), `${waited} bytes of ${floods} floods went first`)
      },
    ),
    runs(100),
  )
})
