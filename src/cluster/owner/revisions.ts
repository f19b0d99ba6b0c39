import { setTimeout as sleep } from 'node:timers/promises'

/** The pause between two checks. The registry's changes come within milliseconds, if they come at all. */
const LOOK_AGAIN_MS = 5
const GIVE_UP_MS = 5000

/** The registry of this process is older than the one with which others have evaluated. */
export class RegistryBehind extends Error {
  override readonly name = 'RegistryBehind'
}

/**
 * Resolves when the registry has reached the revision (G10).
 * @param ended aborted when nobody waits any more
 * @throws {RegistryBehind} if that takes long, or waiting has ended
 */
export async function revisionReached(
  registry: { readonly revision: number },
  revision: number,
  ended: AbortSignal,
): Promise<void> {
  const until = performance.now() + GIVE_UP_MS
  while (registry.revision < revision) {
    if (ended.aborted || performance.now() > until)
      throw new RegistryBehind(`The registry is at revision ${registry.revision}, and ${revision} is needed.`)
    await sleep(LOOK_AGAIN_MS)
  }
}
