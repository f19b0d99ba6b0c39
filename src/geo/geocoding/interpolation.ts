import { pointDistance } from '../../geometry/distance.ts'
import type { PlaceRecords, StoredAddress, StoredStreet } from '../placeDatabase/port.ts'
import { numberValue } from '../records/houseNumbers.ts'
import type { NumberReading } from './query.ts'

/** Known numbers further apart say nothing of those between them. */
const MOST_NUMBERS_APART = 200
const MOST_METERS_APART = 300
/** House numbers of the other side of the street are looked past. */
const MOST_LOOKED_AT = 100

/**
 * Where a house of which the number is not known must be: with `12` for `12 B` and the reverse; otherwise in proportion
 * between known numbers of its side of the street.
 */
export function houseBetween(
  region: PlaceRecords,
  street: StoredStreet,
  { key, value }: NumberReading,
): StoredAddress | undefined {
  const number = key.toUpperCase()
  const [same] = region.housesOf(street.id, [value, value], 1)
  if (same !== undefined && value > 0) return { ...same, number, unit: null }
  const isSameSide = (house: StoredAddress): boolean => (numberValue(house.number) - value) % 2 === 0
  const below = region
    .housesOf(street.id, [value - MOST_NUMBERS_APART, value - 1], MOST_LOOKED_AT, 'descending')
    .find(isSameSide)
  const above = region
    .housesOf(street.id, [value + 1, value + MOST_NUMBERS_APART], MOST_LOOKED_AT, 'ascending')
    .find(isSameSide)
  if (below === undefined || above === undefined) return undefined
  const [first, last] = [numberValue(below.number), numberValue(above.number)]
  if (last - first > MOST_NUMBERS_APART) return undefined
  const [[ax, ay], [bx, by]] = [below.position, above.position]
  if (pointDistance(ay, ax, by, bx) > MOST_METERS_APART) return undefined
  const share = (value - first) / (last - first)
  const near = share < 0.5 ? below : above
  return { ...near, number, unit: null, position: [ax + (bx - ax) * share, ay + (by - ay) * share] }
}
