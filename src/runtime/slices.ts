import { setImmediate as nextTurn } from 'node:timers/promises'

/** Milliseconds of one slice: what a request may take before others have their turn. */
const SLICE_MS = 2

/**
 * Cuts the long work of one request into slices (G7): it works for a slice, then everything else that
 * waits has its turn.
 *
 * ```ts
 * const slice = new Slice()
 * for (const one of many) {
 *   if (slice.isOver) await slice.next()
 *   …
 * }
 * ```
 * What is read between two slices may have changed by then.
 */
export class Slice {
  #began = performance.now()
  #leftMs = SLICE_MS

  /** Whether the work has had its time. */
  get isOver(): boolean {
    return performance.now() - this.#began >= this.#leftMs
  }

  /** Resolves when all others have had their turn; the next slice begins then. */
  async next(): Promise<void> {
    await nextTurn()
    this.#leftMs = SLICE_MS
    this.resume()
  }

  /** What follows is not of this work: until {@link resume} it does not count. */
  pause(): void {
    this.#leftMs -= performance.now() - this.#began
  }

  resume(): void {
    this.#began = performance.now()
  }
}

/** Does one step after the other; what the last one returns. Between two slices of them others may change what they look at. */
export async function inSlices<T>(steps: Generator<void, T>): Promise<T> {
  const slice = new Slice()
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
    if (slice.isOver) await slice.next()
  }
}

/** What is made of each, in their order, without those of which nothing is. */
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
