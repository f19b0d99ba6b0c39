import Type from 'typebox'
import { DEVICE_TYPE_HEADER } from '../http/deviceType.ts'
import { ListQuery, PageAnswers, recordPage } from '../http/listQuery.ts'
import type { Route } from '../http/route.ts'
import { route } from '../http/route.ts'
import { CoordinatesText, limitOf, MetadataFilter, Page, parseCoordinates, Text } from '../http/schemas.ts'
import type { Beacon } from '../model/beacon.ts'
import { metadataMatcher } from '../model/metadata.ts'
import type { ScopeId } from '../model/scope.ts'
import { notFound } from '../runtime/errors.ts'
import { BeaconBody } from './beacons/beaconBody.ts'
import { BeaconRecord, beaconRecord } from './beacons/beaconRecord.ts'
import { parseBeacon } from './beacons/beaconSchema.ts'
import type { Fields } from '../http/fields.ts'
import { present } from '../http/fields.ts'
import { readableBeacons } from './beacons/readableBeacons.ts'
import { MAX_ID_LENGTH } from './records/recordFields.ts'
import { refusingTaken, scopeOf } from './recordHandlers.ts'
import { Id, Nothing, PairParams, TagsFilter, tagSet } from './records/recordSchemas.ts'
import type { Registry } from './registry.ts'

const OneBeacon = Type.Object({ beacon: BeaconRecord })
const Beacons = Type.Object({ beacons: Type.Array(BeaconRecord) })
const Conflict = Type.Object({}, { description: 'Conflict: another beacon has the tag and externalId.' })
const RangedByAll = Type.Object({
  settings: Type.Object({
    beacons: Type.Object({
      uuids: Type.Array(Type.String(), { description: 'iBeacon UUIDs to range wherever the device is.' }),
      uids: Type.Array(Type.String(), { description: 'Eddystone UIDs to range wherever the device is.' }),
    }),
  }),
})

const TAG = 'Beacons'
const DEFAULT_RADIUS_METERS = 1000
const MAX_RADIUS_METERS = 100_000

/** Management of beacons (secret keys) and the search near a point (any key). */
export function beaconRoutes(registry: Registry): Route[] {
  return [...editRoutes(registry), ...readRoutes(registry), ...deleteRoutes(registry), searchRoute(registry)]
}

function editRoutes(registry: Registry): Route[] {
  return [
    route({
      method: 'POST',
      path: '/v1/beacons',
      auth: 'secret',
      tag: TAG,
      summary: 'Create a beacon',
      body: BeaconBody,
      answers: { 200: OneBeacon, 409: Conflict },
      handler: async (call) => {
        const definition = parseBeacon(call.body as Fields)
        return answer(
          await registry.edit(refusingTaken(() => registry.beacons.create(scopeOf(call), definition))),
        )
      },
    }),
    route({
      method: 'PUT',
      path: '/v1/beacons/:tag/:externalId',
      auth: 'secret',
      tag: TAG,
      summary: 'Create or replace a beacon by its pair',
      description:
        'Replaces the whole definition: a field that is absent, null or empty gets its default value.',
      params: PairParams,
      body: BeaconBody,
      answers: { 200: OneBeacon },
      handler: async (call) => {
        const definition = parseBeacon(call.body as Fields, call.params)
        const put = await registry.edit(() => registry.beacons.put(scopeOf(call), definition))
        return answer(put.beacon)
      },
    }),
    route({
      method: 'PUT',
      path: '/v1/beacons/:id',
      auth: 'secret',
      tag: TAG,
      summary: 'Replace a beacon by its id',
      description:
        'Replaces the whole definition; tag and externalId stay the same if they are not in the body.',
      params: Id,
      body: BeaconBody,
      answers: { 200: OneBeacon, 409: Conflict },
      handler: async (call) => {
        const { id } = call.params
        const scope = scopeOf(call)
        const replace = () => {
          const before = found(registry.scope(scope).beacons.beacon(id))
          const body = call.body as Fields
          const tag = present(body, 'tag') ?? before.tag
          const externalId = present(body, 'externalId') ?? before.externalId
          const definition = parseBeacon({ ...body, tag, externalId })
          return found(registry.beacons.replace(scope, id, definition))
        }
        return answer(await registry.edit(refusingTaken(replace)))
      },
    }),
  ]
}

function readRoutes(registry: Registry): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/beacons',
      auth: 'secret',
      tag: TAG,
      summary: 'List beacons, newest first',
      query: Type.Object({
        tag: Type.Optional(Text(MAX_ID_LENGTH)),
        externalId: Type.Optional(Text(MAX_ID_LENGTH)),
        metadata: Type.Optional(MetadataFilter),
        ...ListQuery,
      }),
      meta: Page,
      answers: { 200: Beacons, ...PageAnswers },
      handler: (call) => {
        const { tag, externalId, metadata } = call.query
        const isWanted = metadata && metadataMatcher(metadata)
        const list = registry.scope(scopeOf(call)).beacons.records
        const { records, hasMore } = list.list({
          tag,
          externalId,
          ...recordPage(call.query, (id) => list.get(id) !== undefined),
          accept: isWanted && ((beacon) => isWanted(beacon.metadata)),
        })
        return { meta: { hasMore }, body: { beacons: records.map(beaconRecord) } }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/beacons/:id',
      auth: 'secret',
      tag: TAG,
      summary: 'Get a beacon by its id',
      params: Id,
      answers: { 200: OneBeacon },
      handler: (call) => answer(found(registry.scope(scopeOf(call)).beacons.beacon(call.params.id))),
    }),
    route({
      method: 'GET',
      path: '/v1/beacons/:tag/:externalId',
      auth: 'secret',
      tag: TAG,
      summary: 'Get a beacon by its pair',
      params: PairParams,
      answers: { 200: OneBeacon },
      handler: (call) => {
        const { tag, externalId } = call.params
        return answer(found(registry.scope(scopeOf(call)).beaconByPair(tag, externalId)))
      },
    }),
  ]
}

function deleteRoutes(registry: Registry): Route[] {
  const remove = async (scope: ScopeId, find: () => Beacon | undefined) => {
    await registry.edit(() => registry.beacons.delete(scope, found(find()).id))
    return {}
  }
  return [
    route({
      method: 'DELETE',
      path: '/v1/beacons/:id',
      auth: 'secret',
      tag: TAG,
      summary: 'Delete a beacon by its id',
      params: Id,
      answers: { 200: Nothing },
      handler: (call) => {
        const scope = scopeOf(call)
        return remove(scope, () => registry.scope(scope).beacons.beacon(call.params.id))
      },
    }),
    route({
      method: 'DELETE',
      path: '/v1/beacons/:tag/:externalId',
      auth: 'secret',
      tag: TAG,
      summary: 'Delete a beacon by its pair',
      params: PairParams,
      answers: { 200: Nothing },
      handler: (call) => {
        const scope = scopeOf(call)
        return remove(scope, () =>
          registry.scope(scope).beaconByPair(call.params.tag, call.params.externalId),
        )
      },
    }),
  ]
}

function searchRoute(registry: Registry): Route {
  return route({
    method: 'GET',
    path: '/v1/search/beacons',
    headers: [DEVICE_TYPE_HEADER],
    auth: 'publishable',
    tag: TAG,
    summary: 'Find the enabled beacons nearest to a point',
    description:
      'Sorted by distance. `meta.settings.beacons` carries the beaconUuids and beaconUids settings. A client with the header ' +
      '`X-Radar-Device-Type: iOS` receives no eddystone beacons, which iOS cannot read.',
    query: Type.Object({
      near: CoordinatesText,
      radius: Type.Optional(
        Type.Number({
          exclusiveMinimum: 0,
          maximum: MAX_RADIUS_METERS,
          default: DEFAULT_RADIUS_METERS,
          description: 'Metres.',
        }),
      ),
      limit: Type.Optional(limitOf(100, 100)),
      tags: Type.Optional(TagsFilter),
      metadata: Type.Optional(MetadataFilter),
    }),
    meta: RangedByAll,
    answers: { 200: Beacons },
    handler: (call) => {
      const { radius = DEFAULT_RADIUS_METERS, limit = 100, metadata = {} } = call.query
      const { latitude, longitude } = parseCoordinates('near', call.query.near)
      const tags = tagSet(call.query.tags)
      const isWanted = metadataMatcher(metadata)
      const isReadable = readableBeacons(call.headers)
      const accept = (beacon: Beacon) =>
        isReadable(beacon) &&
        (tags === undefined || (beacon.tag !== undefined && tags.has(beacon.tag))) &&
        isWanted(beacon.metadata)
      const { beacons, settings } = registry.scope(scopeOf(call))
      const nearest = beacons.near(latitude, longitude, radius, limit, accept)
      return {
        meta: { settings: { beacons: { uuids: settings.beaconUuids, uids: settings.beaconUids } } },
        body: { beacons: nearest.map(({ beacon, distance }) => ({ ...beaconRecord(beacon), distance })) },
      }
    },
  })
}

function answer(beacon: Beacon) {
  return { body: { beacon: beaconRecord(beacon) } }
}

function found(beacon: Beacon | undefined): Beacon {
  if (beacon === undefined) throw notFound('Beacon')
  return beacon
}
