import Type, { type TSchema } from 'typebox'
import { required } from '../../http/fields.ts'
import { checkRing } from '../../geometry/ring.ts'
import type { Area } from '../../model/area.ts'
import type { Position } from '../../model/geofence.ts'
import { badParam, outOfRange } from '../../runtime/errors.ts'
import type { LiveArea } from '../../spatial/liveAreas.ts'
import { checkPoint, checkPosition } from './recordFields.ts'
import { LonLat } from './recordSchemas.ts'

const MAX_AREA_RADIUS_METERS = 1_000_000
export const AREA_TYPES = ['circle', 'box', 'polygon'] as const

/** The members of an area. Which of them are needed depends on its type: see {@link readArea}. */
export const AREA_MEMBERS = {
  center: Type.Optional(LonLat),
  radius: Type.Optional(Type.Number({ minimum: 1, maximum: MAX_AREA_RADIUS_METERS })),
  box: Type.Optional(Type.Array(Type.Number(), { minItems: 4, maxItems: 4 })),
  coordinates: Type.Optional(Type.Array(Type.Array(LonLat, { maxItems: 2000 }))),
} satisfies Record<string, TSchema>

type Members<Kind extends Area['type']> = Partial<Extract<Area, { type: Kind }>>

/**
 * The area of a request whose members have the right types.
 * @param path the path of the area, for errors
 * @throws {ApiError} 400 naming the field
 */
export function readArea(area: Partial<Area> & Pick<Area, 'type'>, path = 'area'): LiveArea {
  switch (area.type) {
    case 'circle': {
      const { center, radius } = area as Members<'circle'>
      return {
        kind: 'circle',
        center: checkPoint(`${path}.center`, required(`${path}.center`, center)),
        radius: required(`${path}.radius`, radius),
      }
    }
    case 'box':
      return readBox(required(`${path}.box`, (area as Members<'box'>).box), `${path}.box`)
    case 'polygon': {
      const { coordinates } = area as Members<'polygon'>
      return readPolygon(required(`${path}.coordinates`, coordinates), `${path}.coordinates`)
    }
  }
}

function readBox([west, south, east, north]: readonly number[], name: string): LiveArea {
  for (const longitude of [west!, east!]) if (Math.abs(longitude) > 180) throw outOfRange(name, -180, 180)
  for (const latitude of [south!, north!]) if (Math.abs(latitude) > 90) throw outOfRange(name, -90, 90)
  if (south! >= north!) throw badParam(name, 'Must be west, south, east, north, with south below north.')
  return { kind: 'box', west: west!, south: south!, east: east!, north: north! }
}

function readPolygon(rings: readonly (readonly Position[])[], name: string): LiveArea {
  if (rings.length !== 1) throw badParam(name, `One ring is allowed; there are ${rings.length}.`)
  const ring = rings[0]!.map((position) => checkPosition(name, position))
  const sentence = checkRing(ring)
  if (sentence !== undefined) throw badParam(name, sentence)
  return { kind: 'polygon', ring }
}
