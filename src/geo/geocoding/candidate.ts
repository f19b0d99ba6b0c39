import type { Position } from '../../model/geofence.ts'
import type { PlaceRecords, StoredAddress, StoredStreet } from '../placeDatabase/port.ts'
import type { Language } from '../records/names.ts'
import type { PropertyType } from '../records/records.ts'
import type { GeocodeConfidence, CoarseLayer } from './port.ts'
import type { NumberReading } from './query.ts'
import type { EditedWords } from './recall.ts'
import type { Found } from './results.ts'
import type { Searches } from './searches.ts'

/** Something that the query may mean, before the areas around it are known. */
export interface GeocodeCandidate extends Found {
  readonly importance: number
  /** For each word of the query, how well it fits the candidate's name and number. */
  readonly fits: Float64Array
  /** The share of the candidate's own name that is in the query. */
  readonly share: number
  /** The words that are read as its house number. */
  readonly reading: NumberReading | undefined
  /** How well the house number is known; undefined without one. */
  readonly precision: Exclude<GeocodeConfidence, 'fallback'> | undefined
  /** What the building is used for, if the house says so. */
  readonly property?: PropertyType | undefined
  /** For an area. */
  readonly area: NamedArea | undefined
  /**
   * A position for the order of results, if it differs from the candidate's own. So houses of one street come in the
   * order of their numbers.
   */
  readonly anchor?: Position | undefined
}

export interface NamedArea {
  readonly layer: CoarseLayer
  /** The name in the language of the answer. */
  readonly name: string
  /** The code of a state. */
  readonly code: string | undefined
}

export interface CandidateOptions {
  readonly language: Language
  readonly edited: EditedWords
  /** What the question has looked up so far. */
  readonly searches: Searches
  readonly near?: Position | undefined
  /** Returns more house numbers of a street than the one that was typed, for autocomplete. */
  readonly housesOf?: (
    region: PlaceRecords,
    street: StoredStreet,
    reading: NumberReading | undefined,
  ) => StoredAddress[]
}
