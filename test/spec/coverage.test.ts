import t from 'tap'
import { ITEMS, problemOf } from './coverage.ts'

t.test('every item names tests that exist', async (t) => {
  const missing = ITEMS.filter((item) => problemOf(item) !== undefined)
  t.strictSame(
    missing.map((item) => `${item.section}, ${item.name}: ${problemOf(item)}`),
    [],
  )
})

t.test('a missing test is noticed', async (t) => {
  const item = { section: 's', name: 'n', says: 'x', part: 'tracking' } as const
  t.equal(problemOf({ ...item, heldBy: [] }), 'missing')
  t.match(problemOf({ ...item, heldBy: ['spec/nowhere.test.ts: x'] }), /no spec\/nowhere/)
  t.match(problemOf({ ...item, heldBy: ['spec/coverage.test.ts: y'] }), /has no test "y"/)
})
