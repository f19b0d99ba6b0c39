/** Values of fields that match what other requests have made, so that requests reach further than the schemas' own. */
import type { Arbitrary } from 'fast-check'
import { placeId } from '../../src/geo/records/objectRecords.ts'
import fc from '../kit/fastCheck.ts'
import { MARK } from './placeholders.ts'
import { dates, type Hints } from './schema.ts'

/** Centre of the town in which everything happens, so that devices enter geofences. */
export const LATITUDE = 50
export const LONGITUDE = 10
const DAY_MS = 86_400_000

const near = (center: number) =>
  fc.integer({ min: -40, max: 40 }).map((steps) => Number((center + steps * 0.0005).toFixed(6)))
const latitude = near(LATITUDE)
const longitude = near(LONGITUDE)
export const position = fc.tuple(longitude, latitude)
export const idsOf = (kind: string, count: number) => fc.nat(count - 1).map((i) => `${kind}-${i}`)
const recent = fc.integer({ min: -2 * DAY_MS, max: DAY_MS / 2 })
export const UUIDS = [
  'f7826da6-4fa2-4e98-8024-bc5b71e0893e',
  'F7826DA6-4FA2-4E98-8024-BC5B71E0893F',
  'not-a-uuid',
]
const opening = fc.constantFrom('00:00', '9:00', '09:00')
const closing = fc.constantFrom('10:00', '17:30', '24:00', '02:00')
const operatingHours = fc.dictionary(
  fc.constantFrom('Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'),
  fc.array(fc.tuple(opening, closing), { maxLength: 1 }),
  { maxKeys: 7 },
)
const scalar = fc.oneof(fc.constantFrom(MARK, 'red', '7', 'true'), fc.boolean(), fc.integer())
export const metadata = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.dictionary(fc.constantFrom('mark', 'color', 'size', 'a.b'), scalar, { maxKeys: 3 }),
  },
  {
    weight: 1,
    arbitrary: fc.dictionary(fc.constantFrom('__proto__', 'constructor', '', 'a'), scalar, { maxKeys: 3 }),
  },
)
const NOW = Date.now()
export const date = fc.oneof(
  { weight: 1, arbitrary: dates },
  { weight: 6, arbitrary: recent.map((shift) => new Date(NOW + shift).toISOString()) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 4e12 }) },
)

/** Values that reach further than those of the schema, because they match what other requests have made. */
export const HINTS: Readonly<Record<string, Arbitrary<unknown>>> = {
  latitude,
  longitude,
  accuracy: fc.constantFrom(1, 5, 30, 65, 500, 5000),
  deviceId: fc.oneof(idsOf('device', 30), fc.constant('anonymous'), fc.constant(`d ${MARK}`)),
  userId: idsOf('user', 12),
  installId: idsOf('install', 6),
  tag: fc.constantFrom('shop', 'depot', MARK),
  externalId: idsOf('x', 15),
  description: fc.constantFrom(MARK, `${MARK} ü`, 'plain'),
  metadata,
  coordinates: fc.oneof(
    position,
    latitude.chain((lat) => longitude.map((lon) => `${lat},${lon}`)),
  ),
  near: fc.tuple(latitude, longitude).map(String),
  radius: fc.constantFrom(10, 100, 250, 1000, 9999),
  limit: fc.constantFrom(1, 2, 10, 100, 1000),
  tags: fc.constantFrom('shop', 'shop,depot', MARK),
  operatingHours,
  ip: fc.constantFrom('127.0.0.1', '127.0.0.*', '10.0.0.0/8', '::1', '127.0.0.1, 10.1.2.3'),
  userIds: fc.array(idsOf('user', 12), { maxLength: 3 }),
  updatedAt: date,
  createdAt: date,
  before: fc.constantFrom('f'.repeat(24), MARK),
  createdBefore: date,
  createdAfter: date,
  updatedBefore: date,
  updatedAfter: date,
  disableAfter: date,
  deleteAfter: date,
  updatedAtMs: recent.map((shift) => NOW + shift),
  name: fc.constantFrom('bought', 'opened_app', MARK, 'user.entered_geofence'),
  type: fc.constantFrom('circle', 'polygon', 'ibeacon', 'eddystone', 'user.entered_geofence', 'bought'),
  uuid: fc.constantFrom(...UUIDS),
  uid: fc.constantFrom('edd1ebeac04e5defa017', 'EDD1EBEAC04E5DEFA017', 'zz'),
  instance: fc.constantFrom('0bdb87539b67', 'ffffffffffff'),
  major: fc.constantFrom(0, 1, '1', 65535, 65536),
  minor: fc.constantFrom(0, 1, '1', 65535),
  verification: fc.constantFrom(-1, 0, 1),
  mode: fc.constantFrom('car', 'foot', 'bike'),
  dwellThreshold: fc.constantFrom(1, 5, 60),
  tripApproachingThreshold: fc.constantFrom(1, 5, 60),
  enabled: fc.constantFrom(true, true, false, 'true'),
  stopDetection: fc.boolean(),
  // An airport that the data of the world have.
  placeId: fc.constantFrom('place-1', placeId('iata/JFK')),
  address: fc.constant('1 Example Street'),
  tripOptions: fc.record({ externalId: idsOf('trip', 15), mode: fc.constantFrom('car', 'foot') }),
  nearbyGeofencesLimit: fc.constantFrom(1, 10),
}

/** Shapes whose fields must agree. They replace fields that were generated one by one. */
export const ring = fc
  .tuple(position, fc.integer({ min: 3, max: 12 }), fc.constantFrom(0.0004, 0.003, 0.02))
  .map(([[lon, lat], corners, reach]) => {
    const points = Array.from({ length: corners }, (_, i) => {
      const angle = (2 * Math.PI * i) / corners
      return [lon + reach * Math.cos(angle), lat + reach * Math.sin(angle)]
    })
    return [...points, points[0]]
  })
export const description = HINTS.description!
export const tags = HINTS.tag!
export const externalIds = HINTS.externalId!
export const geometry = fc.oneof(
  fc.record({ description, type: fc.constant('circle'), coordinates: position, radius: HINTS.radius! }),
  fc.record({
    description,
    type: fc.constant('polygon'),
    coordinates: ring,
    radius: fc.constant(undefined),
    mode: fc.constant(undefined),
  }),
)
const absent = fc.constant(undefined)
const beacon = fc.oneof(
  fc.record({
    description,
    type: fc.constant('ibeacon'),
    uuid: HINTS.uuid!,
    major: HINTS.major!,
    minor: HINTS.minor!,
    uid: absent,
    instance: absent,
    coordinates: position,
  }),
  fc.record({
    description,
    type: fc.constant('eddystone'),
    uid: HINTS.uid!,
    instance: HINTS.instance!,
    uuid: absent,
    major: absent,
    minor: absent,
    coordinates: position,
  }),
)
const stream = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ stream: undefined, sequence: undefined }) },
  { weight: 1, arbitrary: fc.record({ stream: fc.constantFrom('s1', 's2'), sequence: fc.nat(50) }) },
)

/** No server listens there. */
const webhook = fc.record({
  url: fc.constantFrom('http://127.0.0.1:9/hook', 'https://hooks.invalid/a?b=c', 'http://[::1]:9/'),
  mode: fc.constantFrom('single', 'multiple', undefined),
  types: fc.constantFrom(undefined, ['user.entered_geofence']),
  tags: fc.constantFrom(undefined, ['shop', MARK]),
})

const hook = fc.record({
  url: fc.constantFrom(
    'http://127.0.0.1:9/hook',
    'nats://127.0.0.1:9',
    'tls://hooks.invalid',
    'https://hooks.invalid',
  ),
  subject: fc.constantFrom('hooks.a', undefined),
  jetStream: fc.constantFrom(true, undefined),
  token: fc.constantFrom('t', undefined),
})

export const HINTED: Hints = {
  field: (name) => HINTS[name],
  object(properties) {
    if ('coordinates' in properties && 'radius' in properties) return geometry
    if ('coordinates' in properties && 'instance' in properties) return beacon
    if ('stream' in properties) return stream
    if ('url' in properties && 'types' in properties) return webhook
    if ('url' in properties && 'subject' in properties) return hook
    return undefined
  },
}
