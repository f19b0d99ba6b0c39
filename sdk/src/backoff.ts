/**
 * How long to wait before a new attempt: exponential with full jitter, so that those who failed together do not come
 * back together (Brooker, "Exponential Backoff and Jitter", AWS 2015).
 * @param attempt counts from 0
 * @returns milliseconds
 */
export function backoffMs(attempt: number, baseMs: number, capMs: number): number {
  return Math.random() * Math.min(capMs, baseMs * 2 ** attempt)
}

/**
 * Waits.
 * @throws the signal's reason, at once when it aborts
 */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason as Error)
      return
    }
    const abort = () => {
      clearTimeout(timer)
      reject(signal?.reason as Error)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', abort, { once: true })
  })
}
