import { useEffect, useRef, useState } from 'preact/hooks'
import { CallFailure } from './call.ts'
import { environment } from './environment.ts'

/** A question to the server, as a page sees it. The last answer stays while the question is asked again. */
export interface Query<T> {
  readonly data: T | undefined
  readonly failure: CallFailure | undefined
  readonly isLoading: boolean
  /** Asks again. */
  reload(): void
}

interface State<T> {
  readonly key: string
  readonly data: T | undefined
  readonly failure: CallFailure | undefined
  readonly isLoading: boolean
}

/**
 * Asks when the page is shown, and again when the key or the environment changes.
 * @param key what the question depends on
 * @param everyMs asks again after this time, while the page is visible
 */
export function useQuery<T>(
  key: string,
  ask: (signal: AbortSignal) => Promise<T>,
  { everyMs }: { readonly everyMs?: number } = {},
): Query<T> {
  const whole = `${environment.value} ${key}`
  const [state, setState] = useState<State<T>>({
    key: whole,
    data: undefined,
    failure: undefined,
    isLoading: true,
  })
  const [round, setRound] = useState(0)
  const latest = useRef(ask)
  latest.current = ask

  useEffect(() => {
    const stop = new AbortController()
    // An answer for another environment or another record must not be shown, not even for a moment.
    setState((before) =>
      before.key === whole
        ? { ...before, isLoading: true }
        : { key: whole, data: undefined, failure: undefined, isLoading: true },
    )
    latest.current(stop.signal).then(
      (data) => {
        if (!stop.signal.aborted) setState({ key: whole, data, failure: undefined, isLoading: false })
      },
      (error: unknown) => {
        if (stop.signal.aborted) return
        const failure = error instanceof CallFailure ? error : new CallFailure(String(error), 0)
        setState((before) => ({ ...before, key: whole, failure, isLoading: false }))
      },
    )
    return () => stop.abort()
  }, [whole, round])

  useEffect(() => {
    if (everyMs === undefined) return undefined
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') setRound((now) => now + 1)
    }, everyMs)
    return () => clearInterval(timer)
  }, [everyMs])

  const isCurrent = state.key === whole
  return {
    data: isCurrent ? state.data : undefined,
    failure: isCurrent ? state.failure : undefined,
    isLoading: !isCurrent || state.isLoading,
    reload: () => setRound((now) => now + 1),
  }
}
