/** The order of results, and which of them are the same thing. */
import { pointDistance } from '../../geometry/distance.ts'
import type { Position } from '../../model/geofence.ts'
import { numberValue } from '../records/houseNumbers.ts'
import { isCoarse, LAYERS, type Address } from './port.ts'
import type { GeocodeCandidate } from './candidate.ts'
import type { Ranked } from './ranking.ts'

/** Results with the same label and city within this distance count as one. */
const SAME_METERS = 200
/** Centres of the same area may be this far apart in different data. */
const SAME_AREA_METERS = 25_000
/** The precision with which scores are compared: a millionth. */
const SCORE_UNITS = 1e6

export function compareRanked(a: Ranked, b: Ranked): number {
  const [one, other] = [a.candidate, b.candidate]
  return (
    Math.round(b.score * SCORE_UNITS) - Math.round(a.score * SCORE_UNITS) ||
    LAYERS.indexOf(one.layer) - LAYERS.indexOf(other.layer) ||
    other.importance - one.importance ||
    (a.meters ?? 0) - (b.meters ?? 0) ||
    numberValue(one.number ?? '') - numberValue(other.number ?? '') ||
    compare(one.number ?? '', other.number ?? '') ||
    compare(labelOf(one), labelOf(other)) ||
    compare(one.unit ?? '', other.unit ?? '') ||
    one.position[1] - other.position[1] ||
    one.position[0] - other.position[0]
  )
}

function labelOf({ place, area, street }: GeocodeCandidate): string {
  return place?.name ?? area?.name ?? street ?? ''
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Counts the candidates that may be shown, because the others are duplicates; see {@link firstDistinct}. */
export class DistinctCandidates {
  readonly #kept = new Map<string, Position[]>()
  count = 0

  add(candidate: GeocodeCandidate): void {
    const { position, area, number, unit } = candidate
    const key = [labelOf(candidate), number, unit].join('\n').toLowerCase()
    const others = this.#kept.get(key) ?? []
    const reach = area === undefined ? SAME_METERS : SAME_AREA_METERS
    if (others.some(([x, y]) => pointDistance(y, x, position[1], position[0]) <= reach)) return
    others.push(position)
    this.#kept.set(key, others)
    this.count++
  }
}

/**
 * The first results that differ from each other. No others are made, because the texts of an address take time.
 * @param addresses in their order
 */
export function firstDistinct(addresses: Iterable<Address>, count: number): Address[] {
  const kept = new Map<string, Address[]>()
  const results: Address[] = []
  for (const address of addresses) {
    const { layer, addressLabel, placeLabel, city, countryCode, unit } = address
    const isArea = isCoarse(layer)
    const parts = [isArea && layer, addressLabel ?? placeLabel, isArea ? countryCode : city, unit]
    const key = parts.join('\n').toLowerCase()
    const others = kept.get(key) ?? []
    const reach = isArea ? SAME_AREA_METERS : SAME_METERS
    if (others.some((other) => metersBetween(other, address) <= reach)) continue
    kept.set(key, [...others, address])
    results.push(address)
    if (results.length === count) break
  }
  return results
}

function metersBetween(a: Address, b: Address): number {
  return pointDistance(a.latitude, a.longitude, b.latitude, b.longitude)
}
