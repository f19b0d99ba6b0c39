import type { Visit } from '../model/device.ts'
import { isActive } from '../model/geofence.ts'
import { dwellMilliseconds, dwellMinutes, isMeantFor, isMeantForAddress, type Fact } from './geofenceRules.ts'
import { type Circumstances } from './circumstances.ts'

/**
 * Hysteresis by safe distance: after an evaluation, how far the device may move, and
 * until when, before anything can change. Within the zone an update touches position, time and flags, and no more;
 * the result is the same as without it, which a property test holds.
 *
 * The zone lies wholly inside, or wholly outside, every boundary that matters, entries that are withheld included. So
 * `stopped` and `foreground` play no part in it, nor accuracy, but for the reach of buffered entries. It ends of itself
 * with a change of userId, address, or of the scope's registry or settings: those the partition compares. While the
 * device is in range of a beacon there is none. What waits for a delay has the device on the far side of a boundary, so
 * there is none either. The zone is convex in longitude and latitude,
 * so a way within it crosses nothing.
 */
export interface SafeZone {
  /** Metres from the evaluated point, ≥ 0; 0: no zone. */
  readonly radiusMeters: number
  /** The last time t (epoch milliseconds) that it holds for. */
  readonly until: number
  /** It holds before this server time, epoch milliseconds. */
  readonly untilReceived: number
  /** Metres: the worst accuracy that it holds for. Unbounded where entries are not buffered. */
  readonly accuracy: number
}

/** How far and how long nothing can change for one evaluator. */
export interface ZoneLimits {
  /** Metres from the evaluated point to the nearest boundary that matters; 0 or less: there is no zone. */
  readonly meters: number
  /** The last time t, epoch milliseconds, that nothing happens by itself. */
  readonly until: number
  /** The first server time, epoch milliseconds, that something may happen by itself. */
  readonly untilReceived: number
}

/** Nothing can change, wherever the device goes. */
export const NO_LIMITS: ZoneLimits = { meters: Infinity, until: Infinity, untilReceived: Infinity }
/** The next update is to be evaluated, wherever it is. */
export const NOWHERE_SAFE: ZoneLimits = { meters: 0, until: 0, untilReceived: 0 }

const NO_SAFE_ZONE: SafeZone = { radiusMeters: 0, until: 0, untilReceived: 0, accuracy: 0 }

/** Larger zones gain nothing, and the flat measure of {@link movedMeters} is only good for short ways. */
export const MAX_RADIUS_METERS = 20_000
/** Distances to boundaries may be off by a tenth of a percent and a millimetre. */
const MARGIN_SHARE = 0.998
const MARGIN_METERS = 0.01
/** Nearer to a pole the flat measure is not good enough. */
export const MAX_ZONE_LATITUDE = 80

/**
 * @param visits the stays after the update
 * @param before the stays before it; the same array where it changed none
 * @param facts of the stays before, index by index, of all other candidates, and the metres that the index vouches for them
 */
export function geofenceLimits(
  visits: readonly Visit[],
  before: readonly Visit[],
  { visited, candidates, clearance }: ZoneFacts,
  now: Circumstances,
): ZoneLimits {
  if (visits === before) return limitsOf(visits, visited, candidates, clearance, now)
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
 * @param visits the stays after the update
 * @param visited their facts, index by index
 * @param candidates the facts of all other candidates
 * @param clearance metres that the index vouches for its candidates
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
    // Inside the boundary no exit is possible, whatever buffers and accuracy say.
    meters = Math.min(meters, -distance)
    untilReceived = Math.min(
      untilReceived,
      geofence.disableAfter ?? Infinity,
      geofence.deleteAfter ?? Infinity,
    )
    const minutes = dwellMinutes(geofence, settings)
    if (minutes !== undefined && !visits[i]!.dwelled) {
      until = Math.min(until, visits[i]!.enteredAt + dwellMilliseconds(minutes))
    }
  }
  for (const { geofence, distance } of candidates) {
    if (staysIneligible(geofence, now)) continue
    meters = Math.min(meters, settings.bufferEntries ? distance - now.accuracy : distance)
  }
  return { meters, until, untilReceived }
}

/** The smaller of both in each respect. */
export function smallest(a: ZoneLimits, b: ZoneLimits): ZoneLimits {
  if (a === NO_LIMITS) return b
  return {
    meters: Math.min(a.meters, b.meters),
    until: Math.min(a.until, b.until),
    untilReceived: Math.min(a.untilReceived, b.untilReceived),
  }
}

/** @param latitude of the evaluated point */
export function zoneWithin(
  { meters, until, untilReceived }: ZoneLimits,
  latitude: number,
  { time, accuracy, settings }: Circumstances,
): SafeZone {
  const radiusMeters = Math.min(meters, MAX_RADIUS_METERS) * MARGIN_SHARE - MARGIN_METERS
  if (!(radiusMeters > 0) || until < time || Math.abs(latitude) > MAX_ZONE_LATITUDE) return NO_SAFE_ZONE
  return { radiusMeters, until, untilReceived, accuracy: settings.bufferEntries ? accuracy : Infinity }
}

/** What only an edit, another user or another address could make eligible: each of those ends the zone by itself. */
export function staysIneligible(geofence: Fact['geofence'], now: Circumstances): boolean {
  return !isActive(geofence) || !isMeantFor(geofence, now.userId) || !isMeantForAddress(geofence, now.ip)
}

/**
 * The cosine that {@link movedMeters} needs for ways from this latitude: of the parallel nearer to the equator by the
 * largest radius, where a degree of longitude is longest.
 */
export function zoneCosine(latitude: number): number {
  const equatorward = Math.max(0, Math.abs(latitude) - MAX_RADIUS_METERS / 110_000)
  return Math.cos((equatorward * Math.PI) / 180)
}

/** Metres moved within a zone: never less than the true distance, at most some percent more. */
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

/** A degree of latitude at the pole (111,694 m) is the longest degree on WGS84; of longitude, 111,320 m. */
const LONGEST_DEGREE_METERS = 111_700
