/** Resolves when the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}

/**
 * The outcome of a promise, unless the signal is aborted before it.
 * @throws the reason of the signal
 */
export function unlessAborted<T>(outcome: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const isAborted = () => reject(signal.reason as Error)
    if (signal.aborted) isAborted()
    else signal.addEventListener('abort', isAborted, { once: true })
    outcome.then(resolve, reject).finally(() => signal.removeEventListener('abort', isAborted))
  })
}
