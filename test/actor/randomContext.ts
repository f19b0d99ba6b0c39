import { DEFAULT_FRAUD } from '../../src/model/fraud.ts'
import type { Settings } from '../../src/model/settings.ts'
import type { Update } from '../../src/model/update.ts'
import type { InventedPlace } from './randomPlaces.ts'
import { moved, randomSettings, USERS, type Point, type Random } from './world.ts'

/** Settings of every evaluator, and devices that visit places and look suspicious. */

const LISTED = ['device-3', 'device-5', '192.0.2.77', '192.0.2.64/26', '198.51.100.0/24', '2001:db8::/48']

/** @param ids of records that exist, for the lists of fraud */
export function randomFullSettings(random: Random, ids: readonly string[]): Settings {
  const listed = (share: number, extra: readonly string[]) =>
    [...USERS, ...extra, ...ids].filter(() => random.chance(share))
  return {
    ...randomSettings(random),
    places: random.chance(0.8),
    placeMinimumStaySeconds: random.pick([0, 20, 120, 300]),
    placeFilters: {
      chain: random.chance(0.8) ? [] : ['ants'],
      category: random.chance(0.8) ? [] : ['cafe'],
    },
    nearbyPlaceChains: random.pick([[], ['ants'], ['bees', 'ants']]),
    nearbyPlaceChainMeters: random.pick([100, 300, 3000]),
    fraud: {
      ...DEFAULT_FRAUD,
      enabled: random.chance(0.7),
      jumpSpeed: random.pick([20, 200, 1000]),
      jumpMeters: random.pick([0, 100, 10_000]),
      maxAccuracy: random.pick([100, 1000, 100_000]),
      ipCountry: random.chance(0.5),
      bypassed: listed(random.pick([0, 0.1]), ['device-3']),
      blocked: listed(random.pick([0, 0, 0.1]), LISTED),
    },
  }
}

/** Turns some updates of a device into visits to places, and lets some of them look suspicious. */
export class Visitor {
  readonly #random: Random
  readonly #places: readonly InventedPlace[]
  #at: Point | undefined
  #reach = 0

  constructor(random: Random, places: readonly InventedPlace[]) {
    this.#random = random
    this.#places = places
  }

  next(update: Update): Update {
    const random = this.#random
    if (random.chance(0.3)) this.#go()
    const visit = this.#at && {
      ...moved(
        this.#at,
        random.between(-this.#reach, this.#reach),
        random.between(-this.#reach, this.#reach),
      ),
      accuracy: random.pick([2, 15, 20, 40, 65, 100, 200, 250, undefined]),
      stopped: random.chance(0.4),
    }
    return {
      ...update,
      ...visit,
      ...(random.chance(0.1) && { claims: random.below(16) }),
      ...(random.chance(0.03) && { source: 'MOCK_LOCATION' }),
    }
  }

  #go(): void {
    const random = this.#random
    const [longitude, latitude] = random.pick(this.#places).place.position
    this.#at = random.chance(0.3) ? undefined : { latitude, longitude }
    this.#reach = random.pick([1, 20, 60, 130])
  }
}
