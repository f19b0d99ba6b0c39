import type { ScopeId } from '../../model/scope.ts'
import type { ScopeTrips, SeenEntry, TripEntry } from './scopeTrips.ts'

/**
 * The trips that may be active: by externalId, so that only one active trip has it, and by user, so that updates find
 * the trips that they move. A trip's entry exists before the trip is active, and disappears after it has ended. So an
 * entry says what may be; the trip itself says what is.
 *
 * tripDirectory.ts implements it. All methods that change something must be called within {@link edit}.
 */
export interface TripNames {
  /** The revision of the registry that this process has seen. */
  readonly revision: number
  /** The names of a scope. */
  of(scope: ScopeId): Omit<ScopeTrips, 'put' | 'remove'>
  /** Makes an edit; see `EditLog`. */
  edit<T>(work: () => T): Promise<T>
  /**
   * The entry under a name, which becomes that of a new trip if there is none.
   * @param newId draws the `_id` of a new trip
   * @throws {ApiError} 400 if the user has too many active trips
   */
  reserve(scope: ScopeId, externalId: string, userId: string | undefined, newId: () => string): TripEntry
  /**
   * Says that a trip whose name was reserved is about to be created after all. Returns undefined if the name is free
   * again.
   */
  renew(scope: ScopeId, id: string): TripEntry | undefined
  /**
   * Gives a trip its name again, because it will be restarted. A process that was about to remove the entry of the
   * previous run no longer does.
   * @throws {ApiError} 400 if another active trip has it, or the user has too many
   */
  hold(scope: ScopeId, id: string, externalId: string, userId: string | undefined): void
  /**
   * Says that the updates of a user may move a trip.
   * @throws {ApiError} 400 if the user has too many active trips
   */
  assign(scope: ScopeId, id: string, userId: string | undefined): void
  /**
   * The trip is not active any more.
   * @param seen if present, the entry is removed only if it was not written since it had this version (`ScopeTrips.versionOf`)
   */
  release(scope: ScopeId, id: string, seen?: number): void
  /** The trip is about to be deleted. Its name is free, but not for tripOptions. */
  bury(scope: ScopeId, id: string, externalId: string): void
  /**
   * Removes these entries in one commit, as far as they were not written since they were seen. Each commit waits for the
   * disk, so removing many one by one takes long.
   * @param seen at most `MAX_CHANGES`
   */
  remove(seen: readonly SeenEntry[]): void
}
