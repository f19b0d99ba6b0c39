import type { ScopeId } from '../model/scope.ts'

/**
 * What an update has done to the trips of its device, for the code that answers it.
 *
 * tripDispatcher.ts implements it in the embedded engine. In the distributed engine, remoteOutcomes.ts asks the owner
 * of the device's partition.
 */
export interface FeedOutcomes {
  /**
   * Waits for the outcome, but not long. After {@link OUTCOME_MS}, it is what the device saw last.
   * @returns undefined if nobody remembers, or if what the device saw last is the present trip
   * @throws {ApiError} 503 if the device has not seen anything yet
   */
  of(question: FeedQuestion): Promise<FeedOutcome | undefined>
}

/** An update of which trips were informed. */
export interface FeedQuestion {
  readonly scope: ScopeId
  readonly deviceId: string
  /**
   * The number of the row in its partition's feed. If it is negative or 0, the device's last row is meant, and its
   * absolute value is how many rows there were.
   */
  readonly number: number
}

/** The outcome. Its texts are finished JSON. */
export interface FeedOutcome {
  /** The member `user.trip`; null if it is absent. */
  readonly trip: string | null
  /** The events of its trips, in order. */
  readonly events: readonly string[]
}

/** The outcome of a row that was told. */
export interface ToldRow extends FeedOutcome {
  /**
   * Whether no trip remembers the row, or not each one that it concerns, for instance because a trip has ended. Such a
   * row must be acknowledged before anybody knows the outcome. Otherwise, a trip that begins after the answer could be
   * moved by the row when it is told again.
   */
  readonly isInVain?: boolean
}

/** How long an answer waits for the trips of its device. */
export const OUTCOME_MS = 2000
