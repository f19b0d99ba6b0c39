import type { ScopeId } from './scope.ts'

/** Which updates are counted. */
export interface CountQuestion {
  readonly scope: ScopeId
  /** Epoch milliseconds. */
  readonly from: number
  /** Exclusive. */
  readonly to: number
  readonly stepMs: number
}

/** The numbers of updates in each interval. */
export interface CountedUpdates {
  /** Epoch milliseconds since when they are complete. */
  readonly since: number
  readonly counts: readonly number[]
}

/** How many updates came, to this process or to all. */
export interface UpdateTotals {
  count(question: CountQuestion): Promise<CountedUpdates>
}
