import { SLICE_MS, TurnQueue } from './turnQueue.ts'

/** The turns of all slices. A hundred requests that work in slices take as much of a turn as one of them. */
const turns = new TurnQueue()

/** When the first of the slices that began in the present turn of the event loop began; undefined if none has. */
let firstBegan: number | undefined

/**
 * How long a slice that begins now may work. The slices of all requests that arrive in one turn work as long as one of
 * them.
 */
function leftOfTurn(): number {
  const now = performance.now()
  if (firstBegan === undefined) {
    firstBegan = now
    setImmediate(() => (firstBegan = undefined)).unref()
  }
  return Math.max(0, SLICE_MS - (now - firstBegan))
}

/**
 * Resolves when it is the caller's turn among all who work in slices. For requests that take a millisecond or more, of
 * which hundreds may come at once.
 */
export function ownTurn(): Promise<void> {
  return turns.next()
}

/**
 * Cuts the long work of one request into slices (G7): it works for a slice, then everything else that waits gets a
 * turn.
 *
 * ```ts
 * const slice = new Slice()
 * for (const one of many) {
 *   if (slice.isOver) await slice.next()
 *   …
 * }
 * ```
 *
 * Data may change between two slices.
 */
export class Slice {
  #began = performance.now()
  #leftMs = leftOfTurn()

  /** Whether the slice is over. */
  get isOver(): boolean {
    return performance.now() - this.#began >= this.#leftMs
  }

  /** Begins a slice in the present turn, which many others may have waited for, too. All of them share it. */
  begin(): void {
    this.#leftMs = leftOfTurn()
    this.resume()
  }

  /** Resolves when all others have had a turn; the next slice begins then. */
  async next(): Promise<void> {
    await turns.next()
    this.#leftMs = SLICE_MS
    this.resume()
  }

  /** Pauses the slice. The following time does not count until {@link resume}. */
  pause(): void {
    this.#leftMs -= performance.now() - this.#began
  }

  resume(): void {
    this.#began = performance.now()
  }
}

/** Does the steps one after the other, and returns the result. Others may change the data between two slices. */
export async function inSlices<T>(steps: Generator<void, T>): Promise<T> {
  const slice = new Slice()
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
    if (slice.isOver) await slice.next()
  }
}

/** The results for all items, in order, without undefined ones. */
export async function mapInSlices<T, R>(items: Iterable<T>, make: (item: T) => R | undefined): Promise<R[]> {
  const slice = new Slice()
  const made: R[] = []
  for (const item of items) {
    if (slice.isOver) await slice.next()
    const one = make(item)
    if (one !== undefined) made.push(one)
  }
  return made
}
