import type { Position } from '../../model/geofence.ts'
import { packUtf8 } from '../../runtime/packedUtf8.ts'
import { OpenDatabases } from '../placeDatabase/openDatabases.ts'
import type { PlaceRecords } from '../placeDatabase/port.ts'
import type { World } from '../world/port.ts'
import { autocomplete } from './autocomplete.ts'
import { forward } from './forward.ts'
import type { PlaceArea } from '../../registry/geofences/areaFinder.ts'
import type {
  Address,
  AutocompleteQuestion,
  ForwardQuestion,
  FoundPlace,
  PlacesQuestion,
  ReverseQuestion,
} from './port.ts'
import { airportOf, placesNear } from './places.ts'
import { placeArea } from './placeArea.ts'
import { reverse } from './reverse.ts'
import { isAround, SearchSources, type SearchedMapRegion } from './sources.ts'
import { validate } from './validate.ts'
import type { Validation, ValidationQuestion } from './validation.ts'

/** A question, by the module that answers it. */
export type GeocoderQuestion =
  | { readonly kind: 'reverse'; readonly question: ReverseQuestion }
  | { readonly kind: 'forward'; readonly question: ForwardQuestion }
  | { readonly kind: 'autocomplete'; readonly question: AutocompleteQuestion }
  | { readonly kind: 'validate'; readonly question: ValidationQuestion }
  | { readonly kind: 'places'; readonly question: PlacesQuestion }
  /** An airport by its IATA code, in capitals. */
  | { readonly kind: 'airport'; readonly question: string }
  /** A place by its `_id`. */
  | { readonly kind: 'placeArea'; readonly question: string }

/** The answer to a question that is not for addresses, by its kind. */
export type GeocoderAnswer = FoundPlace[] | Validation | PlaceArea | undefined

/**
 * The reply of a thread: addresses as packed JSON text, which costs the main thread less than objects; another answer; or
 * why a database cannot be read. Errors would lose their codes between threads.
 */
export type GeocoderReply =
  | {
      readonly addresses: string
      /** The indexes of the map regions that may have contributed to them. */
      readonly used: readonly number[]
    }
  | { readonly answer: GeocoderAnswer }
  | { readonly unreadable: string }

/**
 * A question to a thread, and where it is answered from. Both are JSON texts, which the main thread copies in a fraction of
 * the time that it takes for objects.
 */
export interface GeocoderTask {
  /** A {@link GeocoderQuestion}. */
  readonly question: string
  /** {@link GeocoderFiles}, which are only read if they are not those of the question before. */
  readonly files: string
}

/** The databases from which questions are answered. */
export interface GeocoderFiles {
  /** The place databases of all map regions in service. The thread closes all others. */
  readonly regions: readonly MapRegionFile[]
  /** The world database. */
  readonly world: string
}

export interface MapRegionFile extends Omit<SearchedMapRegion, 'records'> {
  readonly file: string
}

/** Answers questions in a thread, from databases that it opens when they are needed. */
export class GeocoderThread {
  readonly #openWorld: (file: string) => World
  readonly #places: OpenDatabases<PlaceRecords & { close(): void }>
  #sources: SearchSources | undefined
  #files: GeocoderFiles = { regions: [], world: '' }
  /** The text of these files; '' if not all of them could be opened. */
  #filesText = ''

  constructor(
    openPlaces: (file: string) => PlaceRecords & { close(): void },
    openWorld: (file: string) => World,
    stampOf: (file: string) => string,
  ) {
    this.#places = new OpenDatabases(openPlaces, stampOf)
    this.#openWorld = openWorld
  }

  /**
   * Answers a task.
   * @throws errors that are not the fault of a database
   */
  reply(task: GeocoderTask): GeocoderReply {
    try {
      return this.#reply(task)
    } catch (error) {
      if (error instanceof Unopened) return { unreadable: error.message }
      const { code, message } = error as { code?: unknown; message: string }
      if (typeof code === 'string' && code.startsWith('SQLITE_')) return { unreadable: message }
      throw error
    }
  }

  #reply(task: GeocoderTask): GeocoderReply {
    const sources = this.#sourcesOf(task.files)
    const asked = JSON.parse(task.question) as GeocoderQuestion
    if (asked.kind === 'forward') return this.#addressReply(forward(sources, asked.question))
    if (asked.kind === 'autocomplete') return this.#addressReply(autocomplete(sources, asked.question))
    if (asked.kind === 'validate') return { answer: validate(sources, asked.question) }
    if (asked.kind === 'places') return { answer: placesNear(sources, asked.question) }
    if (asked.kind === 'airport') return { answer: airportOf(sources, asked.question) }
    if (asked.kind === 'placeArea') return { answer: placeArea(sources, asked.question) }
    const { question } = asked
    const around = { regions: sources.around(question.position), world: sources.world }
    return this.#addressReply(reverse(around, question), [question.position])
  }

  /** The sources, which stay those of the last task unless map regions were added or removed. */
  #sourcesOf(filesText: string): SearchSources {
    const isSame = filesText === this.#filesText
    if (!isSame) this.#files = JSON.parse(filesText) as GeocoderFiles
    const { regions, world } = this.#files
    const hasClosed = this.#places.keep(regions.map(({ file }) => file))
    if (this.#sources !== undefined && isSame && !hasClosed) return this.#sources
    this.#filesText = ''
    this.#sources = new SearchSources(
      regions.map(({ file, bounds }) => ({ records: this.#opened(file), bounds })),
      this.#sources?.world ?? this.#openWorld(world),
    )
    // This is set after all are open. If one cannot be opened, the next question tries again.
    this.#filesText = filesText
    return this.#sources
  }

  #opened(file: string): PlaceRecords {
    try {
      return this.#places.at(file)
    } catch (cause) {
      throw new Unopened(`${file}: ${(cause as Error).message}`, { cause })
    }
  }

  /**
   * The reply with addresses.
   * @param positions the points of which a map region has something if it is near
   */
  #addressReply(
    addresses: readonly Address[],
    positions: readonly Position[] = addresses.map(({ latitude, longitude }) => [longitude, latitude]),
  ): GeocoderReply {
    const { regions } = this.#files
    const used = [...regions.keys()].filter((index) =>
      positions.some((position) => isAround(regions[index]!.bounds, position)),
    )
    return { addresses: packUtf8(JSON.stringify(addresses)), used }
  }
}

/** A place database is missing, damaged or of another version. */
class Unopened extends Error {
  override readonly name = 'Unopened'
}
