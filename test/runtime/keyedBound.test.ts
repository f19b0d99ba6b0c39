/** Bytes per connection, per key and in total, compared with sums over everything that is held. */
import assert from 'node:assert/strict'
import t from 'tap'
import { KeyedBound, type Share } from '../../src/runtime/keyedBound.ts'
import fc from '../kit/fastCheck.ts'

const BOUNDS = { connection: 10, key: 25, all: 40 }

t.test('accepted bytes fit all three limits, and a refusal names the first exceeded one', async () => {
  const step = fc.record({
    connection: fc.nat(7),
    bytes: fc.integer({ min: 1, max: 12 }),
    releases: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
      const bound = new KeyedBound('Things', BOUNDS)
      // Connections 0 to 7 with the keys 0 to 2.
      const shares = Array.from({ length: 8 }, (_, i): Share => bound.share(String(i % 3)))
      const held = Array.from({ length: 8 }, (): number[] => [])
      const sum = (of: (connection: number) => boolean) =>
        held.flatMap((pieces, i) => (of(i) ? pieces : [])).reduce((total, bytes) => total + bytes, 0)
      for (const { connection, bytes, releases } of steps) {
        const share = shares[connection]!
        const pieces = held[connection]!
        if (releases && pieces.length > 0) share.release(pieces.pop()!)
        else {
          const expected =
            sum((i) => i === connection) + bytes > BOUNDS.connection
              ? 'connection'
              : sum((i) => i % 3 === connection % 3) + bytes > BOUNDS.key
                ? 'key'
                : sum(() => true) + bytes > BOUNDS.all
                  ? 'all'
                  : undefined
          assert.equal(share.tryAcquire(bytes), expected)
          if (expected === undefined) pieces.push(bytes)
        }
        assert.equal(
          share.used,
          sum((i) => i === connection),
        )
        assert.equal(
          bound.used,
          sum(() => true),
        )
      }
      for (const [i, pieces] of held.entries()) for (const bytes of pieces) shares[i]!.release(bytes)
      assert.equal(bound.keys, 0, 'keys that hold nothing are not remembered')
    }),
  )
})

t.test('refusals', async (t) => {
  const bound = new KeyedBound('Things', BOUNDS)
  t.match(bound.refusal('connection', 'filter'), {
    code: 400,
    param: 'filter',
    message:
      "filter: Things of one connection may take 10 bytes of the server's memory; there is no room for this one.",
    retryAfter: undefined,
  })
  t.match(bound.refusal('key'), {
    code: 429,
    message: /^Things of all connections with one key may take 25 bytes/,
  })
  t.match(bound.refusal('all'), {
    code: 503,
    message: /all clients together may take 40 bytes/,
    retryAfter: 60,
  })
  t.throws(() => bound.share('k').release(1), RangeError)
})
