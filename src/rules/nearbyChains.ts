import type { PlaceTransition } from '../model/event.ts'
import { shownPlace, type Chain } from '../model/place.ts'
import type { NearestOfChain } from './atlas.ts'
import type { Circumstances } from './circumstances.ts'
import { NO_LIMITS, type ZoneLimits } from './safeZone.ts'

/** A chain is left at this multiple of the distance at which it is near. */
const LEAVE_SHARE = 1.5

export interface NearbyStep {
  /** The nearby chains. It is the same array if nothing changed. */
  readonly nearby: readonly Chain[]
  readonly transitions: readonly PlaceTransition[]
}

/**
 * Decides which watched chains are near at an update (docs/spec.md, "Places"). The code is pure.
 * @param before the chains that were near
 * @param nearest in the order of {@link Settings.nearbyPlaceChains}
 */
export function stepNearby(
  before: readonly Chain[],
  nearest: readonly NearestOfChain[],
  now: Pick<Circumstances, 'accuracy' | 'accuracyKnown' | 'settings'>,
): NearbyStep {
  const { accuracy, accuracyKnown, settings } = now
  const { nearbyPlaceChains: slugs, nearbyPlaceChainMeters: radius } = settings
  const transitions: PlaceTransition[] = []
  const nearby = before.filter(({ slug }) => {
    const at = slugs.indexOf(slug)
    return at >= 0 && nearest[at]!.meters <= LEAVE_SHARE * radius
  })
  for (const { place, meters } of nearest) {
    if (place?.chain === undefined || meters > radius) continue
    const { chain } = place
    if (before.some(({ slug }) => slug === chain.slug)) continue
    nearby.push(chain)
    const isSure = meters + accuracy <= radius
    transitions.push({
      type: 'user.nearby_place_chain',
      place: shownPlace(place, settings),
      confidence: accuracyKnown ? (isSure ? 3 : 2) : 1,
    })
  }
  const isSame = transitions.length === 0 && nearby.length === before.length
  return { nearby: isSame ? before : nearby, transitions }
}

/**
 * How far the user may move before a chain comes near or is left.
 * @param nearby the chains that are near now
 */
export function nearbyLimits(
  nearby: readonly Chain[],
  nearest: readonly NearestOfChain[],
  { nearbyPlaceChains: slugs, nearbyPlaceChainMeters: radius }: Circumstances['settings'],
): ZoneLimits {
  let limit = Infinity
  slugs.forEach((slug, at) => {
    const { meters } = nearest[at]!
    const isNear = nearby.some((chain) => chain.slug === slug)
    limit = Math.min(limit, isNear ? LEAVE_SHARE * radius - meters : meters - radius)
  })
  return { ...NO_LIMITS, meters: limit }
}
