import type { CommandCommit } from '../actor/command.ts'
import type { ScopeId } from '../model/scope.ts'

/** The name that was reserved for a trip that is about to be created. */
export interface Reservation {
  /** The revision of the registry at which the caller knew of it. */
  readonly revision: number
}

/**
 * Whether a name that was reserved for a trip has been taken back since, so that it may belong to another one.
 *
 * The obvious way lets a reservation end after some time. But one process writes the time, and another one reads it,
 * and with a machine whose clock is ahead, no trip could be created any more. The revisions of the registry are the
 * same everywhere. An owner who has seen as much as the caller knows whether the name is still reserved. One who has
 * not seen as much has not taken it back either, because only owners take back the names of trips that were never
 * created.
 */
export function isFreed(
  { registry }: CommandCommit,
  scope: ScopeId,
  id: string,
  { revision }: Reservation,
): boolean {
  return registry.revision >= revision && !registry.scope(scope).trips.hasName(id)
}
