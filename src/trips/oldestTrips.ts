import type { ScopeId } from '../model/scope.ts'

/**
 * When the oldest active trip of each scope began, so that trips are looked through only where one may be due.
 *
 * The obvious way looks at each trip of a partition each second, nearly always for nothing. Keeping trips in the order of
 * their beginning would need a heap, which each change of a status would rearrange. Here one time is kept for each scope.
 * It may be too early after its trip has ended. The next look at all trips corrects it.
 *
 * Invariants
 * - OLDEST-1: No active trip of a scope began before the scope's time.
 */
export class OldestTrips {
  readonly #times = new Map<ScopeId, number>()

  /** An active trip began at a time, in epoch milliseconds. */
  add(scope: ScopeId, time: number): void {
    const oldest = this.#times.get(scope)
    if (oldest === undefined || time < oldest) this.#times.set(scope, time)
  }

  /**
   * Whether a trip of any scope may have begun at the time from which the scope's trips are due, or before.
   * @param dueBefore that time in epoch milliseconds; −Infinity if the trips of the scope never are due
   */
  mayBeDue(dueBefore: (scope: ScopeId) => number): boolean {
    for (const [scope, time] of this.#times) if (time <= dueBefore(scope)) return true
    return false
  }

  /** Forgets all. To be called before all active trips are added again. */
  clear(): void {
    this.#times.clear()
  }
}
