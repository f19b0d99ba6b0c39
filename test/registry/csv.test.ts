/** Reading CSV: the rows, their line numbers, and the history that an import leaves. */
import { Readable } from 'node:stream'
import t from 'tap'
import { scopeId } from '../../src/model/scope.ts'
import { CsvColumns } from '../../src/registry/transfer/csvColumns.ts'
import { CsvUnreadable, readCsv } from '../../src/registry/transfer/csvReader.ts'
import type { CsvRow } from '../../src/registry/transfer/csvReader.ts'
import { csvLine } from '../../src/http/csvLine.ts'
import { GEOFENCE_COLUMNS, geofenceImports } from '../../src/registry/transfer/importKinds.ts'
import { progressText, reportText } from '../../src/registry/transfer/importReport.ts'
import { CSV } from '../../src/registry/transfer/csvFormat.ts'
import { importFile } from '../../src/registry/transfer/importRun.ts'
import { openRegistry } from '../../src/registry/registry.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import { createGeofenceIndex } from '../../src/spatial/geofenceIndex.ts'
import fc, { draws } from '../kit/fastCheck.ts'
import { NO_AREAS } from './areaFinders.ts'

const RUNS = draws(300)

/** All rows of a file that arrives in pieces, cut at these positions, and the error that ended it. */
async function read(bytes: Uint8Array | string, cuts: readonly number[] = []) {
  const whole = Buffer.from(bytes as string)
  async function* chunks() {
    let start = 0
    for (const cut of cuts.map((one) => one % (whole.length + 1)).toSorted((a, b) => a - b)) {
      yield whole.subarray(start, cut)
      start = cut
    }
    yield whole.subarray(start)
  }
  const rows: CsvRow[] = []
  try {
    for await (const some of readCsv(chunks())) rows.push(...some)
  } catch (error) {
    if (!(error instanceof CsvUnreadable)) throw error
    return { rows, error }
  }
  return { rows, error: undefined }
}

async function cellsOf(bytes: Uint8Array | string): Promise<readonly (readonly string[])[]> {
  const { rows, error } = await read(bytes)
  if (error !== undefined) throw error
  return rows.map(({ cells }) => cells)
}

t.test('reading returns what was written, cell for cell and line for line, however it arrives', async (t) => {
  const nasty = fc.string({
    unit: fc.constantFrom('a', '"', '\n', '\r', ',', ' ', '\t', 'ü', '\u{FFFD}', '😀', '=', '\u{FEFF}'),
  })
  const rows = fc
    .integer({ min: 2, max: 4 })
    .chain((width) => fc.array(fc.array(nasty, { minLength: width, maxLength: width }), { maxLength: 6 }))
  const lineEnds = fc.constantFrom('\n', '\r\n', '\r')
  await fc.assert(
    fc.asyncProperty(
      rows,
      fc.array(fc.nat()),
      lineEnds,
      fc.boolean(),
      async (written, cuts, lineEnd, last) => {
        const lines = written.map((cells) => csvLine(cells).slice(0, -2))
        const expected: Omit<CsvRow, 'size'>[] = []
        let line = 1
        for (const [i, cells] of written.entries()) {
          if (cells.some((cell) => cell !== '')) expected.push({ cells, line, damaged: false })
          line += lines[i]!.split(/\r\n|\r|\n/).length
        }
        const found = await read(lines.join(lineEnd) + (last ? lineEnd : ''), cuts)
        const told = found.rows.map(({ size: _size, ...row }) => row)
        return found.error === undefined && JSON.stringify(told) === JSON.stringify(expected)
      },
    ),
    { numRuns: RUNS },
  )
  t.pass('for all rows that were drawn')
})

t.test('files as programs write them', async (t) => {
  const expected = [
    ['a', 'b'],
    ['ü', 'say "hi"'],
  ]
  const text = 'a,b\r\nü,"say ""hi"""\r\n'
  t.same(await cellsOf(text), expected)
  t.same(await cellsOf(`\u{FEFF}${text}`), expected, 'with a mark')
  t.same(await cellsOf(Buffer.from(`\u{FEFF}${text}`, 'utf16le')), expected, 'UTF-16')
  t.same(await cellsOf(Buffer.from(`\u{FEFF}${text}`, 'utf16le').swap16()), expected, 'the other UTF-16')
  t.same(await cellsOf(' a ,\t"b" \nü , "say ""hi"""'), expected, 'blanks around cells')
  t.same(
    await cellsOf('a,b\nx," y "'),
    [
      ['a', 'b'],
      ['x', ' y '],
    ],
    'quoted blanks stay',
  )
  t.same(
    await cellsOf('a,b\n\n,\n \n\nc,d\n'),
    [
      ['a', 'b'],
      ['c', 'd'],
    ],
    'empty rows are none',
  )
  t.same(await cellsOf('a'), [['a']])
  t.same(await cellsOf(''), [])
})

t.test('bytes that are not text mark their row; a written U+FFFD does not', async (t) => {
  const bytes = Buffer.concat([
    Buffer.from('\u{FFFD},1\n'),
    Buffer.from([0xfc, 0x2c, 0x32, 0x0a]),
    Buffer.from('ok,3'),
  ])
  const { rows } = await read(bytes)
  t.same(
    rows.map(({ cells, damaged }) => [cells[1], damaged]),
    [
      ['1', true],
      ['2', true],
      ['3', false],
    ],
  )
  const separate = await read(bytes, [3])
  t.equal(separate.rows.length, 3)
  t.same(
    (await read('\u{FFFD},1\n\u{FFFD},2')).rows.map(({ damaged }) => damaged),
    [false, false],
  )
})

t.test('the place where a file stops being CSV', async (t) => {
  const CASES: readonly (readonly [file: string, rows: number, line: number, sentence: RegExp])[] = [
    ['a,b\n1,2\n3,"4"x\n5,6', 2, 3, /after the closing quote of a cell/],
    ['a,b\n"1\n1",2\n3,4"x"\n5,6', 2, 4, /inside a cell that is not quoted/],
    ['a,b\r\n1,2\r\n\r\n3,"4\r\n5,6\r\n', 2, 4, /never closed/],
    [`a,b\n1,2\n3,"${'x'.repeat(5 * 1024 * 1024)}`, 2, 3, /longer than 4194304 bytes/],
    [`a,b\n1,2\n${','.repeat(5 * 1024 * 1024)}`, 2, 3, /more than 65536 cells/],
    [`a,b\n1,2\n${','.repeat(60_000)}\n3,4\n${','.repeat(90_000)}\n`, 3, 5, /more than 65536 cells/],
  ]
  for (const [file, rows, line, sentence] of CASES) {
    const found = await read(file)
    t.equal(found.rows.length, rows, 'the rows before it are handed over')
    t.match(found.error, { line, message: sentence })
  }
  t.equal((await read('\n'.repeat(5 * 1024 * 1024))).error, undefined, 'empty lines are no row')
})

t.test('other work gets its turn, whatever a file contains', async (t) => {
  for (const [file, rows] of [
    ['\n'.repeat(3_000_000), 0],
    [',,,,,\n'.repeat(1_000_000), 0],
    [' , \n,\na,b\n'.repeat(300_000), 300_000],
  ] as const) {
    let turns = 0
    let last = setImmediate(function count() {
      turns += 1
      last = setImmediate(count)
    })
    const found = await read(file)
    clearImmediate(last)
    t.equal(found.rows.length, rows)
    t.ok(turns >= 10, `${turns} turns`)
  }
})

t.test('refusing a row with very many columns reads each of its cells once', (t) => {
  const keys = Array.from({ length: 990 }, (_, i) => `metadata.k${i}`)
  const columns = new CsvColumns([...GEOFENCE_COLUMNS.required, 'coordinates', ...keys], GEOFENCE_COLUMNS)
  let reads = 0
  const counted = (cells: readonly string[]) =>
    new Proxy(cells, {
      get(target, name, receiver) {
        if (typeof name === 'string' && /^\d+$/.test(name)) reads += 1
        return Reflect.get(target, name, receiver)
      },
    })
  const cells = ['d', 'circle', 't', 'e', '[1,2]', ...keys.map(() => 'v')]
  t.equal(columns.blamed(counted(cells), 'metadata'), 'metadata', 'none by itself')
  t.ok(reads <= cells.length, `${reads} reads`)
  t.equal(columns.blamed(cells.with(900, 'x'.repeat(5000)), 'metadata'), 'metadata.k895')
  t.equal(columns.blamed(cells, 'radius'), 'radius')
  t.end()
})

t.test('a row with an unexpected error is refused, and the file continues', async (t) => {
  const clock = new ManualClock(Date.UTC(2026, 0, 1))
  const registry = openRegistry({ folder: t.testdir({}), clock, createIndex: createGeofenceIndex })
  t.teardown(() => registry.close())
  const kind = geofenceImports(registry.geofences, NO_AREAS)
  const odd: typeof kind = {
    ...kind,
    parse(fields) {
      if (fields['description'] === 'odd') throw new RangeError('Maximum call stack size exceeded')
      return kind.parse(fields)
    },
  }
  async function* chunks() {
    yield Buffer.from('description,type,tag,externalId,coordinates,radius\n')
    yield Buffer.from(['a', 'odd', 'b'].map((name, i) => `${name},circle,t,${i},"[1,2]",100\n`).join(''))
  }
  const { record, errors } = await importFile(registry, {
    scope: scopeId(1, false),
    kind: odd,
    format: CSV,
    chunks: Readable.from(chunks()),
  })
  t.match(record, { status: 'completed', rows: 3, created: 2, refused: 1 })
  t.strictSame(errors, [
    { line: 3, row: 2, message: 'The row cannot be read.', column: undefined, value: undefined },
  ])
})

t.test('the newest 1,000 imports of a kind are remembered', async (t) => {
  const clock = new ManualClock(Date.UTC(2026, 0, 1))
  const registry = openRegistry({ folder: t.testdir({}), clock, createIndex: createGeofenceIndex })
  t.teardown(() => registry.close())
  const { imports } = registry
  const other = imports.begin(2, 'beacons', undefined)
  const first = imports.begin(2, 'geofences', 'first.csv')
  for (let i = 0; i < 999; i++) imports.begin(2, 'geofences', undefined)
  t.equal(imports.get(2, 'geofences', first.id)?.record.fileName, 'first.csv')
  const last = imports.begin(2, 'geofences', undefined)
  t.equal(imports.get(2, 'geofences', first.id), undefined)
  t.ok(imports.get(2, 'beacons', other.id), 'another kind')
  t.equal(imports.get(4, 'beacons', other.id), undefined, 'another scope')
  const { imports: listed, hasMore } = imports.list(2, 'geofences', { limit: 1000 })
  t.equal(listed.length, 1000)
  t.notOk(hasMore)
  t.equal(listed[0]!.id, last.id)
  t.equal(new Set(listed.map(({ createdAt }) => createdAt)).size, 1000, 'to be paged by their time')
})

t.test('the texts of the command', async (t) => {
  t.equal(
    progressText({ bytes: 5_000_000, lines: 20_000 }, undefined, 20_000_000, 2),
    '██████░░░░░░░░░░░░░░░░░░  25 %  5.0 of 20.0 MB  20,000 rows  10,000/s  0:06 left',
  )
  t.equal(
    progressText({ bytes: 20_000_000, lines: 80_000 }, 20_000, 20_000_000, 2),
    '██████░░░░░░░░░░░░░░░░░░  25 %  5.0 of 20.0 MB  20,000 rows  10,000/s  0:06 left',
    'what was sent is not done yet',
  )
  t.match(progressText({ bytes: 0, lines: 0 }, undefined, 0, 0), /100 %/)
  t.match(progressText({ bytes: 0, lines: 0 }, 0, 10, 0), / 0 %/)
  const answer = { status: 'completed', rows: 2, created: 1, updated: 0, refused: 1, moreErrors: 7 } as const
  const errors = [{ line: 3, column: 'radius', message: 'too wide', value: `a\n\u{1B}[31m${'x'.repeat(99)}` }]
  t.equal(
    reportText(
      'f.csv',
      { ...answer, errors, note: 'A note.', interruption: { line: 9, message: 'Why.' } },
      1,
    ),
    `f.csv: 2 rows in 1.0 s: 1 created, 0 updated, 1 refused.
The import ended at line 9: Why. The rows before were imported.
A note.

line  column  value                             refused because
────  ──────  ────────────────────────────────  ───────────────
3     radius  a [31m${'x'.repeat(25)}…  too wide
… and 7 more.`,
  )
})
