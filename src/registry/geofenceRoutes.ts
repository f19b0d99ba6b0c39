import Type from 'typebox'
import { listPieces } from '../http/answerText.ts'
import { ListQuery, PageAnswers, recordPage } from '../http/listQuery.ts'
import type { Route } from '../http/route.ts'
import { route } from '../http/route.ts'
import { CoordinatesText, limitOf, MetadataFilter, Page, parseCoordinates, Text } from '../http/schemas.ts'
import { Probe } from '../geometry/probe.ts'
import type { Geofence, GeofenceProperties } from '../model/geofence.ts'
import { metadataMatcher } from '../model/metadata.ts'
import type { ScopeId } from '../model/scope.ts'
import { badParam, notFound } from '../runtime/errors.ts'
import { inTurns, mapInTurns } from '../runtime/slices.ts'
import { Turns } from '../runtime/turns.ts'
import type { GeofenceIndex } from '../spatial/port.ts'
import type { Fields } from '../http/fields.ts'
import { present } from '../http/fields.ts'
import { GeofenceBody, NewGeofenceBody } from './geofences/geofenceBody.ts'
import { GeofenceRecord, geofenceRecord } from './geofences/geofenceRecord.ts'
import { isActiveAt } from '../model/geofence.ts'
import { parseGeofence } from './geofences/geofenceSchema.ts'
import { MAX_ID_LENGTH } from './records/recordFields.ts'
import { refusingTaken, scopeOf } from './recordHandlers.ts'
import { Id, Nothing, PairParams, TagsFilter, tagSet } from './records/recordSchemas.ts'
import type { Registry } from './registry.ts'
import type { ScopeStore } from './scopeStore.ts'

const OneGeofence = Type.Object({ geofence: GeofenceRecord })
const Geofences = Type.Object({ geofences: Type.Array(GeofenceRecord) })
const Conflict = Type.Object({}, { description: 'Conflict: another geofence has the tag and externalId.' })

const TAG = 'Geofences'
/** Large answers that are made at one time: each is held in memory until it is out. */
const ANSWERS_AT_ONCE = 8
/** More than this with geometry is refused: the interface's rule. */
const MAX_WITH_GEOMETRY = 100

/** Management of geofences (secret keys) and the search near a point (any key). */
export function geofenceRoutes(registry: Registry): Route[] {
  const turns = new Turns(ANSWERS_AT_ONCE)
  return [
    ...editRoutes(registry),
    ...readRoutes(registry, turns),
    ...deleteRoutes(registry),
    searchRoute(registry, turns),
  ]
}

function editRoutes(registry: Registry): Route[] {
  return [
    route({
      method: 'POST',
      path: '/v1/geofences',
      auth: 'secret',
      tag: TAG,
      summary: 'Create a geofence',
      body: NewGeofenceBody,
      answers: { 200: OneGeofence, 409: Conflict },
      handler: async (call) => {
        const definition = parseGeofence(call.body as Fields)
        return answer(
          await registry.edit(refusingTaken(() => registry.createGeofence(scopeOf(call), definition))),
        )
      },
    }),
    route({
      method: 'PUT',
      path: '/v1/geofences/:tag/:externalId',
      auth: 'secret',
      tag: TAG,
      summary: 'Create or replace a geofence by its pair',
      description:
        'Replaces the whole definition: a field that is absent, null or empty gets its default value.',
      params: PairParams,
      body: GeofenceBody,
      answers: { 200: OneGeofence },
      handler: async (call) => {
        const definition = parseGeofence(call.body as Fields, call.params)
        const put = await registry.edit(() => registry.putGeofence(scopeOf(call), definition))
        return answer(put.geofence)
      },
    }),
    route({
      method: 'PUT',
      path: '/v1/geofences/:id',
      auth: 'secret',
      tag: TAG,
      summary: 'Replace a geofence by its id',
      description:
        'Replaces the whole definition; tag and externalId stay the same if they are not in the body.',
      params: Id,
      body: GeofenceBody,
      answers: { 200: OneGeofence, 409: Conflict },
      handler: async (call) => {
        const { id } = call.params
        const scope = scopeOf(call)
        const replace = () => {
          const before = found(registry.scope(scope).geofence(id))
          const body = call.body as Fields
          const tag = present(body, 'tag') ?? before.tag
          const externalId = present(body, 'externalId') ?? before.externalId
          const definition = parseGeofence({ ...body, tag, externalId })
          return found(registry.replaceGeofence(scope, id, definition))
        }
        return answer(await registry.edit(refusingTaken(replace)))
      },
    }),
  ]
}

function readRoutes(registry: Registry, turns: Turns): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/geofences',
      auth: 'secret',
      tag: TAG,
      summary: 'List geofences, newest first',
      query: Type.Object({
        tag: Type.Optional(Text(MAX_ID_LENGTH)),
        externalId: Type.Optional(Text(MAX_ID_LENGTH)),
        metadata: Type.Optional(MetadataFilter),
        ...ListQuery,
      }),
      meta: Page,
      answers: { 200: Geofences, ...PageAnswers },
      handler: async (call) => {
        const { tag, externalId, metadata } = call.query
        const isWanted = metadata && metadataMatcher(metadata)
        const store = registry.scope(scopeOf(call))
        const wanted = {
          tag,
          externalId,
          ...recordPage(call.query, (id) => store.records.has(id)),
          accept: isWanted && ((geofence: GeofenceProperties) => isWanted(geofence.metadata)),
        }
        return turns.take(async () => {
          const { records, hasMore } = await inTurns(store.listSteps(wanted))
          return { meta: { hasMore }, pieces: listPieces('"geofences":', await textsInTurns(store, records)) }
        })
      },
    }),
    route({
      method: 'GET',
      path: '/v1/geofences/:id',
      auth: 'secret',
      tag: TAG,
      summary: 'Get a geofence by its id',
      params: Id,
      answers: { 200: OneGeofence },
      handler: (call) => {
        const store = registry.scope(scopeOf(call))
        return answer(store.withShape(found(store.geofence(call.params.id))))
      },
    }),
    route({
      method: 'GET',
      path: '/v1/geofences/:tag/:externalId',
      auth: 'secret',
      tag: TAG,
      summary: 'Get a geofence by its pair',
      params: PairParams,
      answers: { 200: OneGeofence },
      handler: (call) => {
        const { tag, externalId } = call.params
        const store = registry.scope(scopeOf(call))
        return answer(store.withShape(found(store.geofenceByPair(tag, externalId))))
      },
    }),
  ]
}

function deleteRoutes(registry: Registry): Route[] {
  const remove = async (scope: ScopeId, find: () => GeofenceProperties | undefined) => {
    await registry.edit(() => registry.deleteGeofence(scope, found(find()).id))
    return {}
  }
  return [
    route({
      method: 'DELETE',
      path: '/v1/geofences/:id',
      auth: 'secret',
      tag: TAG,
      summary: 'Delete a geofence by its id',
      params: Id,
      answers: { 200: Nothing },
      handler: (call) => {
        const scope = scopeOf(call)
        return remove(scope, () => registry.scope(scope).geofence(call.params.id))
      },
    }),
    route({
      method: 'DELETE',
      path: '/v1/geofences/:tag/:externalId',
      auth: 'secret',
      tag: TAG,
      summary: 'Delete a geofence by its pair',
      params: PairParams,
      answers: { 200: Nothing },
      handler: (call) => {
        const scope = scopeOf(call)
        return remove(scope, () =>
          registry.scope(scope).geofenceByPair(call.params.tag, call.params.externalId),
        )
      },
    }),
  ]
}

function searchRoute(registry: Registry, turns: Turns): Route {
  return route({
    method: 'GET',
    path: '/v1/search/geofences',
    auth: 'publishable',
    tag: TAG,
    summary: 'Find the enabled geofences nearest to a point',
    description: 'Sorted by distance to the boundary, 0 inside.',
    query: Type.Object({
      near: CoordinatesText,
      limit: Type.Optional(limitOf(100, 1000)),
      radius: Type.Optional(Type.Number({ exclusiveMinimum: 0, description: 'Metres; absent: unbounded.' })),
      tags: Type.Optional(TagsFilter),
      metadata: Type.Optional(MetadataFilter),
      includeGeometry: Type.Optional(
        Type.Boolean({ default: true, description: 'Must be false for more than 100 results.' }),
      ),
    }),
    answers: { 200: Geofences },
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
      const { index } = registry.scope(scopeOf(call))
      const probe = new Probe().set(latitude, longitude)
      return turns.take(() => nearestAnswer(index, probe, { limit, radius, accept, includeGeometry }))
    },
  })
}

/** What is wanted of a search. */
interface NearestWish {
  readonly limit: number
  /** Metres; undefined: unbounded. */
  readonly radius: number | undefined
  readonly accept: (geofence: GeofenceProperties) => boolean
  readonly includeGeometry: boolean
}

/** Both the search, which may look at all geofences, and the records have their turns with other requests. */
async function nearestAnswer(index: GeofenceIndex, probe: Probe, wish: NearestWish) {
  const { limit, radius, accept, includeGeometry } = wish
  const { found: nearest } = await inTurns(index.nearestSteps(probe, limit, radius, accept))
  const texts = await mapInTurns(nearest, ({ geofence, distance }) => {
    const slot = index.slotOf(geofence.id)
    if (slot < 0) return undefined
    const record = geofenceRecord({ ...geofence, shape: index.shape(slot) }, { geometry: includeGeometry })
    return JSON.stringify({ ...record, distance })
  })
  return { pieces: listPieces('"geofences":', texts) }
}

/**
 * The records of a page as JSON. A thousand of the largest polygons are 90 MB, and take a second or two to write: between
 * them every other request has its turn. Each is told as it is by then, and left out where it was deleted meanwhile.
 */
function textsInTurns(store: ScopeStore, geofences: readonly GeofenceProperties[]): Promise<string[]> {
  return mapInTurns(geofences, ({ id }) => {
    const geofence = store.geofence(id)
    return geofence && JSON.stringify(geofenceRecord(store.withShape(geofence)))
  })
}

function answer(geofence: Geofence) {
  return { body: { geofence: geofenceRecord(geofence) } }
}

function found<T extends GeofenceProperties>(geofence: T | undefined): T {
  if (geofence === undefined) throw notFound('Geofence')
  return geofence
}
