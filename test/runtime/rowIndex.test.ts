import assert from 'node:assert/strict'
import t from 'tap'
import { RowIndex } from '../../src/runtime/rowIndex.ts'
import { runs } from '../actor/kit.ts'
import fc from '../kit/fastCheck.ts'

t.test('rows are found by their hash, also if hashes collide', async () => {
  // Few hashes, some of them at the end of the slots, so that searches collide and wrap around.
  const hash = fc.oneof(fc.integer({ min: -4, max: 3 }), fc.constantFrom(62, 63, 64, 126, 127, 128))
  const op = fc.record({ add: fc.boolean(), hash, pick: fc.nat() })
  fc.assert(
    fc.property(fc.array(op, { maxLength: 200 }), (ops) => {
      const index = new RowIndex()
      const known = new Map<number, number>()
      const slotsOf = (of: number) => {
        const slots = []
        for (let slot = index.find(of); slot >= 0; slot = index.findAfter(slot, of)) slots.push(slot)
        return slots
      }
      ops.forEach((one, at) => {
        const rows = [...known.keys()]
        if (one.add || rows.length === 0) {
          index.add(at, one.hash)
          known.set(at, one.hash)
        } else {
          const gone = rows[one.pick % rows.length]!
          const slot = slotsOf(known.get(gone)!).find((each) => index.row(each) === gone)!
          index.remove(slot)
          known.delete(gone)
        }
      })
      for (const of of new Set(ops.map((one) => one.hash)))
        assert.deepEqual(
          slotsOf(of)
            .map((slot) => index.row(slot))
            .toSorted((a, b) => a - b),
          [...known].filter(([, each]) => each === of).map(([at]) => at),
        )
    }),
    runs(200),
  )
})
