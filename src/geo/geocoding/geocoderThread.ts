import type { Position } from '../../model/geofence.ts'
import type { Regions } from '../../model/region.ts'
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
import { regionsAt } from './regionsAt.ts'
import { reverse } from './reverse.ts'
import { SearchSources, type SearchedRegion } from './sources.ts'
import { validate } from './validate.ts'
import type { Validation, ValidationQuestion } from './validation.ts'

/** A question, by what answers it. */
export type GeocoderQuestion =
  | { readonly kind: 'reverse'; readonly question: ReverseQuestion }
  | { readonly kind: 'forward'; readonly question: ForwardQuestion }
  | { readonly kind: 'autocomplete'; readonly question: AutocompleteQuestion }
  | { readonly kind: 'validate'; readonly question: ValidationQuestion }
  | { readonly kind: 'places'; readonly question: PlacesQuestion }
  /** By its IATA code, in capitals. */
  | { readonly kind: 'airport'; readonly question: string }
  /** By its `_id`. */
  | { readonly kind: 'placeArea'; readonly question: string }
  | { readonly kind: 'regionsAt'; readonly question: Position }

/** By the kind of the question. */
export type GeocoderAnswer = Address[] | FoundPlace[] | Validation | PlaceArea | Regions | undefined

/** A question to a thread. */
export type GeocoderTask = GeocoderQuestion & {
  /** The place databases of all map regions in service; the thread closes any other. */
  readonly regions: readonly RegionFile[]
  /** The world database. */
  readonly world: string
}

export interface RegionFile extends Omit<SearchedRegion, 'records'> {
  readonly file: string
}

interface Closable {
  close(): void
}

/** Answers questions in a thread, from databases that it opens when they are needed. */
export class GeocoderThread {
  readonly #openPlaces: (file: string) => PlaceRecords & Closable
  readonly #openWorld: (file: string) => World
  readonly #opened = new Map<string, PlaceRecords & Closable>()
  #sources: SearchSources | undefined
  #key = ''

  constructor(openPlaces: (file: string) => PlaceRecords & Closable, openWorld: (file: string) => World) {
    this.#openPlaces = openPlaces
    this.#openWorld = openWorld
  }

  answer(task: GeocoderTask): GeocoderAnswer {
    const sources = this.#sourcesOf(task)
    if (task.kind === 'forward') return forward(sources, task.question)
    if (task.kind === 'autocomplete') return autocomplete(sources, task.question)
    if (task.kind === 'validate') return validate(sources, task.question)
    if (task.kind === 'places') return placesNear(sources, task.question)
    if (task.kind === 'airport') return airportOf(sources, task.question)
    if (task.kind === 'placeArea') return placeArea(sources, task.question)
    if (task.kind === 'regionsAt')
      return regionsAt({ regions: sources.around(task.question), world: sources.world }, task.question)
    const { question } = task
    return reverse({ regions: sources.around(question.position), world: sources.world }, question)
  }

  /** Those of the last task, unless map regions have come or gone. */
  #sourcesOf({ regions, world }: GeocoderTask): SearchSources {
    const key = regions.map(({ file }) => file).join('\n')
    if (this.#sources !== undefined && key === this.#key) return this.#sources
    const files = new Set(regions.map(({ file }) => file))
    for (const [file, database] of this.#opened) {
      if (files.has(file)) continue
      database.close()
      this.#opened.delete(file)
    }
    this.#key = key
    this.#sources = new SearchSources(
      regions.map(({ file, bounds }) => ({ records: this.#at(file), bounds })),
      this.#sources?.world ?? this.#openWorld(world),
    )
    return this.#sources
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
