import { LRUCache } from 'lru-cache'
import type { Position } from '../../model/geofence.ts'
import { boxesAround } from '../placeDatabase/boxes.ts'
import type { PlaceRecords } from '../placeDatabase/port.ts'
import { unitsOf } from '../placeDatabase/shapes.ts'
import type { Language } from '../records/names.ts'
import type { World } from '../world/port.ts'
import { surroundingsOf, type OwnAddress, type Surroundings } from './surroundings.ts'

/** A map region that can be searched. */
export interface SearchedMapRegion {
  readonly records: PlaceRecords
  /** West, south, east and north. */
  readonly bounds: readonly [number, number, number, number]
}

/** How many degrees around a map region it may have the nearest record: more than a kilometre up to 85° north. */
const MARGIN_DEGREES = 0.11
/** How many points are kept, at about a kilobyte each. */
const MOST_KEPT = 4000

/** The databases of all map regions, and the surroundings of the points that were asked about last. */
export class SearchSources {
  readonly regions: readonly SearchedMapRegion[]
  readonly world: World
  readonly #kept = new LRUCache<string, Surroundings>({ max: MOST_KEPT })

  constructor(regions: readonly SearchedMapRegion[], world: World) {
    this.regions = regions
    this.world = world
  }

  around(position: Position): PlaceRecords[] {
    return this.regions.filter(({ bounds }) => isAround(bounds, position)).map(({ records }) => records)
  }

  surroundings(position: Position, own: OwnAddress, language: Language): Surroundings {
    const key = JSON.stringify([position, own.city, own.state, own.postalCode, own.county, language])
    let surroundings = this.#kept.get(key)
    if (surroundings === undefined) {
      surroundings = surroundingsOf(
        { regions: this.around(position), world: this.world },
        position,
        own,
        language,
      )
      this.#kept.set(key, surroundings)
    }
    return surroundings
  }
}

/** Whether a map region may have the nearest record. */
export function isAround(
  [west, south, east, north]: SearchedMapRegion['bounds'],
  [longitude, latitude]: Position,
): boolean {
  return (
    longitude >= west - MARGIN_DEGREES &&
    longitude <= east + MARGIN_DEGREES &&
    latitude >= south - MARGIN_DEGREES &&
    latitude <= north + MARGIN_DEGREES
  )
}

/** Whether the box of a map region comes within a distance of a position. */
export function isNear(
  [west, south, east, north]: SearchedMapRegion['bounds'],
  position: Position,
  meters: number,
): boolean {
  const [left, bottom, right, top] = [west, south, east, north].map(unitsOf) as [
    number,
    number,
    number,
    number,
  ]
  return boxesAround(position, meters).some(
    ([boxEast, boxWest, boxNorth, boxSouth]) =>
      left <= boxEast && right >= boxWest && bottom <= boxNorth && top >= boxSouth,
  )
}
