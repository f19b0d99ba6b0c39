/** The lock file is one that `npm ci` accepts, on every platform. */
import { readFileSync } from 'node:fs'
import tap from 'tap'

interface Entry {
  readonly integrity?: string
  readonly link?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

const FOLDER = 'node_modules/'
const text = readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8')
const packages = new Map(
  Object.entries((JSON.parse(text) as { packages: Readonly<Record<string, Entry>> }).packages),
)

// If the registry does not have the requested version of a package yet, npm silently leaves it out of the lock file.
// Usually these are the binaries for other platforms. `npm ci` then refuses the lock file. docs/dependencies.md says
// what to do.
tap.test('every package that another one requires is in the lock file, for all platforms', (t) => {
  const missing: string[] = []
  for (const [place, { dependencies, optionalDependencies }] of packages) {
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies }))
      if (!isFound(name, place)) missing.push(`${name}, which ${place} names`)
  }
  t.same(missing, [])
  t.end()
})

tap.test('every package has the hash of its contents, and no address of a registry', (t) => {
  const bare = [...packages].filter(
    ([place, { integrity, link }]) => place.includes(FOLDER) && link !== true && integrity === undefined,
  )
  t.same(bare, [])
  t.notMatch(text, /"resolved": "http/)
  t.end()
})

/** Searches like Node: in the folder beside the requesting package, then further up. */
function isFound(name: string, place: string): boolean {
  for (let folder = place; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf(FOLDER) - 1))) {
    if (packages.has(`${folder === '' ? '' : `${folder}/`}${FOLDER}${name}`)) return true
    if (folder === '') return false
  }
}
