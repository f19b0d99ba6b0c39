import Type from 'typebox'
import { Name } from '../http/schemas.ts'
import { AREA_MEMBERS, AREA_TYPES, readArea } from '../registry/records/areaFields.ts'
import { MAX_ID_LENGTH, type Pair } from '../registry/records/recordFields.ts'
import { required } from '../http/fields.ts'
import type { LiveArea } from '../spatial/liveAreas.ts'
import type { WatchedArea } from './messages.ts'

/** This schema only distinguishes the kinds. {@link readWatched} checks the fields of each. */
export const AreaSchema = Type.Object({
  type: Type.Enum([...AREA_TYPES, 'geofence']),
  ...AREA_MEMBERS,
  tag: Type.Optional(Name(MAX_ID_LENGTH)),
  externalId: Type.Optional(Name(MAX_ID_LENGTH)),
})

/**
 * Reads the area of a `watch`, or the pair of the geofence to watch.
 * @throws {ApiError} 400 naming the field
 */
export function readWatched(area: Partial<WatchedArea> & Pick<WatchedArea, 'type'>): LiveArea | Pair {
  if (area.type !== 'geofence') return readArea(area)
  const { tag, externalId } = area
  return { tag: required('area.tag', tag), externalId: required('area.externalId', externalId) }
}
