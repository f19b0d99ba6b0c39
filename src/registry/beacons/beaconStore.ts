import type { Beacon, RangedBeacon } from '../../model/beacon.ts'
import { beaconKey } from '../../model/beacon.ts'
import { BeaconGrid } from '../../spatial/beaconGrid.ts'
import type { NearBeacon } from '../../spatial/beaconGrid.ts'
import type { BeaconDirectory } from '../../spatial/port.ts'
import { ObjectRecords } from '../records/objectRecords.ts'

const NONE: readonly Beacon[] = []

/**
 * The beacons of one scope in memory, the image of their rows. Owns no durability.
 *
 * Invariants
 * - BEACONS-1: `records` holds all beacons, `#byKey` and `#grid` hold the enabled ones.
 */
export class BeaconStore implements BeaconDirectory {
  /** Changed by {@link put} and {@link remove} only. */
  readonly records = new ObjectRecords<Beacon>()
  /** By what they send. */
  readonly #byKey = new Map<string, Beacon[]>()
  readonly #grid = new BeaconGrid()

  get size(): number {
    return this.records.size
  }

  beacon(id: string): Beacon | undefined {
    return this.records.get(id)
  }

  inRange(ranged: RangedBeacon): readonly Beacon[] {
    return this.#byKey.get(beaconKey(ranged)) ?? NONE
  }

  /** @param accept asked of those within the radius */
  near(
    latitude: number,
    longitude: number,
    radiusMeters: number,
    limit: number,
    accept?: (beacon: Beacon) => boolean,
  ): readonly NearBeacon[] {
    return this.#grid.near(latitude, longitude, radiusMeters, limit, accept)
  }

  /** Adds it or replaces the one with its id. New ones come in the order of createdAt. */
  put(beacon: Beacon): void {
    const before = this.records.put(beacon)
    if (before !== undefined) this.#silence(before)
    if (!beacon.enabled) {
      this.#grid.remove(beacon.id)
      return
    }
    this.#grid.put(beacon)
    const key = beaconKey(beacon)
    const alike = this.#byKey.get(key)
    if (alike === undefined) this.#byKey.set(key, [beacon])
    else alike.push(beacon)
  }

  /** Unknown ids are ignored. */
  remove(id: string): void {
    const beacon = this.records.remove(id)
    if (beacon === undefined) return
    this.#silence(beacon)
    this.#grid.remove(id)
  }

  /** Nobody ranges it any more. */
  #silence(beacon: Beacon): void {
    const key = beaconKey(beacon)
    const alike = this.#byKey.get(key)
    const at = alike === undefined ? -1 : alike.indexOf(beacon)
    if (alike === undefined || at < 0) return
    if (alike.length === 1) this.#byKey.delete(key)
    else alike.splice(at, 1)
  }
}
