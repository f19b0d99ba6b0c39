/** A source cannot be taken. The message is for people, and reveals no secret. */
export class SourceFailed extends Error {
  override readonly name = 'SourceFailed'
  /** A word for programs. */
  readonly code: string
  readonly httpStatus: number | undefined
  /** Whether another attempt may succeed after a while. */
  readonly isPassing: boolean
  /** When the server wants to be asked again. */
  readonly retryAfterMs: number | undefined

  constructor(
    code: string,
    message: string,
    detail: { httpStatus?: number; isPassing?: boolean; retryAfterMs?: number; cause?: unknown } = {},
  ) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause })
    this.code = code
    this.httpStatus = detail.httpStatus
    this.isPassing = detail.isPassing ?? false
    this.retryAfterMs = detail.retryAfterMs
  }
}
