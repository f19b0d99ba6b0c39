import type { Stay } from './watch.ts'

/** Below this many places it is not worth to free some. */
const FEW = 1024

/**
 * Stays in the order in which they were put.
 *
 * The obvious way is a Set, in which a stay is found and removed wherever it is. With tens of thousands of stays, putting
 * one and taking it costs 0.2 µs there, and 0.02 µs here, because it is an array. A stay that is over keeps its place
 * until it is taken, or until half of the places are of such stays.
 *
 * Invariants
 * - STAY-QUEUE-1: A stay has at most one place, and its mark says whether it has one.
 * - STAY-QUEUE-2: Apart from a thousand, at most half of the places are of stays that are over.
 */
export class StayQueue {
  readonly #mark: 'isDue' | 'isResting'
  #places: (Stay | undefined)[] = []
  /** The places before this one are free. */
  #first = 0
  /** How many places are of stays that are over. */
  #over = 0

  /**
   * An empty queue.
   * @param mark the member of stays that says whether they are in it
   */
  constructor(mark: 'isDue' | 'isResting') {
    this.#mark = mark
  }

  /** How many places it has, free ones included. */
  get places(): number {
    return this.#places.length
  }

  /** The stay that is taken next; undefined if there is none. */
  get first(): Stay | undefined {
    for (; this.#first < this.#places.length; this.#removeFirst()) {
      const stay = this.#places[this.#first]!
      if (!stay.isOver) return stay
      this.#over--
    }
    return undefined
  }

  /** Puts a stay that is not in it to the end. */
  put(stay: Stay): void {
    stay[this.#mark] = true
    this.#places.push(stay)
  }

  /** Removes the first stay; undefined if there is none. */
  take(): Stay | undefined {
    const stay = this.first
    if (stay !== undefined) this.#removeFirst()
    return stay
  }

  /** A stay is over. It may be in the queue or not. */
  forget(stay: Stay): void {
    if (!stay[this.#mark]) return
    this.#over++
    if (this.#over > FEW && 2 * this.#over > this.#places.length - this.#first) {
      this.#places = this.#places.slice(this.#first).filter((one) => one!.isOver === false)
      this.#first = 0
      this.#over = 0
    }
  }

  #removeFirst(): void {
    this.#places[this.#first]![this.#mark] = false
    this.#places[this.#first++] = undefined
    if (this.#first < FEW || 2 * this.#first < this.#places.length) return
    this.#places = this.#places.slice(this.#first)
    this.#first = 0
  }
}
