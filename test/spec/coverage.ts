/**
 * `npm run coverage:spec [part]`: every endpoint, parameter, field, rule and limit of the interface, with the test
 * that enforces it, or "missing". A test counts if its file has a test with exactly that title.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CLIENT_ITEMS } from './clients.ts'
import { FIELD_ITEMS } from './fields.ts'
import { GEO_ITEMS } from './geo.ts'
import type { Item } from './item.ts'
import { PEOPLE_ITEMS } from './people.ts'
import { PARAMETER_ITEMS } from './parameters.ts'
import { ROUTING_ITEMS } from './routing.ts'
import { RULE_ITEMS } from './rules.ts'
import { TRIP_ITEMS } from './trips.ts'

const TESTS = join(import.meta.dirname, '..')

export const ITEMS: readonly Item[] = [
  ...RULE_ITEMS,
  ...PARAMETER_ITEMS,
  ...FIELD_ITEMS,
  ...ROUTING_ITEMS,
  ...GEO_ITEMS,
  ...PEOPLE_ITEMS,
  ...TRIP_ITEMS,
  ...CLIENT_ITEMS,
]

/** What is wrong with the tests that an item names; undefined if each of them exists. */
export function problemOf(item: Item): string | undefined {
  if (item.heldBy.length === 0) return 'missing'
  for (const reference of item.heldBy) {
    const colon = reference.indexOf(': ')
    const file = reference.slice(0, colon)
    const title = reference.slice(colon + 2)
    if (!existsSync(join(TESTS, file))) return `missing: there is no ${file}`
    if (!source(file).includes(`'${title}'`)) return `missing: ${file} has no test "${title}"`
  }
  return undefined
}

const sources = new Map<string, string>()

function source(file: string): string {
  let text = sources.get(file)
  if (text === undefined) sources.set(file, (text = readFileSync(join(TESTS, file), 'utf8')))
  return text
}

function print(items: readonly Item[]): void {
  let section = ''
  for (const item of items) {
    if (item.section !== section) {
      section = item.section
      console.log(`\n${section}${item.part === 'tracking' ? '' : `  (${item.part})`}`)
    }
    console.log(`  ${item.name}: ${item.says}`)
    console.log(`      ${problemOf(item) ?? item.heldBy.join('\n      ')}`)
  }
  const parts = [...new Set(items.map(({ part }) => part))]
  console.log()
  for (const part of parts) {
    const ofPart = items.filter((item) => item.part === part)
    const missing = ofPart.filter((item) => problemOf(item) !== undefined).length
    console.log(`${part}: ${ofPart.length - missing} of ${ofPart.length} held, ${missing} missing`)
  }
}

if (import.meta.main) {
  const part = process.argv[2]
  print(part === undefined ? ITEMS : ITEMS.filter((item) => item.part === part))
}
