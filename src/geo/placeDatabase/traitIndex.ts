/**
 * Finds the places of a map region by what they are. It has a row for each place and trait, in the order of trait,
 * latitude and longitude. So those of a chain around a point are read at once, without their records.
 */
import type Database from 'better-sqlite3'
import { pointDistance } from '../../geometry/distance.ts'
import type { Position } from '../../model/geofence.ts'
import type { PlaceRecord } from '../records/records.ts'
import { boxesAround } from './boxes.ts'

export const TRAIT_SCHEMA = `
  CREATE TABLE trait (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
  CREATE TABLE place_trait (
    trait INTEGER NOT NULL, y INTEGER NOT NULL, x INTEGER NOT NULL, place INTEGER NOT NULL,
    PRIMARY KEY (trait, y, x, place)
  ) WITHOUT ROWID;
`

/** The slug of a chain, the slug of a category, or a group. */
export type Trait = `chain/${string}` | `category/${string}` | 'group/airport'

export function traitsOf({ categories, chain, details }: PlaceRecord): Trait[] {
  return [
    ...categories.map((slug): Trait => `category/${slug}`),
    ...(chain === undefined ? [] : [`chain/${chain.slug}` as const]),
    ...(details.iataCode === undefined ? [] : ['group/airport' as const]),
  ]
}

/** A place that was found, by its row. */
export interface PlaceAt {
  readonly id: number
  readonly position: Position
  /** The distance from the point that was asked about to the place's own point. */
  readonly meters: number
}

/** The smallest box that is searched, as a share of the largest, and how much larger each following one is. */
const FIRST_SHARE = 1 / 16
const GROWTH = 2
/** How many rows of a trait are examined in a box. */
const MOST_ROWS = 50_000

type TraitRow = [y: number, x: number, place: number]

export class TraitIndex {
  readonly #id: Database.Statement
  readonly #inBox: Database.Statement
  readonly #key: Database.Statement
  readonly #units: number

  /**
   * Reads an open database.
   * @param units the number of units in a degree
   */
  constructor(database: Database.Database, units: number) {
    this.#units = units
    this.#id = database.prepare('SELECT id FROM trait WHERE text = ?').pluck()
    this.#inBox = database
      .prepare(
        `SELECT y, x, place FROM place_trait WHERE x <= ? AND x >= ? AND y <= ? AND y >= ? AND trait = ? LIMIT ${MOST_ROWS}`,
      )
      .raw()
    this.#key = database.prepare('SELECT key FROM place WHERE id = ?').pluck()
  }

  /**
   * The places within a distance that have one of the traits, the nearest first. Those at the same distance are in the
   * order of their `_id`. It reads little more than the caller takes.
   */
  *near(point: Position, maxMeters: number, traits: readonly Trait[]): Generator<PlaceAt> {
    const ids = traits
      .map((text) => this.#id.get(text) as number | undefined)
      .filter((id) => id !== undefined)
    if (ids.length === 0) return
    let done = -1
    for (let reach = maxMeters * FIRST_SHARE; ; reach *= GROWTH) {
      const within = Math.min(reach, maxMeters)
      const found = this.#within(point, within, ids).filter(({ meters }) => meters > done)
      yield* this.#sorted(found)
      if (within === maxMeters) return
      done = within
    }
  }

  #within(point: Position, reach: number, traits: readonly number[]): PlaceAt[] {
    const found = new Map<number, PlaceAt>()
    for (const box of boxesAround(point, reach)) {
      for (const trait of traits) {
        for (const [y, x, id] of this.#inBox.all(...box, trait) as TraitRow[]) {
          const position: Position = [x / this.#units, y / this.#units]
          const meters = pointDistance(point[1], point[0], position[1], position[0])
          if (meters <= reach && !found.has(id)) found.set(id, { id, position, meters })
        }
      }
    }
    return [...found.values()]
  }

  #sorted(found: PlaceAt[]): PlaceAt[] {
    const keys = new Map<number, string>()
    const keyOf = (id: number): string => {
      const key = keys.get(id) ?? (this.#key.get(id) as string)
      keys.set(id, key)
      return key
    }
    return found.sort((a, b) => a.meters - b.meters || (keyOf(a.id) < keyOf(b.id) ? -1 : 1))
  }
}
