import { constants, setPriority } from 'node:os'

/**
 * Lets the calling thread run when no thread of normal priority wants its processor: tracking does not wait for work
 * that can. Called first by the threads of such work. On Linux a priority belongs to a thread, elsewhere to the whole
 * process, so nothing happens there.
 */
export function runBehindTracking(): void {
  if (process.platform === 'linux') setPriority(0, constants.priority.PRIORITY_BELOW_NORMAL)
}
