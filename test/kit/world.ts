import { existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Where tests keep the world database that they have made. */
export const WORLD = fileURLToPath(new URL('../../node_modules/.cache/ringfence-world/', import.meta.url))

/**
 * Makes it, if no test has made it before. Otherwise the first question to each server would wait until it has made its
 * own, which takes some seconds of a processor, and as a client would it gives up.
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
    // Without its packages, servers say so.
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
