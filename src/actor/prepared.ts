/** What was done for an update in turns with everything else, before it is applied. */
export interface Prepared {
  /** Whether its geofences were read. */
  readonly isRead?: boolean
  /** Whether the geofence texts of its events were written. */
  readonly isWritten?: boolean
  /** Whether it has waited behind the updates of others. */
  readonly hasWaited?: boolean
}

/** For callers that have everything done when the update is applied. */
export const NOTHING_BEFORE: Prepared = { isRead: true, isWritten: true, hasWaited: true }

/** What is not done yet must be done before. */
export function doneBefore(isDone: boolean | undefined): 'before' | undefined {
  return isDone === true ? undefined : 'before'
}
