/** Why the server closes a stream: the code of the WebSocket's close frame. docs/guides/stream.md explains each. */
export const CLOSE = {
  /** The server shuts down; connect again, to the next one. */
  goingAway: 1001,
  /** Text came over an encoding that is binary. */
  unsupportedData: 1003,
  /** A message over the limit. */
  messageTooBig: 1009,
  /** Something failed in the server. */
  internalError: 1011,
  /** It is not known in time whether an update was applied; what is not acknowledged is to be sent again. */
  tryAgainLater: 1013,
  /** The key was rotated while it was in use. */
  unauthorized: 4401,
  /** The project was disabled, or has used up its quota. */
  paymentRequired: 4402,
  /** The client does not read what is sent; it can resume. */
  slowReader: 4408,
} as const
