/** Cells in memory: what is kept, found without a look-up, forgotten and read again, compared with a slow and obvious cache. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { CellCache } from '../../src/geo/atlas/cellCache.ts'
import { Unfetched, Unknown } from '../../src/rules/atlas.ts'
import { ManualClock } from '../../src/runtime/clock.ts'
import type { Logger } from '../../src/runtime/logger.ts'
import fc from '../kit/fastCheck.ts'
import { runs } from '../geometry/shapes.ts'

interface Cell {
  readonly key: string | number
  /** How often cells had been forgotten because the data changed, when it was read. */
  readonly version: number
}

/** The bytes of each cell by its key. The cache has room for a thousand. */
const bytesOf = ({ key }: Cell) => (typeof key === 'number' ? 100 + 50 * (Math.abs(key) % 3) : 150)
const MAX_BYTES = 1000
/** After this many questions that need no look-up, the cell of the last one counts as used. */
const USE_EVERY = 16
/** How long a cell that could not be read counts as unknown, in milliseconds. */
const RETRY_MS = 10_000

/** Neighbours, cells that are far apart, cells whose numbers lie a power of two apart, and texts, which all share one place. */
const keys = fc.oneof(
  fc.integer({ min: 0, max: 12 }),
  fc.constantFrom(2 ** 8, 2 ** 16, 2 ** 24, 2 ** 31, 2 ** 32 + 1, 2 ** 40, -1, -5),
  fc.constantFrom('place/a', 'place/b', 'region/a', '1/7'),
)

/** The cache as a list of cells, the last used at the end, with the places of cells that were asked for lately. */
class SlowCache {
  cells: Cell[] = []
  readonly recent = new Map<string | number, Cell>()
  #untilUse = USE_EVERY

  get bytes(): number {
    return this.cells.reduce((sum, cell) => sum + bytesOf(cell), 0)
  }

  /** @param isRecent whether the real cache needed no look-up, which depends on what shares its place */
  get(key: string | number, isRecent: boolean): Cell | undefined {
    const cell = this.cells.find((one) => one.key === key)
    if (cell === undefined) return undefined
    if (isRecent) {
      if (--this.#untilUse === 0) {
        this.#untilUse = USE_EVERY
        this.use(cell)
      }
    } else this.use(cell)
    return cell
  }

  use(cell: Cell): void {
    this.cells = [...this.cells.filter(({ key }) => key !== cell.key), cell]
  }

  put(cell: Cell): void {
    this.use(cell)
    while (this.bytes > MAX_BYTES) this.cells.shift()
  }
}

type Step =
  | { readonly is: 'get' | 'fail'; readonly key: string | number; readonly times: number }
  | { readonly is: 'clear' }

const steps = fc.array(
  fc.oneof(
    {
      weight: 30,
      arbitrary: fc.record({
        is: fc.constant('get' as const),
        key: keys,
        times: fc.integer({ min: 1, max: 40 }),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ is: fc.constant('fail' as const), key: keys, times: fc.constant(1) }),
    },
    { weight: 1, arbitrary: fc.record({ is: fc.constant('clear' as const) }) },
  ),
  { minLength: 60, maxLength: 120 },
)

/** A cache whose cells are read when it asks for them, and a reading that can be made to fail. */
function scene() {
  const clock = new ManualClock(1000)
  const now = { version: 0, fails: new Set<string | number>() }
  const logger = { warn: () => {} } as unknown as Logger
  const reads: (string | number)[] = []
  const cache = new CellCache<string | number, Cell>({
    read: async (key) => {
      reads.push(key)
      const { version } = now
      if (now.fails.has(key)) throw new Error('cannot be read')
      return { key, version }
    },
    bytesOf,
    maxBytes: MAX_BYTES,
    clock,
    logger,
  })
  return { clock, now, cache, reads }
}

t.test('property: the cells are those of a slow cache, whatever is asked, forgotten and fails', async (t) => {
  const seen = { recent: 0, looked: 0, read: 0, evicted: 0, failed: 0, cleared: 0 }
  await fc.assert(
    fc.asyncProperty(steps, async (drawn: readonly Step[]) => {
      const { clock, now, cache, reads } = scene()
      const slow = new SlowCache()
      for (const step of drawn) {
        if (step.is === 'clear') {
          now.version++
          cache.clear()
          slow.cells = []
          seen.cleared++
          continue
        }
        const { key } = step
        for (let i = 0; i < step.times; i++) {
          const kept = slow.cells.find((one) => one.key === key)
          const recent = cache.recent(key)
          if (recent !== undefined) {
            seen.recent++
            assert.equal(kept === undefined, false, 'what is found without a look-up is kept')
            assert.deepEqual(recent, slow.get(key, true))
            continue
          }
          const got = cache.get(key)
          if (kept !== undefined) {
            seen.looked++
            assert.deepEqual(got, slow.get(key, false))
            assert.equal(cache.recent(key), got, 'and then it needs none')
            slow.get(key, true)
            continue
          }
          assert.ok(got instanceof Unfetched, `${key} is not there`)
          if (step.is === 'fail') now.fails.add(key)
          const before = reads.length
          await Promise.all([got.fetch(), got.fetch()])
          assert.equal(reads.length, before + 1, 'those who wait for a cell share its reading')
          if (step.is === 'fail') {
            seen.failed++
            const unknown = cache.get(key)
            assert.ok(unknown instanceof Unknown)
            assert.deepEqual([unknown.isFailure, unknown.until], [true, clock.now() + RETRY_MS])
            assert.equal(reads.length, before + 1, 'it is not read again at once')
            assert.equal(cache.failing, 1)
            now.fails.delete(key)
            clock.advance(RETRY_MS)
            const again = cache.get(key)
            assert.ok(again instanceof Unfetched)
            await again.fetch()
          }
          seen.read++
          const count = slow.cells.length
          slow.put({ key, version: now.version })
          if (slow.cells.length <= count) seen.evicted++
          assert.equal(cache.failing, 0)
          assert.deepEqual(cache.get(key), slow.get(key, false), 'it is there now')
        }
        assert.equal(cache.bytes, slow.bytes)
      }
    }),
    runs(150),
  )
  for (const [what, count] of Object.entries(seen)) t.ok(count > 50, `${what}: ${count}`)
})

t.test('a cell that is only found without a look-up stays, while others come and go', async (t) => {
  const { cache, reads } = scene()
  const read = async (key: number) => {
    const got = cache.get(key)
    if (got instanceof Unfetched) await got.fetch()
  }
  await read(0)
  for (let other = 1; other < 200; other++) {
    await read(other)
    for (let i = 0; i < 2 * USE_EVERY; i++) assert.ok(!(cache.get(0) instanceof Unfetched))
  }
  t.equal(reads.filter((key) => key === 0).length, 1)
  t.ok(cache.bytes <= MAX_BYTES)
})

t.test('a cell that comes after the data have changed is not kept', async (t) => {
  const reading = Promise.withResolvers<Cell>()
  const cache = new CellCache<number, Cell>({
    read: () => reading.promise,
    bytesOf,
    maxBytes: MAX_BYTES,
    clock: new ManualClock(0),
    logger: { warn: () => {} } as unknown as Logger,
  })
  const got = cache.get(5)
  t.ok(got instanceof Unfetched)
  const waiting = (got as Unfetched).fetch()
  cache.clear()
  reading.resolve({ key: 5, version: 0 })
  await waiting
  t.ok(cache.get(5) instanceof Unfetched)
  t.equal(cache.recent(5), undefined)
  t.equal(cache.bytes, 0)
})

t.test('who waits too long goes on, and the cell is there when it has come', async (t) => {
  const reading = Promise.withResolvers<Cell>()
  const clock = new ManualClock(0)
  const cache = new CellCache<number, Cell>({
    read: () => reading.promise,
    bytesOf,
    maxBytes: MAX_BYTES,
    clock,
    logger: { warn: () => {} } as unknown as Logger,
    waitMs: 5,
  })
  // The timer of the cache does not keep the process running.
  await Promise.all([(cache.get(5) as Unfetched).fetch(), sleep(50)])
  t.match(cache.get(5), { isFailure: false, until: 5000 })
  reading.resolve({ key: 5, version: 0 })
  await reading.promise
  await new Promise(setImmediate)
  t.strictSame(cache.get(5), { key: 5, version: 0 })
})
