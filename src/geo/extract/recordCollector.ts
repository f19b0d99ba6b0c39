/**
 * Makes records of the objects of an extract: houses, streets and where they meet, places and areas. It gets the
 * objects in the order of the file, keeps what needs the whole of it, and hands out the rest in between.
 */
import type { Position } from '../../model/geofence.ts'
import { isPlainAddress, areaOf, placeOf, propertyOf, streetOf } from '../records/objectRecords.ts'
import { taggedAddress, type TaggedAddress } from '../records/addressTags.ts'
import type { ChainOf } from '../records/chains.ts'
import { centroid, joinRings, middleOf, pointInside, sizeOf, type Rings } from '../records/areas.ts'
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
import { NodeStore } from './nodeStore.ts'
import type { Member, ObjectSink } from './osmReader.ts'
import { StreetCrossings } from './streetCrossings.ts'
import { StreetJoiner } from './streetJoiner.ts'

/** Where the records go. */
export interface RecordSink {
  addWay(record: WayRecord): void
  /** With its houses. */
  addStreet(record: StreetRecord): void
  addIntersection(record: IntersectionRecord): void
  addPlace(record: PlaceRecord): void
  addArea(record: AreaRecord): void
}

export class RecordCollector implements ObjectSink {
  readonly #out: RecordSink
  readonly #members: ReadonlySet<number>
  readonly #countryAt: (longitude: number, latitude: number) => string | undefined
  readonly #chainOf: ChainOf
  readonly #nodes = new NodeStore()
  /** Ways that relations are made of. */
  readonly #lines = new Map<number, readonly Position[]>()
  readonly #crossings = new StreetCrossings()
  readonly #streets = new StreetJoiner()
  readonly #interpolations = new AddressInterpolations()
  readonly #houses = new Map<string, AddressRecord[]>()
  readonly #places = new Map<string, PlaceRecord[]>()

  /**
   * @param members ids of the ways of relations that are recorded
   * @param countryAt alpha-2
   */
  constructor(
    out: RecordSink,
    members: ReadonlySet<number>,
    countryAt: (longitude: number, latitude: number) => string | undefined,
    chainOf: ChainOf,
  ) {
    this.#out = out
    this.#members = members
    this.#countryAt = countryAt
    this.#chainOf = chainOf
  }

  node(id: number, longitude: number, latitude: number, tags: Tags | undefined): void {
    this.#nodes.add(id, longitude, latitude)
    if (tags === undefined) return
    this.#interpolations.addNode(id, tags)
    this.#record('node', id, tags, [longitude, latitude], undefined)
  }

  way(id: number, nodes: readonly number[], tags: Tags): void {
    const isMember = this.#members.has(id)
    if (tags.size === 0 && !isMember) return
    const street = streetOf(tags)
    const isRecord =
      tags.has('name') || tags.has('brand') || tags.has('addr:housenumber') || tags.has('boundary')
    const isInterpolation = tags.has('addr:interpolation')
    if (!isMember && !isRecord && !isInterpolation) return
    const line: Position[] = []
    const found: number[] = []
    for (const node of nodes) {
      const position = this.#nodes.positionOf(node)
      if (position === undefined) continue
      line.push(position)
      found.push(node)
    }
    if (line.length === 0) return
    if (isMember) this.#lines.set(id, line)
    if (street !== undefined && line.length > 1) {
      this.#out.addWay({ name: street.name, line })
      this.#streets.addWay(street.name, street.importance, line)
      this.#crossings.add(street.name, found)
    }
    if (isInterpolation) this.#interpolations.addWay(tags, found, line)
    if (!isRecord) return
    const isArea = line.length > 3 && found.length === nodes.length && nodes[0] === nodes.at(-1)
    if (isArea) this.#record('way', id, tags, centroid(line), [line])
    else this.#record('way', id, tags, middleOf(line), undefined)
  }

  relation(id: number, members: readonly Member[], tags: Tags): void {
    const type = tags.get('type')
    if (type !== 'multipolygon' && type !== 'boundary') return
    const linesOf = (isInner: boolean): (readonly Position[])[] =>
      members
        .filter((member) => member.type === 'way' && (member.role === 'inner') === isInner)
        .map((member) => this.#lines.get(member.id))
        .filter((line) => line !== undefined)
    const outer = joinRings(linesOf(false))
    if (outer.length === 0) return
    const inner = joinRings(linesOf(true))
    const largest = outer.reduce((a, b) => (sizeOf(b) > sizeOf(a) ? b : a))
    this.#record('relation', id, tags, centroid(largest), outer, inner)
  }

  /** Hands out everything that needed the whole file. */
  finish(): void {
    for (const range of this.#interpolations.ranges(this.#allHouses())) this.#streets.addRange(range)
    for (const houses of this.#houses.values())
      for (const house of distinctHouses(houses)) this.#streets.addHouse(house)
    for (const street of this.#streets.streets()) this.#out.addStreet(street)
    this.#addPlaces()
    for (const crossing of this.#crossings.found((node) => this.#nodes.positionOf(node)))
      this.#out.addIntersection(crossing)
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

  /** Of objects with one IATA code, such as an airport and its terminal, the largest is the airport. */
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
    // Areas with the same name may be pieces of one; points never are.
    const key = place.rings === undefined ? place.id : `${place.name}\n${place.categories.join()}`
    const others = this.#places.get(key)
    if (others === undefined) this.#places.set(key, [place])
    else others.push(place)
  }
}

function sum(rings: Rings): number {
  return rings.reduce((size, ring) => size + sizeOf(ring), 0)
}

/** Areas that touch each other, with the same name and categories, are pieces of one object that was cut. */
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
    // The first in the file has the lowest id.
    const { id } = places.find((place) => group.has(place))!
    return { ...largest, id, rings, size }
  })
}
