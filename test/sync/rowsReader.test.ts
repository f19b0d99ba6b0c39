/** The rows of several files, as the thread reads them. */
import { join } from 'node:path'
import t from 'tap'
import { RowsReader } from '../../src/sync/rowsWorker.ts'
import type { ReadRow } from '../../src/sync/rowsPort.ts'
import { HEADER, row } from './syncKit.ts'

async function all(reader: RowsReader): Promise<[file: number, row: ReadRow][]> {
  const rows: [number, ReadRow][] = []
  for (let batch = await reader.next(); batch !== undefined; batch = await reader.next())
    for (const one of batch.rows) rows.push([batch.file, one])
  return rows
}

t.test('which row of a pair counts, and which files name it', async (t) => {
  const folder = t.testdir({
    'a.csv': HEADER + row('x', 1, 100) + row('x', 2) + row('x', 1, 200),
    // It breaks off, so nothing of it counts.
    'broken.csv': `${HEADER}${row('x', 1)}${row('x', 9)}Row,circle`,
    'b.csv': HEADER + row('x', 2, 300) + row('x', 3),
  })
  const reader = new RowsReader()
  const problems = await reader.survey(['a.csv', 'broken.csv', 'b.csv'].map((name) => join(folder, name)))
  t.match(problems, [undefined, { code: 'notCsv', message: /breaks off/ }, undefined])
  t.match(
    (await all(reader)).map(([file, { externalId, row: number, isRepeated, files, text }]) => [
      file,
      externalId,
      number,
      isRepeated ?? false,
      files,
      text !== undefined,
    ]),
    [
      [0, '1', 1, true, undefined, false],
      [0, '2', 2, true, undefined, false],
      [0, '1', 3, false, undefined, true],
      [2, '2', 1, false, [0, 2], true],
      [2, '3', 2, false, undefined, true],
    ],
  )
  t.strictSame(
    await reader.named([
      ['x', '1'],
      ['x', '9'],
      ['x', '3'],
      ['y', '1'],
    ]),
    [true, false, true, false],
  )
})

t.test('the pairs of all sources together are bounded', async (t) => {
  const rows = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, i) => row('x', from + i)).join('')
  const folder = t.testdir({
    'a.csv': HEADER + rows(0, 6),
    'b.csv': HEADER + rows(3, 8) + rows(3, 5),
    'c.csv': HEADER + rows(5, 12),
  })
  const reader = new RowsReader(10)
  const problems = await reader.survey(['a.csv', 'b.csv', 'c.csv'].map((name) => join(folder, name)))
  t.match(problems, [
    undefined,
    undefined,
    { code: 'tooLarge', message: 'Line 7: The sources have more than 10 geofences together.' },
  ])
  t.equal((await all(reader)).length, 13, 'the others are read')
})

t.test('long pairs of rows that are refused or repeated fill a batch, too', async (t) => {
  const tag = 'x'.repeat(1_000_000)
  const folder = t.testdir({ 'a.csv': HEADER + row(tag, 1) + row(tag, 1) + row(tag, 2) + row('short', 3) })
  const reader = new RowsReader()
  await reader.survey([join(folder, 'a.csv')])
  const counts: number[] = []
  for (let batch = await reader.next(); batch !== undefined; batch = await reader.next())
    counts.push(batch.rows.length)
  t.strictSame(counts, [1, 1, 1, 1])
})
