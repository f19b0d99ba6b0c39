import Type from 'typebox'
import { Name } from '../http/schemas.ts'
import { checkRing } from '../geometry/ring.ts'
import { checkPoint, checkPosition, MAX_ID_LENGTH, type Pair } from '../registry/records/recordFields.ts'
import { LonLat } from '../registry/records/recordSchemas.ts'
import { required } from '../http/fields.ts'
import { badParam, outOfRange } from '../runtime/errors.ts'
import type { LiveArea } from '../spatial/liveAreas.ts'
import type { WatchedArea } from './messages.ts'

const MAX_RADIUS_METERS = 1_000_000

/** Only distinguishes the kinds; {@link readArea} checks the fields of each. */
export const AreaSchema = Type.Object({
  type: Type.Enum(['circle', 'box', 'polygon', 'geofence']),
  center: Type.Optional(LonLat),
  radius: Type.Optional(Type.Number({ minimum: 1, maximum: MAX_RADIUS_METERS })),
  box: Type.Optional(Type.Array(Type.Number(), { minItems: 4, maxItems: 4 })),
  coordinates: Type.Optional(Type.Array(Type.Array(LonLat, { maxItems: 2000 }))),
  tag: Type.Optional(Name(MAX_ID_LENGTH)),
  externalId: Type.Optional(Name(MAX_ID_LENGTH)),
})

/**
 * The area of a `watch`, or the pair of the geofence to watch.
 * @throws ApiError 400 naming the field
 */
export function readArea(area: Partial<WatchedArea>): LiveArea | Pair {
  switch (area.type!) {
    case 'circle': {
      const { center, radius } = area as Partial<Extract<WatchedArea, { type: 'circle' }>>
      return {
        kind: 'circle',
        center: checkPoint('area.center', required('area.center', center)),
        radius: required('area.radius', radius),
      }
    }
    case 'box':
      return readBox(required('area.box', (area as Partial<Extract<WatchedArea, { type: 'box' }>>).box))
    case 'polygon': {
      const { coordinates } = area as Partial<Extract<WatchedArea, { type: 'polygon' }>>
      return readPolygon(required('area.coordinates', coordinates))
    }
    case 'geofence': {
      const { tag, externalId } = area as Partial<Extract<WatchedArea, { type: 'geofence' }>>
      return { tag: required('area.tag', tag), externalId: required('area.externalId', externalId) }
    }
  }
}

function readBox([west, south, east, north]: Extract<WatchedArea, { type: 'box' }>['box']): LiveArea {
  for (const longitude of [west, east]) if (Math.abs(longitude) > 180) throw outOfRange('area.box', -180, 180)
  for (const latitude of [south, north]) if (Math.abs(latitude) > 90) throw outOfRange('area.box', -90, 90)
  if (south >= north) throw badParam('area.box', 'Must be west, south, east, north, with south below north.')
  return { kind: 'box', west, south, east, north }
}

function readPolygon(rings: Extract<WatchedArea, { type: 'polygon' }>['coordinates']): LiveArea {
  if (rings.length !== 1)
    throw badParam('area.coordinates', `One ring is allowed; there are ${rings.length}.`)
  const ring = rings[0]!.map((position) => checkPosition('area.coordinates', position))
  const sentence = checkRing(ring)
  if (sentence !== undefined) throw badParam('area.coordinates', sentence)
  return { kind: 'polygon', ring }
}
