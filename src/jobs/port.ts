/**
 * Work that the server does by itself, without a request.
 *
 * Implemented beside the data that it works on: the dates of geofences and the areas of isochrones
 * (registry/geofences), snapshots, packing and retention (actor/housekeeping.ts). Run by {@link Jobs} (jobs.ts).
 */

/** Work that is due from time to time. */
export interface Job {
  /** Identifies it in log lines, in metrics, and as the name of its lease. Lower-case letters and hyphens. */
  readonly name: string
  /**
   * True: of all processes with the same registry, one at a time does it, under a lease. False: each process does it
   * for its own data.
   */
  readonly isShared: boolean
  /** Whether this process could do a shared job now; while it could not, it leaves the lease to others. Absent: yes. */
  isAble?(): boolean
  /**
   * Called when this process begins to do the job.
   * @param wake to be called when the result of {@link dueAt} may be earlier than before
   * @returns called when this process no longer does the job
   */
  begin?(wake: () => void): () => void
  /**
   * When it must run next, in epoch milliseconds; a time in the past: now; Infinity: not until {@link begin}'s `wake`.
   * @param lastEnd when its last run ended without a failure; undefined before the first in this process
   */
  dueAt(lastEnd: number | undefined): number
  /**
   * Does what is due, or a part of it. Must end soon after the signal. If it rejects, it runs again after a pause,
   * which grows with each failure.
   */
  run(signal: AbortSignal): Promise<void>
}

/** {@link Job.dueAt} of a job that runs at the start, and again after this time since each of its runs. */
export function every(milliseconds: number): Job['dueAt'] {
  return (lastEnd) => (lastEnd === undefined ? 0 : lastEnd + milliseconds)
}

/** The work of the holder of a lease. */
export interface LeaseHolder {
  /** Called each time that the lease was taken. If it rejects, the lease is released, and taken again later. */
  begin(): Promise<void>
  /** Called after each {@link begin}, whether that resolved or not: the lease is given up, or was lost. */
  end(): Promise<void>
}

/**
 * Competes for the right to do work that one process at a time may do.
 * Technologies: jetStreamLease.ts in cluster/ownership; {@link aloneWith} where there is one process.
 * @param isAble while it returns false, the lease is left to others
 * @returns `end` gives it up, or stops waiting for it
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
