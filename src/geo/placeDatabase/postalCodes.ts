import type Database from 'better-sqlite3'
import type { Position } from '../../model/geofence.ts'
import type { CodedPoint, CodedLine, PostalCodes } from './port.ts'
import { UNITS } from './schema.ts'
import { unitsOf, unpackLines } from './shapes.ts'

/** How many addresses of a box are read. More in such a small box are a mistake in the data. */
const MOST = 50_000

/** What an open place database knows about postal codes in a box. */
export class PostalCodeTables implements PostalCodes {
  readonly #points: Database.Statement
  readonly #lines: Database.Statement

  constructor(database: Database.Database) {
    const inBox = 'west <= ? AND east >= ? AND south <= ? AND north >= ?'
    const boxes = ['address_box_code', 'address_box_both'].map(
      (box) => `SELECT id FROM ${box} WHERE ${inBox}`,
    )
    this.#points = database.prepare(
      `SELECT x, y, label.text AS code FROM (${boxes.join(' UNION ALL ')}) JOIN address USING (id)
        JOIN label ON label.id = address.postalCode ORDER BY address.value, address.number, address.id LIMIT ${MOST}`,
    )
    this.#lines = database.prepare(
      `SELECT line, label.text AS code FROM (SELECT id FROM range_box WHERE ${inBox}) JOIN range USING (id)
        LEFT JOIN label ON label.id = range.postalCode ORDER BY range.id LIMIT ${MOST}`,
    )
  }

  points(box: Parameters<PostalCodes['points']>[0]): CodedPoint[] {
    const units = unitsOfBox(box)
    const rows = this.#points.all(...units, ...units) as { x: number; y: number; code: string }[]
    return rows.map(({ x, y, code }) => ({ x: x / UNITS, y: y / UNITS, code }))
  }

  lines(box: Parameters<PostalCodes['lines']>[0]): CodedLine[] {
    const rows = this.#lines.all(...unitsOfBox(box)) as { line: Buffer; code: string | null }[]
    return rows.map(({ line, code }) => ({
      line: unpackLines(line)[0] as Position[],
      code: code ?? undefined,
    }))
  }
}

function unitsOfBox({ west, south, east, north }: Parameters<PostalCodes['points']>[0]): number[] {
  return [east, west, north, south].map(unitsOf)
}
