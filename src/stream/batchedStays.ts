import type { BatchedWatch } from './batchedWatch.ts'
import type { WatchedDevices } from './watchedDevices.ts'

const FIRST_CAPACITY = 256
/** The cells of 8 bytes of a stay, as a power of two. */
const CELLS = 2
/** The words of 4 bytes of a stay, as a power of two. The first cell is the time. */
const WORDS = 3

const RESTS_UNTIL = 0
const NEXT = 2
const PREVIOUS = 3
const DEVICE = 4
const MARKS = 5

/** No stay has this number. */
export const NO_STAY = -1

/** The device is in the area. */
export const INSIDE = 1
/** The client was sent an enter, and no leave since then. */
export const TOLD = 2
/** The device has moved during its interval. */
export const MOVED = 4
/** The watch has dropped it. */
export const OVER = 8
/** It is in the queue of what is due. */
export const DUE = 16
/** It is in the queue of what rests. */
export const RESTING = 32

/**
 * The devices in the areas of batched watches, a stay for each device and watch, by number. A stay has 32 bytes, so
 * whatever a tick reads of it is in one cache line.
 *
 * Owns: the numbers of stays, and in which order the stays of a device follow each other. Does not own: what they mean
 * for a client (batchedWatch.ts).
 */
export class BatchedStays {
  readonly #devices: WatchedDevices
  #cells = new Float64Array(FIRST_CAPACITY << CELLS)
  /** The same memory as {@link #cells}, as words. */
  #words = new Int32Array(this.#cells.buffer)
  readonly #watches: (BatchedWatch | undefined)[] = []
  readonly #free: number[] = []

  constructor(devices: WatchedDevices) {
    this.#devices = devices
  }

  /** Adds a stay, and returns its number. It has no marks. */
  add(device: number, watch: BatchedWatch): number {
    const stay = this.#free.pop() ?? this.#watches.length
    this.#reserve(stay)
    this.#watches[stay] = watch
    const at = stay << WORDS
    const next = this.#devices.firstStay(device)
    if (next !== NO_STAY) this.#words[(next << WORDS) + PREVIOUS] = stay
    this.#words[at + NEXT] = next
    this.#words[at + PREVIOUS] = NO_STAY
    this.#words[at + DEVICE] = device
    this.#words[at + MARKS] = 0
    this.#cells[(stay << CELLS) + RESTS_UNTIL] = 0
    this.#devices.setFirstStay(device, stay)
    return stay
  }

  /** Takes a stay away from its device. The number remains in use until it is freed. */
  unlink(stay: number): void {
    const words = this.#words
    const at = stay << WORDS
    const next = words[at + NEXT]!
    const previous = words[at + PREVIOUS]!
    if (next !== NO_STAY) words[(next << WORDS) + PREVIOUS] = previous
    if (previous === NO_STAY) this.#devices.setFirstStay(words[at + DEVICE]!, next)
    else words[(previous << WORDS) + NEXT] = next
  }

  /** The number may be used again. */
  free(stay: number): void {
    this.#watches[stay] = undefined
    this.#free.push(stay)
    if (this.#free.length === this.#watches.length) this.#reset()
  }

  /** The next stay of the same device. */
  next(stay: number): number {
    return this.#words[(stay << WORDS) + NEXT]!
  }

  device(stay: number): number {
    return this.#words[(stay << WORDS) + DEVICE]!
  }

  watch(stay: number): BatchedWatch {
    return this.#watches[stay]!
  }

  marks(stay: number): number {
    return this.#words[(stay << WORDS) + MARKS]!
  }

  setMarks(stay: number, marks: number): void {
    this.#words[(stay << WORDS) + MARKS] = marks
  }

  has(stay: number, mark: number): boolean {
    return (this.marks(stay) & mark) !== 0
  }

  mark(stay: number, mark: number): void {
    this.setMarks(stay, this.marks(stay) | mark)
  }

  unmark(stay: number, mark: number): void {
    this.setMarks(stay, this.marks(stay) & ~mark)
  }

  /** No move is sent before this time, in epoch milliseconds. */
  restsUntil(stay: number): number {
    return this.#cells[(stay << CELLS) + RESTS_UNTIL]!
  }

  setRestsUntil(stay: number, time: number): void {
    this.#cells[(stay << CELLS) + RESTS_UNTIL] = time
  }

  #reserve(stay: number): void {
    const { length } = this.#cells
    if (stay << CELLS < length) return
    const cells = new Float64Array(2 * length)
    cells.set(this.#cells)
    this.#cells = cells
    this.#words = new Int32Array(cells.buffer)
  }

  /** Gives the memory back. */
  #reset(): void {
    this.#cells = new Float64Array(FIRST_CAPACITY << CELLS)
    this.#words = new Int32Array(this.#cells.buffer)
    this.#watches.length = 0
    this.#free.length = 0
  }
}
