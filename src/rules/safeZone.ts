import type { Visit } from '../model/device.ts'
import { isActive } from '../model/geofence.ts'
import { dwellMs, dwellMinutes, isMeantFor, isMeantForAddress, type Fact } from './geofenceRules.ts'
import { type Circumstances } from './circumstances.ts'

/**
 * The safe zone: after an evaluation, how far the device may move, and until when, before anything can change. An
 * update within the zone changes only position, time and flags. The result is the same as without the zone; a
 * property test checks this.
 *
 * The zone lies wholly inside or wholly outside every boundary that matters, including those of withheld entries. So
 * it does not depend on `stopped` and `foreground`, and on accuracy only for the reach of buffered entries. There is one
 * exception: a user beside a place enters it by stopping, so an accurate update that says `stopped` ends the zone. It also ends
 * when the userId, the address, or the scope's registry or settings change, which the partition compares. There is no
 * zone while the device is in range of a beacon, nor while an entry or exit waits for its delay, because then the
 * device is already across the boundary. The zone is convex in longitude and latitude, so a path within it crosses
 * nothing.
 */
export interface SafeZone {
  /** The radius around the evaluated point in metres, at least 0. 0 means that there is no zone. */
  readonly radiusMeters: number
  /** The last time t, in epoch milliseconds, for which it is valid. */
  readonly until: number
  /** The zone is valid before this server time, in epoch milliseconds. */
  readonly untilReceived: number
  /** The worst accuracy in metres for which the zone is valid. There is no limit if nothing depends on it. */
  readonly accuracy: number
  /** Whether the zone is valid only for a device that neither stopped nor is in the foreground. */
  readonly onlyMoving: boolean
}

/** How far and how long nothing can change for one evaluator. */
export interface ZoneLimits {
  /**
   * The distance from the evaluated point to the nearest boundary that matters, in metres. 0 or less means that there
   * is no zone.
   */
  readonly meters: number
  /** The last time t, in epoch milliseconds, at which nothing happens without movement. */
  readonly until: number
  /** The first server time, in epoch milliseconds, at which something may happen without movement. */
  readonly untilReceived: number
  /** The worst accuracy in metres with which nothing happens. If absent, any accuracy is good enough. */
  readonly accuracy?: number
  /** Whether something may happen as soon as the device stops or is in the foreground. */
  readonly onlyMoving?: boolean
  /**
   * The radius in metres of a larger zone around the same point; absent, 0 or less if there is none. Within it, the user leaves no
   * place, and enters none except by the stop rule; but another place may become the first candidate (firstPast of places.ts).
   */
  readonly passingMeters?: number
}

/**
 * The zones that a device has besides its safe zone, which lies within all of them: one for each kind of boundary, because some
 * lie much closer together than others. In a town, most updates that leave the zone of a place are still within those of
 * geofences and regions. Then only the evaluators of places are run.
 *
 * They have the same point as the safe zone.
 */
export const ZONE = { geofences: 0, places: 1, regions: 2 } as const
export type ZoneKind = (typeof ZONE)[keyof typeof ZONE]
/** How many kinds there are. */
export const ZONE_KINDS = Object.keys(ZONE).length

/** What is left of each zone at an update, by {@link ZONE}; undefined if nothing is left of it. */
export type ZonesLeft = readonly (ZoneLimits | undefined)[]

/** Whether only the passing zone is left of those of places. */
export function hasOnlyPassing(left: ZonesLeft | undefined): left is ZonesLeft {
  return left?.[ZONE.places]?.meters === 0
}

/** The limits if nothing can change, wherever the device goes. */
export const NO_LIMITS: ZoneLimits = { meters: Infinity, until: Infinity, untilReceived: Infinity }
/** The limits if the next update must be evaluated, wherever it is. */
export const NOWHERE_SAFE: ZoneLimits = { meters: 0, until: 0, untilReceived: 0 }

const NO_SAFE_ZONE: SafeZone = { radiusMeters: 0, until: 0, untilReceived: 0, accuracy: 0, onlyMoving: false }

/** Larger zones gain nothing, and the planar distance of {@link movedMeters} is accurate only over short distances. */
export const MAX_RADIUS_METERS = 20_000
/** Distances to boundaries may be off by 0.1 % and a millimetre, so a zone is smaller by this share. */
const MARGIN_SHARE = 0.998
const MARGIN_METERS = 0.01
/**
 * When this many stays change, the limits are left to the next update: relating the stays to their facts would take
 * longer than one evaluation.
 */
const MANY_STAYS = 1000
/** Beyond this latitude, the planar distance is not accurate enough. */
export const MAX_ZONE_LATITUDE = 80

/**
 * The limits for geofences.
 * @param visits the stays after the update
 * @param before the stays before it; the same array if it changed none
 * @param facts those of the stays before, index by index, and of all other candidates, with the clearance that the
 * index guarantees
 */
export function geofenceLimits(
  visits: readonly Visit[],
  before: readonly Visit[],
  { visited, candidates, clearance }: ZoneFacts,
  now: Circumstances,
): ZoneLimits {
  if (visits === before) return limitsOf(visits, visited, candidates, clearance, now)
  if (visits.length + before.length > MANY_STAYS) return NOWHERE_SAFE
  const others = new Map<string, Fact>()
  for (const fact of candidates) others.set(fact.geofence.id, fact)
  for (const fact of visited) if (fact !== undefined) others.set(fact.geofence.id, fact)
  const stays: (Fact | undefined)[] = []
  for (const { geofenceId } of visits) {
    stays.push(others.get(geofenceId))
    others.delete(geofenceId)
  }
  return limitsOf(visits, stays, [...others.values()], clearance, now)
}

interface ZoneFacts {
  readonly visited: readonly (Fact | undefined)[]
  readonly candidates: readonly Fact[]
  readonly clearance: number
}

/**
 * The limits for some geofences.
 * @param visits the stays after the update
 * @param visited their facts, index by index
 * @param candidates the facts of all other candidates
 * @param clearance the metres that the index guarantees for its candidates
 */
function limitsOf(
  visits: readonly Visit[],
  visited: readonly (Fact | undefined)[],
  candidates: readonly Fact[],
  clearance: number,
  now: Circumstances,
): ZoneLimits {
  const { settings } = now
  let meters = clearance
  let until = Infinity
  let untilReceived = Infinity

  for (let i = 0; i < visits.length; i++) {
    const fact = visited[i]
    if (fact === undefined) return NOWHERE_SAFE
    const { geofence, distance } = fact
    // Inside the boundary, no exit is possible, whatever the buffers and the accuracy are.
    meters = Math.min(meters, -distance)
    untilReceived = Math.min(
      untilReceived,
      geofence.disableAfter ?? Infinity,
      geofence.deleteAfter ?? Infinity,
    )
    const minutes = dwellMinutes(geofence, settings)
    if (minutes !== undefined && !visits[i]!.dwelled) {
      until = Math.min(until, visits[i]!.enteredAt + dwellMs(minutes))
    }
  }
  for (const { geofence, distance } of candidates) {
    if (staysIneligible(geofence, now)) continue
    meters = Math.min(meters, settings.bufferEntries ? distance - now.accuracy : distance)
  }
  return { meters, until, untilReceived }
}

/** The smaller of the two limits, field by field. */
export function smallest(a: ZoneLimits, b: ZoneLimits): ZoneLimits {
  if (a === NO_LIMITS) return b
  if (b === NO_LIMITS) return a
  return {
    meters: Math.min(a.meters, b.meters),
    until: Math.min(a.until, b.until),
    untilReceived: Math.min(a.untilReceived, b.untilReceived),
    accuracy: Math.min(a.accuracy ?? Infinity, b.accuracy ?? Infinity),
    onlyMoving: a.onlyMoving === true || b.onlyMoving === true,
  }
}

/** The smallest of several limits, field by field, like {@link smallest} of any two. */
export function smallestOf(all: readonly ZoneLimits[]): ZoneLimits {
  let [meters, until, untilReceived, accuracy] = [Infinity, Infinity, Infinity, Infinity]
  let onlyMoving = false
  for (const one of all) {
    meters = Math.min(meters, one.meters)
    until = Math.min(until, one.until)
    untilReceived = Math.min(untilReceived, one.untilReceived)
    if (one.accuracy !== undefined) accuracy = Math.min(accuracy, one.accuracy)
    onlyMoving ||= one.onlyMoving === true
  }
  return { meters, until, untilReceived, accuracy, onlyMoving }
}

/**
 * The zone within limits.
 * @param latitude that of the evaluated point
 * @param time the time t of its update
 */
export function zoneWithin(limits: ZoneLimits, latitude: number, time: number): SafeZone {
  const radiusMeters = zoneRadius(limits, latitude, time)
  const { until, untilReceived, accuracy = Infinity, onlyMoving = false } = limits
  return radiusMeters > 0 ? { radiusMeters, until, untilReceived, accuracy, onlyMoving } : NO_SAFE_ZONE
}

/** The radius of {@link zoneWithin}. */
export function zoneRadius({ meters, until }: ZoneLimits, latitude: number, time: number): number {
  return until < time ? 0 : radiusWithin(meters, latitude)
}

/** The radius of the passing zone, see {@link ZoneLimits.passingMeters}; 0 if there is none. */
export function passingRadius({ passingMeters = 0 }: ZoneLimits, latitude: number): number {
  return radiusWithin(passingMeters, latitude)
}

function radiusWithin(meters: number, latitude: number): number {
  const radiusMeters = Math.min(meters, MAX_RADIUS_METERS) * MARGIN_SHARE - MARGIN_METERS
  return radiusMeters > 0 && Math.abs(latitude) <= MAX_ZONE_LATITUDE ? radiusMeters : 0
}

/** Whether only an edit, another user or another address could make it eligible. Each of those ends the zone anyway. */
export function staysIneligible(geofence: Fact['geofence'], now: Circumstances): boolean {
  return !isActive(geofence) || !isMeantFor(geofence, now.userId) || !isMeantForAddress(geofence, now.ip)
}

/**
 * The cosine that {@link movedMeters} needs for movements from this latitude. It is that of the zone's parallel
 * nearest to the equator for the largest radius, where a degree of longitude is longest.
 */
export function zoneCosine(latitude: number): number {
  const equatorward = Math.max(0, Math.abs(latitude) - MAX_RADIUS_METERS / 110_000)
  return Math.cos((equatorward * Math.PI) / 180)
}

/** The metres moved within a zone. They are never less than the true distance, and at most a few percent more. */
export function movedMeters(
  fromLat: number,
  fromLon: number,
  cosine: number,
  lat: number,
  lon: number,
): number {
  const dy = (lat - fromLat) * LONGEST_DEGREE_METERS
  const dx = (lon - fromLon) * LONGEST_DEGREE_METERS * cosine
  return Math.sqrt(dx * dx + dy * dy)
}

/**
 * The longest degree on WGS84, which is one of latitude at the pole (111,694 m). The longest degree of longitude is
 * 111,320 m.
 */
export const LONGEST_DEGREE_METERS = 111_700
