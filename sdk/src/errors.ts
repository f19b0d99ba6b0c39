/** What the server refused: an answer with a status other than 2xx, or an update of a stream. */
export class RingfenceError extends Error {
  /** The HTTP status of the answer. */
  readonly status: number
  /** The name of the parameter that is wrong, if the error is about one. */
  readonly param: string | undefined
  /** The window that was exceeded, e.g. `second`; only with status 429. */
  readonly type: string | undefined
  /** The seconds after which it may be tried again. */
  readonly retryAfter: number | undefined

  constructor(
    status: number,
    message: string,
    detail: {
      readonly param?: string | undefined
      readonly type?: string | undefined
      readonly retryAfter?: number | undefined
    } = {},
  ) {
    super(message)
    this.name = 'RingfenceError'
    this.status = status
    this.param = detail.param
    this.type = detail.type
    this.retryAfter = detail.retryAfter
  }
}

/** The server could not be reached, or the connection broke before it had answered; `cause` says how. */
export class ConnectionError extends Error {
  constructor(message: string, cause: unknown) {
    super(message, { cause })
    this.name = 'ConnectionError'
  }
}

/** The stream was closed by `close()`. */
export class StreamClosedError extends Error {
  constructor() {
    super('The stream is closed.')
    this.name = 'StreamClosedError'
  }
}

/** Too many updates wait to be acknowledged: `await stream.ready` before the next. */
export class StreamFullError extends Error {
  constructor() {
    super('Too many updates wait; await stream.ready before the next.')
    this.name = 'StreamFullError'
  }
}

/** The body of a webhook is not what its signature says, or is not signed at all. */
export class WebhookVerificationError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'WebhookVerificationError'
  }
}
