/** The area of a place for a geofence: its outline, or a circle around its point. */
import { pointDistance } from '../../geometry/distance.ts'
import { checkRing, MAX_RING_POSITIONS } from '../../geometry/ring.ts'
import type { Position } from '../../model/geofence.ts'
import type { PlaceArea } from '../../registry/geofences/areaFinder.ts'
import { radiusOf } from '../records/placeExtent.ts'
import type { SearchSources } from './sources.ts'

/**
 * The least distance between corners of an outline in metres. The values are tried in order until the outline fits
 * into a geofence.
 */
const LEAST_STEPS_METERS = [0, 1, 3, 10, 30, 100, 300] as const
/** The largest step as a share of the way around the outline. Larger ones would change its shape. */
const MOST_OF_LENGTH = 0.005

/** The place with this `_id` in the map regions, or among the airports of the world. */
export function placeArea(sources: SearchSources, id: string): PlaceArea | undefined {
  for (const { records } of sources.regions) {
    const found = records.placeByKey(id)
    if (found === undefined) continue
    const { position, categories, rings } = found
    const ring = outlineOf(rings)
    return { position, radius: radiusOf(categories), ...(ring !== undefined && { ring }) }
  }
  const airport = sources.world.airports.byKey(id)
  return airport && { position: airport.position, radius: radiusOf(['airport']) }
}

/** The largest ring with as many corners as a geofence may have; undefined if it cannot be one. */
function outlineOf(rings: readonly (readonly Position[])[]): readonly Position[] | undefined {
  const [largest] = rings.toSorted((a, b) => extent(b) - extent(a))
  if (largest === undefined) return undefined
  const most = MOST_OF_LENGTH * lengthOf(largest)
  for (const step of LEAST_STEPS_METERS.filter((meters) => meters <= most)) {
    const ring = withSteps(largest, step)
    if (ring.length <= MAX_RING_POSITIONS && checkRing(ring) === undefined) return ring
  }
  return undefined
}

/** The length of a ring in metres. */
function lengthOf(ring: readonly Position[]): number {
  let length = 0
  for (let i = 1; i < ring.length; i++) length += apart(ring[i - 1]!, ring[i]!)
  return length
}

function apart([ax, ay]: Position, [bx, by]: Position): number {
  return pointDistance(ay, ax, by, bx)
}

/** The closed ring without corners that are closer than this to the one before them. */
function withSteps(ring: readonly Position[], meters: number): readonly Position[] {
  if (meters === 0) return ring
  const [first] = ring
  const kept = [first!]
  for (const position of ring.slice(1, -1)) if (apart(kept.at(-1)!, position) >= meters) kept.push(position)
  return [...kept, first!]
}

/** The size of a ring in square degrees, which is only used to compare rings of one place. */
function extent(ring: readonly Position[]): number {
  let twice = 0
  for (let i = 1; i < ring.length; i++) {
    const [ax, ay] = ring[i - 1]!
    const [bx, by] = ring[i]!
    twice += ax * by - bx * ay
  }
  return Math.abs(twice)
}
