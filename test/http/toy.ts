/** A small server with toy routes, and two ways to call it: fetch, and bytes on a socket. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import Type from 'typebox'
import type { Test } from 'tap'
import { route, LATER, type Reply, type Route } from '../../src/http/route.ts'
import {
  CoordinatesText,
  Latitude,
  limitOf,
  Longitude,
  Name,
  parseCoordinates,
} from '../../src/http/schemas.ts'
import { createServer, type Server, type ServerOptions } from '../../src/http/server.ts'
import type { Credentials } from '../../src/http/credentials.ts'
import { ApiError } from '../../src/runtime/errors.ts'
import { ManualClock } from '../../src/runtime/clock.ts'

const KEYS: Readonly<Record<string, Credentials>> = {
  pk: { scope: 0, level: 'publishable', keyId: 'test-pk' },
  sk: { scope: 0, level: 'secret', keyId: 'test-sk' },
}

const Scalar = Type.Union([Type.String(), Type.Number(), Type.Boolean()])
const Item = Type.Object(
  { name: Name(8), weight: Type.Optional(Type.Number({ maximum: 5 })) },
  { title: 'Item' },
)

const TrackBody = Type.Object({
  deviceId: Name(256),
  latitude: Latitude,
  longitude: Longitude,
  accuracy: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
  foreground: Type.Optional(Type.Boolean()),
  deviceType: Type.Optional(Type.Union([Type.Literal('iOS'), Type.Literal('Android'), Type.Literal('Web')])),
  floor: Type.Optional(Type.Integer({ minimum: -10 })),
  share: Type.Optional(Type.Number({ minimum: 0, exclusiveMaximum: 1 })),
  metadata: Type.Optional(Type.Record(Type.String(), Scalar, { maxProperties: 4 })),
  items: Type.Optional(Type.Array(Item, { maxItems: 3 })),
  coordinates: Type.Optional(Type.Union([Type.Array(Type.Unknown()), Type.String()])),
  threshold: Type.Optional(Type.Union([Type.Number(), Type.Null()])),
  sdkVersion: Type.Optional(Type.String()),
})

/** What the toy routes have received and keep. */
export interface Toy {
  readonly server: Server
  readonly port: number
  readonly base: string
  readonly clock: ManualClock
  /** Open replies of `GET /pending`, which the test answers. */
  readonly pending: Reply[]
  readonly logged: { fields: Readonly<Record<string, unknown>>; message: string }[]
  readonly observed: { path: string | undefined; status: number }[]
  call(path: string, init?: RequestInit & { key?: string; json?: unknown }): Promise<ToyAnswer>
}

export interface ToyAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
  readonly body: any
}

function routes(pending: Reply[]): Route[] {
  const common = { summary: 'A toy', tag: 'Toys', answers: { 200: Type.Object({}) } } as const
  return [
    route({
      ...common,
      method: 'POST',
      path: '/v1/track',
      auth: 'publishable',
      body: TrackBody,
      handler: (call) => ({
        body: { got: call.body, ip: call.ip, fromSdk: call.fromSdk, at: call.receivedAt },
      }),
    }),
    route({
      ...common,
      method: 'PUT',
      path: '/v1/things/:tag/:externalId',
      auth: 'secret',
      params: Type.Object({ tag: Type.String(), externalId: Type.String({ maxLength: 10 }) }),
      body: Type.Object({ note: Type.Optional(Type.String()) }),
      handler: (call) => ({ body: { params: call.params, note: call.body.note } }),
    }),
    route({
      ...common,
      method: 'GET',
      path: '/v1/things/:id/users',
      auth: 'secret',
      handler: (call) => ({ body: { params: call.params } }),
    }),
    route({
      ...common,
      method: 'GET',
      path: '/v1/things/special',
      auth: 'none',
      handler: () => ({ body: { special: true } }),
    }),
    route({
      ...common,
      method: 'GET',
      path: '/v1/things/:id',
      auth: 'none',
      params: Type.Object({ id: Type.String() }),
      handler: (call) => ({ meta: { hasMore: false }, body: { id: call.params.id } }),
    }),
    route({
      ...common,
      method: 'GET',
      path: '/v1/search',
      auth: 'none',
      query: Type.Object({
        near: Type.Optional(CoordinatesText),
        radius: Type.Optional(Type.Number({ minimum: 100, maximum: 10_000 })),
        limit: limitOf(10, 100),
        includeGeometry: Type.Optional(Type.Boolean()),
        tags: Type.Optional(Type.String()),
        metadata: Type.Optional(Type.Record(Type.String(), Scalar)),
      }),
      handler(call) {
        const { near } = call.query
        return {
          body: { query: call.query, at: near === undefined ? undefined : parseCoordinates('near', near) },
        }
      },
    }),
    route({
      ...common,
      method: 'GET',
      path: '/v1/limited',
      auth: 'publishable',
      limit: { perSecond: 2, by: 'key' },
      query: Type.Object({ must: Type.String() }),
      handler: () => ({}),
    }),
    route({
      ...common,
      method: 'GET',
      path: '/v1/limited-by-address',
      auth: 'none',
      limit: { perSecond: 1, by: 'address' },
      handler: (call) => ({ body: { ip: call.ip } }),
    }),
    route({
      ...common,
      method: 'GET',
      path: '/v1/address',
      auth: 'none',
      handler: (call) => ({ body: { ip: call.ip } }),
    }),
    route({
      ...common,
      method: 'GET',
      path: '/v1/maps/:name.txt',
      auth: 'publishable',
      keyInQuery: true,
      isFree: true,
      params: Type.Object({ name: Type.String({ maxLength: 8 }) }),
      headers: ['host', 'x-forwarded-host'],
      handler: (call) => ({ body: { name: call.params.name, headers: call.headers } }),
    }),
    route({
      ...common,
      method: 'GET',
      path: '/fails',
      auth: 'publishable',
      handler: () => Promise.reject(new Error('secret detail')),
    }),
    route({
      ...common,
      method: 'GET',
      path: '/pending',
      auth: 'none',
      handler(_, reply) {
        pending.push(reply)
        return LATER
      },
    }),
    route({
      ...common,
      method: 'GET',
      path: '/outcome/:kind',
      auth: 'none',
      params: Type.Object({ kind: Type.String() }),
      handler(call, reply) {
        switch (call.params.kind) {
          case 'throws':
            throw new Error('secret detail')
          case 'rejects':
            return Promise.reject(new Error('secret detail'))
          case 'api-error':
            return Promise.reject(new ApiError(409, 'tag: Exists already.', { param: 'tag' }))
          case 'unavailable':
            throw new ApiError(503, 'There is no such engine.')
          case 'twice':
            reply.send({ body: { first: true } })
            reply.send({ body: { second: true } })
            reply.fail(new Error('after the answer'))
            return LATER
          case 'promise':
            return Promise.resolve({ json: '"a":1,"b":[]' })
          case 'no-json':
            return { body: { n: 1n } }
          case 'no-json-later':
            setImmediate(() => reply.send({ body: { n: 1n } }))
            return LATER
          case 'nothing':
            return undefined as never
          case 'accepted':
            return { status: 202, meta: { message: 'Later.' }, body: { a: 1 } }
          case 'large':
            return { body: { letters: 'äx'.repeat(2_000_000) } }
          default:
            return { text: { contentType: 'text/plain', content: 'plain' } }
        }
      },
    }),
    route({
      ...common,
      method: 'POST',
      path: '/v1/scanned',
      auth: 'none',
      body: Type.Object({ n: Type.Integer() }),
      handleBytes: (bytes) => (bytes.length === 1 ? { body: { n: bytes[0] } } : undefined),
      handler: (call) => ({ body: { n: call.body.n } }),
    }),
  ]
}

/** Starts the toy server, which is closed after the test. */
export async function toyServer(t: Test, options: Partial<ServerOptions> = {}): Promise<Toy> {
  const clock = new ManualClock()
  const pending: Reply[] = []
  const logged: Toy['logged'] = []
  const observed: Toy['observed'] = []
  const server = createServer({
    routes: routes(pending),
    authenticate: (key) => (Object.hasOwn(KEYS, key) ? KEYS[key] : undefined),
    trustedProxies: [],
    clock,
    logger: { error: (fields, message) => logged.push({ fields, message }) },
    observe: (of) => (status) => observed.push({ path: of?.path, status }),
    ...options,
  })
  const port = await server.listen('127.0.0.1', 0)
  t.teardown(() => server.close(0))
  const base = `http://127.0.0.1:${port}`
  return {
    server,
    port,
    base,
    clock,
    pending,
    logged,
    observed,
    async call(path, { key, json, ...init } = {}) {
      const headers = new Headers(init.headers)
      if (key !== undefined) headers.set('authorization', key)
      if (json !== undefined) headers.set('content-type', 'application/json')
      const body = json === undefined ? init.body : JSON.stringify(json)
      const method = init.method ?? (body === undefined || body === null ? 'GET' : 'POST')
      const answer = await fetch(base + path, {
        ...init,
        method,
        headers,
        ...(body === undefined ? {} : { body }),
      })
      const text = await answer.text()
      const isJson = answer.headers.get('content-type')?.includes('json') && text !== ''
      return {
        status: answer.status,
        headers: answer.headers,
        text,
        body: isJson ? JSON.parse(text) : undefined,
      }
    },
  }
}

/** The routes of the toy server, for tests of what is generated from a route table. */
export function toyRoutes(): Route[] {
  return routes([])
}

/** A connection that keeps all received bytes and can wait for more. */
export class RawConnection {
  received = ''
  closed = false
  readonly socket: Socket
  #wake: (() => void)[] = []

  private constructor(socket: Socket) {
    this.socket = socket
    socket.setEncoding('latin1')
    socket.on('data', (text: string) => {
      this.received += text
      this.#notify()
    })
    socket.on('close', () => {
      this.closed = true
      this.#notify()
    })
    // A reset is one way to close a connection.
    socket.on('error', () => undefined)
  }

  static async open(t: Test, port: number, from = '127.0.0.1'): Promise<RawConnection> {
    const socket = connect({ port, host: '127.0.0.1', localAddress: from })
    await once(socket, 'connect')
    t.teardown(() => socket.destroy())
    return new RawConnection(socket)
  }

  write(bytes: string | Uint8Array): this {
    this.socket.write(bytes)
    return this
  }

  /** Resolves when the condition holds. Rejects if the connection closes first. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      if (this.closed) throw new Error(`closed after ${JSON.stringify(this.received.slice(0, 500))}`)
      await new Promise<void>((resolve) => this.#wake.push(resolve))
    }
  }

  /** Resolves when that many answers have begun to arrive. */
  answers(count: number): Promise<void> {
    return this.until(() => this.received.split('HTTP/1.1 ').length > count)
  }

  /** Resolves when the server has closed. */
  end(): Promise<void> {
    return this.until(() => this.closed)
  }

  #notify(): void {
    for (const wake of this.#wake.splice(0)) wake()
  }
}

/** Waits, a turn of the event loop at a time, until the condition holds. */
export async function eventually(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 2))
}
