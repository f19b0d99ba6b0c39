import fs from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const require = createRequire(import.meta.url)

/**
 * The folder in which a package is installed; undefined if it is not. Not every package exports its package.json or
 * its data.
 */
export function packageFolder(name: string): string | undefined {
  const paths = require.resolve.paths(name) ?? []
  return paths.map((path) => join(path, name)).find((path) => fs.existsSync(join(path, 'package.json')))
}

/**
 * The name and version of a package: `us-atlas 3.0.1`.
 * @param folder the folder of the package
 */
export function packageVersion(name: string, folder: string): string {
  const { version } = JSON.parse(fs.readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }
  return `${name} ${version}`
}
