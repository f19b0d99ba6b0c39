import type { Transition } from '../model/event.ts'
import { codesIn } from '../model/region.ts'
import {
  NO_SEGMENTS,
  type EventCondition,
  type EventCount,
  type UserSegment,
  type SegmentStays,
} from '../model/segment.ts'
import type { DeviceState } from './deviceState.ts'
import type { Situation } from './evaluator.ts'
import { asksFor, countersOf, judgeSegment, type Counter, type SegmentUser } from './segmentRules.ts'

/**
 * Which segments a user belongs to after an update (docs/spec.md, "Segments").
 *
 * It is not an evaluator, because it needs the state after the update, and its events. The obvious way to count events
 * reads the log for each update. Here each user has the times of the last events that meet a condition, as many as the
 * condition asks for, and they are committed together with the events.
 *
 * Owns: `segments` of the state. Does not own: the meaning of rules (segmentRules.ts).
 *
 * Invariants
 * - SEGMENTS-1: An event counts for the rules that are set when it happens, once, and never for a rule that is set later.
 * - SEGMENTS-2: A user keeps at most `atLeast` times for each condition, and none for rules that are no longer set.
 */
interface Program {
  /** The counters by the type of their events. */
  readonly counters: ReadonlyMap<string, readonly Counter[]>
  readonly numbers: ReadonlySet<number>
  /** Whether any rule asks in which geofences the user is, and whether any asks in which place. */
  readonly askForGeofences: boolean
  readonly askForPlaces: boolean
}

/** The programs by the setting, which an edit replaces. */
const programs = new WeakMap<readonly UserSegment[], Program>()

function programOf(segments: readonly UserSegment[]): Program {
  let program = programs.get(segments)
  if (program === undefined) {
    const counters = Map.groupBy(segments.flatMap(countersOf), ({ event }) => event.type)
    const asks = (...kinds: Parameters<typeof asksFor>[1][]) =>
      segments.some(({ rule }) => kinds.some((kind) => asksFor(rule, kind)))
    program = {
      counters,
      numbers: new Set(segments.map(({ number }) => number)),
      askForGeofences: asks('geofence'),
      askForPlaces: asks('chain', 'category'),
    }
    programs.set(segments, program)
  }
  return program
}

/**
 * Whether an update may change the segments of a user whose regions and metadata stay the same, at a time for which the last
 * step still counts.
 * @param happened the transitions of the update
 */
export function mayRegroup(
  segments: readonly UserSegment[],
  before: Omit<DeviceState, 'segments'>,
  after: Omit<DeviceState, 'segments'>,
  happened: readonly Transition[],
): boolean {
  if (segments.length === 0) return false
  const { counters, askForGeofences, askForPlaces } = programOf(segments)
  return (
    (askForGeofences && after.visits !== before.visits) ||
    (askForPlaces && after.places.stay !== before.places.stay) ||
    happened.some(({ type }) => counters.has(type))
  )
}

export interface SegmentStep {
  /** The segments. It is the same object if nothing changed. */
  readonly segments: SegmentStays
  /** The last time t at which the user belongs to the same segments if nothing else happens. */
  readonly until: number
}

/**
 * Decides the segments after an update.
 * @param after the state after the update, except for its segments
 * @param transitions those of the update
 * @returns undefined if there are no segments
 */
export function stepSegments(
  before: SegmentStays,
  after: Omit<DeviceState, 'segments'>,
  transitions: readonly Transition[],
  situation: Situation,
): SegmentStep | undefined {
  const { segments } = situation.now.settings
  if (segments.length === 0)
    return before === NO_SEGMENTS ? undefined : { segments: NO_SEGMENTS, until: Infinity }
  const program = programOf(segments)
  const happened = transitions.map((transition) => happenedOf(transition, situation.now.time))
  const counts = countAll(currentCounts(before.counts, program), program, happened)
  const user = userAfter(after, situation)
  const members: number[] = []
  let until = Infinity
  for (const segment of segments) {
    const verdict = judgeSegment(segment, user, counts)
    if (verdict.isMember) members.push(segment.number)
    until = Math.min(until, verdict.until)
  }
  const isSame =
    counts === before.counts &&
    members.length === before.members.length &&
    members.every((number, i) => number === before.members[i])
  return { segments: isSame ? before : staysOf(members, counts), until }
}

/**
 * The segments of a user after an event that no update caused. The user's membership only changes at the next update.
 * @returns the same object if nothing counts it
 */
export function countConversion(
  before: SegmentStays,
  segments: readonly UserSegment[],
  type: string,
  createdAt: number,
): SegmentStays {
  if (segments.length === 0) return before
  const program = programOf(segments)
  const counted = countAll(before.counts, program, [{ type, createdAt, fits: () => true }])
  return counted === before.counts ? before : staysOf(before.members, currentCounts(counted, program))
}

function staysOf(members: readonly number[], counts: readonly EventCount[]): SegmentStays {
  return members.length + counts.length === 0 ? NO_SEGMENTS : { members, counts }
}

/** The entries of rules that are still set. It is the same array if all of them are. */
function currentCounts(counts: readonly EventCount[], { numbers }: Program): readonly EventCount[] {
  return counts.every(({ segment }) => numbers.has(segment))
    ? counts
    : counts.filter(({ segment }) => numbers.has(segment))
}

/** An event, as far as conditions ask about it. */
interface Happened {
  readonly type: string
  readonly createdAt: number
  fits(event: EventCondition): boolean
}

function happenedOf(transition: Transition, time: number): Happened {
  const { type, geofence, beacon, place } = transition
  const { tag, externalId } = geofence ?? beacon ?? {}
  return {
    type,
    createdAt: (transition.geofence && transition.at?.time) ?? time,
    fits: (event) =>
      (event.tag === undefined || event.tag === tag) &&
      (event.externalId === undefined || event.externalId === externalId) &&
      (event.chain === undefined || event.chain === place?.chain?.slug) &&
      (event.category === undefined || place?.categories.includes(event.category) === true),
  }
}

/**
 * The counts with all events of an update. The obvious way makes new counts for each event. Here the times of a
 * condition are collected first, because an update may enter ten thousand geofences.
 * @returns the same array if nothing counts any of them
 */
function countAll(
  counts: readonly EventCount[],
  program: Program,
  happened: readonly Happened[],
): readonly EventCount[] {
  const added = new Map<Counter, number[]>()
  for (const { type, createdAt, fits } of happened)
    for (const counter of program.counters.get(type) ?? []) {
      if (!fits(counter.event)) continue
      const times = added.get(counter)
      if (times === undefined) added.set(counter, [createdAt])
      else keepLatest(times, createdAt, counter.event.atLeast)
    }
  for (const [counter, times] of added) counts = withTimes(counts, counter, times)
  return counts
}

/**
 * Adds a time to the latest ones.
 * @param times ascending, at most `most` of them
 */
function keepLatest(times: number[], time: number, most: number): void {
  if (times.length === most) {
    if (time <= times[0]!) return
    times.shift()
  }
  let at = times.length
  while (at > 0 && times[at - 1]! > time) at--
  times.splice(at, 0, time)
}

/** @param more ascending */
function withTimes(
  counts: readonly EventCount[],
  counter: Counter,
  more: readonly number[],
): readonly EventCount[] {
  const { segment, condition, event } = counter
  const place = counts.findIndex((one) => one.segment === segment && one.condition === condition)
  if (place < 0) return [...counts, { segment, condition, times: more }]
  const times = [...counts[place]!.times, ...more].sort((a, b) => a - b).slice(-event.atLeast)
  return counts.with(place, { segment, condition, times })
}

function userAfter(
  { visits, regions, places }: Omit<DeviceState, 'segments'>,
  { view, now, metadata }: Situation,
): SegmentUser {
  // Only if a rule asks for them; a user may be in thousands of geofences.
  let codes: readonly (string | undefined)[] | undefined
  let inside: Set<string> | undefined
  return {
    time: now.time,
    metadata,
    get country() {
      return (codes ??= codesIn(regions.codes))[0]
    },
    get state() {
      return (codes ??= codesIn(regions.codes))[1]
    },
    place: places.stay?.place,
    isInside(tag, externalId) {
      if (inside === undefined) {
        inside = new Set()
        for (const { geofenceId } of visits) {
          const geofence = view.geofence(geofenceId)
          if (geofence?.tag === undefined) continue
          inside.add(geofenceKey(geofence.tag, undefined))
          if (geofence.externalId !== undefined) inside.add(geofenceKey(geofence.tag, geofence.externalId))
        }
      }
      return inside.has(geofenceKey(tag, externalId))
    },
  }
}

/** A key for a tag and an externalId. Tags contain no NUL characters. */
function geofenceKey(tag: string, externalId: string | undefined): string {
  return externalId === undefined ? tag : `${tag}\0${externalId}`
}
