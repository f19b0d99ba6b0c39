import type { Waypoint } from '../model/event.ts'
import { isActiveAt } from '../model/geofence.ts'
import { Probe } from '../geometry/probe.ts'
import { isTooInaccurate } from './circumstances.ts'
import type { Crowded } from './crowded.ts'
import type { DeviceState } from './deviceState.ts'
import type { Context, Evaluator, Explanation, Situation, Spot, Step } from './evaluator.ts'
import { explainGeofences } from './geofenceExplanation.ts'
import { GeofenceFinder, type GeofenceFacts } from './geofenceFinder.ts'
import { delayMs, isMeantFor } from './geofenceRules.ts'
import { step } from './geofenceStep.ts'
import type { Unmeasured } from './measured.ts'
import type { Unread } from './unread.ts'
import type { DeviceRows } from './port.ts'
import { geofenceLimits, NOWHERE_SAFE, ZONE, type ZoneLimits } from './safeZone.ts'

/** The update is too inaccurate to touch a geofence (`maxAccuracyMeters`). */
const TOO_INACCURATE: unique symbol = Symbol('too inaccurate')

/** Limits alone if nothing changes for any geofence. */
type Facts = GeofenceFacts | ZoneLimits | typeof TOO_INACCURATE

const NOTHING: Step = { transitions: [] }

/**
 * Decides which geofences the device is in: entries, exits, dwells and crossings.
 *
 * Owns: `visits`, `approaches` and `crossed` of the state. Does not own: the rules of one geofence (geofenceRules.ts,
 * crossing.ts), combining several (geofenceStep.ts), finding and measuring them (geofenceFinder.ts).
 */
export class GeofenceEvaluator implements Evaluator<Facts> {
  readonly rank = 2
  readonly zone = ZONE.geofences
  readonly finder = new GeofenceFinder()
  readonly #probe = new Probe()

  get meetings(): number {
    return this.finder.meetings
  }

  facts(before: DeviceState, situation: Situation): Facts | Crowded | Unmeasured | Unread {
    if (!isTooInaccurate(situation.update, situation.now.settings))
      return this.finder.find(before, situation, lastPlace(situation))
    this.finder.skip()
    return TOO_INACCURATE
  }

  step(before: DeviceState, facts: Facts, { now }: Situation): Step {
    if (facts === TOO_INACCURATE || 'meters' in facts) return NOTHING
    const { visits, approaches, crossed, transitions } = step(before, facts, now)
    return { state: { visits, approaches, crossed }, transitions }
  }

  limits(before: DeviceState, facts: Facts, { state }: Step, { now }: Situation): ZoneLimits {
    if (facts === TOO_INACCURATE) return NOWHERE_SAFE
    const limits =
      'meters' in facts ? facts : geofenceLimits(state?.visits ?? before.visits, before.visits, facts, now)
    // How far buffers reach depends on the accuracy.
    return now.settings.bufferEntries ? { ...limits, accuracy: now.accuracy } : limits
  }

  remember({ candidateCache }: DeviceRows, row: number, { visits }: DeviceState): void {
    this.finder.remember(candidateCache, row, visits)
  }

  explain(before: DeviceState, situation: Situation): Explanation {
    return explainGeofences(before, this.finder.findAll(before.visits, situation), situation)
  }

  /** The enabled geofences that contain the point and are meant for the user. */
  context({ view, latitude, longitude, userId, receivedAt }: Spot): Pick<Context, 'geofences'> {
    const { index } = view
    const probe = this.#probe
    const slots: number[] = []
    index.candidates(probe.set(latitude, longitude), 0, slots)
    const geofences = slots
      .filter((slot) => index.distance(slot, probe) <= 0)
      .map((slot) => index.geofence(slot))
      .filter((geofence) => isMeantFor(geofence, userId) && isActiveAt(geofence, receivedAt))
      .sort((a, b) => (a.id < b.id ? -1 : 1))
    return { geofences }
  }
}

/** The position of the last update, if crossings since then are wanted. */
function lastPlace({ now, rows, row = -1 }: Situation): Waypoint | undefined {
  const { detectCrossings, maxGapSeconds } = now.settings
  if (!detectCrossings || rows === undefined || rows.isIgnored(row)) return undefined
  const time = rows.updatedAt(row)
  if (now.time - time > delayMs(maxGapSeconds)) return undefined
  return { time, latitude: rows.latitude(row), longitude: rows.longitude(row) }
}
