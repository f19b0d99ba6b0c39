/**
 * For this many milliseconds, requests that arrive together are answered at once. It is half of the longest time that
 * one client may take without a pause (G7), because the last of them may itself take long.
 */
const AT_ONCE_MS = 10
/**
 * At least this many answers of a turn are written at once, however long the turn takes, so that a short pipeline is
 * answered at once on a busy machine, too.
 */
const MIN_AT_ONCE = 8
/** For this many milliseconds, long bodies that arrive together are read at once. */
const BODIES_MS = 2
/** So many pieces of bodies are read in a turn, as many as half a megabyte has of 16 bytes. Each is a call of about a microsecond. */
const MOST_PIECES = 24_000

/**
 * The turn of the event loop in which requests arrive.
 *
 * uWebSockets.js parses half a megabyte of one connection at a time. That may be 20,000 pipelined requests, and if each
 * is answered at once, no other client is served in between. After some milliseconds, answers are therefore written in
 * the next turn. While a request waits for its answer, uWebSockets.js disconnects a client that sends another one, so
 * the rest of a long pipeline is not read. Clients that wait for their answers do not notice.
 */
export class Turn {
  #began = 0
  #answers = 0
  #pieces = 0
  #number = 0
  #isOpen = false
  readonly #end = (): void => {
    this.#isOpen = false
    this.#number++
  }

  /** A number that differs from turn to turn. */
  get number(): number {
    this.#open()
    return this.#number
  }

  /** Counts an answer. Returns whether this turn has taken so long that it is written in the next. */
  isTooLong(): boolean {
    this.#open()
    return ++this.#answers > MIN_AT_ONCE && performance.now() - this.#began > AT_ONCE_MS
  }

  /** Whether this turn has taken so long that a long body is read in another. */
  get isTaken(): boolean {
    this.#open()
    return performance.now() - this.#began > BODIES_MS
  }

  /** Counts a piece of a body. Returns whether more have come in this turn than are read. */
  hasTooManyPieces(): boolean {
    this.#open()
    return ++this.#pieces > MOST_PIECES
  }

  #open(): void {
    if (this.#isOpen) return
    this.#isOpen = true
    this.#answers = this.#pieces = 0
    this.#began = performance.now()
    setImmediate(this.#end)
  }
}
