/** Parts of good requests: trips, hooks, sources, settings, and places that have streets. */
import type { Arbitrary } from 'fast-check'
import fc from '../kit/fastCheck.ts'
import {
  date,
  description,
  externalIds,
  geometry as shapes,
  idsOf,
  metadata,
  position,
  tags,
} from './values.ts'

const DAY_MS = 86_400_000
export const NOW = Date.now()
export const draws = fc.nat(400)
export const oneOf = <T>(...values: T[]) => fc.constantFrom(...values)
/** Any of the members. */
export const some = <T extends object>(members: { [K in keyof T]: Arbitrary<T[K]> }) =>
  fc.record(members, { requiredKeys: [] }) as Arbitrary<Partial<T>>
/** Date and time some days from now. */
export const daysFromNow = (least: number, most: number) =>
  fc
    .integer({ min: least * 100, max: most * 100 })
    .map((part) => new Date(NOW + (part * DAY_MS) / 100).toISOString())

/** Streets of the sample region. */
export const PLACES = [
  '-34.9059,-56.1913',
  '-34.9121,-56.1637',
  '-34.8945,-56.1770',
  '-34.8991,-56.1655',
] as const
export const place = oneOf(...PLACES)
export const places = (most: number) =>
  fc.array(place, { minLength: 2, maxLength: most }).map((all) => all.join('|'))
export const mode = oneOf('car', 'foot', 'bike')
export const units = oneOf('metric', 'imperial')
export const geometry = oneOf('linestring', 'polyline5', 'polyline6')

/** The tile of a place. */
function tileAt(latitude: number, longitude: number, zoom: number): string {
  const size = 2 ** zoom
  const x = Math.floor(((longitude + 180) / 360) * size)
  const turned = Math.asinh(Math.tan((latitude * Math.PI) / 180))
  const y = Math.floor(((1 - turned / Math.PI) / 2) * size)
  return `${zoom}/${x}/${y}`
}
export const tiles = (before: string, latitude: number, longitude: number) =>
  fc.integer({ min: 0, max: 15 }).map((zoom) => `${before}/${tileAt(latitude, longitude, zoom)}.mvt`)

const leg = fc.record(
  {
    destination: fc.oneof(
      fc.record({
        destinationGeofenceTag: fc.constant('shop'),
        destinationGeofenceExternalId: idsOf('x', 6),
      }),
      fc.record({ destinationGeofenceId: draws.map((n) => `§geofence:${n}§`) }),
      fc.record({ coordinates: position, arrivalRadius: oneOf(50, 500) }),
      fc.record({ coordinates: fc.constant([-56.1913, -34.9059]) }),
    ),
    stopDuration: oneOf(0, 5),
    metadata,
  },
  { requiredKeys: ['destination'] },
)
const tripFields = {
  mode,
  approachingThreshold: oneOf(1, 5, 60),
  scheduledArrivalAt: date,
  metadata,
}
const destination = fc.oneof(
  fc.record({ destinationGeofenceTag: fc.constant('shop'), destinationGeofenceExternalId: idsOf('x', 6) }),
  fc.record({ legs: fc.array(leg, { minLength: 1, maxLength: 3 }) }),
  fc.constant({}),
)
export const newTrip = fc
  .tuple(fc.nat(14), destination, some(tripFields))
  .map(([n, to, more]) => ({ externalId: `trip-${n}`, userId: `user-${n % 12}`, ...to, ...more }))
export const statuses = oneOf('pending', 'started', 'approaching', 'arrived', 'completed', 'canceled')
export const changedTrip = fc
  .tuple(destination, some({ ...tripFields, status: statuses }))
  .map(([to, more]) => ({ ...to, ...more }))

const endpoint = fc.oneof(
  draws.map((n) => ({ url: `§source:${n}§` })),
  fc.constant({ url: 'https://hooks.invalid', secret: `whsec_${Buffer.alloc(32, 7).toString('base64')}` }),
  fc.constant({ url: 'nats://127.0.0.1:9', subject: 'hooks.a', token: 't' }),
)
export const hook = fc
  .tuple(
    fc.oneof(
      fc.record({ tag: oneOf('shop', 'depot') }),
      fc.record({ tag: fc.constant('shop'), externalId: idsOf('x', 15) }),
    ),
    endpoint,
    some({
      detect: fc.subarray(['enter', 'exit', 'dwell'], { minLength: 1 }),
      userIds: fc.array(idsOf('user', 12), { minLength: 1, maxLength: 3 }),
      deviceIds: fc.array(idsOf('device', 30), { minLength: 1, maxLength: 3 }),
      enabled: fc.boolean(),
    }),
  )
  .map(([geofence, to, more]) => ({ geofence, endpoint: to, ...more }))

export const source = fc.record(
  {
    protocol: fc.constant('http'),
    http: draws.map((n) => ({ urls: [`§source:${n}§`] })),
    enabled: fc.boolean(),
    time: oneOf('00:00', '03:30'),
    timeZone: oneOf('UTC', 'Europe/Berlin', 'America/Montevideo'),
    deleteMissing: fc.boolean(),
    maxDeleteShare: oneOf(0, 0.1, 1),
    notify: oneOf('always', 'failures'),
  },
  { requiredKeys: ['protocol', 'http'] },
)

/** A filter that matches one geofence or none, as few enough others match it. */
export const oneRecord = fc.oneof(
  fc.record({ tag: oneOf('shop', 'depot'), externalId: idsOf('x', 15), expectedCount: oneOf(0, 1) }),
  fc.constant({ text: 'nothing has this text', expectedCount: 0 }),
)

const rule = oneOf(
  { country: 'DE' },
  { metadata: { color: 'red' } },
  { geofence: { tag: 'shop' } },
  { all: [{ not: { country: 'US' } }, { any: [{ chain: 'mcdonalds' }, { category: 'cafe' }] }] },
  { event: { type: 'user.entered_geofence', tag: 'shop', withinDays: 7, atLeast: 2 } },
  { event: { type: 'bought' } },
)
export const settings = some({
  stopDetection: fc.boolean(),
  bufferEntries: fc.boolean(),
  bufferExits: fc.boolean(),
  dwellEvents: fc.boolean(),
  dwellThreshold: oneOf(null, 1, 5),
  minimumConfidence: oneOf(1, 2, 3),
  entryDelaySeconds: oneOf(0, 0, 60),
  exitDelaySeconds: oneOf(0, 0, 60),
  maxAccuracyMeters: oneOf(null, 1000),
  detectCrossings: fc.boolean(),
  regions: fc.boolean(),
  regionEvents: fc.subarray(['country', 'state']),
  blockedCountries: oneOf([], [], ['FR']),
  allowedCountries: oneOf([], [], ['DE', 'UY']),
  fraud: oneOf(null, { enabled: true, blocked: ['user-1'] }, { enabled: true, jumpSpeed: 300 }),
  chainMappings: oneOf(null, { mcdonalds: '17' }),
  chainMetadata: oneOf(null, { mcdonalds: { level: 3 } }),
  placeFilters: oneOf(null, { chain: ['mcdonalds'], category: ['cafe'] }),
  places: fc.boolean(),
  nearbyPlaceChains: oneOf([], ['mcdonalds']),
  segments: fc
    .array(rule, { maxLength: 3 })
    .map((rules) =>
      rules.map((one, i) => ({ description: `segment ${i}`, externalId: `s-${i}`, rule: one })),
    ),
  tripExpirationMinutes: oneOf(null, 5),
  tripDelayThreshold: oneOf(null, 5),
  tripUpdateSeconds: oneOf(0, 10),
})

export const languages = oneOf('en', 'de', 'es', 'pt-BR')
export const layers = oneOf('fine', 'coarse', 'address', 'country,state', 'place')
export const address = oneOf(
  '18 de Julio 1056, Montevideo',
  '18 de Julio y Ejido',
  'Montevideo',
  'Uruguay',
  '18 de ju',
)

/** A geofence without what may be wrong in it. */
export const geofence = fc
  .tuple(
    shapes,
    some({
      enabled: fc.boolean(),
      metadata: fc.constant({ color: 'red' }),
      dwellThreshold: oneOf(1, 5),
      stopDetection: fc.boolean(),
      deleteAfter: daysFromNow(1, 9),
    }),
  )
  .map(([shape, rest]) => ({ ...shape, ...rest }))
export const beacon = fc.record({
  description,
  type: fc.constant('ibeacon'),
  uuid: fc.constant('f7826da6-4fa2-4e98-8024-bc5b71e0893e'),
  major: fc.nat(9),
  minor: fc.nat(9),
  coordinates: position,
})
export const pair = fc.record({ tag: tags, externalId: externalIds })

export const update = fc
  .tuple(idsOf('device', 30), idsOf('user', 12), position, oneOf(5, 30, 500))
  .map(([deviceId, userId, [longitude, latitude], accuracy]) => ({
    deviceId,
    userId,
    longitude,
    latitude,
    accuracy,
  }))
