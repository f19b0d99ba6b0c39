import { constants, setPriority } from 'node:os'

/**
 * Gives the calling thread a low priority: it runs when no thread of normal priority needs its processor. Threads whose
 * work can wait call it first, so that tracking does not wait for them. Only on Linux does a priority belong to a
 * thread; elsewhere it belongs to the whole process, so nothing happens there.
 */
export function lowerPriority(): void {
  if (process.platform !== 'linux') return
  try {
    setPriority(0, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // Some containers forbid it; then all threads are equal.
  }
}
