import type { Sender } from '../model/update.ts'
import type { DeviceColumns } from './deviceColumns.ts'

/**
 * The senders of the last updates of the records of one partition, and their streams. The next update of the same sender has its
 * record without a look-up by name.
 *
 * Owns: which record a sender has. Does not own: whether the record is its device's only one, which it must be here.
 */
export class LastSenders {
  readonly #columns: DeviceColumns
  /** By row. */
  readonly #senders: (Sender | undefined)[] = []
  readonly #streams: (string | undefined)[] = []

  constructor(columns: DeviceColumns) {
    this.#columns = columns
  }

  /** One more than the largest row that has ever had a sender. */
  get length(): number {
    return this.#senders.length
  }

  /** The sender of a row below {@link length}. */
  at(row: number): Sender | undefined {
    return this.#senders[row]
  }

  /** See `DeviceTable.rowOf`. */
  rowOf(sender: Sender | undefined, stream: string | undefined, sequence: number | undefined): number {
    if (sender === undefined) return -1
    const row = sender.hint
    if (row < 0 || row >= this.#senders.length || this.#senders[row] !== sender) return -1
    if (stream === undefined) return row
    const newest = this.#columns.sequence(row)
    // A number below 0 means that an update without a number changed it, and the profile has the number.
    return this.#streams[row] === stream && newest >= 0 && sequence! > newest ? row : -1
  }

  put(row: number, sender: Sender, stream: string | undefined): void {
    while (this.#senders.length < row) {
      this.#senders.push(undefined)
      this.#streams.push(undefined)
    }
    sender.hint = row
    this.#senders[row] = sender
    this.#streams[row] = stream
  }

  forget(row: number): void {
    if (row < this.#senders.length) this.#senders[row] = undefined
  }
}
