import { CONFORMANCE, type Item } from './item.ts'

/** Left out of the request. */
export const ABSENT: unique symbol = Symbol('absent')

/** A parameter of an endpoint, with values that it accepts and values that it refuses. */
export interface Parameter {
  /** Key of {@link BASES}. */
  readonly endpoint: string
  readonly name: string
  readonly says: string
  readonly good: readonly unknown[]
  /** Each is answered with 400, and `meta.param` names the parameter (or `blamed`). */
  readonly bad: readonly unknown[]
  readonly blamed?: string
  /** Members of the request that the parameter needs, which replace those of the base; ABSENT removes one. */
  readonly beside?: Readonly<Record<string, unknown>>
}

export interface Base {
  readonly method: string
  readonly path: string
  readonly in: 'query' | 'body'
  readonly level: 'publishable' | 'secret'
  /** What a request needs besides the parameter under test. */
  readonly request: Readonly<Record<string, unknown>>
}

const CIRCLE = { description: 'Spec', type: 'circle', coordinates: [8.5, 50.5], radius: 100 }
const IBEACON = {
  description: 'Spec',
  type: 'ibeacon',
  uuid: 'b9407f30-f5f8-466e-aff9-25556b57fe6d',
  major: '100',
  minor: '1',
  coordinates: [8.5, 50.5],
  enabled: true,
}
const EDDYSTONE = {
  type: 'eddystone',
  uid: '8b0ca750e7a7e14bd99d',
  instance: '095477cb3e77',
  uuid: ABSENT,
  major: ABSENT,
  minor: ABSENT,
}

/** Requests that are answered with 200. */
export const BASES: Readonly<Record<string, Base>> = {
  'POST /v1/track': {
    method: 'POST',
    path: '/v1/track',
    in: 'body',
    level: 'publishable',
    request: { deviceId: 'spec', latitude: 50, longitude: 8, accuracy: 10 },
  },
  'GET /v1/context': {
    method: 'GET',
    path: '/v1/context',
    in: 'query',
    level: 'publishable',
    request: { coordinates: '50,8' },
  },
  'GET /v1/search/users': {
    method: 'GET',
    path: '/v1/search/users',
    in: 'query',
    level: 'secret',
    request: { near: '50,8' },
  },
  'GET /v1/search/geofences': {
    method: 'GET',
    path: '/v1/search/geofences',
    in: 'query',
    level: 'publishable',
    request: { near: '50,8' },
  },
  'POST /v1/geofences': {
    method: 'POST',
    path: '/v1/geofences',
    in: 'body',
    level: 'secret',
    request: { ...CIRCLE, tag: 'spec' },
  },
  'PUT /v1/geofences/:tag/:externalId': {
    method: 'PUT',
    path: '/v1/geofences/spec/upsert',
    in: 'body',
    level: 'secret',
    request: CIRCLE,
  },
  'POST /v1/beacons': {
    method: 'POST',
    path: '/v1/beacons',
    in: 'body',
    level: 'secret',
    request: IBEACON,
  },
  'PUT /v1/beacons/:tag/:externalId': {
    method: 'PUT',
    path: '/v1/beacons/spec/upsert',
    in: 'body',
    level: 'secret',
    request: IBEACON,
  },
}

const TRACK = 'POST /v1/track'
const CONTEXT = 'GET /v1/context'
const USERS = 'GET /v1/search/users'
const SEARCH = 'GET /v1/search/geofences'
const GEOFENCE = 'POST /v1/geofences'
const BEACON = 'POST /v1/beacons'

const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, i]))
/** A closed ring with that many coordinates. */
const ring = (count: number): number[][] => {
  const points = Array.from({ length: count - 1 }, (_, i) => {
    const angle = (2 * Math.PI * i) / (count - 1)
    return [8 + 0.01 * Math.cos(angle), 50 + 0.01 * Math.sin(angle)]
  })
  return [...points, points[0]!]
}
const SQUARE = ring(5)
const HOURS = { Sunday: [['9:00 AM', '5:00 PM']], mon: [['09:00', '24:00']], TUE: [] }
const DATES = ['2030-01-01', '2030-01-01T10:00:00Z', '2030-01-01T10:00:00.123+02:00']
const METADATA = [{}, { a: 'x', b: true, c: 1.5 }]
const NO_METADATA = [{ a: { b: 1 } }, { a: [1] }, 5]

/** Every parameter of the endpoints of the tracking part, with its rules. */
export const PARAMETERS: readonly Parameter[] = [
  { endpoint: TRACK, name: 'deviceId', says: 'string, required', good: ['spec'], bad: [ABSENT, '', 5] },
  { endpoint: TRACK, name: 'userId', says: 'string', good: [ABSENT, null, 'u'], bad: [5, {}] },
  {
    endpoint: TRACK,
    name: 'latitude',
    says: 'number, required, -90 to 90',
    good: [-90, 0, 90],
    bad: [ABSENT, null, 'x', -90.001, 90.001, true],
  },
  {
    endpoint: TRACK,
    name: 'longitude',
    says: 'number, required, -180 to 180',
    good: [-180, 0, 180],
    bad: [ABSENT, null, 'x', -180.001, 180.001, []],
  },
  {
    endpoint: TRACK,
    name: 'accuracy',
    says: 'number, required, greater than 0',
    good: [0.001, 65, 1e6],
    bad: [ABSENT, null, 0, -5, 'x'],
  },
  { endpoint: TRACK, name: 'foreground', says: 'boolean', good: [ABSENT, true, false], bad: ['x', 1] },
  { endpoint: TRACK, name: 'stopped', says: 'boolean', good: [ABSENT, true, false], bad: ['x', 1] },
  { endpoint: TRACK, name: 'description', says: 'string', good: [ABSENT, 'x'], bad: [5, {}] },
  {
    endpoint: TRACK,
    name: 'metadata',
    says: 'dictionary, up to 32 keys; string, boolean or number',
    good: [ABSENT, ...METADATA, keys(32)],
    bad: [keys(33), 5],
  },
  {
    endpoint: TRACK,
    name: 'metadata',
    says: 'values of no other type',
    good: [],
    bad: [{ a: { b: 1 } }, { a: [1] }],
    blamed: 'metadata.a',
  },
  {
    endpoint: TRACK,
    name: 'deviceType',
    says: 'iOS, Android or Web',
    good: [ABSENT, 'iOS', 'Android', 'Web'],
    bad: ['Windows', 5],
  },
  {
    endpoint: TRACK,
    name: 'updatedAt',
    says: 'date or ISO date string',
    good: [ABSENT, '2026-01-01', '2026-01-01T10:00:00Z'],
    bad: ['yesterday', '2026-13-01', {}],
  },
  { endpoint: TRACK, name: 'replayed', says: 'boolean, default false', good: [ABSENT, true], bad: ['x'] },
  { endpoint: TRACK, name: 'deviceOS', says: 'string', good: [ABSENT, '17.1'], bad: [{}] },
  { endpoint: TRACK, name: 'deviceMake', says: 'string', good: [ABSENT, 'Apple'], bad: [{}] },
  { endpoint: TRACK, name: 'deviceModel', says: 'string', good: [ABSENT, 'iPhone'], bad: [{}] },
  {
    endpoint: TRACK,
    name: 'source',
    says: 'what made an SDK send it',
    good: [ABSENT, 'GEOFENCE_ENTER'],
    bad: [{}],
  },

  {
    endpoint: CONTEXT,
    name: 'coordinates',
    says: 'latitude,longitude, required',
    good: ['50,8', '-90,180'],
    bad: [ABSENT, '', '50', 'a,b', '91,0', '0,181', '1,2,3'],
  },
  { endpoint: CONTEXT, name: 'userId', says: 'string', good: [ABSENT, 'u'], bad: [] },

  {
    endpoint: USERS,
    name: 'near',
    says: 'latitude,longitude, required',
    good: ['50,8'],
    bad: [ABSENT, 'x', '91,0', '0,181'],
  },
  {
    endpoint: USERS,
    name: 'radius',
    says: '100 to 10000, default 1000, metres',
    good: [ABSENT, 100, 10_000],
    bad: [99, 10_001, 'x'],
  },
  { endpoint: USERS, name: 'mode', says: 'car, truck, foot or bike', good: [ABSENT], bad: ['boat'] },
  { endpoint: USERS, name: 'metadata[key]', says: 'type inferred', good: ['x', '5', 'true'], bad: [] },
  {
    endpoint: USERS,
    name: 'limit',
    says: '1 to 100, default 10',
    good: [ABSENT, 1, 100],
    bad: [0, 101, 'x', 1.5],
  },

  {
    endpoint: SEARCH,
    name: 'near',
    says: 'latitude,longitude, required',
    good: ['50,8'],
    bad: [ABSENT, 'x', '91,0', '0,181'],
  },
  {
    endpoint: SEARCH,
    name: 'limit',
    says: '1 to 1000, default 100',
    good: [ABSENT, 1, 100],
    bad: [0, 1001, 'x'],
  },
  {
    endpoint: SEARCH,
    name: 'limit',
    says: 'more than 100 results without geometry only',
    good: [1000],
    bad: [],
    beside: { includeGeometry: false },
  },
  {
    endpoint: SEARCH,
    name: 'limit',
    says: 'more than 100 with geometry is refused',
    good: [],
    bad: [101, 1000],
  },
  { endpoint: SEARCH, name: 'radius', says: 'number, metres', good: [ABSENT, 1, 50_000], bad: [0, -1, 'x'] },
  { endpoint: SEARCH, name: 'tags', says: 'comma-separated', good: [ABSENT, 'a', 'a,b'], bad: [] },
  { endpoint: SEARCH, name: 'metadata[key]', says: 'type inferred', good: ['x', '5', 'true'], bad: [] },
  {
    endpoint: SEARCH,
    name: 'includeGeometry',
    says: 'boolean, default true',
    good: [ABSENT, true, 'false'],
    bad: ['x'],
  },

  {
    endpoint: GEOFENCE,
    name: 'description',
    says: 'string, required',
    good: ['x'],
    bad: [ABSENT, null, '', 5],
  },
  {
    endpoint: GEOFENCE,
    name: 'type',
    says: 'polygon, circle or isochrone, required',
    good: ['circle'],
    bad: [ABSENT, 'square', 5],
  },
  { endpoint: GEOFENCE, name: 'tag', says: 'string, required', good: ['spec'], bad: [ABSENT, ''] },
  { endpoint: GEOFENCE, name: 'externalId', says: 'string, required', good: ['e1'], bad: [ABSENT, ''] },
  {
    endpoint: GEOFENCE,
    name: 'coordinates',
    says: 'circle: [longitude,latitude], array or JSON string',
    good: [[8, 50], '[8,50]', [-180, 90]],
    bad: [[8], [181, 0], [0, 91], 'x', [['8', '50']], ABSENT],
  },
  {
    endpoint: GEOFENCE,
    name: 'coordinates',
    says: 'polygon: closed ring of 4 to 2,000 coordinates',
    beside: { type: 'polygon', radius: ABSENT },
    good: [ring(4), SQUARE, JSON.stringify(SQUARE), ring(2000)],
    bad: [ring(4).slice(0, 3), SQUARE.slice(0, 4), ring(2001), ABSENT],
  },
  {
    endpoint: GEOFENCE,
    name: 'radius',
    says: 'circle: metres, 10 to 10000, required',
    good: [10, 10_000, '500'],
    bad: [ABSENT, 9.99, 10_001, 'x'],
  },
  {
    endpoint: GEOFENCE,
    name: 'radius',
    says: 'ignored for a polygon',
    beside: { type: 'polygon', coordinates: SQUARE },
    good: [5, 1e6],
    bad: [],
  },
  {
    endpoint: GEOFENCE,
    name: 'radius',
    says: 'isochrone: required, 1 to 120 minutes',
    beside: { type: 'isochrone', mode: 'car' },
    good: [1, 120],
    bad: [ABSENT, 0, 121],
  },
  {
    endpoint: GEOFENCE,
    name: 'mode',
    says: 'required for an isochrone; car, truck, foot or bike',
    beside: { type: 'isochrone', radius: 10 },
    good: ['car', 'truck', 'foot', 'bike'],
    bad: [ABSENT, 'boat'],
  },
  {
    endpoint: GEOFENCE,
    name: 'enabled',
    says: 'boolean, default true',
    good: [ABSENT, true, false],
    bad: ['x'],
  },
  {
    endpoint: GEOFENCE,
    name: 'metadata',
    says: 'up to 16 keys; string, boolean or number',
    good: [ABSENT, ...METADATA, keys(16), '{"a":1}'],
    bad: [keys(17), ...NO_METADATA],
  },
  {
    endpoint: GEOFENCE,
    name: 'operatingHours',
    says: 'day names, full or short, any case; lists of [open, close] as h:mm aa or HH:mm',
    good: [ABSENT, {}, HOURS, JSON.stringify(HOURS)],
    bad: [
      { Someday: [] },
      { sun: [['9', '17']] },
      { sun: ['9:00', '17:00'] },
      { sun: [['25:00', '26:00']] },
      5,
    ],
  },
  { endpoint: GEOFENCE, name: 'stopDetection', says: 'boolean', good: [ABSENT, true, false], bad: ['x'] },
  {
    endpoint: GEOFENCE,
    name: 'disableAfter',
    says: 'date or ISO date string',
    good: [ABSENT, ...DATES],
    bad: ['x'],
  },
  {
    endpoint: GEOFENCE,
    name: 'deleteAfter',
    says: 'date or ISO date string',
    good: [ABSENT, ...DATES],
    bad: ['x'],
  },
  { endpoint: GEOFENCE, name: 'userId', says: 'string, deprecated', good: [ABSENT, 'u'], bad: [{}] },
  {
    endpoint: GEOFENCE,
    name: 'userIds',
    says: 'comma-separated',
    good: [ABSENT, 'a', 'a,b', ['a', 'b']],
    bad: [{}],
  },
  {
    endpoint: GEOFENCE,
    name: 'ip',
    says: 'comma-separated addresses, wildcards (last group *) and CIDR ranges',
    good: [ABSENT, '203.0.113.7', '203.0.113.*', '203.0.113.0/24,2001:db8::/32'],
    bad: ['x', '203.0.*.1', '203.0.113.0/33'],
  },
  {
    endpoint: GEOFENCE,
    name: 'dwellThreshold',
    says: 'number, minutes',
    good: [ABSENT, 5, 0.5],
    bad: [0, -1, 'x'],
  },

  { endpoint: BEACON, name: 'description', says: 'string, required', good: ['x'], bad: [ABSENT, ''] },
  { endpoint: BEACON, name: 'tag', says: 'string', good: [ABSENT, 'spec'], bad: [{}] },
  { endpoint: BEACON, name: 'externalId', says: 'string', good: [ABSENT, 'b1'], bad: [{}] },
  {
    endpoint: BEACON,
    name: 'type',
    says: 'ibeacon or eddystone',
    good: ['ibeacon'],
    bad: [ABSENT, 'wifi', 5],
  },
  {
    endpoint: BEACON,
    name: 'uuid',
    says: 'required for ibeacon',
    good: ['b9407f30-f5f8-466e-aff9-25556b57fe6d', 'B9407F30-F5F8-466E-AFF9-25556B57FE6D'],
    bad: [ABSENT, ''],
  },
  { endpoint: BEACON, name: 'major', says: 'required for ibeacon', good: ['100'], bad: [ABSENT, ''] },
  { endpoint: BEACON, name: 'minor', says: 'required for ibeacon', good: ['1'], bad: [ABSENT, ''] },
  {
    endpoint: BEACON,
    name: 'uid',
    says: 'required for eddystone',
    beside: EDDYSTONE,
    good: ['8b0ca750e7a7e14bd99d'],
    bad: [ABSENT, ''],
  },
  {
    endpoint: BEACON,
    name: 'instance',
    says: 'required for eddystone',
    beside: EDDYSTONE,
    good: ['095477cb3e77'],
    bad: [ABSENT, ''],
  },
  {
    endpoint: BEACON,
    name: 'coordinates',
    says: '[longitude,latitude], array or JSON string, required',
    good: [[8, 50], '[8,50]'],
    bad: [ABSENT, [8], [181, 0], [0, 91], 'x'],
  },
  { endpoint: BEACON, name: 'enabled', says: 'boolean', good: [true, false], bad: ['x'] },
  {
    endpoint: BEACON,
    name: 'metadata',
    says: 'up to 16 keys; string, boolean or number',
    good: [ABSENT, ...METADATA, keys(16), '{"a":1}'],
    bad: [keys(17), ...NO_METADATA],
  },
]

/** The parameters as items of the coverage. */
export const PARAMETER_ITEMS: readonly Item[] = PARAMETERS.map(({ endpoint, name, says }) => ({
  section: endpoint,
  name,
  says,
  part: 'tracking',
  heldBy: [`${CONFORMANCE}: parameters`],
}))
