/** Why the server closes a stream: the code of the WebSocket's close frame. docs/guides/stream.md explains each. */
export const CLOSE = {
  /** The server shuts down. A new connection reaches the next server. */
  goingAway: 1001,
  /** A text frame came on a connection with a binary encoding. */
  unsupportedData: 1003,
  /** The client sent too many pings at once. */
  policyViolation: 1008,
  /** A message exceeded the limit. */
  messageTooBig: 1009,
  /** The server had an internal error. */
  internalError: 1011,
  /**
   * The server could not find out in time whether an update was applied. Everything that is not acknowledged must be
   * sent again.
   */
  tryAgainLater: 1013,
  /** The key was rotated while it was in use. */
  unauthorized: 4401,
  /** The project was disabled, or has used up its quota. */
  paymentRequired: 4402,
  /** The client does not read fast enough. It can resume. */
  slowReader: 4408,
} as const
