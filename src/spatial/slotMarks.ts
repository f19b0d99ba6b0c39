/** Marks the slots that a search has met already, so that it returns each once. Clearing costs nothing. */
export class SlotMarks {
  /** For each slot, the last search that met it. */
  #searches = new Uint32Array(64)
  #search = 0

  /** Starts a search over slots below `end`. */
  clear(end: number): void {
    if (this.#searches.length < end) this.#searches = new Uint32Array(end * 2)
    this.#search = (this.#search + 1) >>> 0
    if (this.#search !== 0) return
    this.#searches.fill(0)
    this.#search = 1
  }

  /** Whether this is the first time since the search started. */
  mark(slot: number): boolean {
    if (this.#searches[slot] === this.#search) return false
    this.#searches[slot] = this.#search
    return true
  }
}
