import { pointDistance } from '../../geometry/distance.ts'
import type { PlaceRecords, StoredAddress, StoredRange, StoredStreet } from '../placeDatabase/port.ts'
import { numberValue } from '../records/houseNumbers.ts'
import { numberOnLine, type NumberOnLine } from '../records/numberRanges.ts'
import type { NumberReading } from './query.ts'

/** Known numbers that are further apart than this say nothing about the numbers between them. */
const MOST_NUMBERS_APART = 200
const MOST_METERS_APART = 300
/** How many house numbers may be looked at, because those of the other side of the street are skipped. */
const MOST_LOOKED_AT = 100

/** Where a house must be, and the difference between the two known numbers on either side of it. */
interface Between {
  readonly house: StoredAddress
  readonly apart: number
}

/**
 * Where a house must be whose number is not known: at `12` for `12 B`, or the reverse; otherwise in a number range, or
 * in proportion between known numbers of its side of the street, whichever is narrower.
 */
export function houseBetween(
  region: PlaceRecords,
  street: StoredStreet,
  { key, value }: NumberReading,
): StoredAddress | undefined {
  const number = key.toUpperCase()
  const [same] = region.housesOf(street.id, [value, value], 1)
  if (same !== undefined && value > 0) return { ...same, number, unit: null }
  const between = betweenNeighbours(region, street, value)
  const inRange = betweenEnds(region, street, value)
  const isRange = inRange !== undefined && inRange.apart <= (between?.apart ?? Infinity)
  const found = isRange ? inRange : between
  return found && { ...found.house, number, unit: null }
}

function betweenEnds(region: PlaceRecords, street: StoredStreet, value: number): Between | undefined {
  const ranges = region.rangesOf(street.id, value).map((range) => ({ range, apart: widthOf(range) }))
  if (ranges.length === 0) return undefined
  const { range, apart } = ranges.reduce((a, b) => (b.apart < a.apart ? b : a))
  return { house: houseOnLine(range, numberOnLine(range, value)), apart }
}

/** A house in a number range, with the properties of the range. */
export function houseOnLine(
  { street, city, state, postalCode }: StoredRange,
  { number, position }: NumberOnLine,
): StoredAddress {
  return { number, street, unit: null, city, state, postalCode, property: null, position }
}

function widthOf({ first, last }: StoredRange): number {
  return Math.abs(numberValue(last) - numberValue(first))
}

function betweenNeighbours(region: PlaceRecords, street: StoredStreet, value: number): Between | undefined {
  const isSameSide = (house: StoredAddress): boolean => (numberValue(house.number) - value) % 2 === 0
  const below = region
    .housesOf(street.id, [value - MOST_NUMBERS_APART, value - 1], MOST_LOOKED_AT, 'descending')
    .find(isSameSide)
  const above = region
    .housesOf(street.id, [value + 1, value + MOST_NUMBERS_APART], MOST_LOOKED_AT, 'ascending')
    .find(isSameSide)
  if (below === undefined || above === undefined) return undefined
  const [first, last] = [numberValue(below.number), numberValue(above.number)]
  const apart = last - first
  if (apart > MOST_NUMBERS_APART) return undefined
  const [[ax, ay], [bx, by]] = [below.position, above.position]
  if (pointDistance(ay, ax, by, bx) > MOST_METERS_APART) return undefined
  const share = (value - first) / apart
  const near = share < 0.5 ? below : above
  return { house: { ...near, position: [ax + (bx - ax) * share, ay + (by - ay) * share] }, apart }
}
