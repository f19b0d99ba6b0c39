import type { Circumstances } from './circumstances.ts'
import { pointDistance } from '../geometry/distance.ts'
import { beaconKey } from '../model/beacon.ts'
import type { BeaconVisit } from '../model/device.ts'
import type { BeaconTransition } from '../model/event.ts'
import type { Update } from '../model/update.ts'
import type { BeaconDirectory } from '../spatial/port.ts'
import type { DeviceState } from './deviceState.ts'
import type { Evaluator, Situation, Step } from './evaluator.ts'
import { NOWHERE_SAFE, NO_LIMITS, ZONE, type ZoneLimits } from './safeZone.ts'

/** A device that does not report beacons has left one when it is farther away than this plus its accuracy. */
const RANGE_METERS = 100

export interface BeaconStep {
  readonly visits: readonly BeaconVisit[]
  readonly transitions: readonly BeaconTransition[]
}

const NO_TRANSITIONS: readonly BeaconTransition[] = []

/**
 * Evaluates one update against the beacons (docs/spec.md, "Beacons"). Pure; if nothing changes, the same array of
 * visits is returned. Exits come first, in the order of entry, then entries by beacon id. A beacon that was disabled
 * or deleted is removed from the state without an event.
 */
export function stepBeacons(
  visits: readonly BeaconVisit[],
  directory: BeaconDirectory,
  update: Pick<Update, 'latitude' | 'longitude' | 'beacons'>,
  now: Circumstances,
): BeaconStep {
  if (visits.length === 0 && (update.beacons === undefined || update.beacons.length === 0))
    return { visits, transitions: NO_TRANSITIONS }
  // A scan may list the same beacon several times, and several beacons may share its identifiers.
  const listed = update.beacons && new Map(update.beacons.map((ranged) => [beaconKey(ranged), ranged]))
  const inRange = listed && [...listed.values()].flatMap((ranged) => directory.inRange(ranged))
  const idsInRange = inRange && new Set(inRange.map(({ id }) => id))
  const transitions: BeaconTransition[] = []
  const stays: BeaconVisit[] = []

  for (const visit of visits) {
    const beacon = directory.beacon(visit.beaconId)
    if (beacon === undefined || !beacon.enabled) continue
    const [longitude, latitude] = beacon.coordinates
    const isInRange =
      idsInRange?.has(beacon.id) ??
      pointDistance(update.latitude, update.longitude, latitude, longitude) <= RANGE_METERS + now.accuracy
    if (isInRange) stays.push(visit)
    else {
      const duration = (now.time - visit.enteredAt) / 60_000
      transitions.push({ type: 'user.exited_beacon', beacon, confidence: 3, duration })
    }
  }
  const known = new Set(visits.map(({ beaconId }) => beaconId))
  const entered = new Map(inRange?.filter(({ id }) => !known.has(id)).map((beacon) => [beacon.id, beacon]))
  for (const beacon of [...entered.values()].sort((a, b) => (a.id < b.id ? -1 : 1))) {
    stays.push({ beaconId: beacon.id, enteredAt: now.time })
    transitions.push({ type: 'user.entered_beacon', beacon, confidence: 3 })
  }
  const changed = entered.size > 0 || stays.length !== visits.length
  return changed ? { visits: stays, transitions } : { visits, transitions: NO_TRANSITIONS }
}

/**
 * Decides which beacons the device is in range of. Its facts are the directory of beacons, which cost nothing to get.
 *
 * Owns: `beacons` of the state.
 */
export class BeaconEvaluator implements Evaluator<BeaconDirectory> {
  readonly rank = 4
  readonly zone = ZONE.geofences

  facts({ beacons }: DeviceState, { update, view }: Situation): BeaconDirectory | undefined {
    const isConcerned = beacons.length > 0 || (update.beacons !== undefined && update.beacons.length > 0)
    return isConcerned ? view.beacons : undefined
  }

  step({ beacons }: DeviceState, directory: BeaconDirectory, { update, now }: Situation): Step {
    const { visits, transitions } = stepBeacons(beacons, directory, update, now)
    return { state: { beacons: visits }, transitions }
  }

  /**
   * While the device is in range of a beacon there is no safe zone, because the next update may not list that beacon.
   */
  limits(_before: DeviceState, _directory: BeaconDirectory, { state }: Step): ZoneLimits {
    return state!.beacons!.length === 0 ? NO_LIMITS : NOWHERE_SAFE
  }
}
