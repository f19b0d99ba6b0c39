import { destination } from '../geometry/distance.ts'
import type { RegionEventType, RegionTransition } from '../model/event.ts'
import {
  codesIn,
  NO_REGIONS,
  REGION_KINDS,
  regionCodes,
  type Region,
  type RegionCodes,
  type RegionKind,
  type RegionStays,
} from '../model/region.ts'
import type { Settings } from '../model/settings.ts'
import { Unfetched, Unknown, type Atlas, type RegionsHere } from './atlas.ts'
import type { Circumstances } from './circumstances.ts'
import type { DeviceState } from './deviceState.ts'
import type {
  Context,
  Evaluator,
  Explanation,
  RegionExplanation,
  Situation,
  Spot,
  Step,
} from './evaluator.ts'
import { NOWHERE_SAFE, NO_LIMITS, ZONE, type ZoneLimits } from './safeZone.ts'

/** An update that is less accurate than this changes no region. */
const MOST_ACCURACY_METERS = 10_000

/** The bearings of north, east, south and west. */
const BEARINGS = [0, 90, 180, 270]

/** The order of events of different kinds, as indexes in {@link REGION_KINDS}. */
const EVENT_ORDER = [1, 2, 3, 0] as const

const NOTHING: Step = { transitions: [] }

type Confidence = 1 | 2 | 3

/** What is known about the regions of one update. */
export interface RegionFacts {
  readonly here: RegionsHere
  /**
   * The confidences in the order of {@link REGION_KINDS}; undefined if the update changes nothing, because it is too
   * inaccurate.
   */
  readonly confidences: readonly Confidence[] | undefined
}

/** The regions were turned off. */
const TURNED_OFF: unique symbol = Symbol('turned off')

type Facts = RegionFacts | Unknown | typeof TURNED_OFF

/**
 * Decides which country, state, DMA and postal code the device is in (docs/spec.md, "Regions").
 *
 * Owns: `regions` of the state. Does not own: where the borders are (atlas.ts).
 */
export class RegionEvaluator implements Evaluator<Facts> {
  readonly rank = 1
  readonly zone = ZONE.regions

  isOff({ regions }: Settings): boolean {
    return !regions
  }

  facts({ regions }: DeviceState, { update, view, now }: Situation): Facts | Unfetched | undefined {
    if (this.isOff(now.settings)) return regions === NO_REGIONS ? undefined : TURNED_OFF
    const here = view.atlas.regionsAt(update.latitude, update.longitude)
    if (here instanceof Unfetched || here instanceof Unknown) return here
    if (here.codes === regions.codes || now.accuracy > MOST_ACCURACY_METERS)
      return { here, confidences: undefined }
    const confidences = confidencesAt(view.atlas, update.latitude, update.longitude, here, now)
    return confidences instanceof Unfetched ? confidences : { here, confidences }
  }

  step({ regions }: DeviceState, facts: Facts, { view, now }: Situation): Step {
    if (facts === TURNED_OFF) return { state: { regions: NO_REGIONS }, transitions: [] }
    if (facts instanceof Unknown || facts.confidences === undefined) return NOTHING
    return stepRegions(regions, facts.here.codes, facts.confidences, now, (kind, code) =>
      view.atlas.region(kind, code),
    )
  }

  limits({ regions }: DeviceState, facts: Facts, { state }: Step): ZoneLimits {
    if (facts === TURNED_OFF) return NO_LIMITS
    if (facts instanceof Unknown) return { ...NO_LIMITS, untilReceived: facts.until }
    const { here } = facts
    // A change that is held back may happen at the next update.
    if ((state?.regions ?? regions).codes !== here.codes) return NOWHERE_SAFE
    return { ...NO_LIMITS, meters: here.clearanceMeters }
  }

  explain({ regions }: DeviceState, { update, view, now }: Situation): Partial<Explanation> | Unfetched {
    if (!now.settings.regions) return {}
    const { latitude, longitude } = update
    const here = view.atlas.regionsAt(latitude, longitude)
    if (here instanceof Unfetched) return here
    if (here instanceof Unknown)
      return {
        regionsNote: 'The data of regions cannot be read at the moment: the user stays in the same regions.',
      }
    const confidences = confidencesAt(view.atlas, latitude, longitude, here, now)
    if (confidences instanceof Unfetched) return confidences
    return { regions: explanations(regions, here.codes, confidences, now) }
  }

  /** All regions at a point. The settings do not apply. */
  context({ view, latitude, longitude }: Spot): Partial<Context> | Unfetched {
    const here = view.atlas.regionsAt(latitude, longitude)
    if (here instanceof Unfetched) return here
    if (here instanceof Unknown) return { isBroken: here.isFailure }
    return { regions: regionsOf(here.codes, view.atlas) }
  }
}

/** The regions with these codes, the country first. */
export function regionsOf(codes: RegionCodes, atlas: Pick<Atlas, 'region'>): Region[] {
  return codesIn(codes).flatMap((code, place) =>
    code === undefined ? [] : [atlas.region(REGION_KINDS[place]!, code)],
  )
}

/**
 * Applies one update to the regions of a user. The code is pure. If a kind's region changes with too little
 * confidence, the kind stays as it is. Kinds are independent of each other.
 */
export function stepRegions(
  before: RegionStays,
  here: RegionCodes,
  confidences: readonly Confidence[],
  { time, settings }: Pick<Circumstances, 'time' | 'settings'>,
  region: (kind: RegionKind, code: string) => Region,
): Step {
  const was = codesIn(before.codes)
  const is = codesIn(here)
  const since = [...before.since]
  const transitions: RegionTransition[] = []
  for (const place of EVENT_ORDER) {
    const confidence = confidences[place]!
    if (was[place] === is[place] || confidence < settings.minimumConfidence) {
      is[place] = was[place]
      continue
    }
    const kind = REGION_KINDS[place]!
    if (settings.regionEvents.includes(kind)) {
      const left = was[place]
      const entered = is[place]
      if (left !== undefined) {
        const duration = (time - before.since[place]!) / 60_000
        transitions.push({
          type: eventType('exited', kind),
          region: region(kind, left),
          confidence,
          duration,
        })
      }
      if (entered !== undefined)
        transitions.push({ type: eventType('entered', kind), region: region(kind, entered), confidence })
    }
    since[place] = is[place] === undefined ? 0 : time
  }
  const codes = regionCodes(is)
  return codes === before.codes ? NOTHING : { state: { regions: { codes, since } }, transitions }
}

function eventType(what: 'entered' | 'exited', kind: RegionKind): RegionEventType {
  return `user.${what}_region_${kind === 'postalCode' ? 'postal_code' : kind}`
}

/**
 * How certain it is that a point lies in its regions, by kind: 3 if the points in all four directions, as far away as
 * the accuracy, lie in the same region, 2 if at least two of them do, otherwise 1.
 */
function confidencesAt(
  atlas: Atlas,
  latitude: number,
  longitude: number,
  here: RegionsHere,
  { accuracy, accuracyKnown }: Circumstances,
): readonly Confidence[] | Unfetched {
  if (!accuracyKnown) return LOWEST_CONFIDENCE
  if (accuracy < here.clearanceMeters) return HIGHEST
  const own = codesIn(here.codes)
  const same = [0, 0, 0, 0]
  for (const bearing of BEARINGS) {
    const point = destination(latitude, longitude, bearing, accuracy)
    const there = atlas.regionsAt(point.latitude, point.longitude)
    if (there instanceof Unfetched) return there
    if (there instanceof Unknown) continue
    codesIn(there.codes).forEach((code, place) => (same[place]! += code === own[place] ? 1 : 0))
  }
  return same.map((count) => (count === BEARINGS.length ? 3 : count >= 2 ? 2 : 1))
}

const LOWEST_CONFIDENCE: readonly Confidence[] = [1, 1, 1, 1]
const HIGHEST: readonly Confidence[] = [3, 3, 3, 3]

function explanations(
  before: RegionStays,
  here: RegionCodes,
  confidences: readonly Confidence[],
  { accuracy, settings }: Circumstances,
): RegionExplanation[] {
  const was = codesIn(before.codes)
  return codesIn(here).map((code, place) => {
    const confidence = confidences[place]!
    const one = { type: REGION_KINDS[place]!, was: was[place], is: code, confidence }
    if (code === was[place])
      return { ...one, outcome: 'same', reason: 'The location lies in the same region as before.' }
    if (accuracy > MOST_ACCURACY_METERS) {
      const reason = `The accuracy of ${Math.round(accuracy)} m is above ${MOST_ACCURACY_METERS} m: no change.`
      return { ...one, outcome: 'withheld', reason }
    }
    if (confidence < settings.minimumConfidence) {
      const reason = `Confidence ${confidence} is below the minimum of ${settings.minimumConfidence}: no change yet.`
      return { ...one, outcome: 'withheld', reason }
    }
    const reason = `The location lies in another region than before: changed with confidence ${confidence}.`
    return { ...one, outcome: 'changed', reason }
  })
}
