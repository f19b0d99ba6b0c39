/** An error that the caller of the API is told about: its answer is `{meta: {code, param?, message, type?}}`. */
export class ApiError extends Error {
  /** HTTP status of the interface's table, or 405, 413, 415. */
  readonly code: number
  /** The offending parameter, when there is one. */
  readonly param: string | undefined
  /** Seconds for `Retry-After`, on 429 and 503. */
  readonly retryAfter: number | undefined
  /** On 429: the window that was exceeded, e.g. `second`. */
  readonly type: string | undefined

  constructor(
    code: number,
    message: string,
    detail: { param?: string; retryAfter?: number; type?: string; cause?: unknown } = {},
  ) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause })
    this.name = 'ApiError'
    this.code = code
    this.param = detail.param
    this.retryAfter = detail.retryAfter
    this.type = detail.type
  }
}

/** 400 for one parameter; the message reads `<param>: <sentence>`. */
export function badParam(param: string, sentence: string): ApiError {
  return new ApiError(400, `${param}: ${sentence}`, { param })
}

/** 400 for a number out of its range, in the words that clients know. */
export function outOfRange(param: string, low: number, high: number): ApiError {
  return badParam(param, `Invalid ${param}. Valid range: [${low}, ${high}].`)
}

export function notFound(what: string): ApiError {
  return new ApiError(404, `${what} not found.`)
}
