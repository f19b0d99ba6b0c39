import type { RateLimit, Route } from './route.ts'

/**
 * Requests a second, by endpoint: the interface's table ("Limits"), and what it leaves open. An endpoint finds its
 * row by its method and path, so those that come later are limited from their first day.
 *
 * The calls that every device makes by itself with its app's one key (config, replay, conversions, logs) have no row:
 * a limit of the key would be one of the size of the fleet. Region sync, the most expensive of them, has a row, with
 * a limit for a large fleet: devices ask again once they have gone some kilometres.
 */
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
  'GET /v1/maps/tiles/:z/:x/:y.mvt': { perSecond: 200, by: 'address' },
} as const satisfies Record<string, RateLimit>

/** For all other endpoints that need a secret key, or a person who signed in: to read and change records. */
const MANAGEMENT: RateLimit = { perSecond: 100, by: 'key' }

/**
 * The names that the operator may set: the endpoints of the table, and `management` for every other endpoint that needs
 * a secret key or a session.
 */
export const LIMIT_NAMES: readonly string[] = [...Object.keys(TABLE), 'management']

/** By name of {@link LIMIT_NAMES}: requests a second instead of the default; Infinity: no limit. */
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
  const inTable = Object.hasOwn(TABLE, endpoint)
  if (!inTable && (auth === 'none' || auth === 'publishable')) return undefined
  const standard = inTable ? TABLE[endpoint as keyof typeof TABLE] : MANAGEMENT
  const perSecond = changes[inTable ? endpoint : 'management'] ?? standard.perSecond
  return perSecond === Infinity ? undefined : { perSecond, by: standard.by }
}
