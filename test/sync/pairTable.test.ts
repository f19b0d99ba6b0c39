/** The pairs that sources name, compared with a Map. */
import t from 'tap'
import { PairTable } from '../../src/sync/pairTable.ts'
import { pairHash } from '../../src/sync/pairHash.ts'
import { seededRandom } from '../../src/simulation/streets.ts'

t.test('pairs with their last row and their files, as in a Map', async (t) => {
  const random = seededRandom(7)
  const known = new Map<number, { row: number; files: number }>()
  const table = new PairTable()
  for (let i = 0; i < 60_000; i++) {
    const hash = pairHash('tag', `${Math.floor(random() * 20_000)}`)
    const file = Math.floor(random() * 20)
    table.put(hash, i, 2 ** file)
    known.set(hash, { row: i, files: (known.get(hash)?.files ?? 0) | (1 << file) })
  }
  t.equal(table.size, known.size)
  for (const [hash, { row, files }] of known) {
    if (table.has(hash) && table.rowOf(hash) === row && table.filesOf(hash) === files) continue
    t.fail(`${hash}: ${table.rowOf(hash)} of ${table.filesOf(hash)}, not ${row} of ${files}`)
  }
  for (let i = 0; i < 1000; i++) {
    const hash = pairHash('other', `${i}`)
    if (table.has(hash) || table.filesOf(hash) !== 0) t.fail(`${hash} was never put`)
  }
})

t.test('hashes that fall on the same place', async (t) => {
  const table = new PairTable()
  // Equal low bits, whatever the size of the table.
  const hashes = Array.from({ length: 2000 }, (_, i) => i * 2 ** 32)
  for (const [i, hash] of hashes.entries()) table.put(hash, i + 1, 1)
  t.ok(hashes.every((hash, i) => table.rowOf(hash) === i + 1))
  t.equal(table.size, 2000)
})

t.test('the rows of a later file replace those of an earlier one', async (t) => {
  const [first, second] = [new PairTable(), new PairTable()]
  for (let i = 0; i < 3000; i++) first.put(pairHash('a', `${i}`), i + 1, 1)
  for (let i = 2000; i < 6000; i++) second.put(pairHash('a', `${i}`), i + 10, 2)
  first.putAll(second)
  t.equal(first.size, 6000)
  t.strictSame([first.rowOf(pairHash('a', '10')), first.filesOf(pairHash('a', '10'))], [11, 1])
  t.strictSame([first.rowOf(pairHash('a', '2500')), first.filesOf(pairHash('a', '2500'))], [2510, 3])
  t.strictSame([first.rowOf(pairHash('a', '5000')), first.filesOf(pairHash('a', '5000'))], [5010, 2])
})
