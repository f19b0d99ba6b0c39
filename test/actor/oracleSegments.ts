import type { EventCondition, UserSegment, SegmentRule } from '../../src/model/segment.ts'
import type { Metadata } from '../../src/model/metadata.ts'
import type { Settings } from '../../src/model/settings.ts'

/** The segments part of oracle.ts: written from docs/spec.md, "Segments". It keeps every event and counts them all. */

// oxlint-disable-next-line typescript/no-explicit-any -- answers of the engine
type Json = any

const DAY = 24 * 60 * 60 * 1000

interface Known {
  readonly user: string
  readonly event: Json
}

export class SegmentOracle {
  /** All that ever happened, in order. */
  private readonly log: Known[] = []
  /** By the number of a rule: how many events there were before it was set. */
  private readonly setAfter = new Map<number, number>()
  /** Segments that users were in, and how many of these because of counted events. */
  counts = { member: 0, counted: 0 }

  /** The rules that are set from now on. */
  see({ segments }: Settings): void {
    for (const { number } of segments)
      if (!this.setAfter.has(number)) this.setAfter.set(number, this.log.length)
  }

  happened(user: string, event: Json): void {
    this.log.push({ user, event })
  }

  /** What the answer to an update must have as its segments. @param user as answered, but for its segments */
  of(user: Json, time: number, metadata: Metadata | undefined, { segments }: Settings): Json[] {
    const members = segments.filter((segment) => this.holds(segment, segment.rule, user, time, metadata))
    this.counts.member += members.length
    this.counts.counted += members.filter(({ rule }) => JSON.stringify(rule).includes('"event"')).length
    return members.map(({ description, externalId }) => ({ description, externalId }))
  }

  private holds(
    segment: UserSegment,
    rule: SegmentRule,
    user: Json,
    time: number,
    metadata: Metadata | undefined,
  ): boolean {
    const again = (one: SegmentRule) => this.holds(segment, one, user, time, metadata)
    if ('all' in rule) return !rule.all.some((one) => !again(one))
    if ('any' in rule) return rule.any.some(again)
    if ('not' in rule) return !again(rule.not)
    if ('metadata' in rule)
      return Object.keys(rule.metadata).every((key) => metadata?.[key] === rule.metadata[key])
    if ('country' in rule) return user.country?.code === rule.country
    if ('state' in rule) return user.state?.code === rule.state
    if ('geofence' in rule)
      return user.geofences.some(
        ({ tag, externalId }: Json) =>
          tag === rule.geofence.tag && [undefined, externalId].includes(rule.geofence.externalId),
      )
    if ('chain' in rule) return user.place?.chain?.slug === rule.chain
    if ('category' in rule) return (user.place?.categories ?? []).includes(rule.category)
    return this.count(segment, rule.event, user._id, time) >= rule.event.atLeast
  }

  private count({ number }: UserSegment, wanted: EventCondition, user: string, time: number): number {
    return this.log.slice(this.setAfter.get(number)).filter((known) => {
      const { event } = known
      const { tag, externalId } = event.geofence ?? event.beacon ?? {}
      return (
        known.user === user &&
        event.type === wanted.type &&
        [undefined, tag].includes(wanted.tag) &&
        [undefined, externalId].includes(wanted.externalId) &&
        [undefined, event.place?.chain?.slug].includes(wanted.chain) &&
        [undefined, ...(event.place?.categories ?? [])].includes(wanted.category) &&
        Date.parse(event.createdAt) >= time - wanted.withinDays * DAY
      )
    }).length
  }
}
