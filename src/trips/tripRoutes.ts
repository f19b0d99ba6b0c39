import Type from 'typebox'
import { listPieces } from '../http/answerText.ts'
import type { Fields } from '../http/fields.ts'
import { listPage, listQuery, PageAnswers, unknownBefore } from '../http/listQuery.ts'
import { route, type Answer, type Call, type Route } from '../http/route.ts'
import { limitOf, Name, Page, Text } from '../http/schemas.ts'
import { isRecordId } from '../model/recordId.ts'
import { TRIP_STATUSES, type TripStatus } from '../model/trip.ts'
import { MAX_ID_LENGTH } from '../registry/records/recordFields.ts'
import { LegRecord } from '../events/tripSchema.ts'
import { badParam, notFound } from '../runtime/errors.ts'
import type { Users } from '../actor/port.ts'
import type { FoundTrip, TripList, Trips } from './port.ts'
import { MOST_LOCATIONS } from './trail.ts'
import type { TripCallResult } from './tripCall.ts'
import type { TripService } from './tripService.ts'
import {
  LegOrderBody,
  LegStatusBody,
  PatchBody,
  PostBody,
  readOrder,
  readStatus,
  readTrip,
} from './tripFields.ts'
import { AnsweredEvent, TripRecord } from './tripSchemas.ts'

export interface TripRouteParts {
  readonly service: TripService
  readonly trips: Trips
  readonly users: Users
}

const TAG = 'Trips'
const Id = Type.Object({
  id: Name(
    MAX_ID_LENGTH,
    '`_id` or externalId. If several trips have this externalId, the active one counts, or else the latest.',
  ),
})
const Changed = Type.Object({ trip: TripRecord, events: Type.Array(AnsweredEvent) })
const Unknown = { 404: Type.Object({}, { description: 'There is no such trip.' }) }
const PRIVATE =
  'With a publishable key `locations` is empty, and `user` and the location of events are only there if the body contains the `userId` of the trip.'

/** The routes of trips. */
export function tripRoutes(parts: TripRouteParts): Route[] {
  return [...callRoutes(parts), ...legRoutes(parts), ...readRoutes(parts)]
}

function callRoutes({ service }: TripRouteParts): Route[] {
  const patch = (mayCreate: boolean) => async (call: Call<typeof Id, undefined, typeof PatchBody>) => {
    const fields = call.body as Fields
    const wanted = { fields: readTrip(fields), status: readStatus(fields), wantsLocations: isSecret(call) }
    return changedAnswer(
      call,
      await service.patch(scopeOf(call), call.params.id, wanted, mayCreate),
      wanted.fields.userId,
    )
  }
  const shared = {
    method: 'PATCH',
    auth: 'publishable',
    role: 'write',
    tag: TAG,
    params: Id,
    body: PatchBody,
  } as const
  return [
    route({
      method: 'POST',
      path: '/v1/trips',
      auth: 'publishable',
      role: 'write',
      tag: TAG,
      summary: 'Create a trip',
      description:
        'Creates a trip, which is pending until an update of its user starts it. If there is already an active trip with this ' +
        `externalId, the fields of that trip are changed instead. ${PRIVATE}`,
      body: PostBody,
      answers: { 200: Changed },
      handler: async (call) => {
        const { externalId } = call.body
        if (externalId === '') throw badParam('externalId', 'Required.')
        const fields = readTrip(call.body as Fields)
        const wanted = { fields, wantsLocations: isSecret(call) }
        return changedAnswer(call, await service.post(scopeOf(call), externalId, wanted), fields.userId)
      },
    }),
    route({
      ...shared,
      path: '/v1/trips/:id/update',
      isUnescaped: true,
      summary: 'Change a trip',
      description: `Changes the fields in the body, and then the status. A trip that has ended is restarted by an active status. ${PRIVATE}`,
      answers: { 200: Changed, ...Unknown },
      handler: patch(false),
    }),
    route({
      ...shared,
      path: '/v1/trips/:id',
      summary: 'Change or create a trip',
      description:
        'Like `PATCH /v1/trips/:id/update`. If there is no trip with this externalId, it is created.',
      answers: { 200: Changed },
      handler: patch(true),
    }),
  ]
}

function legRoutes({ service }: TripRouteParts): Route[] {
  return [
    route({
      method: 'PATCH',
      path: '/v1/trips/:id/legs/:legId',
      // `x/legs` may be the externalId of a trip.
      accepts: ([, legId]) => legId !== 'update',
      auth: 'publishable',
      role: 'write',
      tag: TAG,
      summary: 'Change the status of a leg',
      description:
        '`started`, `approaching` and `arrived` make it the current leg. `completed` and `canceled` close it, and the next leg is started. ' +
        'When the last leg is closed, the trip ends.',
      params: Type.Object({ ...Id.properties, legId: Name(MAX_ID_LENGTH, '`_id` of the leg.') }),
      body: LegStatusBody,
      answers: { 200: Type.Object({ ...Changed.properties, leg: LegRecord }), ...Unknown },
      handler: async (call) => {
        const { id, legId } = call.params
        const status = readStatus(call.body as Fields)
        if (status === undefined) throw badParam('status', 'Required.')
        const what = { leg: { legId, status }, wantsLocations: isSecret(call) }
        return changedAnswer(call, await service.legs(scopeOf(call), id, what), call.body.userId)
      },
    }),
    route({
      method: 'PUT',
      path: '/v1/trips/:id/legs',
      auth: 'publishable',
      role: 'write',
      tag: TAG,
      summary: 'Order the legs of a trip',
      params: Id,
      body: LegOrderBody,
      answers: { 200: Changed, ...Unknown },
      handler: async (call) => {
        const what = { order: readOrder(call.body as Fields), wantsLocations: isSecret(call) }
        return changedAnswer(call, await service.legs(scopeOf(call), call.params.id, what), call.body.userId)
      },
    }),
  ]
}

const ListTrips = Type.Object({
  status: Type.Optional(Text(256, `One or more of ${TRIP_STATUSES.join(', ')}, separated by commas.`)),
  destinationGeofenceTag: Type.Optional(Name(MAX_ID_LENGTH, 'That of the destination, or of any leg.')),
  destinationGeofenceExternalId: Type.Optional(Name(MAX_ID_LENGTH)),
  externalId: Type.Optional(Text(16_384, 'One or more, separated by commas.')),
  userId: Type.Optional(Name(MAX_ID_LENGTH, 'The userId of the trip’s user, or their `_id`.')),
  delayed: Type.Optional(Type.Boolean({ description: 'Only trips that are late, or only the others.' })),
  includeLocations: Type.Optional(Type.Boolean({ description: 'Default false.' })),
  maxLocations: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MOST_LOCATIONS,
      description:
        'With `includeLocations`: the maximum number of locations of each trip; the latest are shown. By default all.',
    }),
  ),
  sortBy: Type.Optional(
    Type.Union([Type.Literal('createdAt'), Type.Literal('updatedAt')], {
      description: 'The latest first. Default `updatedAt`.',
    }),
  ),
  ...listQuery('when the trip was created', '`updatedAt` (of the last change or location)'),
  limit: limitOf(500, 1000),
})

function readRoutes({ service, trips, users }: TripRouteParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/trips',
      auth: 'secret',
      tag: TAG,
      summary: 'List trips',
      query: ListTrips,
      meta: Page,
      answers: { 200: Type.Object({ trips: Type.Array(TripRecord) }), ...PageAnswers },
      handler: async (call) => {
        const scope = scopeOf(call)
        const { query } = call
        const { before, ...page } = listPage(query)
        const { sortBy = 'updatedAt' } = query
        let after: readonly number[] | undefined
        if (before !== undefined) {
          const [last] = (
            await trips.ask({ scope, ask: 'trip', id: before, includeLocations: false, sortBy })
          ).trips
          if (last === undefined) throw unknownBefore()
          after = last.order
        }
        const list: TripList = {
          ...page,
          after,
          sortBy,
          statuses: statusesOf(query.status),
          externalIds: query.externalId === undefined ? undefined : distinctNames(query.externalId),
          destinationGeofenceTag: query.destinationGeofenceTag,
          destinationGeofenceExternalId: query.destinationGeofenceExternalId,
          ...(await whoIs(users, scope, query.userId)),
          delayed: query.delayed,
          includeLocations: query.includeLocations ?? false,
          maxLocations: query.maxLocations,
        }
        const found = await trips.ask({ scope, ask: 'list', list })
        return { meta: { hasMore: found.hasMore }, pieces: listPieces('"trips":', found.trips.map(recordOf)) }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/trips/:id',
      auth: 'secret',
      tag: TAG,
      summary: 'Get a trip',
      description: 'The answer has the fields of the trip both in `trip` and at its root.',
      params: Id,
      answers: { 200: Type.Object({ trip: TripRecord, ...TripRecord.properties }), ...Unknown },
      handler: async (call) => {
        const found = await service.find(scopeOf(call), call.params.id, true)
        if (found === undefined) throw notFound('Trip')
        const record = recordOf(found)
        return { json: `"trip":${record},${record.slice(1, -1)}` }
      },
    }),
    route({
      method: 'DELETE',
      path: '/v1/trips/:id',
      auth: 'secret',
      role: 'write',
      tag: TAG,
      isEnteredFirst: true,
      summary: 'Delete a trip',
      description:
        'Removes the trip without an event. For a day, tripOptions with its externalId do not create a trip again. With an ' +
        'externalId, the call removes the active trip of that name, or else the one that was created last. So a second call removes ' +
        'the trip before it. If you may have to repeat a call, name the trip by its `_id`.',
      params: Id,
      answers: { 200: Type.Object({}), ...Unknown },
      handler: async (call) => {
        await service.remove(scopeOf(call), call.params.id)
        return {}
      },
    }),
  ]
}

/**
 * Reads statuses.
 * @throws {ApiError} 400 for a word that is not a status
 */
function statusesOf(text: string | undefined): readonly TripStatus[] | undefined {
  return text?.split(',').map((part) => {
    const status = TRIP_STATUSES.find((one) => one === part.trim())
    if (status === undefined)
      throw badParam('status', `Must be some of ${TRIP_STATUSES.join(', ')}, separated by commas.`)
    return status
  })
}

/** The names of a list, separated by commas, each once. */
function distinctNames(text: string): readonly string[] {
  return [...new Set(text.split(',').map((name) => name.trim()))]
}

/** Whom a filter means: a user may also be named by `_id`, above all one without a userId. */
async function whoIs(
  users: Users,
  scope: number,
  name: string | undefined,
): Promise<Pick<TripList, 'userId' | 'recordId'>> {
  if (name === undefined || !isRecordId(name)) return { userId: name }
  const [record] = (await users.ask({ scope, ask: 'record', id: name })).users
  if (record === undefined) return { userId: name }
  const { userId } = JSON.parse(record.user.join('')) as { readonly userId?: string }
  return userId === undefined ? { recordId: name } : { userId }
}

/** The whole record. */
function recordOf({ trip, user, locations }: FoundTrip): string {
  return `${trip.slice(0, -1)}${user === null ? '' : `,"user":${user}`},"locations":${locations}}`
}

/**
 * The answer to a change.
 * @param userId the one in the body
 */
function changedAnswer(call: AnyCall, result: TripCallResult, userId: string | undefined): Answer {
  const isOwn = isSecret(call) || (userId !== undefined && userId === result.userId)
  const { trip, user, locations, leg, events } = result
  const record = `${trip.slice(0, -1)}${isOwn && user !== null ? `,"user":${user}` : ''},"locations":${locations ?? '[]'}}`
  const told = isOwn ? events : events.map(withoutUser)
  return { json: `"trip":${record},${leg === null ? '' : `"leg":${leg},`}"events":[${told.join(',')}]` }
}

/** An event for a caller who may not know the user. */
function withoutUser(json: string): string {
  const { user: _, location: __, locationAccuracy: ___, ...rest } = JSON.parse(json)
  return JSON.stringify(rest)
}

type AnyCall = Pick<Call<undefined, undefined, undefined>, 'credentials'>

function scopeOf(call: AnyCall): number {
  return call.credentials!.scope
}

function isSecret(call: AnyCall): boolean {
  return call.credentials!.level === 'secret'
}
