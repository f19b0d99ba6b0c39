import type { ScopeId } from './scope.ts'

/** Which updates are counted. */
export interface CountQuestion {
  readonly scope: ScopeId
  /** In epoch milliseconds. */
  readonly from: number
  /** In epoch milliseconds, exclusive. */
  readonly to: number
  readonly stepMs: number
}

/** The numbers of updates in each interval. */
export interface CountedUpdates {
  /** The time since which they are complete, in epoch milliseconds. */
  readonly since: number
  readonly counts: readonly number[]
}

/** How many updates came, to this process or to all. */
export interface UpdateTotals {
  count(question: CountQuestion): Promise<CountedUpdates>
}
