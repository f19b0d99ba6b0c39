import Type from 'typebox'
import { listPieces } from '../../http/answerText.ts'
import type { Fields } from '../../http/fields.ts'
import { route, type Route } from '../../http/route.ts'
import { CoordinatesText, limitOf, MetadataFilter, parseCoordinates } from '../../http/schemas.ts'
import { Probe } from '../../geometry/probe.ts'
import { isActiveAt, type GeofenceProperties } from '../../model/geofence.ts'
import { metadataMatcher } from '../../model/metadata.ts'
import { badParam } from '../../runtime/errors.ts'
import { inSlices, mapInSlices } from '../../runtime/slices.ts'
import { ConcurrencyLimit } from '../../runtime/concurrencyLimit.ts'
import type { GeofenceIndex } from '../../spatial/port.ts'
import { ANSWERS_AT_ONCE, collectionRoutes, scopeOf } from '../records/collectionRoutes.ts'
import type { Pair } from '../records/recordFields.ts'
import { TagsFilter, tagSet } from '../records/recordSchemas.ts'
import type { AreaFinder } from './areaFinder.ts'
import { GEOFENCES } from './geofenceEntity.ts'
import { GeofenceRecord, geofenceRecord } from './geofenceRecord.ts'
import type { Geofences } from './geofences.ts'
import { parseGeofence } from './parseGeofence.ts'
import { resolveArea } from './resolveArea.ts'

/** More geofences than this with geometry are refused. It is a rule of the interface. */
const MAX_WITH_GEOMETRY = 100

/** Management of geofences (secret keys) and the search near a point (any key). */
export function geofenceRoutes(geofences: Geofences, finder: AreaFinder): Route[] {
  const concurrency = new ConcurrencyLimit(ANSWERS_AT_ONCE)
  const entity = {
    ...GEOFENCES,
    parse: (fields: Fields, known?: Pair) => resolveArea(parseGeofence(fields, known), finder),
  }
  return [...collectionRoutes(entity, geofences, concurrency), searchRoute(geofences, concurrency)]
}

function searchRoute(geofences: Geofences, concurrency: ConcurrencyLimit): Route {
  return route({
    method: 'GET',
    path: '/v1/search/geofences',
    auth: 'publishable',
    tag: GEOFENCES.tag,
    summary: 'Find the enabled geofences nearest to a point',
    description: 'Sorted by distance to the boundary, 0 inside.',
    query: Type.Object({
      near: CoordinatesText,
      limit: Type.Optional(limitOf(100, 1000)),
      radius: Type.Optional(
        Type.Number({
          exclusiveMinimum: 0,
          description: 'Metres. If it is absent, the distance has no limit.',
        }),
      ),
      tags: Type.Optional(TagsFilter),
      metadata: Type.Optional(MetadataFilter),
      includeGeometry: Type.Optional(
        Type.Boolean({ default: true, description: 'Must be false for more than 100 results.' }),
      ),
    }),
    answers: { 200: Type.Object({ geofences: Type.Array(GeofenceRecord) }) },
    handler: (call) => {
      const { limit = 100, radius, metadata = {}, includeGeometry = true } = call.query
      const { latitude, longitude } = parseCoordinates('near', call.query.near)
      if (includeGeometry && limit > MAX_WITH_GEOMETRY) {
        const sentence = `Invalid limit. Valid range: [1, ${MAX_WITH_GEOMETRY}]; for more, use includeGeometry=false.`
        throw badParam('limit', sentence)
      }
      const tags = tagSet(call.query.tags)
      const isWanted = metadataMatcher(metadata)
      const accept = (geofence: GeofenceProperties) =>
        isActiveAt(geofence, call.receivedAt) &&
        (tags === undefined || tags.has(geofence.tag)) &&
        isWanted(geofence.metadata)
      const { index } = geofences.store(scopeOf(call))
      const probe = new Probe().set(latitude, longitude)
      return concurrency.run(() => nearestAnswer(index, probe, { limit, radius, accept, includeGeometry }))
    },
  })
}

/** The parameters of a search. */
interface NearestWish {
  readonly limit: number
  /** In metres; undefined means that there is no limit. */
  readonly radius: number | undefined
  readonly accept: (geofence: GeofenceProperties) => boolean
  readonly includeGeometry: boolean
}

/** Both the search, which may examine all geofences, and the records are made in turns with other requests. */
async function nearestAnswer(index: GeofenceIndex, probe: Probe, wish: NearestWish) {
  const { limit, radius, accept, includeGeometry } = wish
  const { found: nearest } = await inSlices(index.nearestSteps(probe, limit, radius, accept))
  const texts = await mapInSlices(nearest, ({ geofence, distance }) => {
    const slot = index.slotOf(geofence.id)
    if (slot < 0) return undefined
    const record = geofenceRecord({ ...geofence, shape: index.shape(slot) }, { geometry: includeGeometry })
    return JSON.stringify({ ...record, distance })
  })
  return { pieces: listPieces('"geofences":', texts) }
}
