import { closeSync, fdatasync, openSync, writeSync } from 'node:fs'

const FIRST_BYTES = 1 << 20

/**
 * The minimum for durability: rows gather in memory, one write and one fdatasync cover everything that came during
 * the last flush, and only then are the waiting requests answered.
 */
export class Flusher<Waiting> {
  readonly #file: number
  readonly #rowBytes: number
  readonly #gatherMs: number
  readonly #answer: (batch: readonly Waiting[]) => void
  #bytes = Buffer.alloc(FIRST_BYTES)
  #view = viewOf(this.#bytes)
  #used = 0
  #rows = 0
  #rowsBefore = 0
  #waiting: Waiting[] = []
  #busy = false

  /**
   * Opens the file.
   * @param rowBytes the size of a row, 24 or more
   * @param gatherMs how long a batch gathers if the previous one held more than one row (docs/adr/0012), milliseconds;
   * 0: not at all
   * @param answer called with those that waited for a flush, in order, once it is done
   */
  constructor(path: string, rowBytes: number, gatherMs: number, answer: (batch: readonly Waiting[]) => void) {
    this.#file = openSync(path, 'a')
    this.#rowBytes = rowBytes
    this.#gatherMs = gatherMs
    this.#answer = answer
  }

  row(latitude: number, longitude: number, time: number): void {
    this.#reserve(this.#rowBytes)
    this.#view.setFloat64(this.#used, latitude, true)
    this.#view.setFloat64(this.#used + 8, longitude, true)
    this.#view.setFloat64(this.#used + 16, time, true)
    this.#used += this.#rowBytes
    this.#rows++
  }

  /** Waits for the rows that were added before. */
  wait(waiting: Waiting): void {
    this.#waiting.push(waiting)
    if (this.#busy) return
    this.#busy = true
    if (this.#gathers) setTimeout(this.#flush, this.#gatherMs)
    else setImmediate(this.#flush)
  }

  close(): void {
    closeSync(this.#file)
  }

  get #gathers(): boolean {
    return this.#gatherMs > 0 && this.#rowsBefore > 1
  }

  readonly #flush = (): void => {
    const batch = this.#waiting
    writeSync(this.#file, this.#bytes, 0, this.#used)
    this.#waiting = []
    this.#used = 0
    this.#rowsBefore = this.#rows
    this.#rows = 0
    fdatasync(this.#file, (error) => {
      if (error) throw error
      this.#answer(batch)
      if (this.#waiting.length === 0) this.#busy = false
      else if (this.#gathers) setTimeout(this.#flush, this.#gatherMs)
      else this.#flush()
    })
  }

  #reserve(bytes: number): void {
    if (this.#used + bytes <= this.#bytes.length) return
    this.#bytes = Buffer.concat([this.#bytes, Buffer.alloc(this.#bytes.length)])
    this.#view = viewOf(this.#bytes)
  }
}

function viewOf({ buffer, byteOffset, byteLength }: Buffer): DataView {
  return new DataView(buffer, byteOffset, byteLength)
}
