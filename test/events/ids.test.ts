import assert from 'node:assert/strict'
import t from 'tap'
import { eventId, locateUserRecord, MAX_PARTITIONS, storeSalt, userRecordId } from '../../src/events/ids.ts'
import fc from '../kit/fastCheck.ts'
import { runs, SALT } from '../actor/kit.ts'

t.test('ids', async (t) => {
  const u32 = fc.integer({ min: 0, max: 2 ** 32 - 1 })
  const salt = fc.record({ high: u32, low: u32 })
  const partition = fc.oneof(
    fc.integer({ min: 0, max: MAX_PARTITIONS - 1 }),
    fc.constantFrom(0, MAX_PARTITIONS - 1),
  )
  const place = fc.record({
    second: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
    partition,
    sequence: fc.oneof(fc.integer({ min: 0, max: 2 ** 26 - 1 }), fc.constantFrom(0, 15, 16, 2 ** 26 - 1)),
    index: fc.oneof(fc.integer({ min: 0, max: 2 ** 28 - 1 }), fc.constantFrom(0, 2 ** 28 - 1)),
  })

  t.test('events: the id depends on the position and nothing else', async () => {
    fc.assert(
      fc.property(salt, place, place, (s, a, b) => {
        const idOf = ({ second, partition: p, sequence, index }: typeof a) =>
          eventId(s, second * 1000 + 7, p, sequence, index)
        assert.match(idOf(a), /^[0-9a-f]{24}$/)
        assert.equal(idOf(a), idOf({ ...a }))
        assert.equal(idOf(a) === idOf(b), JSON.stringify(a) === JSON.stringify(b))
        for (const key of ['second', 'partition', 'sequence', 'index'] as const)
          if (a[key] !== b[key]) assert.notEqual(idOf(a), idOf({ ...a, [key]: b[key] }))
      }),
      runs(300),
    )
  })

  t.test('users: the partition and row of a record follow from its id', async (t) => {
    fc.assert(
      fc.property(salt, u32, partition, u32, (s, second, p, row) => {
        const id = userRecordId(s, second * 1000, p, row)
        assert.match(id, /^[0-9a-f]{24}$/)
        assert.deepEqual(locateUserRecord(s, id), { partition: p, row })
      }),
      runs(300),
    )
    for (const no of ['', 'ann', '0'.repeat(23), '0'.repeat(25), 'G'.repeat(24)])
      t.equal(locateUserRecord(SALT, no), undefined)
    t.throws(() => storeSalt('not hex'), /store id/)
    t.same(storeSalt('00000001ffffffff'), { high: 1, low: 0xffffffff })
  })
})
