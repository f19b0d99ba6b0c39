import { pointDistance } from '../geometry/distance.ts'
import type { FraudTransition } from '../model/event.ts'
import {
  CLAIM,
  DATED_FLAGS,
  MARK,
  passes,
  reasonsOf,
  type FraudRecord,
  type FraudSettings,
} from '../model/fraud.ts'
import type { Settings } from '../model/settings.ts'
import type { Update } from '../model/update.ts'
import { Unfetched, Unknown, type Atlas, type IpHere } from './atlas.ts'
import type { DeviceState } from './deviceState.ts'
import type { Evaluator, Situation, Step } from './evaluator.ts'
import { isListed, listsOf } from './fraudLists.ts'
import {
  LONGEST_DEGREE_METERS,
  MAX_RADIUS_METERS,
  movedMeters,
  NOWHERE_SAFE,
  NO_LIMITS,
  ZONE,
  type ZoneLimits,
} from './safeZone.ts'
import { evaluatedAccuracy } from '../geometry/confidence.ts'

/** The source that Android names for a location that an app has made up. */
const MOCK_SOURCE = 'MOCK_LOCATION'
/** An IP address is often used in a neighbouring country, but not this far away. */
const IP_METERS = 1_000_000
const METERS_PER_SECOND = 1 / 3.6

/** The marks that an update raises, and how far and how long the device has no others. */
interface FraudFacts {
  /** The bits of `MARK`. */
  readonly marks: number
  readonly limits: ZoneLimits
}

/**
 * Judges whether an update is fraudulent (docs/spec.md, "Fraud").
 *
 * Owns: `fraud` of the state. Does not own: where IP addresses are used and which are proxies (atlas.ts), who is
 * listed (fraudLists.ts).
 */
export class FraudEvaluator implements Evaluator<FraudFacts> {
  readonly rank = 5
  readonly zone = ZONE.regions

  isOff({ fraud }: Settings): boolean {
    return !fraud.enabled
  }

  facts(_before: DeviceState, situation: Situation): FraudFacts | Unfetched | undefined {
    const { update, view, now, rows, row = -1 } = situation
    if (this.isOff(now.settings)) return undefined
    const { fraud } = now.settings
    const ip = view.atlas.ipAt(update.ip)
    if (ip instanceof Unfetched) return ip
    const own = ownMarks(update, fraud)
    const jumped = rows !== undefined && isJump(situation, fraud) ? MARK.jumped : 0
    const listed = isListed(listsOf(fraud), update, rows === undefined ? undefined : rows.recordId(row))
    if (ip instanceof Unknown)
      return { marks: own | jumped | listed, limits: { ...NO_LIMITS, untilReceived: ip.until } }
    const far = fraud.ipCountry ? farFromIp(ip, update, view.atlas) : NOT_FAR
    if (far instanceof Unfetched) return far
    const marks = own | jumped | listed | (ip.isProxy ? MARK.proxy : 0) | far.marks
    return { marks, limits: { ...NO_LIMITS, meters: far.meters, untilReceived: ip.until } }
  }

  step({ fraud }: DeviceState, { marks }: FraudFacts, { now }: Situation): Step {
    return stepFraud(fraud, marks, now.time)
  }

  /**
   * The limits of the zone. A flag has the time of the last update with it, so each update counts while one is raised.
   */
  limits(_before: DeviceState, { marks, limits }: FraudFacts): ZoneLimits {
    return raisesDate(marks) || (marks & MARK.verified) !== 0 ? NOWHERE_SAFE : limits
  }
}

/**
 * Applies one update to the fraud of a user. The code is pure.
 * @param marks the marks of the update
 * @param time the time t
 */
export function stepFraud(before: FraudRecord, marks: number, time: number): Step {
  if (marks === before.marks && !raisesDate(marks)) return { transitions: [] }
  const last = DATED_FLAGS.map(([, bits], flag) => ((marks & bits) === 0 ? before.last[flag]! : time))
  const fraud = { marks, last }
  const fails = passes(before.marks) && !passes(marks)
  const failed: FraudTransition = {
    type: 'user.failed_fraud',
    fraud,
    failureReasons: reasonsOf(marks),
    confidence: 3,
  }
  return { state: { fraud }, transitions: fails ? [failed] : [] }
}

/**
 * Whether an update in a safe zone may raise a flag that the zone does not limit. The zone itself limits lists,
 * proxies and countries, because it ends when the user, the address or the settings change.
 */
export function maySuspect(
  update: Update,
  fraud: FraudSettings,
  lastLatitude: number,
  lastLongitude: number,
  cosine: number,
): boolean {
  if (ownMarks(update, fraud) !== 0) return true
  const { latitude, longitude } = update
  // A longer jump ends the zone anyway.
  if (fraud.jumpMeters > 3 * MAX_RADIUS_METERS) return false
  return movedMeters(lastLatitude, lastLongitude, cosine, latitude, longitude) > fraud.jumpMeters
}

/** The marks that follow from the update alone. */
function ownMarks({ claims = 0, source, accuracy }: Update, { maxAccuracy }: FraudSettings): number {
  let marks = accuracy !== undefined && accuracy > maxAccuracy ? MARK.inaccurate : 0
  if (source === MOCK_SOURCE || (claims & CLAIM.mocked) !== 0) marks |= MARK.mockProvider
  if (claims === 0) return marks
  if ((claims & CLAIM.compromised) !== 0) marks |= MARK.compromised
  if ((claims & CLAIM.sharing) !== 0) marks |= MARK.sharing
  if ((claims & CLAIM.verified) !== 0) marks |= MARK.verified
  return marks
}

function raisesDate(marks: number): boolean {
  return DATED_FLAGS.some(([, bits]) => (marks & bits) !== 0)
}

/** Whether the movement is a jump: nobody moves so far so fast, whatever the accuracies of both locations are. */
function isJump(
  { update, now, rows, row = -1 }: Situation,
  { jumpMeters, jumpSpeed }: FraudSettings,
): boolean {
  const [latitude, longitude] = [rows!.latitude(row), rows!.longitude(row)]
  const degrees = Math.abs(update.latitude - latitude) + Math.abs(update.longitude - longitude)
  // Nearly every update: first along a meridian, then along the equator, it would not be that far.
  if (degrees * LONGEST_DEGREE_METERS <= jumpMeters) return false
  const lastAccuracy = rows!.accuracy(row)
  const known = Number.isNaN(lastAccuracy) ? 0 : evaluatedAccuracy(lastAccuracy)
  const way = pointDistance(latitude, longitude, update.latitude, update.longitude)
  const meters = way - known - now.accuracy
  if (meters <= jumpMeters) return false
  const seconds = Math.max(1, (now.time - rows!.updatedAt(row)) / 1000)
  return meters / seconds > jumpSpeed * METERS_PER_SECOND
}

interface FarFromIp {
  readonly marks: number
  /** How far the device may move before this changes, in metres. */
  readonly meters: number
}

const NOT_FAR: FarFromIp = { marks: 0, meters: Infinity }

/** Whether the address is used in another country, more than a thousand kilometres away. */
function farFromIp(ip: IpHere, { latitude, longitude }: Update, atlas: Atlas): FarFromIp | Unfetched {
  if (ip.country === undefined) return NOT_FAR
  const meters = pointDistance(latitude, longitude, ip.latitude, ip.longitude) - IP_METERS
  // If the address is used nearby, the country does not matter.
  if (meters <= 0) return { marks: 0, meters: -meters }
  const here = atlas.regionsAt(latitude, longitude)
  if (here instanceof Unfetched) return here
  if (here instanceof Unknown) return { marks: 0, meters: 0 }
  const country = here.codes.split('/', 1)[0]
  const limit = Math.min(meters, here.clearanceMeters)
  return { marks: country === '' || country === ip.country ? 0 : MARK.ipCountry, meters: limit }
}
