import { roomFor } from './growth.ts'
import { RowIndex } from './rowIndex.ts'

/**
 * Rows by names that several of them may share: a chain of rows for each name.
 *
 * A {@link RowIndex} alone would look at all rows of a name again for each row that is added. Here adding and removing
 * a row takes the same time however long its chain is.
 *
 * Owns: the links. Does not own: names, and hashes of them, which the caller computes.
 */
const FIRST_ROWS = 64
const NONE = -1

export class RowChains {
  readonly #heads = new RowIndex()
  #next = new Int32Array(FIRST_ROWS).fill(NONE)
  #previous = new Int32Array(FIRST_ROWS).fill(NONE)

  /**
   * The newest row of a name; −1 if there is none.
   * @param isOfName tells whether a row with this hash has the name
   */
  first(hash: number, isOfName: (row: number) => boolean): number {
    const slot = this.#slot(hash, isOfName)
    return slot < 0 ? NONE : this.#heads.row(slot)
  }

  /** The next older row of the same name; −1 if this is the last. */
  next(row: number): number {
    return this.#next[row]!
  }

  /** Adds a row that is in no chain of this object. */
  add(row: number, hash: number, isOfName: (row: number) => boolean): void {
    this.#reserve(row)
    const slot = this.#slot(hash, isOfName)
    const head = slot < 0 ? NONE : this.#heads.row(slot)
    this.#next[row] = head
    this.#previous[row] = NONE
    if (slot < 0) this.#heads.add(row, hash)
    else {
      this.#previous[head] = row
      this.#heads.setRow(slot, row)
    }
  }

  /** Removes a row that was added with this hash. */
  remove(row: number, hash: number): void {
    const next = this.#next[row]!
    const previous = this.#previous[row]!
    if (next !== NONE) this.#previous[next] = previous
    if (previous !== NONE) this.#next[previous] = next
    else {
      const slot = this.#slot(hash, (head) => head === row)
      if (next === NONE) this.#heads.remove(slot)
      else this.#heads.setRow(slot, next)
    }
    this.#next[row] = this.#previous[row] = NONE
  }

  #slot(hash: number, isWanted: (row: number) => boolean): number {
    const heads = this.#heads
    let slot = heads.find(hash)
    while (slot >= 0 && !isWanted(heads.row(slot))) slot = heads.findAfter(slot, hash)
    return slot
  }

  #reserve(row: number): void {
    if (row < this.#next.length) return
    const rows = roomFor(row + 1, this.#next.length)
    this.#next = resized(this.#next, rows)
    this.#previous = resized(this.#previous, rows)
  }
}

function resized(links: Int32Array<ArrayBuffer>, rows: number): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(rows).fill(NONE)
  larger.set(links)
  return larger
}
