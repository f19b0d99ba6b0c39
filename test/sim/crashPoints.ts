/**
 * Where a host may die, or stand still and go on: at each thing that it asks of the streams, before that leaves, while it is
 * on its way, once it is done and the answer is on its way, and once it is answered. docs/protocol.md says for each
 * what then holds.
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
