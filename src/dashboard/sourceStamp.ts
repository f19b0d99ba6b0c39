import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The file of the build that says which sources it was made of. */
export const STAMP_FILE = 'stamp'

/** Names in the folder that are not sources. */
const OTHERS: ReadonlySet<string> = new Set(['dist', 'node_modules'])

/**
 * A digest of everything that the dashboard is made of: its own sources, and the versions of the packages, which are
 * in the lock file. Two folders with the same stamp have the same build.
 * @param folder contains the sources
 */
export function sourceStamp(folder: string): string {
  const hash = createHash('sha256')
  const add = (inner: string) => {
    const entries = readdirSync(join(folder, inner), { withFileTypes: true })
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = join(inner, entry.name)
      if (inner === '' && (OTHERS.has(entry.name) || entry.name.startsWith('dist'))) continue
      if (entry.isDirectory()) add(path)
      else
        hash
          .update(`${path}\0`)
          .update(readFileSync(join(folder, path)))
          .update('\0')
    }
  }
  add('')
  hash.update(readFileSync(join(folder, '..', 'package-lock.json')))
  return hash.digest('hex')
}
