/**
 * Where a host may die, or be stopped and continue later. For each operation on the streams: before the request
 * leaves, while it is on its way, once it is done and the answer is on its way, and once it is answered.
 * docs/protocol.md says what holds in each case.
 */
const OPERATIONS = ['claim', 'owner', 'commit', 'publish', 'purge', 'read'] as const
const MOMENTS = ['unsent', 'on its way', 'done', 'answered'] as const
const FATES = ['dies', 'stands still'] as const

export type Operation = (typeof OPERATIONS)[number]
export type Moment = (typeof MOMENTS)[number]
export type Fate = (typeof FATES)[number]
export type CrashPoint = readonly [Operation, Moment, Fate]

export const CRASH_POINTS: readonly CrashPoint[] = OPERATIONS.flatMap((operation) =>
  MOMENTS.flatMap((moment) => FATES.map((fate): CrashPoint => [operation, moment, fate])),
)

export function nameOf(point: CrashPoint): string {
  return point.join(', ')
}
