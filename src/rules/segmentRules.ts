import type { Metadata } from '../model/metadata.ts'
import type { Place } from '../model/place.ts'
import type { EventCondition, EventCount, UserSegment, SegmentRule } from '../model/segment.ts'

/**
 * Whether a user meets the rule of a segment. Pure.
 *
 * Owns: the meaning of each condition. Does not own: counting, and when it is done (segments.ts).
 */
const DAY_MS = 86_400_000

/** A user after an update. */
export interface SegmentUser {
  /** The time t, in epoch milliseconds. */
  readonly time: number
  readonly metadata: Metadata | undefined
  readonly country: string | undefined
  readonly state: string | undefined
  /** The place that the user is in. */
  readonly place: Pick<Place, 'chain' | 'categories'> | undefined
  /** Whether the user is in a geofence with this tag, and with this externalId if there is one. */
  isInside(tag: string, externalId: string | undefined): boolean
}

/** A condition that counts events, and where its count is stored. */
export interface Counter {
  readonly segment: number
  readonly condition: number
  readonly event: EventCondition
}

/** The result of a rule at one time. */
interface Verdict {
  readonly isMember: boolean
  /** The last time t at which the result is the same if nothing else happens. */
  readonly until: number
}

/** Whether a rule has a condition of that kind. */
export function asksFor(rule: SegmentRule, kind: ConditionKind): boolean {
  if ('all' in rule) return rule.all.some((one) => asksFor(one, kind))
  if ('any' in rule) return rule.any.some((one) => asksFor(one, kind))
  if ('not' in rule) return asksFor(rule.not, kind)
  return kind in rule
}

type ConditionKind = 'metadata' | 'country' | 'state' | 'geofence' | 'chain' | 'category' | 'event'

/** The conditions of a segment that count events, in the order in which they are written. */
export function countersOf({ number, rule }: UserSegment): Counter[] {
  return eventsIn(rule).map((event, condition) => ({ segment: number, condition, event }))
}

function eventsIn(rule: SegmentRule): EventCondition[] {
  if ('all' in rule) return rule.all.flatMap(eventsIn)
  if ('any' in rule) return rule.any.flatMap(eventsIn)
  if ('not' in rule) return eventsIn(rule.not)
  return 'event' in rule ? [rule.event] : []
}

/**
 * Decides whether a user meets a segment's rule.
 * @param counts those of the user, for any segments
 */
export function judgeSegment(
  { number, rule }: UserSegment,
  user: SegmentUser,
  counts: readonly EventCount[],
): Verdict {
  let until = Infinity
  let condition = 0
  // Every condition is evaluated, because the limit and the indexes of the counters need all of them.
  const holds = (one: SegmentRule): boolean => {
    if ('all' in one) return one.all.map(holds).every(Boolean)
    if ('any' in one) return one.any.map(holds).some(Boolean)
    if ('not' in one) return !holds(one.not)
    if (!('event' in one)) return meets(one, user)
    const place = condition++
    const count = counts.find((other) => other.segment === number && other.condition === place)
    const lasts = lastsUntil(one.event, count?.times ?? [])
    if (lasts < user.time) return false
    until = Math.min(until, lasts)
    return true
  }
  return { isMember: holds(rule), until }
}

/** The last time t at which enough events are recent enough; −Infinity if there are not enough. */
function lastsUntil({ withinDays, atLeast }: EventCondition, times: readonly number[]): number {
  const oldest = times[times.length - atLeast]
  return oldest === undefined ? -Infinity : oldest + withinDays * DAY_MS
}

function meets(
  condition: Exclude<
    SegmentRule,
    { all: unknown } | { any: unknown } | { not: unknown } | { event: unknown }
  >,
  user: SegmentUser,
): boolean {
  if ('metadata' in condition) {
    const { metadata } = user
    return Object.entries(condition.metadata).every(
      ([key, value]) => metadata !== undefined && Object.hasOwn(metadata, key) && metadata[key] === value,
    )
  }
  if ('country' in condition) return user.country === condition.country
  if ('state' in condition) return user.state === condition.state
  if ('geofence' in condition) return user.isInside(condition.geofence.tag, condition.geofence.externalId)
  if ('chain' in condition) return user.place?.chain?.slug === condition.chain
  return user.place?.categories.includes(condition.category) === true
}
