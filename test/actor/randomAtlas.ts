import { pointDistance } from '../../src/geometry/distance.ts'
import type { Place } from '../../src/model/place.ts'
import {
  NOWHERE,
  regionCodes,
  type Region,
  type RegionCodes,
  type RegionKind,
} from '../../src/model/region.ts'
import {
  CLOSEST_METERS,
  Unfetched,
  type Atlas,
  type IpHere,
  type NearestOfChain,
  type PlaceNear,
  type PlacesHere,
  type RegionsHere,
} from '../../src/rules/atlas.ts'
import { candidatesAmong } from '../../src/rules/placeOrder.ts'
import { RandomPlaces } from './randomPlaces.ts'
import { moved, type Point, type Random } from './world.ts'

interface Seed extends Point {
  readonly codes: RegionCodes
}

/** Clearances are given with this share, because the engine's distances are off by less. */
const CERTAIN_SHARE = 0.98
/**
 * The difference of two distances is off by this share of the distances themselves, which matters on the far side of
 * the earth: 20,000 km from the seeds, by more than the seeds are apart.
 */
const DISTANCE_ERROR = 0.002

/**
 * An atlas of an invented world: every point has the regions of the nearest seed. Some seeds have none, as at sea.
 * Data are fetched for squares of a hundredth of a degree, if `fetches` is set.
 */
export class RandomAtlas implements Atlas {
  revision = 0
  fetches = false
  readonly places: RandomPlaces
  private readonly seeds: Seed[] = []
  private readonly fetched = new Set<string>()

  private readonly place: Point

  constructor(random: Random, place: Point, spread: number) {
    this.place = place
    this.places = new RandomPlaces(random, place, spread)
    for (let i = 0; i < 8; i++) {
      const at = moved(
        place,
        random.between(-2 * spread, 2 * spread),
        random.between(-2 * spread, 2 * spread),
      )
      const one = (letters: string) => (random.chance(0.2) ? undefined : random.pick([...letters]))
      const country = random.chance(0.15) ? undefined : random.pick(['U', 'V'])
      const codes = country === 'U' ? regionCodes([country, one('nm'), one('12'), one('567')]) : undefined
      this.seeds.push({ ...at, codes: codes ?? (country === undefined ? NOWHERE : `${country}///`) })
    }
  }

  /** What the oracle sees. */
  codesAt({ latitude, longitude }: Point): RegionCodes {
    return this.byDistance(latitude, longitude)[0]!.codes
  }

  /** Whether so many metres may make a difference. */
  isAtBorder({ latitude, longitude }: Point, meters: number): boolean {
    const [nearest, ...others] = this.byDistance(latitude, longitude)
    return others.some(
      (other) => other.codes !== nearest!.codes && other.meters - nearest!.meters <= 2 * meters,
    )
  }

  regionsAt(latitude: number, longitude: number): RegionsHere | Unfetched {
    const missing = this.missing(latitude, longitude)
    if (missing !== undefined) return missing
    const [nearest, ...others] = this.byDistance(latitude, longitude)
    const other = others.find(({ codes }) => codes !== nearest!.codes)
    const meters = other === undefined ? Infinity : (other.meters - nearest!.meters) / 2
    const clearanceMeters = Math.max(0, meters * CERTAIN_SHARE - nearest!.meters * DISTANCE_ERROR)
    return { codes: nearest!.codes, clearanceMeters }
  }

  placesAt(latitude: number, longitude: number, reach?: number): PlacesHere | Unfetched {
    return this.missing(latitude, longitude) ?? this.places.at(latitude, longitude, reach)
  }

  firstAt(latitude: number, longitude: number): Place | undefined | Unfetched {
    const here = this.placesAt(latitude, longitude)
    if (here instanceof Unfetched) return here
    return candidatesAmong(here, { chain: [], category: [] }, 0, 1)[0]?.place
  }

  closestAt(
    latitude: number,
    longitude: number,
    isWanted: (place: Place) => boolean = () => true,
  ): PlaceNear[] | Unfetched {
    const here = this.placesAt(latitude, longitude, CLOSEST_METERS)
    if (here instanceof Unfetched) return here
    const near = here.near.filter(({ place }) => isWanted(place))
    const least = Math.min(...near.map(({ meters }) => Math.max(0, meters)))
    return near.filter(({ meters }) => Math.max(0, meters) === least)
  }

  placesAround(latitude: number, longitude: number): PlacesHere | Unfetched {
    return this.placesAt(latitude, longitude)
  }

  chainsAt(
    slugs: readonly string[],
    latitude: number,
    longitude: number,
  ): readonly NearestOfChain[] | Unfetched {
    return this.missing(latitude, longitude) ?? this.places.chainsAt(slugs, latitude, longitude)
  }

  private missing(latitude: number, longitude: number): Unfetched | undefined {
    const square = `${Math.floor(latitude * 100)} ${Math.floor(longitude * 100)}`
    if (!this.fetches || this.fetched.has(square)) return undefined
    return new Unfetched(async () => {
      await new Promise((resolve) => setImmediate(resolve))
      this.fetched.add(square)
    })
  }

  /** Some addresses are proxies, and some are used far away, by their sum. */
  ipAt(ip: string): IpHere {
    const sum = [...ip].reduce((all, sign) => all + sign.charCodeAt(0), 0)
    const far = this.place.latitude > 0 ? -60 : 60
    const latitude = sum % 5 === 2 ? far : this.place.latitude
    const country = sum % 2 === 0 ? 'U' : 'W'
    return { isProxy: sum % 3 === 1, country, latitude, longitude: this.place.longitude, until: Infinity }
  }

  placeById(id: string): Place | undefined {
    return this.places.present.find(({ place }) => place.id === id)?.place
  }

  regionById(id: string): Region {
    const [type, code] = id.split(' ') as [RegionKind, string]
    return this.region(type, code)
  }

  region(type: RegionKind, code: string): Region {
    return { _id: `${type} ${code}`, type, code, name: `${type} ${code}` }
  }

  private byDistance(latitude: number, longitude: number) {
    return this.seeds
      .map((seed) => ({ ...seed, meters: pointDistance(latitude, longitude, seed.latitude, seed.longitude) }))
      .sort((a, b) => a.meters - b.meters)
  }
}
