import { retry, type Pause, type RetryPauses } from '../../runtime/retry.ts'

/** Pauses after which servers that do not answer are asked again. */
export const PAUSES: RetryPauses = { firstMs: 20, lastMs: 1000 }
/** Without a leader an attempt costs little, and everybody waits for the first one that works. */
export const MAX_LEADER_MS = 200
/** Attempts of a question, and of taking the partition. */
export const ATTEMPTS = 8

/** The answer to a question. */
export function asked<T>(ask: () => Promise<T>, pause: Pause): Promise<T> {
  return retry(ask, { pauses: PAUSES, attempts: ATTEMPTS, pause })
}
