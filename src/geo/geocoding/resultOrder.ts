/** The order of results, and which of them are the same thing. Pure. */
import { pointDistance } from '../../geometry/distance.ts'
import { numberValue } from '../records/houseNumbers.ts'
import { isCoarse, LAYERS, type Address } from './port.ts'
import type { Ranked } from './ranking.ts'

export interface Result extends Ranked {
  readonly address: Address
}

/** Results with the same label and city within this distance are one. */
const SAME_METERS = 200
/** Centres of one area may be this far apart in different data. */
const SAME_AREA_METERS = 25_000
/** Scores are compared to a millionth. */
const SCORE_UNITS = 1e6

export function compareResults(a: Result, b: Result): number {
  const label = ({ addressLabel, placeLabel }: Address): string => addressLabel ?? placeLabel ?? ''
  return (
    Math.round(b.score * SCORE_UNITS) - Math.round(a.score * SCORE_UNITS) ||
    LAYERS.indexOf(a.address.layer) - LAYERS.indexOf(b.address.layer) ||
    b.candidate.importance - a.candidate.importance ||
    (a.meters ?? 0) - (b.meters ?? 0) ||
    numberValue(a.address.number ?? '') - numberValue(b.address.number ?? '') ||
    compare(a.address.number ?? '', b.address.number ?? '') ||
    compare(label(a.address), label(b.address)) ||
    a.address.latitude - b.address.latitude ||
    a.address.longitude - b.address.longitude
  )
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** @param results sorted; of the same ones the first stays */
export function withoutDuplicates<One extends Result>(results: readonly One[]): One[] {
  const kept = new Map<string, Address[]>()
  return results.filter(({ address }) => {
    const { layer, addressLabel, placeLabel, city, countryCode, unit } = address
    const isArea = isCoarse(layer)
    const key = [isArea && layer, addressLabel ?? placeLabel, isArea ? countryCode : city, unit]
      .join('\n')
      .toLowerCase()
    const others = kept.get(key) ?? []
    const reach = isArea ? SAME_AREA_METERS : SAME_METERS
    if (others.some((other) => metersBetween(other, address) <= reach)) return false
    kept.set(key, [...others, address])
    return true
  })
}

function metersBetween(a: Address, b: Address): number {
  return pointDistance(a.latitude, a.longitude, b.latitude, b.longitude)
}
