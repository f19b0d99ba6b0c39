import { pointDistance } from '../../geometry/distance.ts'
import type { Position, Shape } from '../../model/geofence.ts'
import { ApiError, badParam } from '../../runtime/errors.ts'
import type { AreaFinder, PlaceArea } from './areaFinder.ts'
import { MIN_GEOFENCE_RADIUS_METERS } from './geofenceFields.ts'
import type { GeofenceDefinition } from './geofenceRows.ts'

/** How far the coordinates may be from the address that is given with them, in metres. */
const MOST_METERS_APART = 1000

/** A definition as it is read, before its area is known. */
export interface GeofenceDraft {
  /** The definition. It has a `placeId`, or an `address` if coordinates are missing or must be near it. */
  readonly definition: Omit<GeofenceDefinition, 'shape' | 'isochrone'>
  /** The center of a circle or an isochrone. */
  readonly center?: Position
  /** The ring of a polygon. */
  readonly ring?: readonly Position[]
  /** In metres for a circle, and in minutes for an isochrone. */
  readonly radius?: number
}

/**
 * The definition with its area. An address and a place are looked up now and never again: the geofence stays where it
 * is when the map data change.
 *
 * @returns a promise only if something must be looked up
 * @throws {ApiError} 400 naming `address` or `placeId` if it is unknown, or if the address is not near the coordinates;
 * 503 if it cannot be looked up
 */
export function resolveArea(
  draft: GeofenceDraft,
  finder: AreaFinder,
): GeofenceDefinition | Promise<GeofenceDefinition> {
  const { placeId, address } = draft.definition
  if (placeId !== undefined) return ofPlace(draft, placeId, finder)
  if (address !== undefined) return ofAddress(draft, address, finder)
  if (draft.ring !== undefined) return withShape(draft, { kind: 'polygon', ring: draft.ring })
  return around(draft, draft.center!)
}

/**
 * The place's area replaces the area of the definition. A place that is only a point leaves a given polygon as it is.
 */
async function ofPlace(
  draft: GeofenceDraft,
  placeId: string,
  finder: AreaFinder,
): Promise<GeofenceDefinition> {
  const place: PlaceArea | undefined = await finder.placeArea(placeId).catch(blaming('placeId'))
  if (place === undefined) throw badParam('placeId', 'There is no place with this _id.')
  const { type } = draft.definition
  if (type === 'isochrone') return around(draft, place.position)
  const ring = place.ring ?? draft.ring
  if (ring !== undefined) return withShape(draft, { kind: 'polygon', ring })
  if (type === 'polygon')
    throw badParam('placeId', 'Only the point of this place is known; a polygon needs coordinates.')
  return around(draft, place.position, place.radius)
}

/**
 * Uses the coordinates, if there are any. Then the address, if it is found, must be near them. Otherwise, the address
 * gives the position.
 */
async function ofAddress(
  draft: GeofenceDraft,
  address: string,
  finder: AreaFinder,
): Promise<GeofenceDefinition> {
  const { center } = draft
  const found = await finder.positionOf(address).catch((error: ApiError) => {
    // If addresses can never be looked up, the coordinates are enough.
    if (center === undefined || error.retryAfter !== undefined) throw blamed('address', error)
  })
  if (center === undefined) {
    if (found === undefined)
      throw badParam('address', 'It was not found. Write it in full, or use coordinates.')
    return around(draft, found)
  }
  if (found !== undefined) {
    const meters = pointDistance(center[1], center[0], found[1], found[0])
    if (meters > MOST_METERS_APART) {
      const sentence = `It was found ${Math.round(meters)} m from the coordinates; at most ${MOST_METERS_APART} m are allowed.`
      throw badParam('address', sentence)
    }
  }
  return around(draft, center)
}

/**
 * A circle or an isochrone around a point.
 * @param placeRadius the radius in metres if the definition has none
 */
function around(draft: GeofenceDraft, center: Position, placeRadius?: number): GeofenceDefinition {
  const radius = draft.radius ?? placeRadius!
  if (draft.definition.type === 'circle') return withShape(draft, { kind: 'circle', center, radius })
  return {
    ...withShape(draft, placeholder(center)),
    isochrone: { destination: center, minutes: radius },
  }
}

/** The shape of an isochrone until it is computed. It has the location, and nobody is ever inside. */
function placeholder(center: Position): Shape {
  return { kind: 'circle', center, radius: MIN_GEOFENCE_RADIUS_METERS }
}

function withShape({ definition }: GeofenceDraft, shape: Shape): GeofenceDefinition {
  return { ...definition, shape }
}

function blaming(param: string): (error: ApiError) => never {
  return (error) => {
    throw blamed(param, error)
  }
}

/** The 503 of a look-up, naming the field that needed it. */
function blamed(param: string, error: ApiError): Error {
  if (!(error instanceof ApiError)) return error
  const { code, message, retryAfter } = error
  return new ApiError(code, `${param}: ${message}`, {
    param,
    cause: error,
    ...(retryAfter !== undefined && { retryAfter }),
  })
}
