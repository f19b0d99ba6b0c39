import type { Place } from '../../src/model/place.ts'
import type { Atlas, NearestOfChain, PlaceNear, PlacesHere } from '../../src/rules/atlas.ts'
import { NO_ATLAS } from '../../src/rules/atlas.ts'
import { cellOf, CROWDED_CELLS, PLACE_CELLS } from '../../src/geo/atlas/grid.ts'
import { firstOfCell } from '../../src/geo/atlas/firstPlaces.ts'
import { closestOfCell, placesOfCell, type PlaceCell } from '../../src/geo/atlas/placeCell.ts'
import { makeCrowdedCell, makePlaceCell, type PlaceMapRegion } from '../../src/geo/atlas/placeCellMaker.ts'
import { PlaceDatabase } from '../../src/geo/placeDatabase/reader.ts'
import type { PlaceFootprint } from '../../src/geo/placeDatabase/placeFootprints.ts'

type Bounds = readonly [west: number, south: number, east: number, north: number]

const MOST_PLACES = 1_000_000

/** A city with its places, as the engine and the simulation see them. */
export interface PlacedCity {
  readonly atlas: Atlas
  readonly places: readonly PlaceFootprint[]
  /** The box around all places, in degrees. */
  readonly bounds: Bounds
}

/**
 * Opens a city.
 * @param file its place database
 */
export function placedCity(file: string): PlacedCity {
  const database = new PlaceDatabase(file)
  const world = { west: -180, south: -90, east: 180, north: 90 }
  const places = database.footprints.in(world, MOST_PLACES)
  const bounds = boundsOf(places)
  return { places, bounds, atlas: new ReadAtlas([{ records: () => database, bounds }]) }
}

function boundsOf(places: readonly PlaceFootprint[]): Bounds {
  const [xs, ys] = [places.map(({ position }) => position[0]), places.map(({ position }) => position[1])]
  const least = (values: readonly number[]) => values.reduce((a, b) => Math.min(a, b))
  const most = (values: readonly number[]) => values.reduce((a, b) => Math.max(a, b))
  return [least(xs), least(ys), most(xs), most(ys)]
}

/** An atlas that reads each cell when it is asked for; a bench may wait. */
class ReadAtlas implements Atlas {
  readonly revision = 1
  readonly #regions: readonly PlaceMapRegion[]
  readonly #cells = new Map<number, PlaceCell>()
  readonly #crowded = new Map<number, PlaceCell>()
  readonly regionsAt = NO_ATLAS.regionsAt
  readonly ipAt = NO_ATLAS.ipAt
  readonly placeById = NO_ATLAS.placeById
  readonly regionById = NO_ATLAS.regionById
  readonly region = NO_ATLAS.region

  constructor(regions: readonly PlaceMapRegion[]) {
    this.#regions = regions
  }

  placesAt(latitude: number, longitude: number, reach?: number): PlacesHere {
    return placesOfCell(this.#cellAt(latitude, longitude), latitude, longitude, reach)
  }

  firstAt(latitude: number, longitude: number): Place | undefined {
    return firstOfCell(this.#cellAt(latitude, longitude), latitude, longitude)
  }

  closestAt(latitude: number, longitude: number, isWanted?: (place: Place) => boolean): PlaceNear[] {
    return closestOfCell(this.#cellAt(latitude, longitude), latitude, longitude, isWanted)
  }

  #cellAt(latitude: number, longitude: number): PlaceCell {
    let cell = this.#cell(this.#cells, cellOf(latitude, longitude, PLACE_CELLS), makePlaceCell)
    if (cell.isCrowded)
      cell = this.#cell(this.#crowded, cellOf(latitude, longitude, CROWDED_CELLS), makeCrowdedCell)
    return cell
  }

  placesAround(latitude: number, longitude: number): PlacesHere {
    return this.placesAt(latitude, longitude)
  }

  chainsAt(slugs: readonly string[]): readonly NearestOfChain[] {
    return slugs.map(() => ({ place: undefined, meters: Infinity }))
  }

  #cell(
    cells: Map<number, PlaceCell>,
    number: number,
    make: (cell: number, regions: readonly PlaceMapRegion[]) => PlaceCell,
  ): PlaceCell {
    let cell = cells.get(number)
    if (cell === undefined) cells.set(number, (cell = make(number, this.#regions)))
    return cell
  }
}
