import t from 'tap'
import { RowBytes } from '../../src/runtime/rowBytes.ts'
import fc from '../kit/fastCheck.ts'

const RUNS = Math.ceil(Number(process.env['RINGFENCE_TEST_RUNS'] ?? 1) * 60)

const step = fc.record({
  row: fc.nat(120),
  // Half of the changes are deletions; chunks hold 64 KiB.
  length: fc.oneof(
    fc.constant(-1),
    fc.nat(40),
    fc.integer({ min: 3000, max: 20_000 }),
    fc.constantFrom(0, 65_520, 200_000),
  ),
  fill: fc.nat(255),
})

t.test('bytes of rows are what was set last, through growth and compaction', async () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 20, maxLength: 300, size: 'max' }), (sequence) => {
      const rows = new RowBytes()
      const twin = new Map<number, { length: number; fill: number }>()
      const scratch = new Uint8Array(200_001)
      for (const { row, length, fill } of sequence) {
        if (length < 0) {
          rows.delete(row)
          twin.delete(row)
        } else {
          scratch.fill(fill, 0, length).fill(fill ^ 255, length)
          rows.set(row, scratch, length)
          twin.set(row, { length, fill })
        }
      }
      for (let row = 0; row <= 120; row++) {
        const expected = twin.get(row)
        if (rows.has(row) !== (expected !== undefined)) throw new Error(`row ${row}: ${rows.has(row)}`)
        if (expected === undefined) continue
        const bytes = rows.bytes(row)
        if (bytes.length !== expected.length) throw new Error(`row ${row} has ${bytes.length} bytes`)
        if (!bytes.every((byte) => byte === expected.fill)) throw new Error(`row ${row} has other bytes`)
        if (!bytes.equals(rows.buffer(row).subarray(rows.start(row)).subarray(0, bytes.length)))
          throw new Error(`row ${row} begins elsewhere in its buffer`)
      }
    }),
    { numRuns: RUNS },
  )
})

t.test('at least half of every chunk except the last is in use', async () => {
  // Half of its size, minus what entries of this size leave free at the end, headers and padding: 29,034 of 64 KiB.
  const leastOf = ({ length }: Buffer) => 0.45 * (length - 1016)
  fc.assert(
    fc.property(
      fc.array(fc.record({ row: fc.nat(999), length: fc.integer({ min: 200, max: 1000 }) }), {
        minLength: 2000,
        maxLength: 3000,
        size: 'max',
      }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (sets, share) => {
        const rows = new RowBytes()
        const lengths = new Map<number, number>()
        for (const { row, length } of sets) {
          rows.set(row, new Uint8Array(length), length)
          lengths.set(row, length)
        }
        for (const row of [...lengths.keys()].slice(0, share * lengths.size)) {
          rows.delete(row)
          lengths.delete(row)
        }
        const used = new Map<Buffer, number>()
        for (const [row, length] of lengths)
          used.set(rows.buffer(row), (used.get(rows.buffer(row)) ?? 0) + length)
        const sparse = [...used].filter(([chunk, bytes]) => bytes < leastOf(chunk))
        if (sparse.length > 1) throw new Error(`${sparse.length} chunks are less than half in use`)
      },
    ),
    { numRuns: Math.ceil(RUNS / 2) },
  )
})

/** The sizes of the chunks in which rows have bytes. */
function chunkSizes(rows: RowBytes, count: number): number[] {
  const chunks = new Set<Buffer>()
  for (let row = 0; row < count; row++) if (rows.has(row)) chunks.add(rows.buffer(row))
  return [...chunks].map(({ length }) => length)
}

const sumOf = (numbers: readonly number[]) => numbers.reduce((sum, one) => sum + one, 0)

t.test('a few rows take little more than their bytes, many are in chunks of 64 KiB', async (t) => {
  const ENTRY_BYTES = 112
  const rows = new RowBytes()
  let count = 0
  for (const wanted of [1, 10, 100, 1000, 10_000]) {
    for (; count < wanted; count++) rows.set(count, new Uint8Array(100), 100)
    const bytes = sumOf(chunkSizes(rows, count))
    t.ok(bytes <= 4096 + 1.2 * count * ENTRY_BYTES, `${count} rows take ${bytes} bytes`)
  }
  const sizes = chunkSizes(rows, count)
  t.ok(sizes.includes(64 * 1024), 'the largest chunks')
  t.ok(Math.max(...sizes) <= 64 * 1024)
})

t.test('compaction moves rows together, also while they change, and leaves their bytes', async (t) => {
  const LONG = 1500
  const ENTRY_BYTES = 312
  const COUNT = 3000
  const rows = new RowBytes()
  const set = (row: number, length: number, fill: number) =>
    rows.set(row, new Uint8Array(length).fill(fill), length)
  for (let row = 0; row < COUNT; row++) set(row, row % 7 === 0 ? LONG : 300, row & 255)
  for (let row = 0; row < COUNT; row += 7) set(row, 300, row & 255)
  const needed = COUNT * ENTRY_BYTES
  const before = sumOf(chunkSizes(rows, COUNT))
  t.ok(before > 1.4 * needed, `${before} bytes for ${needed} before`)
  let steps = 0
  for (const _ of rows.compact()) {
    const row = (steps++ * 37) % COUNT
    set(row, 304, row & 255)
    set(row, 300, row & 255)
  }
  t.ok(steps > 1, `${steps} steps`)
  for (const _ of rows.compact());
  const after = sumOf(chunkSizes(rows, COUNT))
  t.ok(after < 1.2 * needed, `${after} bytes for ${needed} after`)
  t.strictSame([...rows.compact()], [], 'nothing is left to move')
  for (let row = 0; row < COUNT; row++) {
    const bytes = rows.bytes(row)
    if (bytes.length !== 300 || !bytes.every((byte) => byte === (row & 255)))
      return t.fail(`row ${row} has other bytes`)
  }
})
