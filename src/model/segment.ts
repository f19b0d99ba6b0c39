import type { Metadata } from './metadata.ts'

/** Events of updates that a segment can count; all others are conversions, which have any name. */
export const COUNTED_EVENTS = {
  /** These events have the tag and externalId of a geofence or beacon. */
  named: [
    'user.entered_geofence',
    'user.exited_geofence',
    'user.dwelled_in_geofence',
    'user.entered_beacon',
    'user.exited_beacon',
  ],
  /** These events have the chain and categories of a place. */
  ofPlaces: ['user.entered_place', 'user.exited_place', 'user.nearby_place_chain'],
  others: [
    ...['country', 'state', 'dma', 'postal_code'].flatMap((kind) => [
      `user.entered_region_${kind}`,
      `user.exited_region_${kind}`,
    ]),
    'user.failed_fraud',
  ],
} as const

/** Which users belong to a segment. */
export type SegmentRule =
  | { readonly all: readonly SegmentRule[] }
  | { readonly any: readonly SegmentRule[] }
  | { readonly not: SegmentRule }
  | SegmentCondition

/** A rule that contains no other rules. */
export type SegmentCondition =
  /** The user's metadata has every key with exactly this value. */
  | { readonly metadata: Metadata }
  | { readonly country: string }
  | { readonly state: string }
  | { readonly geofence: { readonly tag: string; readonly externalId?: string } }
  | { readonly chain: string }
  | { readonly category: string }
  | { readonly event: EventCondition }

/** The user had at least this many such events in this many days. */
export interface EventCondition {
  readonly type: string
  /** The tag of the geofence or beacon. */
  readonly tag?: string
  readonly externalId?: string
  /** The chain of the place. */
  readonly chain?: string
  readonly category?: string
  readonly withinDays: number
  readonly atLeast: number
}

/** A group of users. */
export interface SegmentDefinition {
  readonly description: string
  /** The customer's own id. */
  readonly externalId: string
  readonly rule: SegmentRule
}

/** A segment of an environment. */
export interface UserSegment extends SegmentDefinition {
  /**
   * The number of its rule: no other rule of the environment has ever had it. Events are counted under it, so a rule
   * that is set counts from then on, whatever was counted for another one.
   */
  readonly number: number
}

/** The times of the last events that meet a condition. */
export interface EventCount {
  /** The number of the segment's rule. */
  readonly segment: number
  /** The index of the condition among the rule's conditions that count events. */
  readonly condition: number
  /** The `createdAt` of the events in epoch milliseconds, ascending; at most `atLeast` of them. */
  readonly times: readonly number[]
}

/** What is known about the segments of a user. Immutable. */
export interface SegmentStays {
  /** The numbers of the segments to which the user belonged after the last update. */
  readonly members: readonly number[]
  readonly counts: readonly EventCount[]
}

/** The value of a user who is in no segment and has no counts. */
export const NO_SEGMENTS: SegmentStays = { members: [], counts: [] }

/** The segments in the form in which they are set. */
export function definitionOf({ description, externalId, rule }: SegmentDefinition): SegmentDefinition {
  return { description, externalId, rule }
}

/** The segments of a user, in the order of the settings. */
export function shownSegments(
  { members }: SegmentStays,
  segments: readonly UserSegment[],
): { readonly description: string; readonly externalId: string }[] {
  return segments
    .filter(({ number }) => members.includes(number))
    .map(({ description, externalId }) => ({ description, externalId }))
}
