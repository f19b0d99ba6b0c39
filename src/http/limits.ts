import type { RateLimit, Route } from './route.ts'

/**
 * Requests a second, by endpoint: the interface's table ("Limits"), and what it leaves open. An endpoint finds its
 * row by its method and path, so those that come later are limited from their first day.
 *
 * The calls that every device makes by itself with its app's one key (config, replay, conversions, logs) have no row:
 * a limit of the key would be one of the size of the fleet. Region sync, the most expensive of them, has a row, with
 * a limit for a large fleet: devices ask again once they have gone some kilometres.
 */

/**
 * The limit for all other endpoints that need a secret key or a person who has signed in, to read and change records.
 */
const MANAGEMENT: RateLimit = { perSecond: 100, by: 'key' }

/** Phones call these endpoints with the key of their app, and servers with a secret key. */
const TRIPS: RateLimit = { perSecond: 10, by: 'address', secret: MANAGEMENT }

const TABLE = {
  'POST /v1/track': { perSecond: 1, by: 'device' },
  'PUT /v1/events/:id/verification': { perSecond: 10, by: 'key' },
  'POST /v1/sync/region': { perSecond: 500, by: 'key' },
  'GET /v1/context': { perSecond: 10, by: 'key' },
  'GET /v1/geocode/forward': { perSecond: 10, by: 'key' },
  'GET /v1/geocode/reverse': { perSecond: 10, by: 'key' },
  'GET /v1/geocode/ip': { perSecond: 10, by: 'address' },
  'GET /v1/search/autocomplete': { perSecond: 10, by: 'key' },
  'GET /v1/search/users': { perSecond: 100, by: 'key' },
  'GET /v1/search/geofences': { perSecond: 100, by: 'key' },
  'GET /v1/search/beacons': { perSecond: 100, by: 'key' },
  'GET /v1/search/places': { perSecond: 150, by: 'key' },
  'GET /v1/addresses/validate': { perSecond: 100, by: 'key' },
  'GET /v1/route/distance': { perSecond: 100, by: 'key' },
  'GET /v1/route/matrix': { perSecond: 20, by: 'key' },
  'POST /v1/route/match': { perSecond: 10, by: 'key' },
  'GET /v1/route/directions': { perSecond: 10, by: 'key' },
  'GET /v1/route/optimize': { perSecond: 10, by: 'key' },
  'POST /v1/trips': TRIPS,
  'PATCH /v1/trips/:id': TRIPS,
  'PATCH /v1/trips/:id/update': TRIPS,
  'PATCH /v1/trips/:id/legs/:legId': TRIPS,
  'PUT /v1/trips/:id/legs': TRIPS,
  'GET /v1/trips/:id/route': { perSecond: 100, by: 'key' },
  'GET /v1/maps/tiles/:z/:x/:y.mvt': { perSecond: 200, by: 'address' },
} as const satisfies Record<string, RateLimit>

/**
 * The names that the operator may set: the endpoints of the table, and `management` for every other endpoint that needs
 * a secret key or a session.
 */
export const LIMIT_NAMES: readonly string[] = [...Object.keys(TABLE), 'management']

/** Requests per second by a name of {@link LIMIT_NAMES}, instead of the default. Infinity means no limit. */
export type LimitChanges = Readonly<Record<string, number>>

/** The routes with their limits, for the server and the reference. */
export function withLimits(routes: readonly Route[], changes: LimitChanges): Route[] {
  return routes.map((route) => {
    const limit = limitOf(route, changes)
    return limit === undefined ? route : { ...route, limit }
  })
}

function limitOf({ method, path, auth }: Route, changes: LimitChanges): RateLimit | undefined {
  const endpoint = `${method} ${path}`
  if (!Object.hasOwn(TABLE, endpoint))
    return auth === 'none' || auth === 'publishable' ? undefined : changed(MANAGEMENT, 'management', changes)
  const standard: RateLimit = TABLE[endpoint as keyof typeof TABLE]
  const limit = changed(standard, endpoint, changes)
  if (standard.secret === undefined) return limit
  const secret = changed(standard.secret, 'management', changes)
  // If there is no limit, a bucket for requests with a publishable key is never empty.
  return { ...(limit ?? { ...standard, perSecond: Infinity }), secret }
}

/** The changed limit; undefined if there is none. */
function changed(standard: RateLimit, name: string, changes: LimitChanges): RateLimit | undefined {
  const perSecond = changes[name] ?? standard.perSecond
  return perSecond === Infinity ? undefined : { ...standard, perSecond }
}
