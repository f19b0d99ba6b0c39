/**
 * `npm run coverage:spec [part]`: every endpoint, parameter, field, rule and limit of the interface, with the tests
 * that enforce it. An item is held if all of them passed when they last ran in this clone (`test/kit/testRecord.ts`).
 * It is "not run" if one of them has not passed since its file was changed, and "missing" if one does not exist.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ranGreen, readRecord, type TestRecord } from '../kit/testRecord.ts'
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

/**
 * What follows the title of a test whose function has no parameter. It can only throw, and TAP shows a test without assertions
 * like one that was skipped, so it is never recorded as passed.
 */
const TAKES_NO_T = /^,\s*(?:async )?\(\) =>/

/** What is wrong with the tests that an item names; undefined if each of them exists. */
export function problemOf(item: Item): string | undefined {
  if (item.heldBy.length === 0) return 'missing'
  for (const { file, title } of item.heldBy.map(testOf)) {
    if (!existsSync(join(TESTS, file))) return `missing: there is no ${file}`
    const [, rest] = source(file).split(`'${title}'`)
    if (rest === undefined) return `missing: ${file} has no test "${title}"`
    if (TAKES_NO_T.test(rest)) return `missing: the test "${title}" of ${file} asserts nothing`
  }
  return undefined
}

/** The tests of an item that have not passed since their files were changed, by their files. */
export function notRun(item: Item, record: TestRecord): string[] {
  const tests = item.heldBy.map(testOf)
  return tests.filter(({ file, title }) => !ranGreen(record, `test/${file}`, title)).map(({ file }) => file)
}

function testOf(reference: string): { file: string; title: string } {
  const colon = reference.indexOf(': ')
  return { file: reference.slice(0, colon), title: reference.slice(colon + 2) }
}

const sources = new Map<string, string>()

function source(file: string): string {
  let text = sources.get(file)
  if (text === undefined) sources.set(file, (text = readFileSync(join(TESTS, file), 'utf8')))
  return text
}

function print(items: readonly Item[], record: TestRecord): void {
  let section = ''
  for (const item of items) {
    if (item.section !== section) {
      section = item.section
      console.log(`\n${section}${item.part === 'tracking' ? '' : `  (${item.part})`}`)
    }
    console.log(`  ${item.name}: ${item.says}`)
    const waiting = notRun(item, record).map((file) => `\n      not run: npm test -- ${file}`)
    console.log(`      ${problemOf(item) ?? item.heldBy.join('\n      ') + waiting.join('')}`)
  }
  const parts = [...new Set(items.map(({ part }) => part))]
  console.log()
  for (const part of parts) {
    const ofPart = items.filter((item) => item.part === part)
    const missing = ofPart.filter((item) => problemOf(item) !== undefined).length
    const waiting = ofPart.filter((item) => problemOf(item) === undefined && notRun(item, record).length > 0)
    const held = ofPart.length - missing - waiting.length
    console.log(`${part}: ${held} of ${ofPart.length} held, ${waiting.length} not run, ${missing} missing`)
  }
}

if (import.meta.main) {
  const part = process.argv[2]
  print(part === undefined ? ITEMS : ITEMS.filter((item) => item.part === part), readRecord())
}
