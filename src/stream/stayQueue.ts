import { OVER, type BatchedStays } from './batchedStays.ts'

/** Below this many places it is not worth to free some. */
const FEW = 1024
/** A place that was taken. */
const TAKEN = -1

/**
 * Stays in the order in which they were put, by number.
 *
 * A Set finds and removes a stay wherever it is, but with tens of thousands of stays, putting one and taking it costs
 * 0.2 µs there. This is an array, where it costs 0.02 µs. A stay that is over keeps its place until it is taken, or until
 * half of the places are of such stays.
 *
 * Invariants
 * - STAY-QUEUE-1: A stay has at most one place, and its mark says whether it has one.
 * - STAY-QUEUE-2: Apart from a thousand, at most half of the places are of stays that are over.
 * - STAY-QUEUE-3: The number of a stay that is over is freed when it has no place in any queue.
 */
export class StayQueue {
  readonly #stays: BatchedStays
  readonly #mark: number
  /** The marks of all queues in which a stay may be. */
  readonly #queued: number
  #places: number[] = []
  /** The places before this one are free. */
  #first = 0
  /** How many places are of stays that are over. */
  #over = 0

  /**
   * An empty queue.
   * @param mark the mark of stays that says that they are in it
   * @param queued the marks of this and other queues
   */
  constructor(stays: BatchedStays, mark: number, queued: number) {
    this.#stays = stays
    this.#mark = mark
    this.#queued = queued
  }

  /** How many places it has, free ones included. */
  get places(): number {
    return this.#places.length
  }

  /** The stay that is taken next; undefined if there is none. */
  get first(): number | undefined {
    while (this.#first < this.#places.length) {
      const stay = this.#places[this.#first]!
      if (!this.#stays.has(stay, OVER)) return stay
      this.#over--
      this.#removeFirst()
      this.#freeUnlessQueued(stay)
    }
    return undefined
  }

  /** Puts a stay that is not in it to the end. */
  put(stay: number): void {
    this.#stays.mark(stay, this.#mark)
    this.#places.push(stay)
  }

  /** Removes the first stay; undefined if there is none. */
  take(): number | undefined {
    const stay = this.first
    if (stay !== undefined) this.#removeFirst()
    return stay
  }

  /** A stay is over. It may be in the queue or not. */
  forget(stay: number): void {
    if (!this.#stays.has(stay, this.#mark)) return
    this.#over++
    if (this.#over > FEW && 2 * this.#over > this.#places.length - this.#first) this.#compact()
  }

  #compact(): void {
    const places: number[] = []
    for (let at = this.#first; at < this.#places.length; at++) {
      const stay = this.#places[at]!
      if (!this.#stays.has(stay, OVER)) places.push(stay)
      else {
        this.#stays.unmark(stay, this.#mark)
        this.#freeUnlessQueued(stay)
      }
    }
    this.#places = places
    this.#first = 0
    this.#over = 0
  }

  #freeUnlessQueued(stay: number): void {
    if (!this.#stays.has(stay, this.#queued)) this.#stays.free(stay)
  }

  #removeFirst(): void {
    this.#stays.unmark(this.#places[this.#first]!, this.#mark)
    this.#places[this.#first++] = TAKEN
    if (this.#first < FEW || 2 * this.#first < this.#places.length) return
    this.#places = this.#places.slice(this.#first)
    this.#first = 0
  }
}
