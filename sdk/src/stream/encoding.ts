import type { ClientMessage, ServerMessage } from './messages.ts'

/** How messages go over the wire: one of the subprotocols that the server knows. */
export interface StreamEncoding {
  /** The name of the subprotocol, e.g. `ringfence.msgpack`. */
  readonly protocol: string
  encode(message: ClientMessage): string | Uint8Array
  /**
   * Reads a message.
   * @param data the text, or the bytes, of one message
   */
  // oxlint-disable-next-line typescript/no-explicit-any -- so that those of libraries fit as they are
  decode(data: any): ServerMessage
}

export const JSON_ENCODING: StreamEncoding = {
  protocol: 'ringfence.json',
  encode: JSON.stringify,
  decode: JSON.parse,
}
