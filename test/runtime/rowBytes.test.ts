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
  // Half of 64 KiB, minus what entries of this size leave free at the end, headers and padding.
  const LEAST = 29_000
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
        const sparse = [...used.values()].filter((bytes) => bytes < LEAST)
        if (sparse.length > 1) throw new Error(`chunks of ${sparse.join(', ')} bytes in use`)
      },
    ),
    { numRuns: Math.ceil(RUNS / 2) },
  )
})
