/**
 * Remembers which tests of this clone passed when they last ran, so that `npm run coverage:spec` counts only those.
 * A record belongs to the text of its test file: a file that was changed has not run.
 */
import { hash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Parser } from 'tap-parser'

const ROOT = join(import.meta.dirname, '..', '..')
const RECORD = join(ROOT, 'node_modules', '.cache', 'ringfence-tests.json')

/** What is known of one test file. */
interface FileRecord {
  /** SHA-256 of its text. */
  readonly text: string
  /** The titles of its tests that passed. */
  readonly green: readonly string[]
  /** How long it took. */
  readonly seconds?: number
}

/** By path from the root of the repository, such as `test/e2e/tracking.test.ts`. */
export type TestRecord = Readonly<Record<string, FileRecord>>

/**
 * Calls `add` with the title of each test that passes, at any depth. A test in which something was skipped did not
 * pass.
 */
export function onGreen(parser: Parser, add: (title: string) => void): void {
  parser.on('child', (child: Parser) => {
    onGreen(child, add)
    child.on('complete', ({ ok, skip, count }: { ok: boolean; skip: number; count: number }) => {
      if (ok && skip === 0 && count > 0) add(child.name)
    })
  })
}

/** Adds the results of test files to the record. Results of other files stay. */
export function recordGreen(
  results: readonly {
    readonly path: string
    readonly green: ReadonlySet<string>
    readonly seconds: number
  }[],
): void {
  const record: Record<string, FileRecord> = { ...readRecord() }
  for (const { path, green, seconds } of results)
    record[path] = {
      text: recordHash(path),
      green: [...green].toSorted(),
      seconds: Math.round(10 * seconds) / 10,
    }
  mkdirSync(dirname(RECORD), { recursive: true })
  // Written beside it and renamed, so that nobody reads half of it.
  const draft = `${RECORD}.${process.pid}`
  writeFileSync(draft, `${JSON.stringify(record, null, 1)}\n`)
  renameSync(draft, RECORD)
}

/** Reads what is known; nothing before the first run. */
export function readRecord(): TestRecord {
  try {
    return JSON.parse(readFileSync(RECORD, 'utf8')) as TestRecord
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw error
  }
}

/**
 * Whether a test passed when its file, as it is now, last ran.
 * @param path from the root of the repository
 */
export function ranGreen(record: TestRecord, path: string, title: string): boolean {
  const known = record[path]
  return known !== undefined && known.text === recordHash(path) && known.green.includes(title)
}

const hashes = new Map<string, string>()

/** SHA-256 of the text of a file. @param path from the root of the repository */
export function recordHash(path: string): string {
  let text = hashes.get(path)
  if (text === undefined) hashes.set(path, (text = hash('sha256', readFileSync(join(ROOT, path)))))
  return text
}
