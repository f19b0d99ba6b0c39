import type { Outcome } from '../../actor/port.ts'

/** In place of a result that is too large for a reply. */
export class LargeResult {
  /** The process that keeps it. */
  readonly process: string
  readonly id: number
  readonly hasEvents: boolean
  /** Undefined if the gateway has to fetch it. */
  readonly user: string | undefined
  readonly repeated: boolean
  readonly verdict: Outcome['verdict']
  readonly feed: number | undefined

  constructor(parts: Readonly<LargeResult>) {
    this.process = parts.process
    this.id = parts.id
    this.hasEvents = parts.hasEvents
    this.user = parts.user
    this.repeated = parts.repeated
    this.verdict = parts.verdict
    this.feed = parts.feed
  }
}

const LARGE = 2

/** Within a reply: partitionProtocol.ts. */
export type LargeRow = readonly [
  kind: typeof LARGE,
  process: string,
  id: number,
  hasEvents: boolean,
  user: Nil<string>,
  repeated: 0 | 1,
  passed: Nil<boolean>,
  failureReasons: Nil<readonly string[]>,
  feed: Nil<number>,
]

type Nil<T> = T | null | undefined

export function isLargeRow(row: readonly unknown[]): row is LargeRow {
  return row[0] === LARGE
}

export function largeRow({ process, id, hasEvents, user, repeated, verdict, feed }: LargeResult): LargeRow {
  const known = repeated ? 1 : 0
  return [LARGE, process, id, hasEvents, user, known, verdict?.passed, verdict?.failureReasons, feed]
}

export function largeOf([
  ,
  process,
  id,
  hasEvents,
  user,
  known,
  passed,
  reasons,
  feed,
]: LargeRow): LargeResult {
  return new LargeResult({
    process,
    id,
    hasEvents,
    user: user ?? undefined,
    repeated: known === 1,
    verdict: typeof passed === 'boolean' ? { passed, failureReasons: reasons ?? [] } : undefined,
    feed: feed ?? undefined,
  })
}
