import { NearbyPoints } from '../records/nearbyPoints.ts'
import type { AddressRecord, PropertyType } from '../records/records.ts'

/** Houses with the same number, street and city within this distance are one. */
const SAME_HOUSE_METERS = 200

/**
 * Chooses one of the houses with the same number, street, city and unit in each place: preferably an object that is
 * nothing but an address, then the one with the lowest id.
 */
export function distinctHouses(houses: readonly AddressRecord[]): readonly AddressRecord[] {
  if (houses.length === 1) return houses
  const near = new NearbyPoints<{ property: PropertyType | undefined }>(SAME_HOUSE_METERS)
  return houses
    .toSorted((a, b) => Number(b.isPlain) - Number(a.isPlain) || a.id - b.id)
    .flatMap((house) => {
      const same = near.near(house.position)
      if (same === undefined) {
        const kept = { ...house }
        near.add(house.position, kept)
        return [kept]
      }
      // If a shop has the address, the house is used as a shop.
      same.property ??= house.property
      return []
    })
}
