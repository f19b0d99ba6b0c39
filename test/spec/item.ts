/**
 * The interface, sentence by sentence, and the test that holds each. The tables beside this file name every endpoint,
 * parameter, field, rule and limit; `npm run coverage:spec` prints them, `coverage.test.ts` keeps them true.
 */

/** The part of the product that an item belongs to. */
export type Part =
  | 'tracking'
  | 'trips'
  | 'places and regions'
  | 'geocoding'
  | 'addresses'
  | 'routing'
  | 'sync'
  | 'fraud'

export interface Item {
  /** Where the interface says it: `POST /v1/track`, `Geofence`, `Limits`. */
  readonly section: string
  readonly name: string
  /** What it says, in short. */
  readonly says: string
  readonly part: Part
  /** Files below test/ with the title of a test in them, `e2e/geofences.test.ts: dwell`; none: missing. */
  readonly heldBy: readonly string[]
}

/** The tests of this folder, which run the tables of parameters and fields on a real server. */
export const CONFORMANCE = 'spec/conformance.test.ts'

/**
 * Reads a table of items, a line each: `name | what it says | test; test`. A section is headed `# section`, a part other
 * than tracking `# section (part)`.
 */
export function readItems(table: string): Item[] {
  const items: Item[] = []
  let section = ''
  let part: Part = 'tracking'
  for (const line of table.split('\n')) {
    if (line.trim() === '') continue
    const heading = /^# (.*?)(?: \(([a-z ]+)\))?$/.exec(line)
    if (heading !== null) {
      section = heading[1]!
      part = (heading[2] ?? 'tracking') as Part
      continue
    }
    const cells = line.split(' | ').map((cell) => cell.trim())
    if (cells.length < 2 || cells.length > 3) throw new Error(`${cells.length} cells: ${line}`)
    // Titles have semicolons of their own: a reference begins with a folder.
    const heldBy = (cells[2] ?? '').split(/; (?=\w+\/)/).filter((one) => one !== '')
    items.push({ section, name: cells[0]!, says: cells[1]!, part, heldBy })
  }
  return items
}
