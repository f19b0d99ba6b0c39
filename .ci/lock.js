/**
 * Runs after every npm command that installs (package.json, "postinstall" and "dependencies") and restores in
 * package-lock.json what npm drops from it.
 *
 * better-sqlite3 carries its binaries and says `"gypfile": false`: do not build. npm forgets that on its way into the
 * lock file, and npm 10, which comes with Node 20 and 22, then runs node-gyp, which fails where there is no Python.
 * npm honours the line when it stands in the lock file, but removes it when it writes the file anew.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'

const path = new URL('../package-lock.json', import.meta.url)
if (existsSync(path)) {
  const text = readFileSync(path, 'utf8')
  const lock = JSON.parse(text)
  const entry = lock.packages['node_modules/better-sqlite3']
  entry.gypfile = false
  delete entry.hasInstallScript
  const restored = `${JSON.stringify(lock, null, 2)}\n`
  if (restored !== text) writeFileSync(path, restored)
}
