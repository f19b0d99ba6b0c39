import { LRUCache } from 'lru-cache'
import { Unfetched, Unknown } from '../../rules/atlas.ts'
import type { Clock } from '../../runtime/clock.ts'
import { failureFields } from '../../runtime/errors.ts'
import type { Logger } from '../../runtime/logger.ts'

/** After a failure, a cell is not read again for this long. */
const RETRY_MS = 10_000
/** How long somebody waits for a cell. SDKs give up after ten seconds. */
const WAIT_MS = 4000
/** A cell for which somebody waited in vain counts as unknown for this long. */
const AGAIN_MS = 5000
const MOST_UNKNOWN = 10_000
/** The log shows at most one failure in this time, because each device may meet one if a file is damaged. */
const WARN_MS = 10_000

/** How many cells are found without a look-up, as a power of two. */
const RECENT_BITS = 8
const RECENT = 2 ** RECENT_BITS
/** One in this many questions that are answered without a look-up counts as a use of its cell. */
const USE_EVERY = 16

/** Keys that are texts share one place. The next question about them is mostly the same. */
function placeOf(key: string | number): number {
  // Neighbouring cells must have different places: Knuth's multiplicative hashing.
  return typeof key === 'number' ? Math.imul(key, 0x9e3779b1) >>> (32 - RECENT_BITS) : 0
}

export interface CellCacheParts<Key, Cell> {
  /** Reads a cell. It may reject, and may then be repeated. */
  readonly read: (key: Key) => Promise<Cell>
  /** The approximate size of a cell in memory, in bytes. */
  readonly bytesOf: (cell: Cell) => number
  readonly maxBytes: number
  readonly clock: Clock
  readonly logger: Logger
  /** How long somebody waits for a cell, in milliseconds. */
  readonly waitMs?: number
}

/**
 * Keeps the cells of one kind in memory. A cell is read when a device comes into it.
 *
 * The obvious way asks a database for each update. But a device that leaves its safe zone is mostly still in the same
 * cell, as are the devices around it. So another thread reads a cell once, while the devices in it wait and all others
 * go on. After that, each question about the cell takes about a microsecond.
 */
export class CellCache<Key extends string | number, Cell extends object> {
  /** Counters for metrics. They only increase. */
  readonly counters = { read: 0, failed: 0 }
  readonly #parts: CellCacheParts<Key, Cell>
  readonly #cells: LRUCache<Key, Cell>
  readonly #reading = new Map<Key, Promise<void>>()
  /** Cells that could not be read, or have not been read yet. */
  readonly #unknown = new LRUCache<Key, Unknown>({ max: MOST_UNKNOWN })
  /** Cells whose last reading failed. */
  readonly #failing = new LRUCache<Key, true>({ max: MOST_UNKNOWN })
  #warnedAt = -Infinity
  /** Increases when the data change. */
  #epoch = 0
  /**
   * Cells of the last questions by the places of their keys. Most questions are about one of a few cells, and looking up one of them
   * in a large table means waiting for memory several times.
   */
  readonly #recentKeys: (Key | undefined)[] = Array.from({ length: RECENT }, () => undefined)
  readonly #recent: (Cell | undefined)[] = Array.from({ length: RECENT }, () => undefined)
  #untilUse = USE_EVERY

  constructor(parts: CellCacheParts<Key, Cell>) {
    this.#parts = parts
    this.#cells = new LRUCache({
      maxSize: parts.maxBytes,
      sizeCalculation: parts.bytesOf,
      dispose: () => this.#forgetRecent(),
    })
  }

  /** Approximate bytes of the cells in memory. */
  get bytes(): number {
    return this.#cells.calculatedSize
  }

  /** How many cells could not be read when they were asked for last. */
  get failing(): number {
    return this.#failing.size
  }

  get(key: Key): Cell | Unknown | Unfetched {
    const recent = this.recent(key)
    if (recent !== undefined) return recent
    const cell = this.#cells.get(key)
    if (cell === undefined) return this.#missing(key)
    const place = placeOf(key)
    this.#recentKeys[place] = key
    this.#recent[place] = cell
    return cell
  }

  /** A cell that somebody asked for lately; undefined if it must be looked up. */
  recent(key: Key): Cell | undefined {
    const place = placeOf(key)
    if (this.#recentKeys[place] !== key) return undefined
    // Otherwise cells that are always found here would be thought to be out of use.
    if (--this.#untilUse === 0) {
      this.#untilUse = USE_EVERY
      this.#cells.get(key)
    }
    return this.#recent[place]
  }

  /** Forgets all cells, because the data have changed. */
  clear(): void {
    this.#epoch++
    this.#cells.clear()
    this.#reading.clear()
    this.#unknown.clear()
    this.#failing.clear()
    this.#forgetRecent()
  }

  #forgetRecent(): void {
    this.#recentKeys.fill(undefined)
    this.#recent.fill(undefined)
  }

  #missing(key: Key): Unknown | Unfetched {
    const unknown = this.#unknown.get(key)
    if (unknown !== undefined && this.#parts.clock.now() < unknown.until) return unknown
    return new Unfetched(() => this.#wait(key))
  }

  /** Waits for a cell, but not for long. The first cell may have to wait until the data of the world are made. */
  async #wait(key: Key): Promise<void> {
    const { waitMs = WAIT_MS, clock } = this.#parts
    // A timer of its own: that of node:timers/promises makes an error, with its stack, each time it is canceled.
    const late = Promise.withResolvers<'late'>()
    const timer = setTimeout(late.resolve, waitMs, 'late').unref()
    const first = await Promise.race([this.#read(key), late.promise])
    clearTimeout(timer)
    if (first === 'late') this.#unknown.set(key, new Unknown(clock.now() + AGAIN_MS, false))
  }

  #read(key: Key): Promise<void> {
    let reading = this.#reading.get(key)
    if (reading === undefined) {
      const epoch = this.#epoch
      reading = this.#parts.read(key).then(
        (cell) => this.#put(key, epoch, cell),
        (error: Error) => this.#fail(key, epoch, error),
      )
      this.#reading.set(key, reading)
    }
    return reading
  }

  #put(key: Key, epoch: number, cell: Cell): void {
    // Otherwise the cell was read from data that are gone, and is read again.
    if (epoch !== this.#epoch) return
    this.#reading.delete(key)
    this.#unknown.delete(key)
    this.#failing.delete(key)
    this.counters.read++
    this.#cells.set(key, cell)
  }

  #fail(key: Key, epoch: number, error: Error): void {
    if (epoch !== this.#epoch) return
    const { clock, logger } = this.#parts
    this.#reading.delete(key)
    this.counters.failed++
    this.#failing.set(key, true)
    this.#unknown.set(key, new Unknown(clock.now() + RETRY_MS, true))
    const now = performance.now()
    if (now - this.#warnedAt < WARN_MS) return
    this.#warnedAt = now
    const fields = { ...failureFields(error), cell: key, failing: this.#failing.size }
    logger.warn(fields, 'a cell of the atlas cannot be read')
  }
}
