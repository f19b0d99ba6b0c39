/**
 * Checks a server against its own OpenAPI document. Every answer in a test must match the schema for its route and
 * status, and must not contain fields that the document does not name.
 */
import type { Test } from 'tap'
import { Compile } from 'typebox/schema'
import { KEYS, startServer, type HttpAnswer, type Server, type ServerOptions } from '../kit/server.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- documents and answers of every shape
export type Json = any

/** One operation of the document. */
export interface Operation {
  /** Upper case. */
  readonly method: string
  /** `/v1/users/{id}`. */
  readonly path: string
  readonly definition: Json
}

/** A server whose answers are checked against its document. */
export class Api {
  readonly server: Server
  readonly operations: readonly Operation[]
  readonly #document: Json
  readonly #checks = new Map<string, { Check(value: unknown): boolean; Errors(value: unknown): Json }>()

  constructor(server: Server, document: Json) {
    this.server = server
    this.#document = document
    this.operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries<Json>(methods as Json)
        // Without the WebSocket, which has its own tests.
        .filter(([, definition]) => definition.responses[101] === undefined)
        .map(([method, definition]) => ({ method: method.toUpperCase(), path, definition })),
    )
  }

  /** The operations that need no session of a person; the others are tested in test/accounts. */
  get withoutPeople(): Operation[] {
    return this.operations.filter(({ definition }) => !definition.tags.includes('People'))
  }

  /**
   * Sends a request like {@link Server.api}.
   * @throws Error if the answer does not match the document
   */
  call = async (...request: Parameters<Server['api']>): Promise<HttpAnswer> => {
    const answer = await this.server.api(...request)
    this.check(request[0], request[1], answer)
    return answer
  }

  /** POST /v1/track with the test publishable key. Throws unless the answer is 200; resolves to events and user. */
  async track(
    update: Json,
    key: string = KEYS.testPublishable,
    headers: Record<string, string> = {},
  ): Promise<Json> {
    return this.#good('POST', '/v1/track', update, key, headers)
  }

  /** PUT of a circle by its pair. Throws unless the answer is 200; resolves to the geofence. */
  async circle(
    pair: string,
    [longitude, latitude]: readonly [number, number],
    radius: number,
    more: Json = {},
    key: string = KEYS.testSecret,
  ): Promise<Json> {
    const body = { description: pair, type: 'circle', coordinates: [longitude, latitude], radius, ...more }
    return (await this.#good('PUT', `/v1/geofences/${pair}`, body, key)).geofence
  }

  /** PATCH of the test environment's settings. Throws unless the answer is 200. */
  async settings(change: Json): Promise<Json> {
    return (await this.#good('PATCH', '/v1/settings', change, KEYS.testSecret)).settings
  }

  /** A request that must succeed. Resolves to the body. */
  async #good(method: string, path: string, body: Json, key: string, headers = {}): Promise<Json> {
    const answer = await this.call(method, path, body, key, headers)
    if (answer.status !== 200) throw new Error(`${method} ${path} → ${JSON.stringify(answer.body)}`)
    return answer.body
  }

  /** @throws Error naming the first difference between an answer and the document */
  check(method: string, path: string, answer: HttpAnswer): void {
    const { status, body, headers } = answer
    const where = `${method} ${path.slice(0, 200)} → ${status}`
    if (!headers.get('x-radar-request-id')) throw new Error(`${where}: no request id`)
    if (headers.get('access-control-allow-origin') !== '*') throw new Error(`${where}: no CORS header`)
    if (method === 'HEAD') return
    const operation = this.operationOf(method, path)
    if (operation === undefined) {
      if (status !== 404 && status !== 405) throw new Error(`${where}: for a route that is not documented`)
    } else {
      const response = operation.definition.responses[status]
      if (response === undefined) throw new Error(`${where}: this status is not documented`)
      const { content } = this.resolve(response)
      const type = (headers.get('content-type') ?? '').split(';')[0]!
      if (content[type] === undefined) throw new Error(`${where}: ${type} is not documented`)
      if (!/[/+]json$/.test(type)) return
      const { schema } = content[type]
      const check = this.#checkOf(`${operation.method} ${operation.path} ${status} ${type}`, schema)
      const value = typeof body === 'string' ? JSON.parse(body) : body
      if (!check.Check(value))
        throw new Error(
          `${where}: ${JSON.stringify(check.Errors(value)[1])} in ${JSON.stringify(value).slice(0, 2000)}`,
        )
      const extra = this.#undocumented(schema, value, '')
      if (extra !== undefined && operation.path !== '/v1/openapi.json')
        throw new Error(`${where}: ${extra} is not documented`)
      if (operation.path === '/v1/openapi.json' || type !== 'application/json') return
    }
    if (body?.meta?.code !== status) throw new Error(`${where}: meta.code is ${body?.meta?.code}`)
    if (status >= 400 && typeof body.meta.message !== 'string') throw new Error(`${where}: no meta.message`)
  }

  /** The operation for a path. A fixed segment takes precedence over a parameter. */
  operationOf(method: string, path: string): Operation | undefined {
    const segments = path
      .split('?')[0]!
      .replace(/^\/api(?=\/v1\/)/, '')
      .split('/')
    const fits = this.operations.filter((one) => {
      const template = one.path.split('/')
      return (
        one.method === method &&
        template.length === segments.length &&
        template.every((part, i) => (part.startsWith('{') ? segments[i] !== '' : part === segments[i]))
      )
    })
    const parameters = (one: Operation) => one.path.split('{').length
    return fits.sort((a, b) => parameters(a) - parameters(b))[0]
  }

  #checkOf(name: string, schema: Json) {
    let check = this.#checks.get(name)
    if (check === undefined) {
      // References start at the root, so the components must be included.
      check = Compile({ ...schema, components: this.#document.components })
      this.#checks.set(name, check)
    }
    return check
  }

  /** Replaces a reference by its target. Anything else is returned as it is. */
  resolve(schema: Json): Json {
    if (schema.$ref === undefined) return schema
    return schema.$ref
      .slice(2)
      .split('/')
      .reduce((node: Json, key: string) => node[key], this.#document)
  }

  /** The path of a member that no schema names. Objects without named members may have any members. */
  #undocumented(schema: Json, value: unknown, path: string): string | undefined {
    const parts = this.#parts(schema)
    if (Array.isArray(value)) {
      const items = parts.find((part) => part.items !== undefined)?.items
      if (items === undefined) return undefined
      for (const [i, item] of value.entries()) {
        const extra = this.#undocumented(items, item, `${path}[${i}]`)
        if (extra !== undefined) return extra
      }
      return undefined
    }
    if (typeof value !== 'object' || value === null) return undefined
    const properties = Object.assign({}, ...parts.map((part) => part.properties ?? {}))
    const isOpen =
      Object.keys(properties).length === 0 ||
      parts.some((part) => part.patternProperties !== undefined || part.additionalProperties !== undefined)
    if (isOpen) return undefined
    for (const [name, member] of Object.entries(value)) {
      const extra = Object.hasOwn(properties, name)
        ? this.#undocumented(properties[name], member, `${path}.${name}`)
        : `${path}.${name}`
      if (extra !== undefined) return extra
    }
    return undefined
  }

  /** A schema and all schemas that it is composed of. */
  #parts(schema: Json): Json[] {
    const here = this.resolve(schema)
    return [
      here,
      ...[...(here.allOf ?? []), ...(here.anyOf ?? [])].flatMap((part: Json) => this.#parts(part)),
    ]
  }
}

/** The latitude that many metres further north, accurate to a thousandth near 50° N. */
export function north(latitude: number, meters: number): number {
  return latitude + meters / 111_229
}

/** `entered shop/1 3`, `dwelled …`: type, pair and confidence of events, in order. */
export function briefly(events: readonly Json[]): string[] {
  return events.map(
    ({ type, geofence, confidence }) =>
      `${type.slice('user.'.length).split('_')[0]} ${geofence.tag}/${geofence.externalId} ${confidence}`,
  )
}

/** Starts a server, with its document, that is stopped when the test ends. */
export async function startApi(t: Test, options?: ServerOptions): Promise<Api> {
  const server = await startServer(t, options)
  const { body } = await server.api('GET', '/v1/openapi.json', undefined, null)
  return new Api(server, body)
}

/** Epoch milliseconds in the interface's format. */
export const iso = (time: number) => new Date(time).toISOString()

/** A separate place and device for each test, far from all others of this file. */
export function createOwn() {
  let places = 0
  let devices = 0
  return {
    place: (): [number, number] => [places++ - 150, 50],
    device: () => `device-${++devices}`,
  }
}

/** The location of an update with an accuracy of 5 metres, the given number of metres north of the place. */
export const at = ([longitude, latitude]: readonly [number, number], metersNorth = 0) => ({
  latitude: north(latitude, metersNorth),
  longitude,
  accuracy: 5,
})
