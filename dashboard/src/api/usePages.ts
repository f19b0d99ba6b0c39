import { useEffect, useState } from 'preact/hooks'
import { CallFailure } from './call.ts'
import { useQuery, type Query } from './useQuery.ts'

/** A list that is shown from its beginning, a page at a time. */
export interface Pages<T> extends Query<readonly T[]> {
  readonly hasMore: boolean
  readonly isLoadingMore: boolean
  /** Adds the next page below. */
  more(): void
}

interface Page<T> {
  readonly rows: readonly T[]
  readonly hasMore: boolean
}

/**
 * Shows a list page by page.
 * @param key what the list depends on
 * @param ask for the page after the record with this `_id`
 */
export function usePages<T extends { readonly _id: string }>(
  key: string,
  ask: (before: string | undefined, signal?: AbortSignal) => Promise<Page<T>>,
  options?: { readonly everyMs?: number },
): Pages<T> {
  const first = useQuery(key, (signal) => ask(undefined, signal), options)
  const [rest, setRest] = useState<Page<T> | undefined>()
  const [isLoadingMore, setLoadingMore] = useState(false)
  const [failure, setFailure] = useState<CallFailure | undefined>()
  useEffect(() => setRest(undefined), [key, first.data])
  const rows = first.data && [...first.data.rows, ...(rest?.rows ?? [])]
  return {
    data: rows,
    failure: first.failure ?? failure,
    isLoading: first.isLoading,
    hasMore: (rest ?? first.data)?.hasMore ?? false,
    isLoadingMore,
    reload: first.reload,
    more() {
      setLoadingMore(true)
      setFailure(undefined)
      ask(rows?.at(-1)?._id)
        .then(
          (page) => setRest((now) => ({ rows: [...(now?.rows ?? []), ...page.rows], hasMore: page.hasMore })),
          (error: unknown) =>
            setFailure(error instanceof CallFailure ? error : new CallFailure(String(error), 0)),
        )
        .finally(() => setLoadingMore(false))
    },
  }
}
