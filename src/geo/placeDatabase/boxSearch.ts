import type Database from 'better-sqlite3'
import { distancesFrom } from '../../geometry/distance.ts'
import type { Position } from '../../model/geofence.ts'
import { boxesAround } from './boxes.ts'
import type { Near } from './port.ts'
import { UNITS } from './schema.ts'

/** The smallest radius that is searched, as a share of the largest, and how much larger each following one is. */
const LEAST_SHARE = 1 / 64
const GROWTH = 1.5
/**
 * How the first radius changes after a search: if it found too few boxes, enough, or so many that most were of no use.
 */
const WIDER = 1.3
const NARROWER = 0.9
const MUCH_NARROWER = 0.5
const MANY_BOXES = 50
/** How many boxes of a part are examined. If it has more, the nearest ones are. */
const MOST_BOXES = 1000
/**
 * The error of boxes in metres. Coordinates are rounded, and the nearest point of a box on a parallel is a little
 * further north or south.
 */
const BOX_ERROR_METERS = 0.5

/** The degrees of a full turn. Boxes may be on the other side of the 180th meridian. */
const TURN = 360
const HALF_TURN = 180

type Box = readonly [id: number, west: number, east: number, south: number, north: number]

/** Finds records by their boxes in one or more R*Trees, whose coordinates are in units of the database. */
export class BoxSearch {
  readonly #boxes: Database.Statement
  readonly #nearestBoxes: Database.Statement
  /** The radius with which the next search begins, in metres. Records are about as dense as in the searches before. */
  #firstMeters = 0

  /**
   * Searches in the given tables.
   * @param trees the names of R*Trees; an id is in at most one of them
   */
  constructor(database: Database.Database, trees: readonly string[]) {
    const each = trees.map(
      (name) =>
        `SELECT * FROM ${name} WHERE west <= @east AND east >= @west AND south <= @north AND north >= @south`,
    )
    const all = each.join(' UNION ALL ')
    const across = '@scale * max(west - @x, @x - east, 0)'
    const along = 'max(south - @y, @y - north, 0)'
    const order = `${across} * ${across} + ${along} * ${along}`
    this.#boxes = database.prepare(`${all} LIMIT ${MOST_BOXES}`).raw()
    this.#nearestBoxes = database
      .prepare(`SELECT * FROM (${all}) ORDER BY ${order} LIMIT ${MOST_BOXES}`)
      .raw()
  }

  /** The ids of the records whose box has a part in a box in units. Edges count. */
  touching([west, south, east, north]: readonly [number, number, number, number]): number[] {
    return (this.#boxes.all({ west, east, south, north }) as Box[]).map(([id]) => id)
  }

  /** The ids of the records whose box is within a distance, and of a few more. */
  within(point: Position, meters: number): number[] {
    return this.#boxesAround(point, meters).map(([id]) => id)
  }

  /**
   * The nearest records within a distance, all at the same distance. It measures records in the order of the distance
   * of their boxes, and ends when no box can contain a nearer one.
   * @param measure returns the record with an id, and its distance in metres
   */
  nearest<RecordType>(
    point: Position,
    maxMeters: number,
    measure: (id: number) => Near<RecordType>,
  ): Near<RecordType>[] {
    const first = Math.min(maxMeters, Math.max(LEAST_SHARE * maxMeters, this.#firstMeters))
    for (let within = first; ; within = Math.min(maxMeters, within * GROWTH)) {
      const boxes = this.#boxesAround(point, within)
      const nearest = nearestOf(boxes, point, within, measure)
      if (within === first)
        this.#firstMeters =
          first * (nearest.length === 0 ? WIDER : boxes.length < MANY_BOXES ? NARROWER : MUCH_NARROWER)
      if (nearest.length > 0 || within === maxMeters) return nearest
    }
  }

  /** The boxes within a distance, and a few more in the corners. */
  #boxesAround(point: Position, meters: number): Box[] {
    const scale = Math.cos((point[1] * Math.PI) / 180)
    return boxesAround(point, meters).flatMap(([east, west, north, south]) => {
      const part = { west, east, south, north }
      const boxes = this.#boxes.all(part) as Box[]
      if (boxes.length < MOST_BOXES) return boxes
      const [x, y] = [(west + east) / 2, (south + north) / 2]
      return this.#nearestBoxes.all({ ...part, x, y, scale }) as Box[]
    })
  }
}

function nearestOf<RecordType>(
  boxes: readonly Box[],
  point: Position,
  maxMeters: number,
  measure: (id: number) => Near<RecordType>,
): Near<RecordType>[] {
  const [x, y] = point
  const metersTo = distancesFrom(y, x)
  const byDistance = boxes
    .map(([id, west, east, south, north]) => {
      const turn = west / UNITS - x > HALF_TURN ? TURN : x - east / UNITS > HALF_TURN ? -TURN : 0
      const nearestX = Math.min(east / UNITS, Math.max(west / UNITS, x + turn))
      const nearestY = Math.min(north / UNITS, Math.max(south / UNITS, y))
      const isPoint = west === east && south === north
      return { id, isPoint, meters: metersTo(nearestY, nearestX) }
    })
    .sort((a, b) => a.meters - b.meters)
  let nearest: Near<RecordType>[] = []
  let least = maxMeters
  for (const { id, isPoint, meters: fromBox } of byDistance) {
    if (fromBox > least + BOX_ERROR_METERS) break
    if (isPoint && fromBox > least) continue
    const near = measure(id)
    if (near.meters > least) continue
    if (near.meters < least) nearest = []
    least = near.meters
    nearest.push(near)
  }
  return nearest
}
