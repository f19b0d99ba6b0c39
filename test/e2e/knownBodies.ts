/**
 * For each operation with a body, values with which the server accepts it. The walks through missing fields and wrong values
 * begin with them.
 */
import { placeId } from '../../src/geo/records/objectRecords.ts'
import type { Api, Json } from './contract.ts'
import type { Known, Values } from './requiredFields.ts'

const NOW = Date.now()
const iso = (days: number) => new Date(NOW + days * 86_400_000).toISOString()
const PLACE = [-56.1913, -34.9059]
const RING = [
  [-56.2, -34.9],
  [-56.1, -34.9],
  [-56.1, -34.8],
  [-56.2, -34.9],
]

const UPDATE: Values = {
  tripOptions: { externalId: 'ride' },
  deviceId: 'd',
  userId: 'u',
  latitude: PLACE[1],
  longitude: PLACE[0],
  accuracy: 5,
  foreground: true,
  stopped: false,
  mocked: false,
  compromised: false,
  sharing: false,
  verified: false,
  description: 'x',
  metadata: { a: 1 },
  deviceType: 'iOS',
  updatedAt: iso(-1 / 24),
  updatedAtMs: NOW - 3_600_000,
  updatedAtMsDiff: 3_600_000,
  replayed: false,
  deviceOS: '18',
  deviceMake: 'x',
  deviceModel: 'x',
  source: 'FOREGROUND_LOCATION',
  installId: 'i',
  // An SDK may omit accuracy.
  sdkVersion: '3.9.0',
  beacons: [
    { type: 'ibeacon', uuid: 'f7826da6-4fa2-4e98-8024-bc5b71e0893e', major: '1', minor: '2', rssi: -60 },
  ],
  nearbyGeofences: true,
  nearbyGeofencesLimit: 5,
  geofenceIds: ['6b03d9c46b0cb5edb5c88a18'],
  beaconIds: ['6b03d9c46b0cb5edb5c88a18'],
  placeId: placeId('iata/JFK'),
  regionIds: ['6b03d9c46b0cb5edb5c88a18'],
  stream: 's',
  sequence: 1,
}

const SYNC: Values = {
  enabled: false,
  // Nothing listens there.
  http: { urls: ['http://127.0.0.1:9/a.csv'], username: 'u', password: 'p', headers: { 'X-A': 'a' } },
  s3: {
    region: 'us-east-1',
    bucket: 'abc',
    keys: ['a.csv'],
    accessKeyId: 'x',
    secretAccessKey: 'y',
    endpoint: 'http://127.0.0.1:9',
    pathStyle: true,
  },
  time: '03:00',
  timeZone: 'UTC',
  deleteMissing: false,
  maxDeleteShare: 0.1,
  emails: ['a@example.com'],
  notify: 'always',
  run: false,
}

const GEOFENCE: Values = {
  description: 'x',
  tag: 'shop',
  externalId: '1',
  coordinates: PLACE,
  'polygon.coordinates': RING,
  address: 'Somewhere 1',
  placeId: placeId('iata/JFK'),
  radius: 100,
  'isochrone.radius': 10,
  mode: 'car',
  enabled: true,
  metadata: { a: 1 },
  operatingHours: { Sun: [['9:00', '17:00']] },
  stopDetection: true,
  disableAfter: iso(1),
  deleteAfter: iso(2),
  userId: 'u',
  userIds: ['u', 'v'],
  ip: '127.0.0.1',
  dwellThreshold: 5,
  tripApproachingThreshold: 5,
}

const BEACON: Values = {
  description: 'x',
  coordinates: PLACE,
  tag: 'shop',
  externalId: '1',
  uuid: 'f7826da6-4fa2-4e98-8024-bc5b71e0893e',
  major: 1,
  minor: 2,
  uid: 'edd1ebeac04e5defa017',
  instance: '0bdb87539b67',
  enabled: true,
  metadata: { a: 1 },
}

const WEBHOOK: Values = {
  url: 'http://127.0.0.1:9/',
  description: 'x',
  enabled: false,
  mode: 'single',
  types: ['user.entered_geofence'],
  tags: ['shop'],
  placeIds: ['6b03d9c46b0cb5edb5c88a18'],
  chains: ['kfc'],
  categories: ['coffee-shop'],
  regions: ['US'],
  failureReasons: ['fraud-mocked-from-mock-provider'],
}

const HOOK: Values = {
  tag: 'erp',
  externalId: '1',
  description: 'x',
  enabled: false,
  geofence: { tag: 'shop' },
  // Without Tile38 they are answered 503.
  area: { type: 'circle', center: PLACE, radius: 100 },
  roam: { meters: 100 },
  // Which words are possible depends on what the hook is about.
  detect: [],
  userIds: ['u'],
  deviceIds: ['d'],
  endpoint: { url: 'http://127.0.0.1:9/' },
}

const SETTINGS: Values = {
  stopDetection: false,
  bufferEntries: false,
  bufferExits: false,
  restrictToOperatingHours: false,
  dwellEvents: false,
  dwellThreshold: 5,
  beaconUuids: [BEACON.uuid],
  beaconUids: [BEACON.uid],
  minimumConfidence: 1,
  entryDelaySeconds: 0,
  exitDelaySeconds: 0,
  maxAccuracyMeters: 1000,
  detectCrossings: false,
  regions: true,
  regionEvents: ['country'],
  blockedCountries: ['FR'],
  allowedCountries: [],
  fraud: { enabled: true },
  maxGapSeconds: 600,
  chainMappings: { kfc: '17' },
  chainMetadata: { kfc: { tier: 1 } },
  placeFilters: { chain: ['kfc'], category: [] },
  places: true,
  placeMinimumStaySeconds: 60,
  nearbyPlaceChains: ['kfc'],
  nearbyPlaceChainMeters: 500,
  segments: [],
  notificationEmails: ['ops@example.com'],
  tripApproachingThreshold: 5,
  tripExpirationMinutes: 1440,
  tripDelayThreshold: 10,
  tripWrongDestinationEvents: false,
  tripUpdateSeconds: 30,
  tripEtaSeconds: 30,
}

const TRIP: Values = {
  externalId: 'order',
  userId: 'u',
  // Both or none, and not beside legs: an empty text means none.
  destinationGeofenceTag: '',
  destinationGeofenceExternalId: '',
  mode: 'bike',
  approachingThreshold: 5,
  scheduledArrivalAt: iso(1),
  metadata: { a: 1 },
  legs: [{ coordinates: PLACE }],
  status: 'started',
}

/** Operations with a body, and what the test knows about each. Uses a server with a record of each kind. */
export async function knowledge(api: Api): Promise<Readonly<Record<string, Known>>> {
  const made = async (path: string, body: Json): Promise<string> => {
    const answer = await api.call('POST', path, body)
    const [, record] = Object.entries<Json>(answer.body).find(([name]) => name !== 'meta')!
    return record._id
  }
  const other = { tag: 'other', externalId: '2' }
  const { address: _, placeId: __, ...circle } = GEOFENCE
  const geofence = await made('/v1/geofences', { ...circle, type: 'circle', ...other })
  const beacon = await made('/v1/beacons', { ...BEACON, type: 'ibeacon', ...other })
  const webhook = await made('/v1/webhooks', WEBHOOK)
  const { area: ___, roam: ____, ...geofenceHook } = HOOK
  const hook = await made('/v1/hooks', { ...geofenceHook, ...other })
  const needsTile38 = { taken: [503] }
  const event = await made('/v1/events', { name: 'bought', deviceId: 'd', userId: 'u' })
  await api.track(
    Object.fromEntries(
      ['deviceId', 'userId', 'latitude', 'longitude', 'accuracy'].map((name) => [name, UPDATE[name]]),
    ),
  )
  const { trip } = (
    await api.call('POST', '/v1/trips', { externalId: 'other', legs: [{ coordinates: PLACE }] })
  ).body
  const leg: string = trip.legs[0]._id
  const test = await api.call('POST', `/v1/webhooks/${webhook}/test`)
  if (test.status !== 200) throw new Error(JSON.stringify(test.body))
  const of = (place: string, values: Values, more: Partial<Known> = {}): Known => ({
    place,
    values,
    unknown: {},
    taken: [],
    undo: () => Promise.resolve(),
    ...more,
  })
  /** Deletes the record, so that it can be made again. */
  const anew = (place: string, values: Values, name: string, more: Partial<Known> = {}) =>
    of(place, values, {
      undo: async (answer) => void (await api.call('DELETE', `${place}/${answer[name]._id}`)),
      ...more,
    })
  const unknown = { unknown: { address: 'placeId', 'polygon.placeId': 'coordinates' } }
  return {
    'POST /v1/track': of('/v1/track', UPDATE),
    'POST /v1/track/replay': of('/v1/track/replay', { replays: [UPDATE] }),
    'POST /v1/events': of('/v1/events', {
      ...UPDATE,
      name: 'bought',
      type: 'bought',
      createdAt: iso(0),
      revenue: 5,
    }),
    'POST /v1/search/autocomplete/click': of('/v1/search/autocomplete/click', {
      sessionToken: 'x',
      requestId: 'x',
      idx: 1,
    }),
    'POST /v1/sync/region': of('/v1/sync/region', UPDATE),
    'PUT /v1/events/{id}/verification': of(`/v1/events/${event}/verification`, {
      verification: 1,
      verifiedPlaceId: 'p',
    }),
    'POST /v1/geofences': anew('/v1/geofences', GEOFENCE, 'geofence', unknown),
    'PUT /v1/geofences/{tag}/{externalId}': of(
      '/v1/geofences/shop/3',
      { ...GEOFENCE, externalId: '3' },
      unknown,
    ),
    'PUT /v1/geofences/{id}': of(`/v1/geofences/${geofence}`, { ...GEOFENCE, ...other }, unknown),
    'POST /v1/beacons': anew('/v1/beacons', BEACON, 'beacon'),
    'PUT /v1/beacons/{tag}/{externalId}': of('/v1/beacons/shop/3', { ...BEACON, externalId: '3' }),
    'PUT /v1/beacons/{id}': of(`/v1/beacons/${beacon}`, { ...BEACON, ...other }),
    'PATCH /v1/geofences': of('/v1/geofences?tag=nothing-has-it&expectedCount=0', GEOFENCE, unknown),
    'PATCH /v1/beacons': of('/v1/beacons?tag=nothing-has-it&expectedCount=0', BEACON),
    'PATCH /v1/settings': of('/v1/settings', SETTINGS),
    'POST /v1/keys/{kind}/rotate': of('/v1/keys/publishable/rotate', { oldKeyValidUntil: iso(1) }),
    'POST /v1/hooks': anew('/v1/hooks', HOOK, 'hook', needsTile38),
    'PUT /v1/hooks/{tag}/{externalId}': of('/v1/hooks/erp/3', { ...HOOK, externalId: '3' }, needsTile38),
    'PUT /v1/hooks/{id}': of(`/v1/hooks/${hook}`, { ...HOOK, ...other }, needsTile38),
    'PUT /v1/geofence-sync': of('/v1/geofence-sync', SYNC, { taken: [409] }),
    'POST /v1/geofence-sync/test': of('/v1/geofence-sync/test', SYNC, { taken: [409] }),
    'POST /v1/geofence-sync/runs': of(
      '/v1/geofence-sync/runs',
      { force: false, dryRun: true },
      { taken: [202, 409] },
    ),
    // Without a server for e-mails, it is refused.
    'POST /v1/notifications/test': of(
      '/v1/notifications/test',
      { email: 'ops@example.com', emails: ['ops@example.com'], to: 'ops@example.com' },
      { taken: [409, 503] },
    ),
    'POST /v1/simulations': of(
      '/v1/simulations',
      { devices: 1, minutes: 1, latitude: PLACE[1], longitude: PLACE[0], coordinates: PLACE },
      { taken: [409] },
    ),
    'POST /v1/webhooks': anew('/v1/webhooks', WEBHOOK, 'webhook'),
    'PATCH /v1/webhooks/{id}': of(`/v1/webhooks/${webhook}`, WEBHOOK),
    'POST /v1/webhooks/{id}/redeliver': of(
      `/v1/webhooks/${webhook}/redeliver`,
      { from: iso(-1), deliveryId: 'd', to: iso(0) },
      { taken: [404, 409] },
    ),
    'POST /v1/trips': of('/v1/trips', TRIP),
    'PATCH /v1/trips/{id}': of('/v1/trips/order', TRIP),
    'PATCH /v1/trips/{id}/update': of('/v1/trips/order/update', TRIP),
    'PATCH /v1/trips/{id}/legs/{legId}': of(`/v1/trips/other/legs/${leg}`, TRIP),
    'PUT /v1/trips/{id}/legs': of('/v1/trips/other/legs', { ...TRIP, legs: [leg] }),
    'POST /v1/route/match': of('/v1/route/match', {
      path: [
        { coordinates: '-34.9059,-56.1913', createdAt: iso(-1), accuracy: 5 },
        { coordinates: '-34.9054,-56.1913', createdAt: iso(0), accuracy: 5 },
      ],
      mode: 'car',
      roadAttributes: 'names',
      units: 'metric',
      geometry: 'linestring',
    }),
  }
}
