import type Database from 'better-sqlite3'
import type { Position } from '../../model/geofence.ts'
import type { Chain } from '../../model/place.ts'
import { FOOTPRINT_BOX, UNITS } from './schema.ts'
import { unitsOf, unpackLines } from './shapes.ts'

/** A place with its area, and nothing else. */
export interface PlaceFootprint {
  readonly key: string
  readonly name: string
  readonly categories: readonly string[]
  readonly position: Position
  /** In square metres; 0 if only its point is known. */
  readonly size: number
  readonly chain: Chain | undefined
  /** Closed rings of all its pieces and the holes in them; empty if only its point is known. */
  readonly rings: readonly (readonly Position[])[]
}

interface Row extends Omit<PlaceFootprint, 'categories' | 'position' | 'chain' | 'rings'> {
  readonly categories: string
  readonly x: number
  readonly y: number
  readonly chain: number | null
  readonly rings: Buffer | null
}

const COLUMNS = 'key, name, categories, x, y, size, rings, chain'

/** Finds the places of a map region by their area: all places in a box at once. */
export class PlaceFootprints {
  readonly #inBox: Database.Statement
  readonly #byKey: Database.Statement
  readonly #chains: ReadonlyMap<number, Chain>

  constructor(database: Database.Database, chains: ReadonlyMap<number, Chain>) {
    this.#chains = chains
    this.#byKey = database.prepare(`SELECT ${COLUMNS} FROM place WHERE key = ?`)
    this.#inBox = database.prepare(
      `SELECT ${COLUMNS} FROM ${FOOTPRINT_BOX} AS box JOIN place USING (id)
       WHERE box.west <= @east AND box.east >= @west AND box.south <= @north AND box.north >= @south LIMIT CAST(@limit AS INTEGER)`,
    )
  }

  /** The places whose area may have a part in a box in degrees, up to a number of them. */
  in(
    box: { readonly west: number; readonly south: number; readonly east: number; readonly north: number },
    limit: number,
  ): PlaceFootprint[] {
    const { west, south, east, north } = box
    const units = { west: unitsOf(west), south: unitsOf(south), east: unitsOf(east), north: unitsOf(north) }
    return (this.#inBox.all({ ...units, limit }) as Row[]).map((row) => this.#footprintOf(row))
  }

  /**
   * The place with a key.
   * @param key the public `_id`
   */
  get(key: string): PlaceFootprint | undefined {
    const row = this.#byKey.get(key) as Row | undefined
    return row && this.#footprintOf(row)
  }

  #footprintOf({ x, y, categories, chain, rings, ...row }: Row): PlaceFootprint {
    return {
      ...row,
      categories: categories.split(','),
      position: [x / UNITS, y / UNITS],
      chain: chain === null ? undefined : this.#chains.get(chain),
      rings: rings === null ? [] : unpackLines(rings),
    }
  }
}
