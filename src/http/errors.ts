import { ApiError } from '../runtime/errors.ts'

/** An error's form in an answer. */
export interface ErrorAnswer {
  readonly status: number
  readonly json: string
  /** In seconds. */
  readonly retryAfter: number | undefined
}

/** The default of Retry-After. What is missing appears after another start, not within a second. */
const RETRY_SECONDS = 60

/**
 * The answer to an error: `{meta: {code, param?, message, type?}}`. For anything except an ApiError, it only says that
 * there was an error.
 */
export function errorAnswer(error: unknown): ErrorAnswer {
  if (!(error instanceof ApiError)) {
    return {
      status: 500,
      json: '{"meta":{"code":500,"message":"Internal server error."}}',
      retryAfter: undefined,
    }
  }
  const { code, param, message, type } = error
  return {
    status: code,
    json: JSON.stringify({ meta: { code, param, message, type } }),
    retryAfter: error.retryAfter ?? (code === 429 || code === 503 ? RETRY_SECONDS : undefined),
  }
}

/** The error 413 for a body with more bytes than that. */
export function tooLarge(maxBytes: number): ApiError {
  return new ApiError(413, `The body must be at most ${maxBytes} bytes.`)
}

/** The error 400 for a body in very many pieces, with the least average of their sizes. */
export function tooManyPieces(bytes: number): ApiError {
  return new ApiError(
    400,
    `The body comes in too many small pieces. Send at least ${bytes} bytes in each on average.`,
  )
}

/** The error 503 for a body in many pieces, if others that are in many, too, come at the same time. */
export function tooManyPiecesAtOnce(): ApiError {
  return new ApiError(
    503,
    'Too many small pieces of bodies come at once. Send the body again, in larger pieces.',
    {
      retryAfter: 1,
    },
  )
}

/** The error 503 of a process that accepts no more requests. Another process, or the next one, will. */
export function shuttingDown(): ApiError {
  return new ApiError(503, 'Shutting down.', { retryAfter: 1 })
}

/** The text of every status that the API uses. */
const REASONS: Readonly<Record<number, string>> = {
  200: 'OK',
  202: 'Accepted',
  204: 'No Content',
  302: 'Found',
  304: 'Not Modified',
  400: 'Bad Request',
  401: 'Unauthorized',
  402: 'Payment Required',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  426: 'Upgrade Required',
  429: 'Too Many Requests',
  451: 'Unavailable For Legal Reasons',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
}

/** The status with its text, as in a status line: `200 OK`. */
export function statusLine(status: number): string {
  return `${status} ${REASONS[status] ?? 'Unknown'}`
}
