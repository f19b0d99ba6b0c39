/**
 * Makes records of the objects of an extract: houses, streets and their intersections, places and areas. It receives
 * the objects in the order of the file, keeps those that need the whole file, and passes on the others at once.
 */
import type { Position } from '../../model/geofence.ts'
import { isPlainAddress, areaOf, placeOf, propertyOf, streetOf } from '../records/objectRecords.ts'
import { taggedAddress, type TaggedAddress } from '../records/addressTags.ts'
import type { ChainOf } from '../records/chains.ts'
import { centroid, middleOf, pointInside, ringArea, type Rings } from '../records/areas.ts'
import type {
  AddressRecord,
  AreaRecord,
  IntersectionRecord,
  PlaceRecord,
  StreetRecord,
  WayRecord,
} from '../records/records.ts'
import type { ObjectType, Tags } from '../records/tags.ts'
import { AddressInterpolations } from './addressInterpolations.ts'
import { distinctHouses } from './distinctHouses.ts'
import type { ShapedWay, ShapeSink } from './shapeAssembler.ts'
import { StreetCrossings } from './streetCrossings.ts'
import { StreetJoiner } from './streetJoiner.ts'

/** Receives the records. */
export interface RecordSink {
  addWay(record: WayRecord): void
  /** Adds a street with its houses. */
  addStreet(record: StreetRecord): void
  addIntersection(record: IntersectionRecord): void
  addPlace(record: PlaceRecord): void
  addArea(record: AreaRecord): void
}

export class RecordCollector implements ShapeSink {
  readonly #out: RecordSink
  readonly #countryAt: (longitude: number, latitude: number) => string | undefined
  readonly #chainOf: ChainOf
  readonly #crossings = new StreetCrossings()
  readonly #streets = new StreetJoiner()
  readonly #interpolations = new AddressInterpolations()
  readonly #houses = new Map<string, AddressRecord[]>()
  readonly #places = new Map<string, PlaceRecord[]>()

  /**
   * Starts without records.
   * @param countryAt returns an alpha-2 code
   */
  constructor(
    out: RecordSink,
    countryAt: (longitude: number, latitude: number) => string | undefined,
    chainOf: ChainOf,
  ) {
    this.#out = out
    this.#countryAt = countryAt
    this.#chainOf = chainOf
  }

  node(id: number, position: Position, tags: Tags): void {
    this.#interpolations.addNode(id, tags)
    this.#record('node', id, tags, position, undefined)
  }

  way({ id, tags, nodes, line, isRing }: ShapedWay): void {
    const street = streetOf(tags)
    if (street !== undefined && line.length > 1) {
      this.#out.addWay({ name: street.name, line })
      this.#streets.addWay(street.name, street.importance, line)
      this.#crossings.add(street.name, nodes)
    }
    if (tags.has('addr:interpolation')) this.#interpolations.addWay(tags, nodes, line)
    const isRecord =
      tags.has('name') || tags.has('brand') || tags.has('addr:housenumber') || tags.has('boundary')
    if (!isRecord) return
    if (isRing) this.#record('way', id, tags, centroid(line), [line])
    else this.#record('way', id, tags, middleOf(line), undefined)
  }

  relation(id: number, tags: Tags, outer: Rings, inner: Rings): void {
    const largest = outer.reduce((a, b) => (ringArea(b) > ringArea(a) ? b : a))
    this.#record('relation', id, tags, centroid(largest), outer, inner)
  }

  /**
   * Returns everything that needed the whole file.
   * @param positionOf returns the position of a node of the extract
   */
  finish(positionOf: (node: number) => Position | undefined): void {
    for (const range of this.#interpolations.ranges(this.#allHouses())) this.#streets.addRange(range)
    for (const houses of this.#houses.values())
      for (const house of distinctHouses(houses)) this.#streets.addHouse(house)
    for (const street of this.#streets.streets()) this.#out.addStreet(street)
    this.#addPlaces()
    for (const crossing of this.#crossings.found(positionOf)) this.#out.addIntersection(crossing)
  }

  *#allHouses(): Generator<AddressRecord> {
    for (const houses of this.#houses.values()) yield* houses
  }

  #record(
    type: ObjectType,
    id: number,
    tags: Tags,
    centre: Position,
    outer: Rings | undefined,
    inner: Rings = [],
  ): void {
    const address = taggedAddress(tags, tags.has('addr:housenumber') ? this.#countryAt(...centre) : undefined)
    if (address !== undefined) this.#addHouses(type, id, tags, centre, address)
    const area = areaOf(tags)
    const place = placeOf(tags, type, id, address)
    if (area === undefined && place === undefined) return
    const rings = outer === undefined ? undefined : [...outer, ...inner]
    const shape = {
      position: rings === undefined ? centre : pointInside(rings),
      rings,
      size: sum(outer ?? []) - sum(inner),
    }
    if (area !== undefined) this.#out.addArea({ ...area, ...shape })
    if (place !== undefined) {
      const chain = this.#chainOf(tags, () => this.#countryAt(...centre))
      this.#addPlace({ ...place, ...shape, chain })
    }
  }

  #addHouses(type: ObjectType, id: number, tags: Tags, position: Position, address: TaggedAddress): void {
    const { numbers, street, unit, city, state, postalCode } = address
    const isPlain = isPlainAddress(tags)
    const property = propertyOf(tags)
    for (const number of numbers) {
      const key = `${number}\n${street}\n${city ?? ''}\n${unit ?? ''}`
      const house = { number, street, unit, city, state, postalCode, position, type, id, isPlain, property }
      const others = this.#houses.get(key)
      if (others === undefined) this.#houses.set(key, [house])
      else others.push(house)
    }
  }

  /**
   * Adds the places. Of several objects with one IATA code, such as an airport and its terminal, the largest is the
   * airport.
   */
  #addPlaces(): void {
    const airports = new Map<string, PlaceRecord>()
    for (const places of this.#places.values()) {
      for (const place of joinPieces(places)) {
        if (place.details.iataCode === undefined) this.#out.addPlace(place)
        else if (place.size >= (airports.get(place.id)?.size ?? 0)) airports.set(place.id, place)
      }
    }
    for (const airport of airports.values()) this.#out.addPlace(airport)
  }

  #addPlace(place: PlaceRecord): void {
    // Areas with the same name may be pieces of one object. Points never are.
    const key = place.rings === undefined ? place.id : `${place.name}\n${place.categories.join()}`
    const others = this.#places.get(key)
    if (others === undefined) this.#places.set(key, [place])
    else others.push(place)
  }
}

function sum(rings: Rings): number {
  return rings.reduce((size, ring) => size + ringArea(ring), 0)
}

/**
 * Joins areas that touch each other and have the same name and categories, because they are pieces of one object that
 * was cut.
 */
function joinPieces(places: readonly PlaceRecord[]): PlaceRecord[] {
  const [first] = places
  if (first!.rings === undefined || places.length === 1) return [...places]
  const corners = new Map<string, PlaceRecord[]>()
  for (const place of places)
    for (const ring of place.rings!)
      for (const [x, y] of ring) {
        const key = `${x},${y}`
        const others = corners.get(key)
        if (others === undefined) corners.set(key, [place])
        else if (others.at(-1) !== place) others.push(place)
      }
  const groupOf = new Map(places.map((place) => [place, new Set([place])]))
  for (const touching of corners.values()) {
    const [one, ...others] = touching
    for (const other of others) {
      const [group, joined] = [groupOf.get(one!)!, groupOf.get(other)!]
      if (group === joined) continue
      const [large, small] = group.size >= joined.size ? [group, joined] : [joined, group]
      for (const place of small) {
        large.add(place)
        groupOf.set(place, large)
      }
    }
  }
  return [...new Set(groupOf.values())].map((group) => {
    const pieces = [...group]
    const largest = pieces.reduce((a, b) => (b.size > a.size ? b : a))
    const rings = pieces.flatMap((place) => place.rings!)
    const size = pieces.reduce((total, place) => total + place.size, 0)
    // The first one in the file has the lowest id.
    const { id } = places.find((place) => group.has(place))!
    return { ...largest, id, rings, size }
  })
}
