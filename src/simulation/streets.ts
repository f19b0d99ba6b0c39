/** Pseudo-random numbers in [0, 1). The same seed drives the same city. (mulberry32) */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

/** A square city, whose streets run north–south and east–west. */
export interface City {
  /** The south-west corner in degrees. */
  readonly latitude: number
  readonly longitude: number
  readonly sizeMeters: number
  /** The distance between parallel streets. */
  readonly blockMeters: number
}

/** Metres per degree of latitude on the mean sphere, which is precise enough to draw a city. */
const METERS_PER_DEGREE = 111_195

/** The degrees of a position that is given in metres east and north of the city's corner. */
export function cityPosition(
  city: City,
  east: number,
  north: number,
): { latitude: number; longitude: number } {
  const latitude = city.latitude + north / METERS_PER_DEGREE
  const cosine = Math.cos((city.latitude * Math.PI) / 180)
  return { latitude, longitude: city.longitude + east / (METERS_PER_DEGREE * cosine) }
}

/** The east and north components of the four headings. */
const HEADINGS = [
  [0, 1],
  [1, 0],
  [0, -1],
  [-1, 0],
] as const
const TOP_SPEED = 15
/** How far the receiver's position drifts on its own: metres, about one standard deviation. */
const JITTER_METERS = 0.5

/**
 * One vehicle. It keeps to the streets, turns at crossings, speeds up and slows down with up to 15 m/s, and stands
 * about half of the time.
 */
export class Driver {
  /** The position in metres from the city's corner, on a street. */
  east: number
  north: number
  speed = 0
  /** For how many seconds it still stands. */
  standing: number
  /** The accuracy that the receiver reports: 5 to 30 metres. */
  accuracy: number
  #heading: number
  readonly #usualAccuracy: number
  readonly #city: City
  readonly #random: () => number

  constructor(city: City, random: () => number) {
    this.#city = city
    this.#random = random
    const along = random() * city.sizeMeters
    const street = Math.floor(random() * (city.sizeMeters / city.blockMeters)) * city.blockMeters
    this.#heading = Math.floor(random() * 4)
    const eastward = this.#heading % 2 === 1
    this.east = eastward ? along : street
    this.north = eastward ? street : along
    this.standing = random() < 0.5 ? random() * 120 : 0
    this.speed = this.standing > 0 ? 0 : random() * TOP_SPEED
    this.#usualAccuracy = 6 + random() * 18
    this.accuracy = this.#usualAccuracy
  }

  get stopped(): boolean {
    return this.standing > 0
  }

  /** The position that the receiver reports. */
  position(): { latitude: number; longitude: number } {
    const random = this.#random
    const wander = () => (random() + random() - 1) * 2 * JITTER_METERS
    return cityPosition(this.#city, this.east + wander(), this.north + wander())
  }

  /** Drives on for this many seconds. */
  advance(seconds: number): void {
    const random = this.#random
    this.accuracy = this.#usualAccuracy * (0.85 + 0.3 * random())
    if (this.standing > 0) {
      this.standing -= seconds
      if (this.standing <= 0) this.speed = 2 + random() * 6
      return
    }
    this.speed = Math.min(TOP_SPEED, Math.max(0, this.speed + (random() - 0.48) * 4))
    this.#move(this.speed * seconds)
    if (random() < seconds / 60) {
      this.speed = 0
      this.standing = random() * 120
    }
  }

  /** Moves along the street. Each crossing on the way may turn it. */
  #move(meters: number): void {
    const { blockMeters } = this.#city
    for (let left = meters; left > 0;) {
      const [east, north] = HEADINGS[this.#heading]!
      const along = east === 0 ? this.north : this.east
      const sign = east + north
      const nextCrossing =
        sign > 0
          ? (Math.floor(along / blockMeters + 1e-9) + 1) * blockMeters
          : (Math.ceil(along / blockMeters - 1e-9) - 1) * blockMeters
      const step = Math.min(left, Math.abs(nextCrossing - along))
      this.east += east * step
      this.north += north * step
      left -= step
      if (left > 0) this.#turn()
    }
  }

  /** Turns at a crossing: usually it goes straight on, or back at the edge of the city. */
  #turn(): void {
    const random = this.#random
    const { sizeMeters } = this.#city
    const choice = random()
    const turned = choice < 0.6 ? 0 : choice < 0.8 ? 1 : 3
    this.#heading = (this.#heading + turned) % 4
    const [east, north] = HEADINGS[this.#heading]!
    const leaves =
      (east > 0 && this.east >= sizeMeters - 1) ||
      (east < 0 && this.east <= 1) ||
      (north > 0 && this.north >= sizeMeters - 1) ||
      (north < 0 && this.north <= 1)
    if (leaves) this.#heading = (this.#heading + 2) % 4
  }
}
