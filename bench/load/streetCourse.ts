/**
 * The best that the course of a street could do for houses between two known neighbours: whatever rule places them along the
 * street, as far from it as the neighbours are, it cannot be nearer than this.
 */
import Database from 'better-sqlite3'
import { UNITS } from '../../src/geo/placeDatabase/schema.ts'
import { unpackLines } from '../../src/geo/placeDatabase/shapes.ts'
import type { Position } from '../../src/model/geofence.ts'

const DEGREE_METERS = 111_195
/** How far around the neighbours ways of the street are looked for, in degrees. */
const MARGIN = 0.002
/** A neighbour that is further from the street does not stand at it. */
const MOST_METERS_OFF = 60
/** How many places between the neighbours are tried. */
const STEPS = 100

/** In metres on a plane around the street. */
type Point = readonly [x: number, y: number]

/** Where a house stands: how far along a line, and how far left of it. */
interface Standing {
  readonly along: number
  readonly left: number
}

export class StreetCourses {
  readonly #database: Database.Database
  readonly #ways: Database.Statement

  /** @param file a place database */
  constructor(file: string) {
    this.#database = new Database(file, { readonly: true })
    this.#ways = this.#database
      .prepare(
        `SELECT line FROM way_box JOIN way USING (id) JOIN label ON label.id = way.name
         WHERE text = ? AND west < ? AND east > ? AND south < ? AND north > ?`,
      )
      .pluck()
  }

  close(): void {
    this.#database.close()
  }

  /**
   * The metres from a house to the best of the places between its neighbours. Undefined if they do not stand at one way
   * of the street.
   */
  metersToBest(
    street: string,
    neighbours: readonly [Position, Position],
    house: Position,
  ): number | undefined {
    const [xs, ys] = [0, 1].map((axis) => neighbours.map((position) => position[axis]!)) as [
      number[],
      number[],
    ]
    const found = this.#ways.all(
      street,
      ...[
        Math.max(...xs) + MARGIN,
        Math.min(...xs) - MARGIN,
        Math.max(...ys) + MARGIN,
        Math.min(...ys) - MARGIN,
      ].map((degrees) => Math.round(degrees * UNITS)),
    ) as Buffer[]
    const scale = Math.cos((house[1] * Math.PI) / 180)
    const flat = ([x, y]: Position): Point => [
      (x - house[0]) * scale * DEGREE_METERS,
      (y - house[1]) * DEGREE_METERS,
    ]
    let least: number | undefined
    for (const line of joined(found.flatMap((bytes) => unpackLines(bytes)).map((way) => way.map(flat)))) {
      const [a, b] = neighbours.map((position) => standing(line, flat(position)))
      if (a === undefined || b === undefined) continue
      if (Math.max(Math.abs(a.left), Math.abs(b.left)) > MOST_METERS_OFF) continue
      for (let step = 0; step <= STEPS; step++) {
        const between = (key: keyof Standing): number => a[key] + ((b[key] - a[key]) * step) / STEPS
        const meters = Math.hypot(...placed(line, between('along'), between('left')))
        least = Math.min(least ?? Infinity, meters)
      }
    }
    return least
  }
}

/** Joins lines that begin or end where another one does. */
function joined(lines: readonly (readonly Point[])[]): (readonly Point[])[] {
  const parts = [...lines]
  for (let i = 0; i < parts.length; i++)
    for (let j = i + 1; j < parts.length; j++) {
      const [a, b] = [parts[i]!, parts[j]!]
      const one = [a, a.toReversed()].find((line) =>
        [b[0]!, b.at(-1)!].some((end) => end.join() === line.at(-1)!.join()),
      )
      if (one === undefined) continue
      const other = b[0]!.join() === one.at(-1)!.join() ? b : b.toReversed()
      parts.splice(j, 1)
      parts[i] = [...one, ...other.slice(1)]
      // The longer line may meet those that were looked at before.
      j = i
    }
  return parts
}

/** By the part of the line that is nearest. */
function standing(line: readonly Point[], [x, y]: Point): Standing | undefined {
  let best: Standing | undefined
  let least = Infinity
  let before = 0
  for (let i = 1; i < line.length; i++) {
    const [[ax, ay], [bx, by]] = [line[i - 1]!, line[i]!]
    const [ux, uy] = [bx - ax, by - ay]
    const length = Math.hypot(ux, uy)
    if (length === 0) continue
    const share = Math.max(0, Math.min(1, ((x - ax) * ux + (y - ay) * uy) / length ** 2))
    const meters = Math.hypot(x - ax - share * ux, y - ay - share * uy)
    if (meters < least) {
      least = meters
      best = { along: before + share * length, left: (ux * (y - ay) - uy * (x - ax)) / length }
    }
    before += length
  }
  return best
}

function placed(line: readonly Point[], along: number, left: number): Point {
  let before = 0
  let last: Point = line[0]!
  for (let i = 1; i < line.length; i++) {
    const [[ax, ay], [bx, by]] = [line[i - 1]!, line[i]!]
    const length = Math.hypot(bx - ax, by - ay)
    if (length === 0) continue
    const share = Math.min(1, (along - before) / length)
    last = [
      ax + share * (bx - ax) - ((by - ay) / length) * left,
      ay + share * (by - ay) + ((bx - ax) / length) * left,
    ]
    if (before + length >= along) return last
    before += length
  }
  return last
}
