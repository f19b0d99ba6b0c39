import t from 'tap'
import { Parser } from 'tap-parser'
import { onGreen, ranGreen, recordHash } from '../kit/testRecord.ts'
import { ITEMS, notRun, problemOf } from './coverage.ts'

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
  const empty = 'runtime/rowIndex.test.ts: rows are found by their hash, also if hashes collide'
  t.match(problemOf({ ...item, heldBy: [empty] }), /asserts nothing/)
})

t.test('an item is held only if its tests passed when their file, as it is now, last ran', async (t) => {
  const item = { section: 's', name: 'n', says: 'x', part: 'tracking' } as const
  const file = 'spec/coverage.test.ts'
  const title = 'a missing test is noticed'
  const held = { ...item, heldBy: [`${file}: ${title}`] }
  const green = [title]
  const text = recordHash(`test/${file}`)
  t.strictSame(notRun(held, {}), [file])
  t.strictSame(notRun(held, { [`test/${file}`]: { text, green } }), [])
  t.strictSame(notRun(held, { [`test/${file}`]: { text, green: ['another'] } }), [file])
  t.strictSame(notRun(held, { [`test/${file}`]: { text: 'before', green } }), [file], 'the file was changed')
  t.equal(ranGreen({}, `test/${file}`, title), false)
})

t.test(
  'titles of tests that pass are read from TAP: not of those that fail, are skipped or are empty',
  async (t) => {
    const parser = new Parser()
    const titles: string[] = []
    onGreen(parser, (title) => titles.push(title))
    parser.end(`TAP version 14
# Subtest: right
    # Subtest: inner
        ok 1 - x
        1..1
    ok 1 - inner
    1..1
ok 1 - right
# Subtest: wrong
    # Subtest: inner right
        ok 1 - x
        1..1
    ok 1 - inner right
    not ok 2 - y
    1..2
not ok 2 - wrong
# Subtest: skipped
    ok 1 - z # SKIP no server
    1..1
ok 3 - skipped
# Subtest: empty
    1..0
ok 4 - empty
1..4
`)
    t.strictSame(titles.toSorted(), ['inner', 'inner right', 'right'])
  },
)
