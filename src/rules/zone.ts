import type { Visit } from '../model/device.ts'
import { isActive } from '../model/geofence.ts'
import {
  dwellMilliseconds,
  dwellMinutes,
  isMeantFor,
  isMeantForAddress,
  type Circumstances,
  type Fact,
} from './transitions.ts'

/**
 * Hysteresis by safe distance (architecture.md section 4): after an evaluation, how far the device may move, and
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
export interface Zone {
  /** Metres from the evaluated point, ≥ 0; 0: no zone. */
  readonly radiusMeters: number
  /** The last time t (epoch milliseconds) that it holds for. */
  readonly until: number
  /** It holds before this server time, epoch milliseconds. */
  readonly untilReceived: number
  /** Metres: the worst accuracy that it holds for. Unbounded where entries are not buffered. */
  readonly accuracy: number
}

export const NO_ZONE: Zone = { radiusMeters: 0, until: 0, untilReceived: 0, accuracy: 0 }

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
export function zoneAfter(
  visits: readonly Visit[],
  before: readonly Visit[],
  { visited, candidates, clearance }: ZoneFacts,
  latitude: number,
  now: Circumstances,
): Zone {
  if (visits === before) return zoneOf(visits, visited, candidates, clearance, latitude, now)
  const others = new Map<string, Fact>()
  for (const fact of candidates) others.set(fact.geofence.id, fact)
  for (const fact of visited) if (fact !== undefined) others.set(fact.geofence.id, fact)
  const stays: (Fact | undefined)[] = []
  for (const { geofenceId } of visits) {
    stays.push(others.get(geofenceId))
    others.delete(geofenceId)
  }
  return zoneOf(visits, stays, [...others.values()], clearance, latitude, now)
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
function zoneOf(
  visits: readonly Visit[],
  visited: readonly (Fact | undefined)[],
  candidates: readonly Fact[],
  clearance: number,
  latitude: number,
  now: Circumstances,
): Zone {
  const { settings } = now
  let radius = clearance
  let until = Infinity
  let untilReceived = Infinity

  for (let i = 0; i < visits.length; i++) {
    const fact = visited[i]
    if (fact === undefined) return NO_ZONE
    const { geofence, distance } = fact
    // Inside the boundary no exit is possible, whatever buffers and accuracy say.
    radius = Math.min(radius, -distance)
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
    radius = Math.min(radius, settings.bufferEntries ? distance - now.accuracy : distance)
  }
  return zoneWithin(radius, until, untilReceived, latitude, now)
}

/**
 * @param meters from the evaluated point to the nearest boundary that matters
 * @param until the last time t, and `untilReceived` the first server time not, that nothing else happens
 */
export function zoneWithin(
  meters: number,
  until: number,
  untilReceived: number,
  latitude: number,
  { time, accuracy, settings }: Circumstances,
): Zone {
  const radiusMeters = Math.min(meters, MAX_RADIUS_METERS) * MARGIN_SHARE - MARGIN_METERS
  if (!(radiusMeters > 0) || until < time || Math.abs(latitude) > MAX_ZONE_LATITUDE) return NO_ZONE
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
