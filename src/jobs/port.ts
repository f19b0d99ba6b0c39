/**
 * Work that the server does by itself, without a request.
 *
 * A job is implemented beside the data that it works on, and the composition root adds it to {@link Jobs} (jobs.ts),
 * which runs them all.
 */

/** Work that is due from time to time. */
export interface Job {
  /**
   * A name that identifies the job in log lines and metrics, and is the name of its lease. It has lower-case letters
   * and hyphens.
   */
  readonly name: string
  /**
   * If this is true, one at a time of all processes with the same registry does the job, under a lease. If it is
   * false, each process does it for its own data.
   */
  readonly isShared: boolean
  /**
   * Whether this process could do a shared job now. While it could not, it leaves the job to others. If absent, it
   * always can.
   */
  isAble?(): boolean
  /**
   * Called when this process begins to do the job.
   * @param wake to be called when the result of {@link dueAt} may be earlier than before
   * @returns called when this process no longer does the job
   */
  begin?(wake: () => void): () => void
  /**
   * When the job must run next, in epoch milliseconds. A time in the past means now, and Infinity means not before
   * {@link begin}'s `wake` is called.
   * @param lastEnd when its last run ended without a failure; undefined before the first run in this process
   */
  dueAt(lastEnd: number | undefined): number
  /**
   * Does what is due, or a part of it. Must end soon after the signal. If it rejects, it runs again after a pause,
   * which grows with each failure.
   */
  run(signal: AbortSignal): Promise<void>
}

/** A {@link Job.dueAt} for a job that runs at the start, and again this long after each of its runs. */
export function every(milliseconds: number): Job['dueAt'] {
  return (lastEnd) => (lastEnd === undefined ? 0 : lastEnd + milliseconds)
}

/** The work of the holder of a lease. */
export interface LeaseHolder {
  /** Called each time that the lease was taken. If it rejects, the lease is released, and taken again later. */
  begin(): Promise<void>
  /** Called after each {@link begin}, whether that resolved or not, because the lease is given up or was lost. */
  end(): Promise<void>
}

/**
 * Competes for the right to do work that one process at a time may do. jetStreamLease.ts in cluster/ownership
 * implements it, and {@link aloneWith} where there is only one process.
 * @param isAble while it returns false, the lease is left to others
 * @returns `end` gives the lease up, or stops waiting for it
 */
export type OpenLease<L extends Pick<LeaseHolder, 'end'> = Pick<LeaseHolder, 'end'>> = (
  name: string,
  holder: LeaseHolder,
  isAble?: () => boolean,
) => Promise<L>

/** Leases of the only process of a data folder: it always has them. */
export const aloneWith: OpenLease = async (_name, holder) => {
  await holder.begin()
  return holder
}
