import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

/** The file of the build that says which sources it was made of. */
export const STAMP_FILE = 'stamp'

/** Names in the folder that are not sources. */
const OTHERS: ReadonlySet<string> = new Set(['node_modules'])
const FROM = /\bfrom '(\.[^'?\n]+)'/g

/**
 * A digest of everything that the dashboard is made of: its own sources, the modules elsewhere that they import, and
 * the versions of the packages, which are in the lock file. Two folders with the same stamp have the same build.
 * @param folder contains the sources
 */
export function sourceStamp(folder: string): string {
  const hash = createHash('sha256')
  for (const [path, content] of [...contentsOf(folder)].toSorted(([a], [b]) => (a < b ? -1 : 1)))
    hash
      .update(`${relative(folder, path)}\0`)
      .update(content)
      .update('\0')
  hash.update(readFileSync(join(folder, '..', 'package-lock.json')))
  return hash.digest('hex')
}

/** The content of each source, by its path. */
function contentsOf(folder: string): Map<string, Buffer> {
  const contents = new Map<string, Buffer>()
  const waiting = filesOf(folder, true)
  for (const path of waiting) {
    // A module that is missing is the fault of the build, which says so.
    if (contents.has(path) || !existsSync(path)) continue
    const content = readFileSync(path)
    contents.set(path, content)
    if (!/\.tsx?$/.test(path)) continue
    for (const name of importsOf(content.toString())) waiting.push(join(dirname(path), name))
  }
  return contents
}

/** The relative imports of a module that have an effect. Those of types alone leave nothing in a build. */
function importsOf(source: string): string[] {
  const names: string[] = []
  let end = 0
  for (const { 0: text, 1: name, index } of source.matchAll(FROM)) {
    // What lies between two names is looked at once, so the cost is in proportion to the module.
    const head = source.slice(end, index)
    const statement = head.slice(Math.max(head.lastIndexOf('import '), head.lastIndexOf('export ')))
    if (!/^(?:im|ex)port type\b/.test(statement) && /\.tsx?$/.test(name!)) names.push(name!)
    end = index + text.length
  }
  return names
}

function filesOf(folder: string, isTop = false): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (isTop && (OTHERS.has(entry.name) || entry.name.startsWith('dist'))) return []
    const path = join(folder, entry.name)
    return entry.isDirectory() ? filesOf(path) : [path]
  })
}
