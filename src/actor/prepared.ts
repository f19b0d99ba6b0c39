/** What was done for an update in turns with everything else, before it is applied. */
export interface Prepared {
  /** Whether its geofences were read. */
  readonly isRead?: boolean
  /** How many characters the geofence texts of its events have, by geofence id, once they were written. */
  readonly textLengths?: ReadonlyMap<string, number>
  /** Whether it has waited behind the updates of others. */
  readonly hasWaited?: boolean
}

/** For callers that have everything done when the update is applied. */
export const NOTHING_BEFORE: Prepared = { isRead: true, textLengths: new Map(), hasWaited: true }

/** What is not done yet must be done before. */
export function doneBefore(isDone: boolean | undefined): 'before' | undefined {
  return isDone === true ? undefined : 'before'
}
