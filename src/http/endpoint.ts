import { ApiError, badParam } from '../runtime/errors.ts'
import { tooLarge } from './errors.ts'
import { checkText } from './cleanValue.ts'
import { decodeText, parseJsonObject } from './jsonBody.ts'
import { readForm } from './formValues.ts'
import { RateLimiter } from './rateLimit.ts'
import type { RateLimit, Route, UploadRule } from './route.ts'
import { Validator } from './validate.ts'

/**
 * Called once for each request of a route, with the status (499 if the client disconnected first) and the duration.
 */
export type RequestObserver = (status: number, milliseconds: number) => void

/** The format of a body. */
export type BodyFormat = 'json' | 'form'

const FORM = 'application/x-www-form-urlencoded'
const JSON_TYPE = 'application/json'

/** A route that is ready to serve: its schemas are compiled, its parameters' names listed, its limiter created. */
export class Endpoint {
  readonly route: Route
  readonly limiter: RateLimiter | undefined
  /** The limiter for requests with a secret key, if {@link RateLimit.secret} is different. */
  readonly secretLimiter: RateLimiter | undefined
  readonly observe: RequestObserver
  /** Whether the path has no parameters. */
  readonly isFixed: boolean
  readonly #paramNames: readonly string[]
  /** For each parameter, the text with which its segment must end. */
  readonly #endings: readonly string[]
  readonly #params: Validator | undefined
  readonly #query: Validator | undefined
  readonly #body: Validator | undefined

  constructor(route: Route, observe: RequestObserver) {
    this.route = route
    this.observe = observe
    const { limit } = route
    this.limiter = limiterOf(limit)
    this.secretLimiter = limit !== undefined && 'secret' in limit ? limiterOf(limit.secret) : this.limiter
    const params = [...route.path.matchAll(/\/:(\w+)([^/]*)/g)]
    this.#paramNames = params.map(([, name]) => name!)
    this.#endings = params.map(([, , ending]) => ending!)
    this.isFixed = this.#paramNames.length === 0
    this.#params = route.params === undefined ? undefined : new Validator(route.params)
    this.#query = route.query === undefined ? undefined : new Validator(route.query, true)
    if (route.body !== undefined && !('properties' in route.body)) {
      throw new Error(`The body schema of ${route.method} ${route.path} is not an object.`)
    }
    if (route.body !== undefined && route.upload !== undefined) {
      throw new Error(`${route.method} ${route.path} has both a body and an upload.`)
    }
    this.#body = route.body === undefined ? undefined : new Validator(route.body as never)
  }

  get takesBody(): boolean {
    return this.#body !== undefined
  }

  get takesQuery(): boolean {
    return this.#query !== undefined
  }

  /**
   * Reads the parameters of the path from the raw texts of its segments.
   * @throws {ApiError} 400 naming the parameter, 404 without its ending
   */
  readParams(segments: readonly string[]): Record<string, unknown> | undefined {
    if (this.isFixed) return undefined
    const params: Record<string, unknown> = {}
    for (let i = 0; i < this.#paramNames.length; i++) {
      const name = this.#paramNames[i]!
      const text = decodeSegment(segments[i]!, name, this.route.isUnescaped)
      const ending = this.#endings[i]!
      if (!text.endsWith(ending))
        throw new ApiError(404, `${name}: Must be followed by ${ending}.`, { param: name })
      params[name] = text.slice(0, text.length - ending.length)
    }
    this.#params?.check(params)
    return params
  }

  /**
   * Reads the query.
   * @throws {ApiError} 400 naming the parameter
   */
  readQuery(text: string): Record<string, unknown> | undefined {
    if (this.#query === undefined) return undefined
    const query = readForm(text, this.#query.properties, othersOf(this.#query))
    this.#query.check(query)
    return query
  }

  /**
   * Reads the body.
   * @param bytes the whole body, which is not kept
   * @throws {ApiError} 400 naming the parameter
   */
  readBody(bytes: Uint8Array, format: BodyFormat): Record<string, unknown> | undefined {
    const validator = this.#body
    if (validator === undefined) return undefined
    const text = decodeText(bytes)
    let body: Record<string, unknown>
    if (text === undefined) body = {}
    else if (format === 'json') body = parseJsonObject(text)
    else if (text.startsWith('{'))
      throw badParam('body', `This is JSON. Send it with Content-Type: ${JSON_TYPE}.`)
    else body = readForm(text.trimEnd(), validator.properties, othersOf(validator), validator.nullable)
    try {
      // In valid UTF-8, only an escape can produce a NUL or a lone surrogate.
      validator.check(body, format === 'form' || (text?.includes('\\u') ?? false))
    } catch (error) {
      if (text === undefined) throw badParam('body', 'Required.')
      throw error
    }
    return body
  }
}

/**
 * Checks whether an upload may come.
 * @throws {ApiError} 413, 415
 */
export function checkUpload(rule: UploadRule, contentType: string, contentLength: string): void {
  if (!rule.contentTypes.includes(mediaType(contentType))) {
    throw new ApiError(415, `Unsupported content type. Send ${rule.contentTypes.join(' or ')}.`)
  }
  if (Number(contentLength) > rule.maxBytes) throw tooLarge(rule.maxBytes)
}

/**
 * The format of a body according to its Content-Type. Without one, it is JSON.
 * @throws {ApiError} 415 for a type that the API does not read
 */
export function bodyFormat(contentType: string): BodyFormat {
  if (contentType === JSON_TYPE || contentType === '') return 'json'
  const type = mediaType(contentType)
  if (type === JSON_TYPE) return 'json'
  if (type === FORM) return 'form'
  throw new ApiError(415, `Unsupported content type. Send ${JSON_TYPE} or ${FORM}.`)
}

/** What happens to names in a form that are not in the schema. If they are refused, the check must see them. */
function othersOf({ isStrict }: Validator): 'keep' | 'drop' {
  return isStrict ? 'keep' : 'drop'
}

/** A Content-Type without its parameters. */
function mediaType(contentType: string): string {
  const semicolon = contentType.indexOf(';')
  return (semicolon < 0 ? contentType : contentType.slice(0, semicolon)).trim().toLowerCase()
}

function limiterOf(limit: RateLimit | undefined): RateLimiter | undefined {
  const isElsewhere = limit === undefined || limit.by === 'device' || limit.perSecond === Infinity
  return isElsewhere ? undefined : new RateLimiter(limit.perSecond)
}

/**
 * Decodes the escapes of a segment.
 * @param isLoose whether an invalid escape is a part of the text
 */
function decodeSegment(segment: string, name: string, isLoose = false): string {
  let text = segment
  if (segment.includes('%')) {
    try {
      text = decodeURIComponent(segment)
    } catch (cause) {
      if (!isLoose) throw new ApiError(400, `${name}: Invalid escape sequence.`, { param: name, cause })
    }
  }
  checkText(text, [name])
  return text
}
