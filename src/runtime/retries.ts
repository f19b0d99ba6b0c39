/** How what does not answer is asked again. */

export type Pause = (milliseconds: number) => Promise<unknown>

/** Between two attempts, growing from the first to the second. */
const RETRY_MS = 20
const MAX_RETRY_MS = 1000
const MAX_LEADER_MS = 200
/** Of a question, and of taking the partition, before it is given up. */
export const ATTEMPTS = 8

/** The answer to a question, which is asked again where there is none. */
export async function asked<T>(ask: () => Promise<T>, pause: Pause): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask()
    } catch (error) {
      if (attempt === ATTEMPTS) throw error
      await pause(retryMs(attempt))
    }
  }
}

/** As {@link retryMs}, where there is no leader: an attempt costs little, and everybody waits for the first that works. */
export function leaderMs(attempt: number): number {
  return Math.min(retryMs(attempt), MAX_LEADER_MS)
}

/** @param attempt that failed, from 1 */
export function retryMs(attempt: number): number {
  return Math.min(RETRY_MS * 2 ** (attempt - 1), MAX_RETRY_MS)
}
