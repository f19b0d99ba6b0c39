import type { ScopeId } from '../model/scope.ts'

/**
 * What an update has done to the trips of its device, for whoever answers it.
 *
 * Embedded technology: tripDispatcher.ts. Distributed: remoteOutcomes.ts asks the owner of the device's partition.
 */
export interface FeedOutcomes {
  /**
   * Waits for it, but not long: after {@link OUTCOME_MS} it is what the device saw last.
   * @returns undefined if nobody remembers
   * @throws {ApiError} 503 if the device has not seen anything yet
   */
  of(question: FeedQuestion): Promise<FeedOutcome | undefined>
}

/** An update of which trips were informed. */
export interface FeedQuestion {
  readonly scope: ScopeId
  readonly deviceId: string
  /** The number of the row in its partition's feed; negative or 0: the device's last, of as many rows as there were. */
  readonly number: number
}

/** Texts are finished JSON. */
export interface FeedOutcome {
  /** `user.trip`; null if it is absent. */
  readonly trip: string | null
  /** The events of its trips, in order. */
  readonly events: readonly string[]
}

/** What became of a row that was told. */
export interface ToldRow extends FeedOutcome {
  /**
   * No trip remembers it, or not each that it concerns: a trip that has ended, for example, does not. So it must be
   * acknowledged before anybody knows the outcome. Otherwise a trip that is begun after the answer could be moved by
   * the row when it is told again.
   */
  readonly isInVain?: boolean
}

/** How long an answer waits for the trips of its device. */
export const OUTCOME_MS = 2000
