/** What an assistant can do: operations of the public API, under names that say what they are for. */
export interface Tool {
  readonly name: string
  readonly title: string
  readonly method: 'GET' | 'PUT'
  /** The path as the OpenAPI document writes it. */
  readonly path: string
  /** A text that says when to use the tool. It comes before the operation's own description. */
  readonly use: string
}

export const TOOLS: readonly Tool[] = [
  {
    name: 'explain_user',
    title: 'Explain an update',
    method: 'GET',
    path: '/v1/users/{id}/explain',
    use: 'Why a user or device did or did not enter, exit or dwell with its last update. Ask this first when an event is missing.',
  },
  {
    name: 'get_user',
    title: 'Get a user',
    method: 'GET',
    path: '/v1/users/{id}',
    use: 'Where a user or device is, and what it is inside of.',
  },
  {
    name: 'list_users',
    title: 'List users',
    method: 'GET',
    path: '/v1/users',
    use: 'The records of users and devices. Pass a small `limit`.',
  },
  {
    name: 'find_users_near',
    title: 'Find users near a place',
    method: 'GET',
    path: '/v1/search/users',
    use: 'Who is near a point, by metres or by minutes of travel.',
  },
  {
    name: 'list_users_inside',
    title: 'List users inside a geofence',
    method: 'GET',
    path: '/v1/geofences/{tag}/{externalId}/users',
    use: 'Who is inside a geofence now.',
  },
  {
    name: 'find_geofences_near',
    title: 'Find geofences near a place',
    method: 'GET',
    path: '/v1/search/geofences',
    use: 'Which enabled geofences are near a point. A disabled geofence is not found here; `list_geofences` has it.',
  },
  {
    name: 'list_geofences',
    title: 'List geofences',
    method: 'GET',
    path: '/v1/geofences',
    use: 'Geofences by tag, text or metadata, disabled ones included. Pass a small `limit`.',
  },
  {
    name: 'get_geofence',
    title: 'Get a geofence',
    method: 'GET',
    path: '/v1/geofences/{tag}/{externalId}',
    use: 'The shape of a geofence, and what limits its events: dates, users, addresses, operating hours, stop detection.',
  },
  {
    name: 'list_events',
    title: 'List events',
    method: 'GET',
    path: '/v1/events',
    use: 'What happened, for example to one user: pass `userId` or `deviceId`, and a small `limit`.',
  },
  {
    name: 'list_trips',
    title: 'List trips',
    method: 'GET',
    path: '/v1/trips',
    use: 'Trips by status, user or destination. Pass a small `limit`.',
  },
  {
    name: 'get_settings',
    title: 'Get the settings',
    method: 'GET',
    path: '/v1/settings',
    use: 'Settings of the environment that decide about events, such as confidence, buffers and operating hours.',
  },
  {
    name: 'what_is_here',
    title: 'What is here',
    method: 'GET',
    path: '/v1/context',
    use: 'The geofences, the place and the regions at a point.',
  },
  {
    name: 'reverse_geocode',
    title: 'Find the address of a point',
    method: 'GET',
    path: '/v1/geocode/reverse',
    use: 'The address, street or area at a point.',
  },
  {
    name: 'geocode',
    title: 'Find the point of an address',
    method: 'GET',
    path: '/v1/geocode/forward',
    use: 'The point of an address, a city or a place.',
  },
  {
    name: 'search_places',
    title: 'Search places',
    method: 'GET',
    path: '/v1/search/places',
    use: 'Shops, restaurants and other places near a point, by chain or category.',
  },
  {
    name: 'route',
    title: 'Find distance and duration',
    method: 'GET',
    path: '/v1/route/distance',
    use: 'How far it is between two points, and how long it takes.',
  },
  {
    name: 'directions',
    title: 'Find directions',
    method: 'GET',
    path: '/v1/route/directions',
    use: 'The way through points in the given order, step by step.',
  },
  {
    name: 'put_geofence',
    title: 'Create or replace a geofence',
    method: 'PUT',
    path: '/v1/geofences/{tag}/{externalId}',
    use: 'Creates the geofence of this pair, or replaces all of it. Read it with `get_geofence` before.',
  },
]
