/**
 * Requests to every operation of the server's own OpenAPI document: valid, nearly valid and nonsense ones, from every
 * kind of caller. What is not known when a request is generated (the server's ids, keys, marks) is a placeholder
 * until it is sent.
 */
import { placeId } from '../../src/geo/records/objectRecords.ts'
import type { Arbitrary } from 'fast-check'
import type { Api, Json, Operation } from '../e2e/contract.ts'
import fc from '../kit/fastCheck.ts'
import { dates, HOSTILE_TEXTS, jsonText, mutated, spoiled, valuesOf, type Hints } from './schema.ts'

/** Placeholder for the mark of the caller's scope. Only callers of this scope may see it. */
export const MARK = '§mark§'
/**
 * `§geofence:7§` is a placeholder for the id of a geofence from an answer of the server; one in five is of any scope.
 */
export const ID = /§(user|geofence|beacon|event|import|webhook|hook):(\d+)§/g

/** The caller. `own` and `other` are the environments test and live. The words of `odd` are sent unchanged. */
export type Caller =
  | { readonly kind: 'publishable' | 'secret'; readonly live: boolean; readonly bearer: boolean }
  | { readonly kind: 'none' }
  | { readonly kind: 'odd'; readonly text: string }

/** A generated request. */
export interface DrawnRequest {
  readonly method: string
  /** Path and query, percent-encoded except for placeholders. */
  readonly target: string
  readonly caller: Caller
  /** In addition to Authorization, Content-Type and the framing of the body. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly contentType: string | undefined
  /** Contains placeholders as text. */
  readonly body: Uint8Array | undefined
  /** Sizes of the pieces in which it is sent, repeated as needed. Undefined: in one piece, with its length. */
  readonly chunks: readonly number[] | undefined
}

const JSON_TYPE = 'application/json'
const FORM = 'application/x-www-form-urlencoded'

/** Centre of the town in which everything happens, so that devices enter geofences. */
const LATITUDE = 50
const LONGITUDE = 10
const DAY_MS = 86_400_000

const near = (center: number) =>
  fc.integer({ min: -40, max: 40 }).map((steps) => Number((center + steps * 0.0005).toFixed(6)))
const latitude = near(LATITUDE)
const longitude = near(LONGITUDE)
const position = fc.tuple(longitude, latitude)
const idsOf = (kind: string, count: number) => fc.nat(count - 1).map((i) => `${kind}-${i}`)
const recent = fc.integer({ min: -2 * DAY_MS, max: DAY_MS / 2 })
const UUIDS = ['f7826da6-4fa2-4e98-8024-bc5b71e0893e', 'F7826DA6-4FA2-4E98-8024-BC5B71E0893F', 'not-a-uuid']
const opening = fc.constantFrom('00:00', '9:00', '09:00')
const closing = fc.constantFrom('10:00', '17:30', '24:00', '02:00')
const operatingHours = fc.dictionary(
  fc.constantFrom('Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'),
  fc.array(fc.tuple(opening, closing), { maxLength: 1 }),
  { maxKeys: 7 },
)
const scalar = fc.oneof(fc.constantFrom(MARK, 'red', '7', 'true'), fc.boolean(), fc.integer())
const metadata = fc.oneof(
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
const date = fc.oneof(
  { weight: 1, arbitrary: dates },
  { weight: 6, arbitrary: recent.map((shift) => new Date(NOW + shift).toISOString()) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 4e12 }) },
)

/** Values that reach further than those of the schema, because they match what other requests have made. */
const HINTS: Readonly<Record<string, Arbitrary<unknown>>> = {
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
}

/** Shapes whose fields must agree. They replace fields that were generated one by one. */
const ring = fc
  .tuple(position, fc.integer({ min: 3, max: 12 }), fc.constantFrom(0.0004, 0.003, 0.02))
  .map(([[lon, lat], corners, reach]) => {
    const points = Array.from({ length: corners }, (_, i) => {
      const angle = (2 * Math.PI * i) / corners
      return [lon + reach * Math.cos(angle), lat + reach * Math.sin(angle)]
    })
    return [...points, points[0]]
  })
const description = HINTS.description!
const geometry = fc.oneof(
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

const HINTED: Hints = {
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

/** A PUT by the pair takes the pair from the address. */
const PAIR_ABSENT = { tag: undefined, externalId: undefined }

/** The arbitraries for the requests of one operation. */
export function requestsOf(api: Api, operation: Operation): Arbitrary<DrawnRequest> {
  const resolve = (schema: Json): Json => api.resolve(schema)
  const values = (schema: Json, name = '') => valuesOf(schema, resolve, HINTED, name)
  const parameters: Json[] = operation.definition.parameters ?? []
  return fc
    .record({
      path: pathOf(operation, values),
      query: queryOf(
        parameters.filter((one) => one.in === 'query'),
        values,
      ),
      content: contentOf(operation, values),
      caller: callers,
      headers,
      method: fc.oneof(
        { weight: 40, arbitrary: fc.constant(operation.method) },
        { weight: 1, arbitrary: fc.constantFrom('HEAD', 'OPTIONS', 'PUT', 'DELETE', 'get', 'PROPFIND') },
      ),
      chunks: fc.oneof(
        // Rare, because a method without a body refuses chunks before it checks anything else.
        {
          weight: operation.definition.requestBody === undefined ? 20 : 1,
          arbitrary: fc.constant(undefined),
        },
        { weight: 1, arbitrary: fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 3 }) },
      ),
    })
    .map(({ path, query, content: drawn, ...rest }) => ({
      ...rest,
      ...drawn,
      target: query === '' ? path : `${path}?${query}`,
    }))
}

/** Escapes all characters that may not occur in a request line, and keeps placeholders. */
function escaped(text: string): string {
  return text
    .split(/(§\w+(?::\d+)?§)/)
    .map((part, i) => (i % 2 === 1 ? part : encodeURIComponent(part.toWellFormed())))
    .join('')
}

/** `/v1/geofences/{id}` names geofences, and so do the lists of who is inside one. */
const KIND = /^\/v1\/(import|user|geofence|beacon|event|webhook|hook)s/

function pathOf(operation: Operation, values: (schema: Json, name?: string) => Arbitrary<unknown>) {
  const segments = operation.path
    .slice(1)
    .split('/')
    .map((segment): Arbitrary<string> => {
      if (!segment.startsWith('{')) return fc.constant(segment)
      const [, name, suffix] = /^\{(\w+)\}(.*)$/.exec(segment)!
      const parameter = operation.definition.parameters.find((one: Json) => one.name === name)
      const kind = KIND.exec(operation.path)?.[1]
      const known = fc.nat(400).map((i) => `§${kind}:${i}§`)
      const good =
        name !== 'id' || kind === undefined
          ? values(parameter.schema, name).map(textOf)
          : kind === 'user'
            ? fc.oneof(known, idsOf('device', 30), idsOf('user', 12))
            : known
      return fc.oneof(
        { weight: 24, arbitrary: good.map((text) => escaped(text) + suffix!) },
        { weight: 1, arbitrary: fc.constantFrom(...HOSTILE_TEXTS).map(escaped) },
        {
          weight: 1,
          arbitrary: fc.constantFrom('%', '%zz', '%ff', '%ED%A0%80', '%00', '.', '..', ';a=b', ''),
        },
      )
    })
  const prefix = fc.oneof(
    { weight: 12, arbitrary: fc.constant('/') },
    { weight: 1, arbitrary: fc.constant('/api/') },
  )
  const suffix = fc.oneof(
    { weight: 30, arbitrary: fc.constant('') },
    { weight: 1, arbitrary: fc.constantFrom('/', '//', '/x', '%20', '.json', ';') },
  )
  return fc
    .tuple(prefix, fc.tuple(...segments), suffix)
    .map(([before, parts, after]) => before + parts.join('/') + after)
}

function queryOf(parameters: readonly Json[], values: (schema: Json, name?: string) => Arbitrary<unknown>) {
  const pairs = parameters.map((parameter): Arbitrary<string> => {
    const { name, schema, required } = parameter
    const good = values(schema, name).map((value) => pairsOf(name, value))
    const hostile = fc
      .tuple(
        fc.constantFrom('', '', '', '[]', '[a]', '[__proto__]', '[a][b]', '[', '%5B%5D'),
        fc.oneof(fc.constantFrom(...HOSTILE_TEXTS), fc.string({ unit: 'binary', maxLength: 10 })),
      )
      .map(([odd, text]) => `${name}${odd}=${escaped(text)}`)
    return fc.oneof(
      { weight: required ? 30 : 10, arbitrary: good },
      { weight: required ? 1 : 20, arbitrary: fc.constant('') },
      { weight: 1, arbitrary: hostile },
      { weight: 1, arbitrary: fc.tuple(good, hostile).map(([a, b]) => `${a}&${b}`) },
    )
  })
  const odd = fc.constantFrom(
    '&&',
    '=',
    '?',
    '__proto__=1',
    'a[b][c]=1',
    '%=1',
    '%00=1',
    'limit',
    '+=+',
    'a=1&'.repeat(300),
  )
  const extra = fc.oneof({ weight: 12, arbitrary: fc.constant('') }, { weight: 1, arbitrary: odd })
  return fc.tuple(...pairs, extra).map((all) => all.filter((pair) => pair !== '').join('&'))
}

/** A value in a query, form or path. It must not call a member named toString. */
function textOf(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** `limit=3`, `tags=a&tags=b`, `metadata[color]=red` */
function pairsOf(name: string, value: unknown): string {
  if (Array.isArray(value)) return value.map((item) => `${name}=${escaped(textOf(item))}`).join('&')
  if (typeof value === 'object' && value !== null)
    return Object.entries(value)
      .map(([key, member]) => `${name}[${escaped(key)}]=${escaped(textOf(member))}`)
      .join('&')
  return `${name}=${escaped(textOf(value))}`
}

type Content = Pick<DrawnRequest, 'contentType' | 'body'>

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)

function contentOf(
  operation: Operation,
  values: (schema: Json, name?: string) => Arbitrary<unknown>,
): Arbitrary<Content> {
  const content: Readonly<Record<string, Json>> = operation.definition.requestBody?.content ?? {}
  const nothing: Arbitrary<Content> = fc.constant({ contentType: undefined, body: undefined })
  const schema = content[JSON_TYPE]?.schema
  const choices: { weight: number; arbitrary: Arbitrary<Content> }[] = []
  if (schema !== undefined) {
    const plain = values(schema)
    const good = operation.path.endsWith('/{tag}/{externalId}')
      ? plain.map((value) => (Array.isArray(value) ? value : { ...(value as object), ...PAIR_ABSENT }))
      : plain
    const json = good.map(jsonText)
    const as = (contentType: string | undefined) => (body: Uint8Array) => ({ contentType, body })
    const form = good.map((value) => utf8(formText(value as object)))
    choices.push(
      { weight: 14, arbitrary: json.map(utf8).map(as(JSON_TYPE)) },
      { weight: 8, arbitrary: spoiled(good).map(utf8).map(as(JSON_TYPE)) },
      { weight: 3, arbitrary: mutated(json.map(utf8)).map(as(JSON_TYPE)) },
      { weight: 2, arbitrary: form.map(as(FORM)) },
      { weight: 1, arbitrary: mutated(form).map(as(FORM)) },
      { weight: 1, arbitrary: fc.tuple(json.map(utf8), contentTypes).map(([body, type]) => as(type)(body)) },
      { weight: 1, arbitrary: fc.tuple(anyBytes, contentTypes).map(([body, type]) => as(type)(body)) },
      { weight: 1, arbitrary: nothing },
    )
  }
  for (const type of Object.keys(content)) {
    if (type === JSON_TYPE || type === FORM) continue
    const text = tables[operation.path.includes('beacon') ? 'beacon' : 'geofence'].map(utf8)
    choices.push(
      { weight: 8, arbitrary: text.map((body) => ({ contentType: type, body })) },
      { weight: 4, arbitrary: mutated(text).map((body) => ({ contentType: type, body })) },
      { weight: 1, arbitrary: anyBytes.map((body) => ({ contentType: type, body })) },
    )
  }
  if (choices.length > 0) return fc.oneof(...choices)
  return fc.oneof(
    { weight: 12, arbitrary: nothing },
    { weight: 1, arbitrary: anyBytes.map((body) => ({ contentType: JSON_TYPE, body })) },
  )
}

function formText(value: object): string {
  const pairs = Object.entries(value).flatMap(([key, member]) => {
    if (typeof member === 'object' && member !== null && !Array.isArray(member))
      return Object.entries(member).map(
        ([inner, held]) => `${escaped(key)}[${escaped(inner)}]=${escaped(textOf(held))}`,
      )
    if (Array.isArray(member) && member.every((item) => typeof item !== 'object'))
      return member.map((item) => `${escaped(key)}[]=${escaped(textOf(item))}`)
    return [`${escaped(key)}=${escaped(textOf(member))}`]
  })
  return pairs.join('&')
}

const contentTypes = fc.constantFrom(
  undefined,
  JSON_TYPE,
  FORM,
  'application/json; charset=utf-16',
  'APPLICATION/JSON;',
  'text/plain',
  'text/csv',
  'multipart/form-data; boundary=x',
  ';',
)

const anyBytes: Arbitrary<Uint8Array> = fc.oneof(
  { weight: 6, arbitrary: fc.uint8Array({ maxLength: 200 }) },
  { weight: 6, arbitrary: fc.json({ maxDepth: 6 }).map(utf8) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('['.repeat(100_000), `"${'x'.repeat(300_000)}`, '\0'.repeat(5000)).map(utf8),
  },
  { weight: 1, arbitrary: fc.constant(new Uint8Array(1024 * 1024 + 1).fill(32)) },
)

/** Rows as users import them. */
const cell = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      'shop',
      'x-1',
      'x-2',
      MARK,
      'circle',
      'polygon',
      '10',
      '50',
      '100',
      'true',
      '',
    ),
  },
  { weight: 2, arbitrary: fc.constantFrom(...HOSTILE_TEXTS) },
  { weight: 1, arbitrary: fc.string({ maxLength: 8 }) },
)
const COLUMNS = [
  'description',
  'tag',
  'externalId',
  'type',
  'coordinates',
  'latitude',
  'longitude',
  'radius',
  'metadata.mark',
  'operatingHours.Mon',
  'enabled',
  'userId',
  'uuid',
  'major',
  'minor',
  'uid',
  'instance',
  'nonsense',
]
const anyTable = fc
  .tuple(
    fc.subarray(COLUMNS, { minLength: 1 }),
    fc.array(fc.array(cell, { maxLength: 19 }), { maxLength: 8 }),
    fc.boolean(),
  )
  .map(([columns, rows, quoted]) =>
    [columns, ...rows]
      .map((row) => row.map((text) => (quoted ? `"${text.replaceAll('"', '""')}"` : text)).join())
      .join(quoted ? '\r\n' : '\n'),
  )
const goodTable = (columns: string, kind: string) =>
  fc
    .array(
      fc
        .tuple(position, HINTS.externalId!, HINTS.radius!)
        .map(
          ([[lon, lat], id, radius]) =>
            `${MARK},shop,${String(id)},"[${lon},${lat}]",${kind},${String(radius)}`,
        ),
      { maxLength: 8 },
    )
    .map((rows) => [`description,tag,externalId,coordinates,enabled,${columns}`, ...rows].join('\n'))
const tables = {
  geofence: fc.oneof(goodTable('type,radius', 'circle'), anyTable),
  beacon: fc.oneof(goodTable('type,uuid,minor,major', `ibeacon,${UUIDS[0]},1`), anyTable),
}

const callers: Arbitrary<Caller> = fc.oneof(
  {
    weight: 20,
    arbitrary: fc.record({ kind: fc.constant('secret' as const), live: fc.boolean(), bearer: fc.boolean() }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('publishable' as const),
      live: fc.boolean(),
      bearer: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'none' as const }) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(
        'Bearer',
        'Bearer ',
        'Basic dXNlcjpwYXNz',
        'prj_test_sk_',
        `prj_live_sk_${'0'.repeat(40)}`,
        `prj_test_pk_${'g'.repeat(40)}`,
        'x'.repeat(3000),
        '__proto__',
        'null',
      )
      .map((text) => ({ kind: 'odd' as const, text })),
  },
)

const headers: Arbitrary<[string, string][]> = fc.array(
  fc.constantFrom<[string, string][]>(
    ['X-Radar-SDK-Version', '5.2.0'],
    ['X-Radar-Device-Type', 'Web'],
    ['X-Radar-Config', '{'],
    ['X-Forwarded-For', '10.0.0.1, 127.0.0.1'],
    ['X-Forwarded-For', 'nonsense'],
    ['Expect', '100-continue'],
    ['Prefer', 'respond-async'],
    ['Last-Event-ID', '§event:5§'],
    ['Last-Event-ID', '0'],
    ['Accept', 'text/csv'],
    ['Accept-Encoding', 'gzip, br'],
    ['If-None-Match', '*'],
    ['Range', 'bytes=0-1'],
    ['Content-Encoding', 'gzip'],
    ['Origin', 'https://example.org'],
    ['Idempotency-Key', '__proto__'],
    ['Cookie', 'a=b'],
  ),
  { maxLength: 2 },
)
