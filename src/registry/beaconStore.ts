import { pointDistance } from '../geometry/distance.ts'
import type { Beacon, RangedBeacon } from '../model/beacon.ts'
import { beaconKey } from '../model/beacon.ts'
import type { BeaconDirectory } from './port.ts'

const NONE: readonly Beacon[] = []

/** The beacons of one scope in memory, the image of their rows. Owns no durability. */
export class BeaconStore implements BeaconDirectory {
  readonly #byId = new Map<string, Beacon>()
  /** Enabled ones, by what they send. */
  readonly #byKey = new Map<string, readonly Beacon[]>()

  get size(): number {
    return this.#byId.size
  }

  beacon(id: string): Beacon | undefined {
    return this.#byId.get(id)
  }

  inRange(ranged: RangedBeacon): readonly Beacon[] {
    return this.#byKey.get(beaconKey(ranged)) ?? NONE
  }

  near(latitude: number, longitude: number, radiusMeters: number, limit: number) {
    const found: { beacon: Beacon; distance: number }[] = []
    for (const beacon of this.#byId.values()) {
      const [lon, lat] = beacon.coordinates
      const distance = pointDistance(latitude, longitude, lat, lon)
      if (beacon.enabled && distance <= radiusMeters) found.push({ beacon, distance })
    }
    return found.sort((a, b) => a.distance - b.distance).slice(0, limit)
  }

  put(beacon: Beacon): void {
    this.remove(beacon.id)
    this.#byId.set(beacon.id, beacon)
    const key = beaconKey(beacon)
    if (beacon.enabled) this.#byKey.set(key, [...(this.#byKey.get(key) ?? NONE), beacon])
  }

  remove(id: string): void {
    const beacon = this.#byId.get(id)
    if (beacon === undefined) return
    this.#byId.delete(id)
    const key = beaconKey(beacon)
    const others = (this.#byKey.get(key) ?? NONE).filter((one) => one.id !== id)
    if (others.length > 0) this.#byKey.set(key, others)
    else this.#byKey.delete(key)
  }
}
