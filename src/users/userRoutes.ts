import Type from 'typebox'
import { listPage, listQuery, PageAnswers, unknownBefore } from '../api/listQuery.ts'
import type { ActorHost } from '../actor/host.ts'
import { route, type Answer, type Call, type Route } from '../api/route.ts'
import { CoordinatesText, limitOf, Name, Page, parseCoordinates, Text } from '../api/schemas.ts'
import type { StoreSalt } from '../events/ids.ts'
import { PAGE_CHARACTERS } from '../events/port.ts'
import { UserSchema } from '../ingest/userSchema.ts'
import type { Beacon } from '../model/beacon.ts'
import { matchesMetadata } from '../model/metadata.ts'
import type { GeofenceProperties } from '../model/geofence.ts'
import type { ScopeId } from '../model/scope.ts'
import type { ScopeDirectory } from '../registry/port.ts'
import type { Clock } from '../runtime/clock.ts'
import { ApiError, notFound } from '../runtime/errors.ts'
import { explainUser } from './explain.ts'
import { ExplanationSchema } from './explanationSchema.ts'
import type { UserPage, UserRow } from './userQueries.ts'
import { findUser, findUserRecord, listUsers, usersIn, usersInRange, usersNear } from './userQueries.ts'

/** What the user endpoints ask. */
export interface UserParts {
  readonly host: ActorHost
  readonly registry: { scope(scope: ScopeId): ScopeDirectory }
  readonly salt: StoreSalt
  readonly clock: Clock
}

const TAG = 'Users'
const Id = Type.Object({ id: Name(256, '`_id`, userId or deviceId.') })
const OneUser = Type.Object({ user: UserSchema })
const Users = Type.Object({ users: Type.Array(UserSchema) })
const Nothing = Type.Object({})
const CUT = `A page has less than \`limit\`, and \`hasMore\` is true, where its users reach ${PAGE_CHARACTERS} characters.`

/** Reading and removing users, who is near, who is inside, and why. */
export function userRoutes(parts: UserParts): Route[] {
  return [...recordRoutes(parts), ...searchRoutes(parts), ...insideRoutes(parts)]
}

function recordRoutes(parts: UserParts): Route[] {
  const { host, registry } = parts
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
        ...listQuery(
          'when the first update of the record arrived at the server',
          '`updatedAt` (the time of the last update, which a replay dates back)',
        ),
      }),
      meta: Page,
      description: CUT,
      answers: { 200: Users, ...PageAnswers },
      handler: (call) => {
        const { userId, deviceId } = call.query
        const { before: id, ...page } = listPage(call.query)
        const scope = scopeOf(call)
        return host.read(() => {
          const before = id === undefined ? undefined : findUserRecord(host, parts.salt, scope, id)
          if (id !== undefined && before === undefined) throw unknownBefore()
          return pageOf(parts, scope, listUsers(host, scope, { userId, deviceId, before, ...page }))
        })
      },
    }),
    route({
      method: 'GET',
      path: '/v1/users/:id',
      auth: 'secret',
      tag: TAG,
      summary: 'Get a user',
      description: 'By `_id`, userId or deviceId; where several match, the latest updated.',
      params: Id,
      answers: { 200: OneUser },
      handler: (call) =>
        host.read(() => {
          const found = userOf(parts, call)
          return { json: `"user":${userText(parts, scopeOf(call), found)}` }
        }),
    }),
    route({
      method: 'DELETE',
      path: '/v1/users/:id',
      auth: 'secret',
      tag: TAG,
      summary: 'Delete a user',
      description:
        'Removes the record and its state. Its events stay until they are deleted or their time is up.',
      params: Id,
      answers: { 200: Nothing },
      handler: async (call) => {
        const { partition, row, id } = await host.read(() => {
          const found = userOf(parts, call)
          return { ...found, id: found.partition.table.peek(found.row).id }
        })
        if (!(await host.remove(partition, row, id))) throw notFound('User')
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
        'Every candidate geofence of the last update with distance, coverage, confidence and eligibility, and why an ' +
        'event was or was not made.',
      params: Id,
      answers: {
        200: Type.Object({ user: UserSchema, explanation: ExplanationSchema }),
      },
      handler: (call) =>
        host.read(() => {
          const found = userOf(parts, call)
          const explanation = explainUser(found.partition, found.row, registry.scope(scopeOf(call)))
          const user = userText(parts, scopeOf(call), found)
          return { json: `"user":${user},"explanation":${JSON.stringify(explanation)}` }
        }),
    }),
  ]
}

function searchRoutes(parts: UserParts): Route[] {
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
          Type.Number({ minimum: 100, maximum: 10_000, default: 1000, description: 'Metres.' }),
        ),
        mode: Type.Optional(
          Type.Union(
            ['car', 'truck', 'foot', 'bike', 'motorbike'].map((mode) => Type.Literal(mode)),
            {
              description: 'The radius counts minutes of travel: needs a routing engine.',
            },
          ),
        ),
        metadata: Type.Optional(Type.Record(Type.String(), Text(4096))),
        limit: Type.Optional(limitOf(10, 100)),
      }),
      answers: { 200: Users },
      handler: (call) => {
        const { near, radius = 1000, limit = 10, metadata, mode } = call.query
        const { latitude, longitude } = parseCoordinates('near', near)
        if (mode !== undefined)
          throw new ApiError(503, 'mode: There is no routing engine, so travel time cannot be measured.', {
            param: 'mode',
          })
        const scope = scopeOf(call)
        return parts.host.read(() => ({
          json: usersJson(
            parts,
            scope,
            usersNear(
              parts.host,
              scope,
              latitude,
              longitude,
              radius,
              limit,
              (profile) => metadata === undefined || matchesMetadata(profile.metadata, metadata),
            ),
          ),
        }))
      },
    }),
  ]
}

function insideRoutes(parts: UserParts): Route[] {
  const query = Type.Object({ limit: Type.Optional(limitOf(100, 1000)) })
  // What is disabled has nobody inside: the stays end with the next updates, and are hidden until then.
  const nobody: UserPage = { users: [], hasMore: false }
  const answer = (scope: ScopeId, find: () => UserPage): Promise<Answer> =>
    parts.host.read(() => pageOf(parts, scope, find()))
  const inside = (scope: ScopeId, geofence: GeofenceProperties | undefined, limit = 100) => {
    if (geofence === undefined) throw notFound('Geofence')
    return answer(scope, () => (geofence.enabled ? usersIn(parts.host, geofence, limit) : nobody))
  }
  const inRange = (scope: ScopeId, beacon: Beacon | undefined, limit = 100) => {
    if (beacon === undefined) throw notFound('Beacon')
    return answer(scope, () => (beacon.enabled ? usersInRange(parts.host, beacon, limit) : nobody))
  }
  const shared = {
    method: 'GET',
    auth: 'secret',
    tag: TAG,
    query,
    meta: Page,
    description: CUT,
    answers: { 200: Users },
  } as const
  return [
    route({
      ...shared,
      path: '/v1/geofences/:id/users',
      summary: 'List the users inside a geofence, by its id',
      params: Type.Object({ id: Name(256) }),
      handler: (call) => {
        const scope = scopeOf(call)
        return inside(scope, parts.registry.scope(scope).geofence(call.params.id), call.query.limit)
      },
    }),
    route({
      ...shared,
      path: '/v1/geofences/:tag/:externalId/users',
      summary: 'List the users inside a geofence, by its pair',
      params: Type.Object({ tag: Name(256), externalId: Name(256) }),
      handler: (call) => {
        const scope = scopeOf(call)
        const { tag, externalId } = call.params
        return inside(scope, parts.registry.scope(scope).geofenceByPair(tag, externalId), call.query.limit)
      },
    }),
    route({
      ...shared,
      path: '/v1/beacons/:id/users',
      summary: 'List the users in range of a beacon, by its id',
      params: Type.Object({ id: Name(256) }),
      handler: (call) => {
        const scope = scopeOf(call)
        return inRange(scope, parts.registry.scope(scope).beacons.beacon(call.params.id), call.query.limit)
      },
    }),
    route({
      ...shared,
      path: '/v1/beacons/:tag/:externalId/users',
      summary: 'List the users in range of a beacon, by its pair',
      params: Type.Object({ tag: Name(256), externalId: Name(256) }),
      handler: (call) => {
        const scope = scopeOf(call)
        const { tag, externalId } = call.params
        return inRange(scope, parts.registry.scope(scope).beaconByPair(tag, externalId), call.query.limit)
      },
    }),
  ]
}

function userOf(parts: UserParts, call: { readonly params: { readonly id: string } } & AnyCall): UserRow {
  const found = findUser(parts.host, parts.salt, scopeOf(call), call.params.id)
  if (found === undefined) throw notFound('User')
  return found
}

/** The users of a page, the first of them where all would be more than an answer should be. */
function pageOf(parts: UserParts, scope: ScopeId, { users, hasMore }: UserPage): Answer {
  const texts: string[] = []
  let characters = 0
  for (const user of users) {
    if (characters >= PAGE_CHARACTERS) break
    const text = userText(parts, scope, user)
    texts.push(text)
    characters += text.length
  }
  return {
    meta: { hasMore: hasMore || texts.length < users.length },
    json: `"users":[${texts.join(',')}]`,
  }
}

function usersJson(parts: UserParts, scope: ScopeId, users: readonly UserRow[]): string {
  return `"users":[${users.map((user) => userText(parts, scope, user)).join(',')}]`
}

function userText(parts: UserParts, scope: ScopeId, { partition, row }: UserRow): string {
  return partition.userOf(row, parts.registry.scope(scope), parts.clock.now())
}

type AnyCall = Pick<Call<undefined, undefined, undefined>, 'credentials'>

function scopeOf(call: AnyCall): ScopeId {
  return call.credentials!.scope
}
