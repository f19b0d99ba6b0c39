/**
 * Requests to every operation of the server's own OpenAPI document: valid, nearly valid and nonsense ones, from every
 * kind of caller. What is not known when a request is generated (the server's ids, keys, marks) is a placeholder
 * until it is sent.
 */
import type { Arbitrary } from 'fast-check'
import type { Api, Json, Operation } from '../e2e/contract.ts'
import fc from '../kit/fastCheck.ts'
import { AIMS, type Aimed } from './aims.ts'
import { bodySchema, encodingsOf, textOf } from './bodies.ts'
import { callersOf, type Caller } from './callers.ts'
import { escaped } from './placeholders.ts'
import { HOSTILE_TEXTS, valuesOf } from './schema.ts'
import { HINTED, idsOf } from './values.ts'

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

/** A PUT by the pair takes the pair from the address. */
const PAIR_ABSENT = { tag: undefined, externalId: undefined }

type Values = (schema: Json, name?: string) => Arbitrary<unknown>

/** The arbitraries for the requests of one operation. */
export function requestsOf(api: Api, operation: Operation): Arbitrary<DrawnRequest> {
  const resolve = (schema: Json): Json => api.resolve(schema)
  const values: Values = (schema, name = '') => valuesOf(schema, resolve, HINTED, name)
  const parameters: Json[] = operation.definition.parameters ?? []
  const nothing: Arbitrary<Aimed> = fc.constant({})
  const aim = AIMS[`${operation.method} ${operation.path}`]
  // People are of both environments, so what they have must not carry the mark of one.
  const isOfPeople = operation.definition.tags.includes('People')
  return fc
    .record({
      aimed:
        aim === undefined
          ? nothing
          : fc.oneof({ weight: 3, arbitrary: aim }, { weight: isOfPeople ? 0 : 1, arbitrary: nothing }),
      path: pathOf(operation, values),
      query: queryOf(
        parameters.filter((one) => one.in === 'query'),
        values,
      ),
      value: valueOf(operation, values),
      encode: encodingsOf(operation),
      caller: callersOf(operation),
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
    .map(({ aimed, path, query, value, encode, ...rest }) => {
      const pairs =
        aimed.query === undefined
          ? query
          : Object.entries(aimed.query)
              .map((pair) => pairsOf(...pair))
              .join('&')
      const target = aimed.path ?? path
      return {
        ...rest,
        ...encode('body' in aimed ? aimed.body : value),
        target: pairs === '' ? target : `${target}?${pairs}`,
      }
    })
}

/** A value of the body; undefined for operations without JSON. */
function valueOf(operation: Operation, values: Values): Arbitrary<unknown> {
  const schema = bodySchema(operation)
  if (schema === undefined) return fc.constant(undefined)
  const plain = values(schema)
  return operation.path.endsWith('/{tag}/{externalId}')
    ? plain.map((value) => (Array.isArray(value) ? value : { ...(value as object), ...PAIR_ABSENT }))
    : plain
}

/** `/v1/geofences/{id}` names geofences, and so do the lists of who is inside one. */
const KIND = /^\/v1\/(user|geofence|beacon|event|webhook|hook|trip|account|session)s/

function pathOf(operation: Operation, values: Values) {
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

function queryOf(parameters: readonly Json[], values: Values) {
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

/** `limit=3`, `tags=a&tags=b`, `metadata[color]=red` */
function pairsOf(name: string, value: unknown): string {
  if (Array.isArray(value)) return value.map((item) => `${name}=${escaped(textOf(item))}`).join('&')
  if (typeof value === 'object' && value !== null)
    return Object.entries(value)
      .map(([key, member]) => `${name}[${escaped(key)}]=${escaped(textOf(member))}`)
      .join('&')
  return `${name}=${escaped(textOf(value))}`
}

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
