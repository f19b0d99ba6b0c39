/** What was done for an update in turns with everything else, before it is applied. */
export interface Prepared {
  readonly isRead?: boolean
  readonly isWritten?: boolean
}

/** For callers that have everything done when the update is applied. */
export const NOTHING_BEFORE: Prepared = { isRead: true, isWritten: true }

/** What is not done yet must be done before. */
export function doneBefore(isDone: boolean | undefined): 'before' | undefined {
  return isDone === true ? undefined : 'before'
}
