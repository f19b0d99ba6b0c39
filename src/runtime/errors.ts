/**
 * The largest length of a parameter's name and of a message. Either may repeat what was sent, such as a column's name
 * of a megabyte, and messages are stored and logged.
 */
const MAX_PARAM_LENGTH = 300
const MAX_MESSAGE_LENGTH = 2000

/**
 * An error that the caller of the API sees: its answer is `{meta: {code, param?, message, type?}}`. Names and
 * messages that are too long are cut.
 */
export class ApiError extends Error {
  /** The HTTP status: one of the interface's table, or 405, 413, 415, 426. */
  readonly code: number
  /** The offending parameter, if there is one. */
  readonly param: string | undefined
  /** The seconds of `Retry-After`, on 429 and 503. */
  readonly retryAfter: number | undefined
  /** On 429, the window that was exceeded, e.g. `second`. */
  readonly type: string | undefined

  constructor(
    code: number,
    message: string,
    detail: { param?: string; retryAfter?: number; type?: string; cause?: unknown } = {},
  ) {
    super(cut(message, MAX_MESSAGE_LENGTH), detail.cause === undefined ? undefined : { cause: detail.cause })
    this.name = 'ApiError'
    this.code = code
    this.param = detail.param && cut(detail.param, MAX_PARAM_LENGTH)
    this.retryAfter = detail.retryAfter
    this.type = detail.type
  }
}

/** An error 400 for one parameter. The message reads `<param>: <sentence>`. */
export function badParam(param: string, sentence: string, cause?: unknown): ApiError {
  return new ApiError(400, `${cut(param, MAX_PARAM_LENGTH)}: ${sentence}`, { param, cause })
}

/** An error 400 for a number out of its range, in the words that clients know. */
export function outOfRange(param: string, low: number, high: number): ApiError {
  return badParam(param, `Invalid ${param}. Valid range: [${low}, ${high}].`)
}

/** The beginning of a text that is too long, with a mark that something is missing. */
function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`
}

export function notFound(what: string): ApiError {
  return new ApiError(404, `${what} not found.`)
}

/** What the error codes of system calls mean for the person who named the file or the address. */
const SYSTEM_REASONS: Readonly<Record<string, string>> = {
  EACCES: 'this user may not',
  EAI_AGAIN: 'the host name cannot be resolved',
  ECONNREFUSED: 'connection refused; check that the server runs and listens there',
  ECONNRESET: 'the other side has ended the connection',
  EEXIST: 'a file is in its place',
  EHOSTUNREACH: 'the host cannot be reached',
  EISDIR: 'it is a folder',
  ENAMETOOLONG: 'the name is too long',
  ENETUNREACH: 'the network cannot be reached',
  ENOENT: 'there is no such file or folder',
  ENOSPC: 'the disk is full',
  ENOTFOUND: 'the host name cannot be resolved',
  ENOTDIR: 'a part of its path is not a folder',
  EPERM: 'the system does not allow it',
  EROFS: 'the file system is read-only',
  ETIMEDOUT: 'no answer in time',
}

/**
 * Why a system call failed, in words for the user who named the file or the address; other errors keep their own
 * message.
 */
export function systemReason(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return SYSTEM_REASONS[code ?? ''] ?? message ?? String(error)
}

/**
 * The last sentence of a command that has failed. For a failed system call on a file, it is the file and the reason;
 * other errors keep their message.
 */
export function failureSentence(error: unknown): string {
  const { code, message, path, address } = error as NodeJS.ErrnoException & { address?: string }
  const file = path ?? address
  return file !== undefined && SYSTEM_REASONS[code ?? ''] !== undefined
    ? `${file}: ${systemReason(error)}.`
    : (message ?? String(error))
}

/** The classes that JavaScript throws for programming errors. */
const OWN_FAULTS = [TypeError, RangeError, ReferenceError, SyntaxError] as const

/**
 * The fields of a log line about a failure that is tried again or tolerated: its reason as a sentence, or for a
 * programming error, the error with its stack.
 */
export function failureFields(error: unknown): { reason: string } | { err: unknown } {
  const isFault =
    !(error instanceof Error) ||
    (error as NodeJS.ErrnoException).code === 'ERR_ASSERTION' ||
    OWN_FAULTS.some((kind) => error instanceof kind)
  return isFault ? { err: error } : { reason: systemReason(error) }
}
