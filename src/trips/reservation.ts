import type { CommandCommit } from '../actor/command.ts'
import type { ScopeId } from '../model/scope.ts'

/** The name that was reserved for a trip that is to be made. */
export interface Reservation {
  /** The registry's revision at which whoever asks knew of it. */
  readonly revision: number
}

/**
 * Whether a name that was reserved for a trip has been taken back since, so that it may be somebody else's.
 *
 * The obvious way lets a reservation end after some time. But one process writes the time, and another reads it, and
 * on a machine whose clock is ahead no trip could be made any more. The revisions of the registry are the same
 * everywhere: an owner who has seen as much as whoever asks knows whether the name is still there. One who has not
 * seen as much has not taken it back either, because only owners take back names of trips that were never made.
 */
export function isFreed(
  { registry }: CommandCommit,
  scope: ScopeId,
  id: string,
  { revision }: Reservation,
): boolean {
  return registry.revision >= revision && !registry.scope(scope).trips.hasName(id)
}
