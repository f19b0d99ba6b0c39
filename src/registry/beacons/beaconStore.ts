import type { Beacon, RangedBeacon } from '../../model/beacon.ts'
import { beaconKey } from '../../model/beacon.ts'
import { BeaconGrid } from '../../spatial/beaconGrid.ts'
import type { NearBeacon } from '../../spatial/beaconGrid.ts'
import type { BeaconDirectory } from '../../spatial/port.ts'
import { ObjectRecords } from '../records/objectRecords.ts'

const NONE: readonly Beacon[] = []

/**
 * The beacons of one scope in memory, the replica of their rows. Owns no durability.
 *
 * Invariants
 * - BEACONS-1: the list holds all beacons, `#byKey` and `#grid` hold the enabled ones.
 */
export class BeaconStore extends ObjectRecords<Beacon> implements BeaconDirectory {
  /** The beacons by their identifiers. */
  readonly #byKey = new Map<string, Beacon[]>()
  readonly #grid = new BeaconGrid()

  beacon(id: string): Beacon | undefined {
    return this.get(id)
  }

  inRange(ranged: RangedBeacon): readonly Beacon[] {
    return this.#byKey.get(beaconKey(ranged)) ?? NONE
  }

  /**
   * Searches around a point.
   * @param accept called for the beacons within the radius
   */
  near(
    latitude: number,
    longitude: number,
    radiusMeters: number,
    limit: number,
    accept?: (beacon: Beacon) => boolean,
  ): readonly NearBeacon[] {
    return this.#grid.near(latitude, longitude, radiusMeters, limit, accept)
  }

  /** Adds a beacon, or replaces the one with its id. New ones must come in the order of createdAt. */
  override put(beacon: Beacon): Beacon | undefined {
    const before = super.put(beacon)
    if (before !== undefined) this.#silence(before)
    if (!beacon.enabled) {
      this.#grid.remove(beacon.id)
      return before
    }
    this.#grid.put(beacon)
    const key = beaconKey(beacon)
    const alike = this.#byKey.get(key)
    if (alike === undefined) this.#byKey.set(key, [beacon])
    else alike.push(beacon)
    return before
  }

  override remove(id: string): Beacon | undefined {
    const beacon = super.remove(id)
    if (beacon === undefined) return undefined
    this.#silence(beacon)
    this.#grid.remove(id)
    return beacon
  }

  /** Removes a beacon from the look-ups, because it can no longer be ranged. */
  #silence(beacon: Beacon): void {
    const key = beaconKey(beacon)
    const alike = this.#byKey.get(key)
    const at = alike === undefined ? -1 : alike.indexOf(beacon)
    if (alike === undefined || at < 0) return
    if (alike.length === 1) this.#byKey.delete(key)
    else alike.splice(at, 1)
  }
}
