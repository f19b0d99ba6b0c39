import { retry, type Pause, type RetryPauses } from '../../runtime/retry.ts'

/** How the servers are asked again where they do not answer. */
export const PAUSES: RetryPauses = { firstMs: 20, lastMs: 1000 }
/** Where there is no leader an attempt costs little, and everybody waits for the first that works. */
export const MAX_LEADER_MS = 200
/** Of a question, and of taking the partition, before it is given up. */
export const ATTEMPTS = 8

/** The answer to a question. */
export function asked<T>(ask: () => Promise<T>, pause: Pause): Promise<T> {
  return retry(ask, { pauses: PAUSES, attempts: ATTEMPTS, pause })
}
