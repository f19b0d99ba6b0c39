/**
 * The interface, sentence by sentence, with the test that enforces each. The tables beside this file name every
 * endpoint, parameter, field, rule and limit. `npm run coverage:spec` prints them, and `coverage.test.ts` checks
 * them.
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
  | 'people'
  | 'clients'

export interface Item {
  /** The place in the interface: `POST /v1/track`, `Geofence`, `Limits`. */
  readonly section: string
  readonly name: string
  /** A short form of what it says. */
  readonly says: string
  readonly part: Part
  /**
   * Files below test/, each with the title of a test in it, such as `e2e/geofences.test.ts: dwell`. If empty, the
   * test is missing.
   */
  readonly heldBy: readonly string[]
}

/** The tests of this folder, which run the tables of parameters and fields on a real server. */
export const CONFORMANCE = 'spec/conformance.test.ts'

/**
 * Reads a table of items, one per line: `name | what it says | test; test`. A section begins with `# section`, or
 * with `# section (part)` for a part other than tracking.
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
    // Titles may contain semicolons. A reference begins with a folder.
    const heldBy = (cells[2] ?? '').split(/; (?=\w+\/)/).filter((one) => one !== '')
    items.push({ section, name: cells[0]!, says: cells[1]!, part, heldBy })
  }
  return items
}
