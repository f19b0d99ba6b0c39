import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip as gzipWithCallback } from 'node:zlib'
import Type from 'typebox'
import type { TSchema } from 'typebox'
import { Check } from 'typebox/schema'
import { acceptsGzip } from './acceptsGzip.ts'
import { JSON_CONTENT_TYPE } from './answerText.ts'
import { roleOf } from './authenticate.ts'
import { addExamples, type Examples } from './openapiExamples.ts'
import { toJsonSchema } from './jsonSchema.ts'
import { inSlices, mapInSlices, ownTurn } from '../runtime/slices.ts'
import { route, type RateLimit, type Route, type UploadRule } from './route.ts'

type Json = Record<string, unknown>

const MIB = 1024 * 1024

const ERROR_DESCRIPTIONS: Readonly<Record<number, string>> = {
  400: 'Bad request: a parameter is missing or invalid; `meta.param` names it. An invalid `Content-Length` or chunk of a body is answered in HTML, and the connection is closed.',
  401: 'Unauthorized: the API key is missing or unknown, or nobody has signed in.',
  402: "Payment required: the operator has disabled the key's project, or its monthly quota is used up.",
  403: 'Forbidden: the endpoint needs a secret key, another role, or an `Origin` of this server.',
  404: 'Not found.',
  413: 'The body is too large.',
  415: 'The API does not accept this content type.',
  426: 'Upgrade required: the path is a WebSocket; `Sec-WebSocket-Version` names the version that is spoken.',
  429: 'Too many requests; `meta.type` names the window.',
  451: "Unavailable for legal reasons: the requester's country is blocked.",
  500: 'Internal server error.',
  503: 'Temporarily unavailable; `Retry-After` says for how long.',
}

/**
 * The answers that uWebSockets.js gives before the API sees the request. They are in HTML, which cannot be changed.
 */
const LIBRARY_DESCRIPTIONS: Readonly<Record<number, string>> = {
  431: 'The request line and headers are larger than 32 KB, or there are more than 98 headers. Not JSON; the connection is closed.',
  505: 'The request is not HTTP/1.1. Not JSON; the connection is closed.',
}

const ERROR_SCHEMA: Json = {
  type: 'object',
  required: ['meta'],
  properties: {
    meta: {
      type: 'object',
      required: ['code', 'message'],
      properties: {
        code: { type: 'integer', description: 'The HTTP status.' },
        param: { type: 'string', description: 'The offending parameter.' },
        message: { type: 'string' },
        type: { type: 'string', description: 'On 429: the window that was exceeded.' },
      },
    },
  },
}

/** The document's texts besides the routes. */
export interface ReferenceTexts {
  /** Returns the introduction of the document in Markdown. It gets the routes because of their limits. */
  description(routes: readonly Route[]): string
  /** The subject of each tag's operations, in the order of the reference. */
  readonly tags: Readonly<Record<string, string>>
  readonly examples: Examples
  /** `GET` operations that are not routes, because the connection is upgraded on their paths. */
  readonly upgrades: readonly {
    readonly path: string
    readonly operation: Json & { readonly tags: readonly string[] }
  }[]
}

const NO_TEXTS: ReferenceTexts = {
  description: () =>
    'Location updates in, geofence events out. Every answer carries `meta.code`, the HTTP status.',
  tags: {},
  examples: { operations: {}, errors: {} },
  upgrades: [],
}

/**
 * GET /v1/openapi.json for the given routes and itself. The text is made once, at the first request, in turns with other
 * requests. Each page of the dashboard needs it, so it is sent packed, and not again to a browser that has it.
 * @param texts the document's texts besides the routes
 */
export function openApiRoute(
  routes: readonly Route[],
  version: string,
  texts: () => ReferenceTexts = () => NO_TEXTS,
): Route {
  let made: Promise<PackedText> | undefined
  const self: Route = route({
    method: 'GET',
    path: '/v1/openapi.json',
    auth: 'none',
    summary: 'This description of the API',
    tag: 'Operations',
    headers: ['accept-encoding'],
    answers: { 200: Type.Object({}, { description: 'An OpenAPI 3.1 document, without `meta`.' }) },
    async handler({ headers }) {
      made ??= documentText([...routes, self], version, texts).then(packed)
      const isPacked = acceptsGzip(headers['accept-encoding'])
      const { plain, gzip, etag } = await made
      return {
        bytes: {
          contentType: JSON_CONTENT_TYPE,
          content: isPacked ? gzip : plain,
          etag: isPacked ? `${etag}-gzip` : etag,
        },
        headers: {
          'Cache-Control': 'no-cache',
          Vary: 'Accept-Encoding',
          ...(isPacked && { 'Content-Encoding': 'gzip' }),
        },
      }
    },
  })
  return self
}

const compress = promisify(gzipWithCallback)

interface PackedText {
  readonly plain: Uint8Array
  readonly gzip: Uint8Array
  readonly etag: string
}

async function packed(text: string): Promise<PackedText> {
  const plain = Buffer.from(text)
  return {
    plain,
    gzip: await compress(plain),
    etag: createHash('sha256').update(plain).digest('hex').slice(0, 32),
  }
}

/** The text of the document. Making it takes fifty milliseconds altogether, so it is made in turns. */
async function documentText(
  routes: readonly Route[],
  version: string,
  textsOf: () => ReferenceTexts,
): Promise<string> {
  await ownTurn()
  const texts = textsOf()
  const document = await inSlices(documentSteps(routes, version, texts))
  const members = await mapInSlices(Object.entries(document), async ([name, value]) => {
    const text = name === 'paths' ? await objectText(value as Json) : JSON.stringify(value)
    return `${JSON.stringify(name)}:${text}`
  })
  return `{${(await Promise.all(members)).join(',')}}`
}

/** The JSON text of an object, written member by member in turns. */
async function objectText(object: Json): Promise<string> {
  const members = await mapInSlices(
    Object.entries(object),
    ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`,
  )
  return `{${members.join(',')}}`
}

/**
 * The OpenAPI 3.1 document of a route table. Schemas with a `title` become named components, so the same title must
 * mean the same schema everywhere.
 * @param version the version of the server
 * @throws Error if two different schemas share a title
 */
export function openApiDocument(
  routes: readonly Route[],
  version: string,
  texts: ReferenceTexts = NO_TEXTS,
): Json {
  const steps = documentSteps(routes, version, texts)
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

function* documentSteps(
  routes: readonly Route[],
  version: string,
  texts: ReferenceTexts,
): Generator<void, Json> {
  const schemas: Record<string, Json> = { Error: ERROR_SCHEMA }
  const paths: Record<string, Json> = {}
  for (const definition of routes) {
    const path = definition.path.replaceAll(/:(\w+)/g, '{$1}')
    const operations = (paths[path] ??= {})
    const json = operation(definition, schemas)
    addExamples(json, texts.examples, `${definition.method} ${definition.path}`)
    operations[definition.method.toLowerCase()] = json
    yield
  }
  for (const upgrade of texts.upgrades) paths[upgrade.path] = { get: upgrade.operation }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Ringfence',
      version,
      description: texts.description(routes),
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: tagsOf(routes, texts),
    paths,
    components: {
      schemas,
      responses: Object.fromEntries([
        ...Object.entries(LIBRARY_DESCRIPTIONS).map(([status, description]) => [
          `Error${status}`,
          { description, content: { 'text/html': { schema: { type: 'string' } } } },
        ]),
        ...Object.entries(ERROR_DESCRIPTIONS).map(([status, description]) => [
          `Error${status}`,
          {
            description,
            content: {
              'application/json': {
                schema: { $ref: '#/components/schemas/Error' },
                ...(texts.examples.errors[status] !== undefined && {
                  example: texts.examples.errors[status],
                }),
              },
            },
          },
        ]),
      ]),
      securitySchemes: {
        publishableKey: keyScheme('A publishable key, or a secret one. `Bearer` before it is accepted.'),
        secretKey: keyScheme('A secret key. `Bearer` before it is accepted.'),
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'ringfence_session',
          description:
            'Of a person who signed in; `__Host-ringfence_session` over HTTPS. It counts only beside the header ' +
            '`X-Ringfence-Environment: test` or `live`, without `Authorization`, and for other methods than GET beside an ' +
            '`Origin` of this server.',
        },
      },
    },
  }
}

/** The tags of the routes, first those in the texts and in their order. */
function tagsOf(routes: readonly Route[], texts: ReferenceTexts): Json[] {
  const used = new Set([
    ...routes.map((definition) => definition.tag),
    ...texts.upgrades.flatMap((upgrade) => upgrade.operation.tags),
  ])
  const known = Object.keys(texts.tags).filter((name) => used.has(name))
  return [...new Set([...known, ...used])].map((name) => {
    const description = texts.tags[name]
    return description === undefined ? { name } : { name, description }
  })
}

function keyScheme(description: string): Json {
  return { type: 'apiKey', in: 'header', name: 'Authorization', description }
}

const KEY_NOTES = {
  none: 'Needs no key.',
  publishable: 'Needs a key, publishable or secret.',
  secret: 'Needs a secret key.',
  session: 'Needs a session, of an account or of a secret key.',
  account: 'Needs a session of an account. Keys cannot do this.',
} as const

const SCHEMES = {
  none: [],
  publishable: [{ publishableKey: [] }, { session: [] }],
  secret: [{ secretKey: [] }, { session: [] }],
  session: [{ session: [] }],
  account: [{ session: [] }],
} as const

function operation(definition: Route, schemas: Record<string, Json>): Json {
  const { auth, body, upload, limit, forPages, keySession } = definition
  const errors = [400, 500, 503, ...Object.keys(LIBRARY_DESCRIPTIONS).map(Number)]
  if (auth !== 'none') errors.push(401, 403)
  if (auth === 'publishable' || auth === 'secret') errors.push(402)
  if (forPages) errors.push(403)
  if (definition.path.includes(':')) errors.push(404)
  if (body !== undefined || upload !== undefined) errors.push(413, 415)
  const responses: Json = {}
  for (const status of errors) responses[status] = { $ref: `#/components/responses/Error${status}` }
  if (limit !== undefined) responses[429] = tooManyRequests(limit)
  for (const [status, members] of Object.entries(definition.answers)) {
    // The text of the limit says more.
    if (status === '429' && limit !== undefined) continue
    const { contents, description } = members as {
      contents?: Readonly<Record<string, TSchema>>
      description?: string
    }
    const schema = () => withMeta(Number(status), toJsonSchema(members, schemas), definition, schemas)
    responses[status] = {
      description: description ?? 'Success.',
      content:
        contents === undefined
          ? { 'application/json': { schema: schema() } }
          : Object.fromEntries(
              Object.entries(contents).map(([type, one]) => [type, { schema: toJsonSchema(one, schemas) }]),
            ),
    }
  }
  const role = auth === 'none' ? undefined : roleOf(definition)
  const roleNote = role && `People need the role \`${role}\`${keySession === false ? ' and an account' : ''}.`
  const notes = [definition.description, KEY_NOTES[auth], roleNote, limit && limitText(limit)]
  const description = notes.filter(Boolean).join('\n\n')
  return {
    operationId: operationId(definition),
    summary: definition.summary,
    ...(description === '' ? {} : { description }),
    tags: [definition.tag],
    security: SCHEMES[auth],
    ...(role !== undefined && { 'x-ringfence-role': role }),
    // OpenAPI has no way to say that a parameter of a path may contain slashes.
    ...(definition.isUnescaped && { 'x-ringfence-unescaped': true }),
    parameters: parameters(definition, schemas),
    ...(body === undefined ? {} : { requestBody: requestBody(body, schemas) }),
    ...(upload === undefined ? {} : { requestBody: uploadBody(upload) }),
    responses,
  }
}

/** `postV1Track`, `getV1GeofencesByTagByExternalId`: unique because method and path are. */
function operationId(definition: Route): string {
  const words = definition.path.split('/').map((segment) => {
    const name = segment.replace(/^:/, '').replaceAll(/\W+(\w?)/g, (_, next: string) => next.toUpperCase())
    return (segment.startsWith(':') ? 'By' : '') + name.charAt(0).toUpperCase() + name.slice(1)
  })
  return definition.method.toLowerCase() + words.join('')
}

function withMeta(
  status: number,
  members: unknown,
  definition: Route,
  schemas: Record<string, Json>,
): unknown {
  if (definition.path === '/v1/openapi.json') return members
  if (status >= 400) return { allOf: [{ $ref: '#/components/schemas/Error' }, members] }
  const code = { code: { type: 'integer' } }
  const more = definition.meta && (toJsonSchema(definition.meta, schemas) as Json)
  const meta = {
    type: 'object',
    required: ['code', ...((more?.required as string[] | undefined) ?? [])],
    properties: { ...code, ...(more?.properties as Json | undefined) },
  }
  return { allOf: [{ type: 'object', required: ['meta'], properties: { meta } }, members] }
}

function parameters(definition: Route, schemas: Record<string, Json>): Json[] {
  const list: Json[] = []
  for (const match of definition.path.matchAll(/:(\w+)/g)) {
    const name = match[1]!
    const schema = definition.params?.properties[name] ?? Type.String()
    list.push({ name, in: 'path', required: true, ...described(schema, schemas) })
  }
  const { query } = definition
  if (query === undefined) return list
  const required = new Set<string>(query.required as readonly string[] | undefined)
  for (const [name, schema] of Object.entries(query.properties)) {
    const isObject = (schema as Json).type === 'object'
    list.push({
      name,
      in: 'query',
      required: required.has(name) && (schema as Json).default === undefined,
      // `metadata[key]=value`
      ...(isObject ? { style: 'deepObject', explode: true } : {}),
      ...described(schema, schemas),
    })
  }
  return list
}

/** A schema with its description moved to where the reference shows it. */
function described(schema: TSchema, schemas: Record<string, Json>): Json {
  const json = toJsonSchema(schema, schemas) as Json
  const { description, ...rest } = json
  return description === undefined ? { schema: json } : { description, schema: rest }
}

function requestBody(body: TSchema, schemas: Record<string, Json>): Json {
  const schema = toJsonSchema(body, schemas)
  return {
    // An empty body stands for `{}`.
    required: !Check(body, {}),
    content: { 'application/json': { schema }, 'application/x-www-form-urlencoded': { schema } },
  }
}

function uploadBody({ contentTypes, maxBytes, description }: UploadRule): Json {
  const size = maxBytes % MIB === 0 ? `At most ${maxBytes / MIB} MiB.` : `At most ${maxBytes} bytes.`
  return {
    description: description === undefined ? size : `${description} ${size}`,
    required: true,
    content: Object.fromEntries(contentTypes.map((type) => [type, { schema: { type: 'string' } }])),
  }
}

/** The limit as a sentence: `At most 10 requests a second for each key.` */
function limitText({ perSecond, by, secret }: RateLimit): string {
  const whose = by === 'address' ? "requester's address" : by
  const most = `At most ${perSecond} ${perSecond === 1 ? 'request' : 'requests'} a second for each ${whose}`
  return secret === undefined
    ? `${most}.`
    : `${most}; with a secret key, ${secret.perSecond} for each ${secret.by}.`
}

function tooManyRequests(limit: RateLimit): Json {
  return {
    description: `${ERROR_DESCRIPTIONS[429]} ${limitText(limit)} \`Retry-After\` says how many seconds to wait.`,
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
  }
}
