import { existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Where the tests of geocoding keep the world database that they have made. */
export const WORLD = fileURLToPath(new URL('../../node_modules/.cache/ringfence-world/', import.meta.url))

/** Gives the world database to a server, if there is one, because each would take some seconds to make its own. */
export function shareWorld(data: string): void {
  if (!existsSync(WORLD)) return
  const folder = join(data, 'world')
  mkdirSync(folder)
  for (const name of readdirSync(WORLD)) symlinkSync(join(WORLD, name), join(folder, name))
}
