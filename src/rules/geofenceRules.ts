import type { Visit } from '../model/device.ts'
import type { GeofenceEventType } from '../model/event.ts'
import { isActive, type GeofenceProperties } from '../model/geofence.ts'
import type { Settings } from '../model/settings.ts'
import type { ZoneOffsets } from '../model/zoneOffsets.ts'
import type { Circumstances } from './circumstances.ts'
import { entryConfidence, exitConfidence } from '../geometry/confidence.ts'
import { isOpen } from '../model/operatingHours.ts'
import { matchesIp, parseIpRanges, type IpRanges } from '../model/ipRanges.ts'

/**
 * What happens between one device and one geofence on one update: the transition table of docs/spec.md, pure.
 *
 * Owns: eligibility, entry, exit, dwell, and the name of the reason for each outcome (`explain` prints it).
 * Does not own: finding candidates, the order of events, the device's state.
 *
 * Invariants
 * - GEOFENCE-1: An entry requires that there is no visit; an exit and a dwell require one. So entries and exits
 *   alternate.
 * - GEOFENCE-2: An ineligible geofence causes no event.
 * - GEOFENCE-3: The outcome depends on the arguments alone.
 */

/** The geometry of a geofence for this update. */
export interface Fact {
  readonly geofence: GeofenceProperties
  /** The signed distance to the boundary in metres, negative inside. */
  readonly distance: number
  /** The share of the accuracy disc that the geofence covers, from 0 to 1. */
  readonly coverage: number
}

/** The first rule, in this order, that prevents the geofence from causing events. */
export type Ineligibility = 'disabled' | 'expired' | 'otherUser' | 'otherAddress' | 'closed'

export type GeofenceOutcome =
  /** The device is outside, as before. */
  | 'outside'
  /** The device is inside, but the entry does not happen yet. */
  | 'entryWithheld'
  | 'entered'
  /** The device is inside, as before. */
  | 'inside'
  /** The device is outside, but the exit does not happen yet. */
  | 'exitWithheld'
  | 'dwelled'
  | 'exited'
  /** The device has left without an event, because the geofence is closed or the address does not match. */
  | 'leftSilently'
  /**
   * The stay is removed from the state without an event, because the geofence is disabled, expired, or not meant for
   * this user.
   */
  | 'dropped'

/**
 * Why an entry, exit or dwell that was due did not happen. `outside` applies to dwells only: exits are buffered, and
 * the location is outside.
 */
export type Withheld = Ineligibility | 'notStopped' | 'lowConfidence' | 'delayed' | 'outside'

export interface Decision {
  readonly outcome: GeofenceOutcome
  readonly event: GeofenceEventType | undefined
  /** The confidence of the event that happened or was withheld: 1 low, 2 medium, 3 high. */
  readonly confidence: 1 | 2 | 3
  readonly ineligible: Ineligibility | undefined
  readonly withheld: Withheld | undefined
  /** Defined for geofences with operating hours. */
  readonly currentlyOperating: boolean | undefined
  /**
   * For an entry or exit that waits for its delay: the time t, in epoch milliseconds, since which its condition has
   * held.
   */
  readonly since: number | undefined
}

/**
 * The first rule of eligibility that fails, in the order of docs/spec.md; undefined if the geofence may cause events.
 */
export function ineligibility(geofence: GeofenceProperties, now: Circumstances): Ineligibility | undefined {
  if (!isActive(geofence)) return 'disabled'
  if (geofence.disableAfter !== undefined && now.receivedAt >= geofence.disableAfter) return 'expired'
  if (geofence.deleteAfter !== undefined && now.receivedAt >= geofence.deleteAfter) return 'expired'
  if (!isMeantFor(geofence, now.userId)) return 'otherUser'
  if (!isMeantForAddress(geofence, now.ip)) return 'otherAddress'
  if (now.settings.restrictToOperatingHours && operatingAt(geofence, now.time, now.zones) === false)
    return 'closed'
  return undefined
}

/** Whether the geofence is meant for this user: it is for everybody, or `userIds` or `userId` names the user. */
export function isMeantFor(
  geofence: { readonly userId?: string | undefined; readonly userIds?: readonly string[] | undefined },
  userId: string | undefined,
): boolean {
  if (geofence.userIds === undefined && geofence.userId === undefined) return true
  if (userId === undefined) return false
  return geofence.userId === userId || (geofence.userIds?.includes(userId) ?? false)
}

// Geofences are immutable, so their text is parsed only once.
const parsedRanges = new WeakMap<GeofenceProperties, IpRanges>()

/**
 * Whether the geofence is meant for requests from this address: it is for all addresses, or one of its ranges
 * contains it.
 */
export function isMeantForAddress(geofence: GeofenceProperties, ip: string): boolean {
  if (geofence.ip === undefined) return true
  let ranges = parsedRanges.get(geofence)
  if (ranges === undefined) parsedRanges.set(geofence, (ranges = parseIpRanges(geofence.ip)))
  return matchesIp(ranges, ip)
}

/** Whether time t is within the geofence's operating hours; undefined if it has none. */
export function operatingAt(
  geofence: GeofenceProperties,
  time: number,
  zones: ZoneOffsets,
): boolean | undefined {
  if (geofence.operatingHours === undefined) return undefined
  return isOpen(geofence.operatingHours, geofence.timeZone, time, zones)
}

/** Minutes after which a stay causes a dwell event; undefined if it never does. */
export function dwellMinutes(geofence: GeofenceProperties, settings: Settings): number | undefined {
  if (!settings.dwellEvents) return undefined
  return geofence.dwellThreshold ?? settings.dwellThreshold ?? undefined
}

/**
 * The minutes in whole milliseconds. 2.01 · 60,000 is a little less than 120,600, and without rounding, the rule and
 * the deadline would disagree.
 */
export function dwellMs(minutes: number): number {
  return Math.round(minutes * 60_000)
}

/** The seconds in whole milliseconds, for the reason of {@link dwellMs}: 16.1 · 1000 is a little more than 16,100. */
export function delayMs(seconds: number): number {
  return Math.round(seconds * 1000)
}

/**
 * Decides the transition of one geofence.
 * @param visit the device's current stay in it, if any
 * @param approachingSince if there is no stay, the time since which the entry condition has held, if it held at the
 * last update
 */
export function decide(
  visit: Visit | undefined,
  fact: Fact,
  now: Circumstances,
  approachingSince?: number,
): Decision {
  return visit === undefined ? decideOutside(fact, now, approachingSince) : decideInside(visit, fact, now)
}

function decideOutside(fact: Fact, now: Circumstances, approachingSince: number | undefined): Decision {
  const { geofence, distance } = fact
  const { settings } = now
  const ineligible = ineligibility(geofence, now)
  if (distance > entryReach(now)) return decision('outside', 1, ineligible, undefined, undefined)
  const confidence = now.accuracyKnown ? entryConfidence(distance, fact.coverage, now.accuracy) : 1
  const open = operatingAt(geofence, now.time, now.zones)
  const withheld =
    ineligible ??
    (needsStop(geofence, settings) && !now.stopped && !now.foreground
      ? 'notStopped'
      : confidence < settings.minimumConfidence
        ? 'lowConfidence'
        : undefined)
  if (withheld !== undefined) return decision('entryWithheld', confidence, ineligible, withheld, open)
  const since = approachingSince ?? now.time
  if (now.time - since < delayMs(settings.entryDelaySeconds))
    return decision('entryWithheld', confidence, undefined, 'delayed', open, since)
  return decision('entered', confidence, undefined, undefined, open)
}

function decideInside(visit: Visit, fact: Fact, now: Circumstances): Decision {
  const { geofence, distance } = fact
  const { settings } = now
  const ineligible = ineligibility(geofence, now)
  if (ineligible === 'disabled' || ineligible === 'expired' || ineligible === 'otherUser')
    return decision('dropped', 1, ineligible, undefined, undefined)

  const open = operatingAt(geofence, now.time, now.zones)
  // A buffered entry may be up to A outside, so an exit must also be more than A outside, or the state would
  // alternate.
  const threshold = settings.bufferExits || settings.bufferEntries ? now.accuracy : 0
  const beyond = distance > threshold
  const leaving = now.accuracyKnown ? exitConfidence(distance, now.accuracy) : 1
  const leaves = beyond && leaving >= settings.minimumConfidence
  const since = leaves ? (visit.leavingSince ?? now.time) : undefined
  if (since !== undefined && now.time - since >= delayMs(settings.exitDelaySeconds)) {
    if (ineligible !== undefined) return decision('leftSilently', leaving, ineligible, ineligible, open)
    return decision('exited', leaving, undefined, undefined, open)
  }

  // The device is still inside. A dwell has no rule about confidence or delay, but the location must be one that would
  // also enter.
  const staying = now.accuracyKnown ? entryConfidence(distance, fact.coverage, now.accuracy) : 1
  const due = isDwellDue(visit, geofence, now)
  if (due && ineligible === undefined && distance <= entryReach(now))
    return decision('dwelled', staying, undefined, undefined, open)
  if (beyond) {
    const withheld = leaves ? 'delayed' : 'lowConfidence'
    return decision('exitWithheld', leaving, ineligible, withheld, open, since)
  }
  return decision('inside', staying, ineligible, due ? (ineligible ?? 'outside') : undefined, open)
}

/** How many metres outside the boundary a location still enters. */
function entryReach({ settings, accuracy }: Circumstances): number {
  return settings.bufferEntries ? accuracy : 0
}

/**
 * Whether the stay has lasted longer than the threshold without a dwell yet. Then the next eligible location inside
 * causes the event.
 */
export function isDwellDue(visit: Visit, geofence: GeofenceProperties, now: Circumstances): boolean {
  const minutes = dwellMinutes(geofence, now.settings)
  return minutes !== undefined && !visit.dwelled && now.time - visit.enteredAt > dwellMs(minutes)
}

/** With stop detection, an entry requires that the device has stopped or that its app is in the foreground. */
export function needsStop(geofence: GeofenceProperties, settings: Settings): boolean {
  return geofence.stopDetection ?? settings.stopDetection
}

/** The events of the outcomes that cause one. */
const EVENTS: Partial<Record<GeofenceOutcome, GeofenceEventType>> = {
  entered: 'user.entered_geofence',
  dwelled: 'user.dwelled_in_geofence',
  exited: 'user.exited_geofence',
}

/** The decisions that need no explanation, by confidence. One update may come to thousands of them. */
const PLAIN: Partial<Record<GeofenceOutcome, Readonly<Record<1 | 2 | 3, Decision>>>> = {
  outside: plain('outside'),
  entered: plain('entered'),
  inside: plain('inside'),
  dwelled: plain('dwelled'),
  exited: plain('exited'),
}

function plain(outcome: GeofenceOutcome): Readonly<Record<1 | 2 | 3, Decision>> {
  return { 1: made(outcome, 1), 2: made(outcome, 2), 3: made(outcome, 3) }
}

function decision(
  outcome: GeofenceOutcome,
  confidence: 1 | 2 | 3,
  ineligible: Ineligibility | undefined,
  withheld: Withheld | undefined,
  currentlyOperating: boolean | undefined,
  since?: number,
): Decision {
  if ((ineligible ?? withheld ?? currentlyOperating ?? since) === undefined) {
    const known = PLAIN[outcome]
    if (known !== undefined) return known[confidence]
  }
  return made(outcome, confidence, ineligible, withheld, currentlyOperating, since)
}

function made(
  outcome: GeofenceOutcome,
  confidence: 1 | 2 | 3,
  ineligible?: Ineligibility,
  withheld?: Withheld,
  currentlyOperating?: boolean,
  since?: number,
): Decision {
  const event = EVENTS[outcome]
  return { outcome, event, confidence, ineligible, withheld, currentlyOperating, since }
}
