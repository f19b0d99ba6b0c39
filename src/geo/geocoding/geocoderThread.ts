import type { PlaceRecords } from '../placeDatabase/port.ts'
import type { World } from '../world/port.ts'
import type { Address, ReverseQuestion } from './port.ts'
import { reverse } from './reverse.ts'

/** A question to a thread. */
export interface GeocoderTask {
  readonly question: ReverseQuestion
  /** The place databases of the map regions around the point. */
  readonly files: readonly string[]
  /** The world database. */
  readonly world: string
  /** All place databases in service; the thread closes any other. */
  readonly inService: readonly string[]
}

interface Closable {
  close(): void
}

/** Answers questions in a thread, from databases that it opens when they are needed. */
export class GeocoderThread {
  readonly #openPlaces: (file: string) => PlaceRecords & Closable
  readonly #openWorld: (file: string) => World
  readonly #opened = new Map<string, PlaceRecords & Closable>()
  #world: World | undefined

  constructor(openPlaces: (file: string) => PlaceRecords & Closable, openWorld: (file: string) => World) {
    this.#openPlaces = openPlaces
    this.#openWorld = openWorld
  }

  answer({ question, files, world, inService }: GeocoderTask): Address[] {
    for (const [file, database] of this.#opened) {
      if (inService.includes(file)) continue
      database.close()
      this.#opened.delete(file)
    }
    this.#world ??= this.#openWorld(world)
    return reverse({ regions: files.map((file) => this.#at(file)), world: this.#world }, question)
  }

  #at(file: string): PlaceRecords {
    let database = this.#opened.get(file)
    if (database === undefined) {
      database = this.#openPlaces(file)
      this.#opened.set(file, database)
    }
    return database
  }
}
