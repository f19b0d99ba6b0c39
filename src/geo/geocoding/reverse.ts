import type { Position } from '../../model/geofence.ts'
import { pointDistance } from '../../geometry/distance.ts'
import type { Near, PlaceRecords, StoredAddress } from '../placeDatabase/port.ts'
import { numberValue } from '../records/houseNumbers.ts'
import { nearestNumber } from '../records/numberRanges.ts'
import { houseOnLine } from './interpolation.ts'
import { isCoarse, type Address, type FineLayer, type ReverseQuestion } from './port.ts'
import { areaAddress, recordAddress, type Found } from './results.ts'
import { nearestOf, postalCodeNear, surroundingsOf, type Sources } from './surroundings.ts'

/** How far away the nearest record may be. */
const REACH_METERS = 1000
/** If the nearest known number is farther away than this, a number between others may be nearer. */
const KNOWN_METERS = 200

/** The nearest record and its distance. */
interface NearFound extends Found {
  readonly meters: number
}

const FINDERS: Readonly<
  Record<
    FineLayer,
    (
      regions: readonly PlaceRecords[],
      point: Position,
      question: ReverseQuestion,
      address: () => Near<StoredAddress> | undefined,
    ) => NearFound | undefined
  >
> = {
  address(regions, point, _question, address) {
    const known = address()
    const near = known !== undefined && known.meters <= KNOWN_METERS ? known : nearer(known, regions, point)
    if (near === undefined) return undefined
    const { number, street, unit, position, city, state, postalCode } = near.record
    const own = { city, state, postalCode }
    return { layer: 'address', position, meters: near.meters, own, number, street, unit: unit ?? undefined }
  },
  place(regions, point, { language }) {
    const near = nearestOf(regions, (region) => region.nearestPlace(point, REACH_METERS))
    if (near === undefined) return undefined
    const { name, names, categories, details, position } = near.record
    const { number, street, unit, ...own } = details
    const place = { name: names[language] ?? name, categories }
    return { layer: 'place', position, meters: near.meters, own, number, street, unit, place }
  },
  intersection(regions, point) {
    const near = nearestOf(regions, (region) => region.nearestIntersection(point, REACH_METERS))
    if (near === undefined) return undefined
    const { streets, position } = near.record
    return { layer: 'intersection', position, meters: near.meters, own: {}, street: streets.join(' & ') }
  },
  street(regions, point) {
    const near = nearestOf(regions, (region) => region.nearestStreet(point, REACH_METERS))
    if (near === undefined) return undefined
    const { name, position } = near.record
    return { layer: 'street', position, meters: near.meters, own: {}, street: name }
  },
}

/** The nearest number of the nearest number range, if it is nearer than the nearest known number. */
function nearer(
  known: Near<StoredAddress> | undefined,
  regions: readonly PlaceRecords[],
  point: Position,
): Near<StoredAddress> | undefined {
  const reach = known?.meters ?? REACH_METERS
  const edges = regions.flatMap((region) => region.nearestRanges(point, reach))
  const nearest = Math.min(...edges.map(({ meters }) => meters))
  const houses = edges
    .filter(({ meters }) => meters === nearest)
    .map(({ record: range }) => {
      const record = houseOnLine(range, nearestNumber(range, point))
      const [x, y] = record.position
      return { record, meters: pointDistance(point[1], point[0], y, x) }
    })
    .sort((a, b) => a.meters - b.meters || numberValue(a.record.number) - numberValue(b.record.number))
  const [best] = houses
  return best !== undefined && best.meters < reach ? best : known
}

/** Finds the nearest address when it is first asked for it. */
function nearestAddress(
  regions: readonly PlaceRecords[],
  point: Position,
): () => Near<StoredAddress> | undefined {
  let found: { readonly near: Near<StoredAddress> | undefined } | undefined
  return () => {
    found ??= { near: nearestOf(regions, (region) => region.nearestAddress(point, REACH_METERS)) }
    return found.near
  }
}

/**
 * What is at a point: one result per layer that is asked for and known there, in the order of the layers.
 */
export function reverse(sources: Sources, question: ReverseQuestion): Address[] {
  const { regions } = sources
  const { position, layers, language, now } = question
  const address = nearestAddress(regions, position)
  // Most of the nearest addresses have a city, which is then the one of the surroundings too.
  const shared = layers.includes('address') ? address : undefined
  const around = surroundingsOf(sources, position, {}, language, shared)
  const isCodeWanted =
    layers.includes('postalCode') && around.postalCode === undefined && around.country?.code !== 'US'
  const postalCode = isCodeWanted ? postalCodeNear(regions, position, REACH_METERS) : around.postalCode
  const here = { ...around, postalCode }
  const results: Address[] = []
  for (const layer of layers) {
    if (isCoarse(layer)) {
      const at = here.areas.get(layer)?.position ?? position
      const area = areaAddress(layer, here, at, now)
      if (area !== undefined) results.push({ ...area, distance: 0 })
      continue
    }
    const found = FINDERS[layer](regions, position, question, address)
    if (found === undefined) continue
    const there = surroundingsOf(sources, found.position, found.own, language)
    results.push({ ...recordAddress(found, there, now), distance: Math.round(found.meters) })
  }
  return results
}
