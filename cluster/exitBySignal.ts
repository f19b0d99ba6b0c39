const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * From now on, a signal that asks this process to end makes it exit. Without that it would end at once, and without
 * its handlers of `exit`, which kill the processes that it has started and remove their folders. The same signal may come twice, from the
 * terminal and from the parent, so the handler stays: without one, the second would end it amid those of `exit`.
 */
export function exitBySignal(): void {
  for (const signal of SIGNALS) process.on(signal, () => process.exit(130))
}
