import type { PlaceRecords } from '../placeDatabase/port.ts'
import type { Address, ReverseQuestion } from './port.ts'
import { reverse } from './reverse.ts'

/** A question to a thread. */
export interface GeocoderTask {
  readonly question: ReverseQuestion
  /** The place databases of the map regions around the point. */
  readonly files: readonly string[]
  /** All that are in service; the thread closes any other. */
  readonly inService: readonly string[]
}

/** Answers questions in a thread, from databases that it opens when they are needed. */
export class GeocoderThread {
  readonly #open: (file: string) => PlaceRecords & { close(): void }
  readonly #opened = new Map<string, PlaceRecords & { close(): void }>()

  constructor(open: (file: string) => PlaceRecords & { close(): void }) {
    this.#open = open
  }

  answer({ question, files, inService }: GeocoderTask): Address[] {
    for (const [file, database] of this.#opened) {
      if (inService.includes(file)) continue
      database.close()
      this.#opened.delete(file)
    }
    return reverse(
      files.map((file) => this.#at(file)),
      question,
    )
  }

  #at(file: string): PlaceRecords {
    let database = this.#opened.get(file)
    if (database === undefined) {
      database = this.#open(file)
      this.#opened.set(file, database)
    }
    return database
  }
}
