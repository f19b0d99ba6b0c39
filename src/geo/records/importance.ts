import type { AreaKind, StreetImportance } from './records.ts'

/** How important records are compared to others with the same name, from 0 to 1. */

const AREAS: Readonly<Record<AreaKind, number>> = {
  country: 1,
  state: 0.6,
  county: 0.4,
  postalCode: 0.4,
  neighborhood: 0.35,
  borough: 0.35,
  locality: 0,
}
const STREETS: Readonly<Record<StreetImportance, number>> = { 0: 0.25, 1: 0.3, 2: 0.35 }
const LARGE_SQUARE_METERS = 10_000

export const ADDRESS_IMPORTANCE = 0.2

/**
 * The importance of an area.
 * @param population 0 if it is not known
 */
export function areaImportance(kind: AreaKind, population: number): number {
  return kind === 'locality' ? Math.min(1, Math.log10(population + 10) / 7.5) : AREAS[kind]
}

export function streetImportance(importance: StreetImportance): number {
  return STREETS[importance]
}

/**
 * The importance of a place.
 * @param size in square metres
 */
export function placeImportance(isNotable: boolean, isChain: boolean, size: number): number {
  return 0.3 + (isNotable ? 0.05 : 0) + (isChain ? 0.05 : 0) + (size > LARGE_SQUARE_METERS ? 0.05 : 0)
}
