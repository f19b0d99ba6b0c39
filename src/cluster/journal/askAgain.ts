import { retry, type Pause, type RetryPauses } from '../../runtime/retry.ts'

/** The pauses before servers that do not answer are asked again. */
export const PAUSES: RetryPauses = { firstMs: 20, lastMs: 1000 }
/**
 * The longest pause while there is no leader. An attempt costs little then, and everybody waits for the first one that
 * works.
 */
export const MAX_LEADER_MS = 200
/** How often a question, or taking the partition, is tried. */
export const ATTEMPTS = 8

/** Asks until there is an answer, and returns it. */
export function asked<T>(ask: () => Promise<T>, pause: Pause): Promise<T> {
  return retry(ask, { pauses: PAUSES, attempts: ATTEMPTS, pause })
}
