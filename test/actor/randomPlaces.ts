import { pointDistance } from '../../src/geometry/distance.ts'
import type { Place } from '../../src/model/place.ts'
import type { NearestOfChain, PlaceNear, PlacesHere } from '../../src/rules/atlas.ts'
import { moved, type Point, type Random } from './world.ts'

/** A place of an invented world. */
export interface InventedPlace {
  readonly place: Place
  readonly radius: number
}

/** Distances are given with this share, because the engine's are off by less. */
const CERTAIN_SHARE = 0.98
const NEAR_METERS = 300
const PLACES = 40

/** Places around a point, some of them so near to each other that their order changes within metres. */
export class RandomPlaces {
  readonly all: InventedPlace[] = []
  /** Those that have left the data. */
  readonly gone = new Set<string>()

  constructor(random: Random, around: Point, spread: number) {
    let at = around
    for (let i = 0; i < PLACES; i++) {
      const reach = random.chance(0.5) ? 60 : spread
      at = moved(
        random.chance(0.3) ? around : at,
        random.between(-reach, reach),
        random.between(-reach, reach),
      )
      const slug = random.pick(['ants', 'bees', undefined])
      const radius = random.pick([30, 30, 60, 150])
      const place: Place = {
        id: i.toString(16).padStart(24, '0'),
        name: `Place ${i}`,
        categories: ['food-beverage', random.pick(['cafe', 'bar'])],
        position: [at.longitude, at.latitude],
        chain: slug === undefined ? undefined : { slug, name: slug.toUpperCase(), domain: undefined },
        extentMeters: radius,
      }
      this.all.push({ place, radius })
    }
  }

  /** Those that are in the data. */
  get present(): InventedPlace[] {
    return this.all.filter(({ place }) => !this.gone.has(place.id))
  }

  /** Some places leave the data or come back. */
  change(random: Random, atlas: { revision: number }): void {
    for (const { place } of this.all)
      if (random.chance(0.1) && !this.gone.delete(place.id)) this.gone.add(place.id)
    atlas.revision++
  }

  /** @param reach no places farther away than this are told, in metres */
  at(latitude: number, longitude: number, reach = NEAR_METERS): PlacesHere {
    const all = this.present.map(({ place, radius }): PlaceNear => {
      const [x, y] = place.position
      const pointMeters = pointDistance(latitude, longitude, y, x)
      const area = Math.PI * radius * radius
      return { place, meters: pointMeters - radius, pointMeters, area, isRound: true }
    })
    const near = all.filter(({ meters }) => meters <= reach)
    const others = all.filter((one) => !near.includes(one)).map(({ meters }) => meters)
    return { isCovered: true, near, restMeters: CERTAIN_SHARE * Math.min(20_000, ...others) }
  }

  chainsAt(slugs: readonly string[], latitude: number, longitude: number): NearestOfChain[] {
    return slugs.map((slug) => {
      const places = this.present
        .filter(({ place }) => place.chain?.slug === slug)
        .map(({ place }) => {
          const [x, y] = place.position
          return { place, meters: pointDistance(latitude, longitude, y, x) }
        })
        .sort((a, b) => a.meters - b.meters)
      return places[0] ?? { place: undefined, meters: 20_000 }
    })
  }
}
