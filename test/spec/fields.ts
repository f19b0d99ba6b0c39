import { CONFORMANCE, type Item } from './item.ts'

/** One field of an answer. `of` names an object of the story that conformance.test.ts runs on a real server. */
export interface Field {
  readonly of: string
  readonly name: string
  readonly says: string
  readonly is: (value: unknown) => boolean
}

const DATE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

const text = (value: unknown) => typeof value === 'string' && value !== ''
const number = (value: unknown) => typeof value === 'number' && Number.isFinite(value)
const boolean = (value: unknown) => typeof value === 'boolean'
const list = Array.isArray
const date = (value: unknown) => typeof value === 'string' && DATE.test(value)
const id = (value: unknown) => typeof value === 'string' && /^[0-9a-f]{24}$/.test(value)
const record = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const dictionary = (value: unknown) =>
  record(value) && Object.values(value).every((one) => text(one) || number(one) || boolean(one))
const position = (value: unknown) =>
  list(value) && value.length === 2 && number(value[0]) && number(value[1]) && Math.abs(value[1]) <= 90
const point = (value: unknown) => record(value) && value.type === 'Point' && position(value.coordinates)
const equal = (expected: unknown) => (value: unknown) => value === expected
const among =
  (...choices: unknown[]) =>
  (value: unknown) =>
    choices.includes(value)
const from = (low: number, high: number) => (value: unknown) =>
  Number.isInteger(value) && (value as number) >= low && (value as number) <= high

/** A closed ring, as in GeoJSON. */
function polygon(value: unknown): boolean {
  if (!record(value) || value.type !== 'Polygon' || !list(value.coordinates)) return false
  const [ring] = value.coordinates as unknown[][][]
  return list(ring) && ring.every(position) && JSON.stringify(ring[0]) === JSON.stringify(ring.at(-1))
}

type Rows = readonly (readonly [name: string, says: string, is: (value: unknown) => boolean])[]

function fields(of: string, rows: Rows): Field[] {
  return rows.map(([name, says, is]) => ({ of, name, says, is }))
}

const GEOFENCE_CONTEXT: Rows = [
  ['tag', 'string', equal('spec')],
  ['externalId', 'string', equal('everything')],
  ['description', 'string', equal('Everything')],
  ['metadata', 'dictionary', dictionary],
]

const BEACON_CONTEXT: Rows = [
  ['description', 'string', text],
  ['tag', 'string', text],
  ['externalId', 'string', text],
  ['enabled', 'boolean', equal(true)],
]

/** Every field of the answers of the tracking part. */
export const FIELDS: readonly Field[] = [
  ...fields('Geofence in user context', GEOFENCE_CONTEXT),
  ...fields('Geofence in an event', GEOFENCE_CONTEXT),
  ...fields('Geofence of search geofences', [
    ['_id', 'string', id],
    ['createdAt', 'datetime', date],
    ['live', 'boolean', equal(false)],
    ...GEOFENCE_CONTEXT,
    ['geometryCenter', 'GeoJSON Point', point],
    ['geometry', 'included unless includeGeometry is false', polygon],
  ]),
  ...fields('Beacon in user context (ibeacon)', [
    ['type', 'ibeacon', equal('ibeacon')],
    ['uuid', 'string', text],
    ['major', 'string', equal('100')],
    ['minor', 'string', equal('1')],
    ...BEACON_CONTEXT,
  ]),
  ...fields('Beacon in user context (eddystone)', [
    ['type', 'eddystone', equal('eddystone')],
    ['uid', 'string', text],
    ['instance', 'string', text],
    ...BEACON_CONTEXT,
  ]),
  ...fields('User', [
    ['_id', 'alphanumeric', (value) => text(value) && /^[0-9a-zA-Z]+$/.test(value as string)],
    ['live', 'false with a test key', equal(false)],
    ['userId', 'string', equal('spec-user')],
    ['deviceId', 'string', equal('spec-device')],
    ['description', 'string', equal('Spec')],
    ['metadata', 'dictionary', dictionary],
    ['location', 'GeoJSON Point', point],
    ['locationAccuracy', 'metres', equal(5)],
    ['foreground', 'boolean', equal(true)],
    ['stopped', 'boolean', equal(true)],
    ['deviceType', 'iOS, Android or Web', equal('iOS')],
    ['createdAt', 'datetime', date],
    ['updatedAt', 'datetime', date],
    ['ip', 'address of the requester', text],
    ['geofences', 'array', (value) => list(value) && value.length > 0],
    ['beacons', 'array', (value) => list(value) && value.length === 2],
    ['segments', 'array', list],
    ['topChains', 'array', list],
  ]),
  ...fields('User of a live key', [['live', 'true', equal(true)]]),
  ...fields('Event', [
    ['_id', 'event id', id],
    ['type', 'event kind', equal('user.entered_geofence')],
    ['createdAt', 'datetime', date],
    ['live', 'boolean', equal(false)],
    ['user', 'object', record],
    ['user.userId', 'string', equal('spec-user')],
    ['user.deviceId', 'string', equal('spec-device')],
    ['user.metadata', 'dictionary', dictionary],
    ['geofence', 'object', record],
    ['location', 'GeoJSON Point', point],
    ['locationAccuracy', 'metres', equal(5)],
    ['confidence', 'integer, 1 to 3', from(1, 3)],
    ['currentlyOperating', 'boolean, where operating hours apply', boolean],
  ]),
  ...fields('Event of a beacon', [
    ['type', 'event kind', among('user.entered_beacon')],
    ['beacon', 'object', record],
    ['confidence', 'integer, 1 to 3', from(1, 3)],
    ['location', 'GeoJSON Point', point],
  ]),
  ...fields('Answer of POST /v1/track', [
    ['meta', 'with code', (value) => record(value) && value.code === 200],
    ['events', 'array of events', list],
    ['user', 'user object', record],
  ]),
  ...fields('Answer of GET /v1/context', [
    ['meta', 'with code', (value) => record(value) && value.code === 200],
    ['context', 'object', record],
    ['context.geofences', 'array', (value) => list(value) && value.length > 0],
    ['context.country', 'dictionary', record],
  ]),
  ...fields('Answer of GET /v1/search/users', [
    ['meta', 'with code', (value) => record(value) && value.code === 200],
    ['users', 'user objects', (value) => list(value) && record(value[0])],
  ]),
  ...fields('Answer of GET /v1/search/geofences', [
    ['meta', 'with code', (value) => record(value) && value.code === 200],
    ['geofences', 'array', (value) => list(value) && record(value[0])],
  ]),
  ...fields('Error', [
    ['meta.code', 'integer, the HTTP status', equal(400)],
    ['meta.param', 'the offending parameter', equal('latitude')],
    [
      'meta.message',
      'a range message that names the parameter',
      (value) => text(value) && /latitude.*-90.*90/.test(value as string),
    ],
  ]),
]

/** The fields as items of the coverage. */
export const FIELD_ITEMS: readonly Item[] = FIELDS.map(({ of, name, says }) => ({
  section: of,
  name,
  says,
  part: 'tracking',
  heldBy: [`${CONFORMANCE}: fields`],
}))
