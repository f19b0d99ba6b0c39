import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const MAKERS = ['world', 'placeDatabase', 'mapFile', 'records', 'text'].map((folder) =>
  fileURLToPath(new URL(`../../src/geo/${folder}/`, import.meta.url)),
)
const PACKAGES = fileURLToPath(new URL('../../package-lock.json', import.meta.url))

/** Where tests keep the world database that this version of the code has made. */
export const WORLD = fileURLToPath(
  new URL(`../../node_modules/.cache/ringfence-world/${version()}/`, import.meta.url),
)

/**
 * Makes the database, if no test has made it before. Otherwise the first question to each server would wait until that
 * server has made its own, which takes some seconds of a processor, and it would give up like any client.
 */
export async function makeWorld(): Promise<void> {
  // One of an earlier version is of no use to a server.
  const { WORLD_DATABASE_VERSION } = await import('../../src/geo/world/schema.ts')
  const begin = `world-${WORLD_DATABASE_VERSION}-`
  if (existsSync(WORLD) && readdirSync(WORLD).some((name) => name.startsWith(begin) && name.endsWith('.db')))
    return
  // Imported only if needed, because it loads the code that makes it.
  const { buildWorld, WorldMissing } = await import('../../src/geo/world/worldBuilder.ts')
  try {
    buildWorld(WORLD)
  } catch (error) {
    // Without the packages, servers report that themselves.
    if (!(error instanceof WorldMissing)) throw error
  }
}

/** Gives the world database to a server, if there is one. */
export function shareWorld(data: string): void {
  if (!existsSync(WORLD)) return
  const folder = join(data, 'world')
  mkdirSync(folder)
  for (const name of readdirSync(WORLD)) symlinkSync(join(WORLD, name), join(folder, name))
}

/** A text that changes when the code or the packages that make it change. */
function version(): string {
  const hash = createHash('sha256').update(readFileSync(PACKAGES))
  for (const folder of MAKERS)
    for (const name of readdirSync(folder).toSorted())
      hash.update(name).update(readFileSync(join(folder, name)))
  return hash.digest('hex').slice(0, 16)
}
