/**
 * The OpenAPI document of a server as a contract: every answer must have a documented status and content type, match
 * the schema, and contain no member that the document does not name.
 *
 * A schema is compiled when its first answer arrives (answerChecks.ts). After that, a check takes time in proportion to the answer.
 */
import { AnswerChecks } from './answerChecks.ts'
import { documentOf } from './knownDocuments.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- documents and answers of every shape
export type Json = any

/** One operation of the document. */
export interface Operation {
  /** In upper case. */
  readonly method: string
  /** The path, such as `/v1/users/{id}`. */
  readonly path: string
  readonly definition: Json
}

/** The parts of an answer that are compared with the document. */
export interface CheckedAnswer {
  readonly status: number
  /** Parsed JSON, or a text. */
  readonly body: Json
  readonly headers: Headers
}

/** By the text of the document. */
const known = new Map<string, ApiContract>()

export class ApiContract {
  /** The operations without the WebSocket, which has its own tests. */
  readonly operations: readonly Operation[]
  readonly document: Json
  readonly #all: readonly Operation[]
  readonly #checks: AnswerChecks
  readonly #shapes = new WeakMap<object, Shape>()

  /** @param text the document in JSON */
  constructor(text: string) {
    const document = JSON.parse(text)
    this.document = document
    this.#checks = new AnswerChecks(document, text)
    this.#all = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries<Json>(methods as Json).map(([method, definition]) => ({
        method: method.toUpperCase(),
        path,
        definition,
      })),
    )
    this.operations = this.#all.filter(({ definition }) => definition.responses[101] === undefined)
  }

  /**
   * The contract of the server at an address; undefined if the server has no document, like a process without clients.
   * Servers with the same document share one, so that each schema is compiled once for all of them.
   * @param settings all on which the document of the server depends; if absent, the server is always asked
   */
  static async of(
    url: string,
    request: RequestInit = {},
    settings?: object,
  ): Promise<ApiContract | undefined> {
    const ask = () => documentText(url, request)
    const text = await (settings === undefined ? ask() : documentOf(settings, ask))
    if (text === undefined) return undefined
    let contract = known.get(text)
    if (contract === undefined) known.set(text, (contract = new ApiContract(text)))
    return contract
  }

  /**
   * Compares an answer with the document.
   * @throws Error naming the first difference
   */
  check(method: string, path: string, answer: CheckedAnswer): void {
    const { status, headers } = answer
    const where = `${method} ${path.slice(0, 200)} → ${status}`
    const operations = this.#operationsOf(method, path)
    // The pages below /docs are not part of the interface.
    if (operations.length === 0 && !/^\/(?:api\/)?v1\//.test(path)) return
    if (!headers.get('x-radar-request-id')) throw new Error(`${where}: no request id`)
    if (headers.get('access-control-allow-origin') !== '*') throw new Error(`${where}: no CORS header`)
    if (method === 'HEAD' || method === 'OPTIONS') return
    if (operations.length === 0) {
      if (status !== 404 && status !== 405) throw new Error(`${where}: for a route that is not documented`)
      return checkMeta(answer, where)
    }
    // A path such as /v1/beacons/x/users belongs to two operations. The answer must fit either of them.
    let failure: unknown
    for (const operation of operations) {
      try {
        return this.#checkAnswer(operation, answer, where)
      } catch (error) {
        failure ??= error
      }
    }
    throw failure
  }

  #checkAnswer(operation: Operation, answer: CheckedAnswer, where: string): void {
    const { status, body, headers } = answer
    const response = operation.definition.responses[status]
    if (response === undefined) throw new Error(`${where}: this status is not documented`)
    const { content } = this.resolve(response)
    if (content === undefined) {
      if (body !== '') throw new Error(`${where}: its body is not documented`)
      return
    }
    const type = (headers.get('content-type') ?? '').split(';')[0]!
    if (content[type] === undefined) throw new Error(`${where}: ${type} is not documented`)
    if (!/[/+]json$/.test(type)) return
    const value = typeof body === 'string' ? JSON.parse(body) : body
    this.#checkValue(operation, status, type, value, where)
    // Some answers are separate documents, such as the style of a map.
    if (status >= 400 || value.meta !== undefined) checkMeta(answer, where)
  }

  #checkValue(
    { path, method, definition }: Operation,
    status: number,
    type: string,
    value: Json,
    where: string,
  ) {
    const response = definition.responses[status]
    const pointer =
      response.$ref ?? pointerTo('paths', path, method.toLowerCase(), 'responses', String(status))
    const check = this.#checks.of(pointer + pointerTo('content', type, 'schema').slice(1))
    if (!check(value)) {
      const [first] = check.errors!
      throw new Error(
        `${where}: ${first!.instancePath || 'the body'} ${first!.message} in ${JSON.stringify(value).slice(0, 2000)}`,
      )
    }
    if (path === '/v1/openapi.json') return
    const extra = this.#undocumented(
      this.resolve(definition.responses[status]).content[type].schema,
      value,
      '',
    )
    if (extra !== undefined) throw new Error(`${where}: ${extra} is not documented`)
  }

  /** The operation for a path. A fixed segment takes precedence over a parameter. */
  operationOf(method: string, path: string): Operation | undefined {
    return this.#operationsOf(method, path)[0]
  }

  #operationsOf(method: string, path: string): Operation[] {
    const segments = path
      .split('?')[0]!
      .replace(/^\/api(?=\/v1\/)/, '')
      .split('/')
    const fits = this.#all.filter((one) => {
      if (one.method !== method) return false
      const template = one.path.split('/')
      const rest = segments.length - template.length
      if (rest === 0) return template.every((part, i) => isFilled(part, segments[i]!))
      // The only parameter of the path contains slashes.
      if (rest < 0 || one.definition['x-ringfence-unescaped'] === undefined) return false
      const at = template.findIndex((part) => part.startsWith('{'))
      const short = [
        ...segments.slice(0, at),
        segments.slice(at, at + rest + 1).join('/'),
        ...segments.slice(at + rest + 1),
      ]
      return template.every((part, i) => isFilled(part, short[i]!))
    })
    const parameters = (one: Operation) => one.path.split('{').length
    return fits.sort((a, b) => parameters(a) - parameters(b))
  }

  /** Replaces a reference by its target. Anything else is returned as it is. */
  resolve(schema: Json): Json {
    if (schema.$ref === undefined) return schema
    return schema.$ref
      .slice(2)
      .split('/')
      .reduce((node: Json, key: string) => node[key], this.document)
  }

  /** The path of a member that no schema names. Objects without named members may have any members. */
  #undocumented(schema: Json, value: unknown, path: string): string | undefined {
    if (typeof value !== 'object' || value === null) return undefined
    const { items, properties, isOpen } = this.#shapeOf(schema)
    if (Array.isArray(value)) {
      if (items === undefined) return undefined
      for (const [i, item] of value.entries()) {
        const extra = this.#undocumented(items, item, `${path}[${i}]`)
        if (extra !== undefined) return extra
      }
      return undefined
    }
    if (isOpen) return undefined
    for (const [name, member] of Object.entries(value)) {
      const extra = Object.hasOwn(properties, name)
        ? this.#undocumented(properties[name], member, `${path}.${name}`)
        : `${path}.${name}`
      if (extra !== undefined) return extra
    }
    return undefined
  }

  #shapeOf(schema: Json): Shape {
    let shape = this.#shapes.get(schema)
    if (shape === undefined) {
      const parts = this.#parts(schema)
      const properties = Object.assign({}, ...parts.map((part) => part.properties ?? {}))
      shape = {
        items: parts.find((part) => part.items !== undefined)?.items,
        properties,
        isOpen:
          Object.keys(properties).length === 0 ||
          parts.some(
            (part) => part.patternProperties !== undefined || part.additionalProperties !== undefined,
          ),
      }
      this.#shapes.set(schema, shape)
    }
    return shape
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

async function documentText(url: string, request: RequestInit): Promise<string | undefined> {
  const answer = await fetch(`${url}/v1/openapi.json`, request)
  const text = await answer.text()
  if (answer.status === 404) return undefined
  if (answer.status !== 200) throw new Error(`GET ${url}/v1/openapi.json → ${answer.status}: ${text}`)
  return text
}

function isFilled(part: string, segment: string): boolean {
  return part.startsWith('{') ? segment !== '' : part === segment
}

function checkMeta({ status, body }: CheckedAnswer, where: string): void {
  if (body?.meta?.code !== status) throw new Error(`${where}: meta.code is ${body?.meta?.code}`)
  if (status >= 400 && typeof body.meta.message !== 'string') throw new Error(`${where}: no meta.message`)
}

/** The members that a schema names, with those of the schemas that it is composed of. */
interface Shape {
  readonly items: Json
  readonly properties: Record<string, Json>
  readonly isOpen: boolean
}

/** A pointer as a fragment of a URI: `#/paths/~1v1~1track`. */
function pointerTo(...keys: readonly string[]): string {
  const escaped = keys.map((key) => encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1')))
  return `#/${escaped.join('/')}`
}
