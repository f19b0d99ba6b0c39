import Type from 'typebox'
import { listPage, listQuery, PageAnswers, unknownBefore } from '../http/listQuery.ts'
import { route, type Answer, type Call, type Route } from '../http/route.ts'
import {
  CoordinatesText,
  CountedPage,
  dateText,
  IncludeTotal,
  limitOf,
  MetadataFilter,
  Name,
  Page,
  parseCoordinates,
  parseDate,
} from '../http/schemas.ts'
import type { FoundUser, Intake, UserAnswer, UserQuestion, Users } from '../actor/port.ts'
import { REMOVAL } from '../actor/removal.ts'
import { PAGE_CHARACTERS } from '../events/port.ts'
import { UserSchema } from './userSchema.ts'
import type { Beacon } from '../model/beacon.ts'
import { isActive, type GeofenceProperties, type TravelMode } from '../model/geofence.ts'
import { isRecordId } from '../model/recordId.ts'
import type { ScopeId } from '../model/scope.ts'
import type { RecordStore } from '../registry/records/recordStore.ts'
import { badParam, notFound } from '../runtime/errors.ts'
import { textPieces } from '../runtime/textPieces.ts'
import { ExplanationSchema } from './explanationSchema.ts'
import { usersWithin, type TravelTimes } from './travelSearch.ts'

/** The dependencies of the users' routes. */
export interface UserRouteParts {
  readonly users: Users
  readonly intake: Pick<Intake, 'execute'>
  readonly times: TravelTimes
  readonly registry: {
    scope(scope: ScopeId): {
      readonly geofences: ByIdAndPair<GeofenceProperties>
      readonly beacons: ByIdAndPair<Beacon>
    }
  }
}

/** Records of one scope in their present state. */
type ByIdAndPair<T> = {
  [K in 'get' | 'byPair']: (...name: Parameters<RecordStore<never>[K]>) => T | undefined
}

const TAG = 'Users'
const MAX_RADIUS = 10_000
const Id = Type.Object({ id: Name(256, '`_id`, userId or deviceId.') })
const OneUser = Type.Object({ user: UserSchema })
const ManyUsers = Type.Object({ users: Type.Array(UserSchema) })
const Nothing = Type.Object({})
const OrderQuery = {
  sortBy: Type.Optional(Type.Enum(['createdAt', 'updatedAt'], { default: 'createdAt' })),
  order: Type.Optional(Type.Enum(['asc', 'desc'], { default: 'desc' })),
  includeTotal: IncludeTotal,
}
const CUT = `A page has fewer records than \`limit\`, with \`hasMore\` true, if its users reach ${PAGE_CHARACTERS} characters.`

/** The routes of users: reading and removing them, who is near, who is inside, and why. */
export function userRoutes(parts: UserRouteParts): Route[] {
  return [...recordRoutes(parts), ...searchRoutes(parts), ...insideRoutes(parts)]
}

function recordRoutes({ users, intake }: UserRouteParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/users',
      auth: 'secret',
      tag: TAG,
      summary: 'List users, newest first',
      query: Type.Object({
        userId: Type.Optional(Name(256)),
        deviceId: Type.Optional(Name(256)),
        placeId: Type.Optional(
          Name(256, 'Only users who are in the place with this `_id`; needs the setting `places`.'),
        ),
        segment: Type.Optional(
          Name(256, 'Only users who, by their last update, belong to the segment with this externalId.'),
        ),
        text: Type.Optional(
          Name(
            256,
            'A text to look for in the userId, deviceId and description. Upper and lower case are equal. The search looks at every user.',
          ),
        ),
        ...OrderQuery,
        ...listQuery(
          'when the first update of the record arrived at the server',
          '`updatedAt` (the time of the last update, which is in the past for a replay)',
        ),
      }),
      meta: CountedPage,
      description: `${CUT} If the list is sorted by \`updatedAt\`, a user that is updated between two pages may be on both or on neither.`,
      answers: { 200: ManyUsers, ...PageAnswers },
      handler: async (call) => {
        const { userId, deviceId, placeId, segment, text, sortBy } = call.query
        const { order, includeTotal: wantsTotal = false } = call.query
        const sorted = { sortBy, isAscending: order === 'asc' }
        const { before: id, ...page } = listPage(call.query)
        const scope = scopeOf(call)
        let after: readonly number[] | undefined
        if (id !== undefined) {
          const [before] = (await users.ask({ scope, ask: 'record', id, order: sorted })).users
          if (before === undefined) throw unknownBefore()
          after = before.order
        }
        const list = { userId, deviceId, placeId, segment, text, after, wantsTotal, ...sorted, ...page }
        return pageOf(await users.ask({ scope, ask: 'list', list }))
      },
    }),
    route({
      method: 'GET',
      path: '/v1/users/:id',
      auth: 'secret',
      tag: TAG,
      summary: 'Get a user',
      description: 'By `_id`, userId or deviceId; if several match, the one that was updated last.',
      params: Id,
      answers: { 200: OneUser },
      handler: async (call) => {
        const { user } = await userOf(users, call, 'user')
        return { pieces: ['"user":', ...user.flatMap(textPieces)] }
      },
    }),
    route({
      method: 'DELETE',
      path: '/v1/users/:id',
      auth: 'secret',
      role: 'write',
      tag: TAG,
      isEnteredFirst: true,
      summary: 'Delete a user',
      description: 'Removes the record and its state. Its events are kept until they are deleted or expire.',
      params: Id,
      answers: { 200: Nothing },
      handler: async (call) => {
        const { id } = await userOf(users, call, 'user')
        const removal = { scope: scopeOf(call), recordId: id }
        if (!(await intake.execute(REMOVAL, removal, 0))) throw notFound('User')
        return {}
      },
    }),
    route({
      method: 'GET',
      path: '/v1/users/:id/explain',
      auth: 'secret',
      tag: TAG,
      summary: 'Explain the last update of a user',
      description:
        'Lists every candidate geofence of the last update with its distance, coverage, confidence and eligibility, and says why an ' +
        'event did or did not happen.',
      params: Id,
      answers: {
        200: Type.Object({ user: UserSchema, explanation: ExplanationSchema }),
      },
      handler: async (call) => {
        const { user, explanation } = await userOf(users, call, 'explained')
        return {
          pieces: [
            '"user":',
            ...user.flatMap(textPieces),
            ',"explanation":',
            ...explanation.flatMap(textPieces),
          ],
        }
      },
    }),
  ]
}

function searchRoutes({ users, times }: UserRouteParts): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/search/users',
      auth: 'secret',
      tag: TAG,
      summary: 'Search users near a location',
      query: Type.Object({
        near: CoordinatesText,
        radius: Type.Optional(
          Type.Number({
            default: 1000,
            description:
              'Metres, 100 to 10,000; with `mode`, minutes of travel to the location, 1 to 10,000.',
          }),
        ),
        mode: Type.Optional(
          Type.Union(
            ['car', 'truck', 'foot', 'bike', 'motorbike'].map((mode) => Type.Literal(mode)),
            {
              description:
                'The radius is in minutes of travel, and the users with the shortest travel time come first. Users who are too far away for the routing ' +
                'engine are not found.',
            },
          ),
        ),
        metadata: Type.Optional(MetadataFilter),
        updatedAfter: Type.Optional(dateText('Only users whose `updatedAt` is later.')),
        maxAccuracy: Type.Optional(
          Type.Number({
            exclusiveMinimum: 0,
            description:
              'Metres. Only users whose last location is at least this accurate are found, and those whose location has no accuracy.',
          }),
        ),
        limit: Type.Optional(limitOf(10, 100)),
      }),
      answers: {
        200: ManyUsers,
        404: Type.Object(
          {},
          { description: 'Only with `mode`: the location is outside of all regions or has no road nearby.' },
        ),
      },
      handler: async (call) => {
        const { near, radius = 1000, limit = 10, metadata, mode, maxAccuracy } = call.query
        const updatedAfter =
          call.query.updatedAfter === undefined
            ? undefined
            : parseDate('updatedAfter', call.query.updatedAfter)
        const { latitude, longitude } = parseCoordinates('near', near)
        const scope = scopeOf(call)
        const place = { latitude, longitude, metadata, updatedAfter, maxAccuracy, limit }
        const [least, unit] = mode === undefined ? [100, 'metres'] : [1, 'minutes']
        // The limits are not in the schema, because they differ by mode, and the refusal names the one that applies.
        if (radius < least || radius > MAX_RADIUS)
          throw badParam('radius', `Invalid radius. Valid range: [${least}, ${MAX_RADIUS}], in ${unit}.`)
        if (mode !== undefined) {
          const question = { ...place, scope, minutes: radius, mode: mode as TravelMode }
          return { pieces: usersPieces(await usersWithin(users, times, question)) }
        }
        const answer = await users.ask({ scope, ask: 'near', near: { ...place, radiusMeters: radius } })
        return { pieces: usersPieces(answer.users) }
      },
    }),
  ]
}

/** False for `GET /v1/geofences/store/users`, where `users` is an externalId. */
const isById = ([id = '']: readonly string[]): boolean => isRecordId(id)

function insideRoutes(parts: UserRouteParts): Route[] {
  const query = Type.Object({ limit: Type.Optional(limitOf(100, 1000)) })
  // A geofence that is disabled, or has no area yet, has nobody inside. Its stays are hidden until that changes, or
  // the next updates end them.
  const nobody: UserAnswer = { users: [], hasMore: false }
  const answer = async (isOn: boolean, question: UserQuestion): Promise<Answer> =>
    pageOf(isOn ? await parts.users.ask(question) : nobody)
  const inside = (scope: ScopeId, geofence: GeofenceProperties | undefined, limit = 100) => {
    if (geofence === undefined) throw notFound('Geofence')
    const { id, userId, userIds } = geofence
    return answer(isActive(geofence), { scope, ask: 'inside', geofence: { id, userId, userIds }, limit })
  }
  const inRange = (scope: ScopeId, beacon: Beacon | undefined, limit = 100) => {
    if (beacon === undefined) throw notFound('Beacon')
    return answer(beacon.enabled, { scope, ask: 'inRange', beaconId: beacon.id, limit })
  }
  const shared = {
    method: 'GET',
    auth: 'secret',
    tag: TAG,
    query,
    meta: Page,
    description: CUT,
    answers: { 200: ManyUsers },
  } as const
  /** The two routes by id and by pair. */
  const usersOf = <T>(
    plural: 'geofences' | 'beacons',
    summary: string,
    list: (scope: ScopeId, record: T | undefined, limit?: number) => Promise<Answer>,
    records: (scope: ScopeId) => ByIdAndPair<T>,
  ): Route[] => [
    route({
      ...shared,
      path: `/v1/${plural}/:id/users`,
      accepts: isById,
      summary: `${summary}, by its id`,
      params: Type.Object({ id: Name(256) }),
      handler: (call) => {
        const scope = scopeOf(call)
        return list(scope, records(scope).get(call.params.id), call.query.limit)
      },
    }),
    route({
      ...shared,
      path: `/v1/${plural}/:tag/:externalId/users`,
      summary: `${summary}, by its pair`,
      params: Type.Object({ tag: Name(256), externalId: Name(256) }),
      handler: (call) => {
        const scope = scopeOf(call)
        const { tag, externalId } = call.params
        return list(scope, records(scope).byPair(tag, externalId), call.query.limit)
      },
    }),
  ]
  const { registry } = parts
  return [
    ...usersOf(
      'geofences',
      'List the users inside a geofence',
      inside,
      (scope) => registry.scope(scope).geofences,
    ),
    ...usersOf(
      'beacons',
      'List the users in range of a beacon',
      inRange,
      (scope) => registry.scope(scope).beacons,
    ),
  ]
}

async function userOf(
  users: Users,
  call: { readonly params: { readonly id: string } } & AnyCall,
  ask: 'user' | 'explained',
): Promise<FoundUser> {
  const [found] = (await users.ask({ scope: scopeOf(call), ask, id: call.params.id })).users
  if (found === undefined) throw notFound('User')
  return found
}

function pageOf({ users, hasMore, total }: UserAnswer): Answer {
  return { meta: { hasMore, ...(total !== undefined && { total }) }, pieces: usersPieces(users) }
}

/** The users as pieces, because a thousand users may have megabytes. */
function usersPieces(users: readonly FoundUser[]): string[] {
  const pieces = ['"users":[']
  for (const [i, { user }] of users.entries()) {
    if (i > 0) pieces.push(',')
    for (const piece of user) pieces.push(...textPieces(piece))
  }
  pieces.push(']')
  return pieces
}

type AnyCall = Pick<Call<undefined, undefined, undefined>, 'credentials'>

function scopeOf(call: AnyCall): ScopeId {
  return call.credentials!.scope
}
