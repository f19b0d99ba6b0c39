import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Region, RegionKind } from '../../model/region.ts'
import { NO_ATLAS, Unfetched, Unknown, type Atlas, type IpHere, type RegionsHere } from '../../rules/atlas.ts'
import type { Clock } from '../../runtime/clock.ts'
import { failureFields } from '../../runtime/errors.ts'
import type { Logger } from '../../runtime/logger.ts'
import { cellOf } from './grid.ts'
import { regionsIn, type RegionCell } from './regionCell.ts'
import { regionOf } from './regionNames.ts'

/** Reads cells from the data. Technology: cellThreads.ts. */
export interface CellReader {
  /** May reject; then it can be tried again. */
  read(cell: number): Promise<RegionCell>
}

/** What is known about IP addresses. Technology: geo/ip/ipFacts.ts. */
export interface IpAtlas {
  at(ip: string): IpHere | Unknown | Unfetched
}

/** Of cells in memory, approximately. */
const MAX_BYTES = 64 * 1024 * 1024
/** Of a cell besides its arrays: it and its objects. */
const CELL_BYTES = 2000
/** After a failure, a cell is not read again for so long. */
const RETRY_MS = 10_000
/** Nobody waits longer for a cell: SDKs give up after ten seconds. */
const WAIT_MS = 4000
/** Then it counts as unknown for so long. */
const AGAIN_MS = 5000
const MOST_UNKNOWN = 10_000

/**
 * The atlas: cells of the world in memory, read when a device comes into them.
 *
 * The obvious way asks a database for each update. But a device that leaves its safe zone is mostly still in the same
 * cell, as are those around it. So a cell is read once by another thread, while its devices wait and all others go on,
 * and then all questions about it take about a microsecond.
 *
 * Owns: which cells are kept. Does not own: what a cell says (regionCell.ts), how it is read (cellThread.ts).
 */
export class CellAtlas implements Atlas {
  revision = 0
  /** For metrics; it only increases. */
  readonly counters = { read: 0, failed: 0 }
  readonly #reader: CellReader
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #waitMs: number
  readonly #cells = new LRUCache<number, RegionCell>({ maxSize: MAX_BYTES, sizeCalculation: bytesOf })
  readonly #reading = new Map<number, Promise<void>>()
  /** Cells that could not be read, or not yet. */
  readonly #unknown = new LRUCache<number, Unknown>({ max: MOST_UNKNOWN })
  /** The cell of the last question, which the next one is mostly about. */
  #lastNumber = -1
  #last: RegionCell | undefined

  readonly #ips: IpAtlas | undefined

  /** @param waitMs how long somebody waits for a cell */
  constructor(reader: CellReader, clock: Clock, logger: Logger, ips?: IpAtlas, waitMs = WAIT_MS) {
    this.#ips = ips
    this.#waitMs = waitMs
    this.#reader = reader
    this.#clock = clock
    this.#logger = logger
  }

  /** Approximate bytes of the cells in memory. */
  get bytes(): number {
    return this.#cells.calculatedSize
  }

  regionsAt(latitude: number, longitude: number): RegionsHere | Unknown | Unfetched {
    const number = cellOf(latitude, longitude)
    const cell = number === this.#lastNumber ? this.#last! : this.#cells.get(number)
    if (cell === undefined) return this.#missing(number)
    this.#lastNumber = number
    this.#last = cell
    return regionsIn(cell, latitude, longitude)
  }

  ipAt(ip: string): IpHere | Unknown | Unfetched {
    return this.#ips === undefined ? NO_ATLAS.ipAt(ip) : this.#ips.at(ip)
  }

  region(kind: RegionKind, code: string): Region {
    return regionOf(kind, code)
  }

  /** The data have changed. */
  changed(): void {
    this.revision++
    this.#cells.clear()
    this.#reading.clear()
    this.#unknown.clear()
    this.#lastNumber = -1
  }

  #missing(number: number): Unknown | Unfetched {
    const unknown = this.#unknown.get(number)
    if (unknown !== undefined && this.#clock.now() < unknown.until) return unknown
    return new Unfetched(() => this.#wait(number))
  }

  /** Waits for a cell, but not for long: the first one may have to wait until the data of the world are made. */
  async #wait(number: number): Promise<void> {
    const late = new AbortController()
    const pause = sleep(this.#waitMs, 'late', { ref: false, signal: late.signal }).catch(() => undefined)
    const first = await Promise.race([this.#read(number), pause])
    late.abort()
    if (first === 'late') this.#unknown.set(number, new Unknown(this.#clock.now() + AGAIN_MS, false))
  }

  #read(number: number): Promise<void> {
    let reading = this.#reading.get(number)
    if (reading === undefined) {
      const { revision } = this
      reading = this.#reader.read(number).then(
        (cell) => this.#put(number, revision, cell),
        (error: Error) => this.#fail(number, revision, error),
      )
      this.#reading.set(number, reading)
    }
    return reading
  }

  #put(number: number, revision: number, cell: RegionCell): void {
    // Otherwise it was read from data that are gone; it is read again.
    if (revision !== this.revision) return
    this.#reading.delete(number)
    this.#unknown.delete(number)
    this.counters.read++
    this.#cells.set(number, cell)
  }

  #fail(number: number, revision: number, error: Error): void {
    if (revision !== this.revision) return
    this.#reading.delete(number)
    this.counters.failed++
    this.#unknown.set(number, new Unknown(this.#clock.now() + RETRY_MS, true))
    this.#logger.warn({ ...failureFields(error), cell: number }, 'a cell of the atlas cannot be read')
  }
}

function bytesOf({ countries, unitedStates }: RegionCell): number {
  let bytes = CELL_BYTES + countries.edges.byteLength + countries.areas.byteLength
  if (unitedStates === undefined) return bytes
  const { states, counties, addresses, ranges } = unitedStates
  for (const areas of [states, counties, ranges])
    if (areas !== undefined) bytes += areas.edges.byteLength + areas.areas.byteLength
  return bytes + addresses.x.byteLength * 2 + addresses.coded.byteLength + addresses.starts.byteLength
}
