import type Database from 'better-sqlite3'
import { LRUCache } from 'lru-cache'
import { distancesFrom } from '../../geometry/distance.ts'
import type { Position } from '../../model/geofence.ts'
import { AREA_KINDS, type AreaKind } from '../records/records.ts'
import { BoxSearch } from './boxSearch.ts'
import type { Near, StoredArea } from './port.ts'
import { centreBox, UNITS } from './schema.ts'
import { isInPackedRings, passesThrough } from './shapes.ts'

/** The width of a cell: a fiftieth of a degree, which is up to 2.2 km. */
const CELL_UNITS = 200_000
/** The largest distance from the middle of a cell to its corners, in metres. */
const HALF_CELL_METERS = 1600
/** How many cells are kept, at some hundred bytes each. */
const MOST_CELLS = 4000
/** How many areas are kept without their borders, at about a kilobyte each. */
const MOST_AREAS = 4000

/** An area with a part in a cell. */
interface AreaInCell {
  readonly id: number
  readonly area: StoredArea
  /** Whether it contains the whole cell. Otherwise its border passes through the cell. */
  readonly isWhole: boolean
}

/**
 * Finds the areas that contain a point. Most points are far from any border, and borders are long: that of a country
 * has a hundred thousand corners. So a border is only examined once for each cell that was asked about lately, and for
 * the points of the cells that it passes through.
 */
export class AreaCells {
  readonly #read: (id: number) => StoredArea
  readonly #rings: Database.Statement
  readonly #boxes: BoxSearch
  readonly #centreBoxes: Readonly<Record<AreaKind, BoxSearch>>
  readonly #areas = new LRUCache<number, StoredArea>({ max: MOST_AREAS })
  readonly #cells = new LRUCache<string, readonly AreaInCell[]>({ max: MOST_CELLS })
  readonly #centres = new LRUCache<string, readonly StoredArea[]>({ max: MOST_CELLS })

  /**
   * Starts without cells.
   * @param read returns the area with an id
   */
  constructor(database: Database.Database, read: (id: number) => StoredArea) {
    this.#read = read
    this.#rings = database.prepare('SELECT rings FROM area WHERE id = ?').pluck()
    this.#boxes = new BoxSearch(database, ['area_box'])
    this.#centreBoxes = Object.fromEntries(
      AREA_KINDS.map((kind) => [kind, new BoxSearch(database, [centreBox(kind)])]),
    ) as Record<AreaKind, BoxSearch>
  }

  byId(id: number): StoredArea {
    let area = this.#areas.get(id)
    if (area === undefined) this.#areas.set(id, (area = this.#read(id)))
    return area
  }

  /** The areas that contain the point, the smallest first. */
  containing(point: Position): StoredArea[] {
    return this.#cellAt(point)
      .filter(({ id, isWhole }) => isWhole || isInPackedRings(this.#ringsOf(id), point))
      .map(({ area }) => area)
  }

  /** The nearest area of a kind of which only the centre is known. */
  nearestCentre(point: Position, maxMeters: number, kind: AreaKind): Near<StoredArea> | undefined {
    const metersTo = distancesFrom(point[1], point[0])
    let nearest: Near<StoredArea> | undefined
    for (const record of this.#centresAround(point, maxMeters, kind)) {
      const [x, y] = record.position
      const meters = metersTo(y, x)
      if (meters <= maxMeters && (nearest === undefined || meters < nearest.meters))
        nearest = { record, meters }
    }
    return nearest
  }

  #cellAt(point: Position): readonly AreaInCell[] {
    const { key, west, south } = cellOf(point)
    let areas = this.#cells.get(key)
    if (areas === undefined) {
      const box = [west, south, west + CELL_UNITS, south + CELL_UNITS] as const
      const middle: Position = [(west + CELL_UNITS / 2) / UNITS, (south + CELL_UNITS / 2) / UNITS]
      areas = this.#boxes
        .touching(box)
        .flatMap((id): AreaInCell[] => {
          const rings = this.#ringsOf(id)
          const isWhole = !passesThrough(rings, box)
          return isWhole && !isInPackedRings(rings, middle) ? [] : [{ id, area: this.byId(id), isWhole }]
        })
        .sort((a, b) => a.area.size - b.area.size)
      this.#cells.set(key, areas)
    }
    return areas
  }

  /** The areas that may be the nearest of any point of the cell. */
  #centresAround(point: Position, maxMeters: number, kind: AreaKind): readonly StoredArea[] {
    const { key: cell, west, south } = cellOf(point)
    const key = `${cell} ${kind} ${maxMeters}`
    let areas = this.#centres.get(key)
    if (areas === undefined) {
      const middle: Position = [(west + CELL_UNITS / 2) / UNITS, (south + CELL_UNITS / 2) / UNITS]
      const metersTo = distancesFrom(middle[1], middle[0])
      const near = this.#centreBoxes[kind].within(middle, maxMeters + HALF_CELL_METERS).map((id) => {
        const area = this.byId(id)
        const [x, y] = area.position
        return { area, meters: metersTo(y, x) }
      })
      const least = near.reduce((meters, one) => Math.min(meters, one.meters), Infinity)
      areas = near.filter(({ meters }) => meters <= least + 2 * HALF_CELL_METERS).map(({ area }) => area)
      this.#centres.set(key, areas)
    }
    return areas
  }

  #ringsOf(id: number): Buffer {
    return this.#rings.get(id) as Buffer
  }
}

/** The cell of a point, and its south-western corner in units. */
function cellOf(point: Position): { key: string; west: number; south: number } {
  const [column, row] = point.map((degrees) => Math.floor((degrees * UNITS) / CELL_UNITS)) as [number, number]
  return { key: `${column} ${row}`, west: column * CELL_UNITS, south: row * CELL_UNITS }
}
