import type { Credentials } from './credentials.ts'

/**
 * One open WebSocket as seen by its handler: a part of uWebSockets.js's interface. None of it may be called after
 * {@link SocketReceiver.closed}.
 */
export interface Socket {
  /**
   * Sends a message.
   * @returns 1 if it was sent, 0 if it waits for a slow reader, 2 if it was dropped
   */
  send(message: string | Uint8Array, isBinary?: boolean): number
  /** How many bytes wait for the reader. */
  getBufferedAmount(): number
  /**
   * Sends a close frame after the waiting bytes, and closes. {@link SocketReceiver.closed} is called before it
   * returns.
   */
  end(code: number, reason: string): void
  /** Cuts the connection. {@link SocketReceiver.closed} is called before it returns. */
  close(): void
  /** Combines everything that is sent during the call into one write. */
  cork(send: () => void): unknown
}

/** The upgrade request, once it has been admitted. */
export interface SocketRequest {
  readonly credentials: Credentials
  readonly ip: string
  /** Whether the request carries an SDK's version. */
  readonly fromSdk: boolean
  /** One of {@link SocketHandler.protocols}. */
  readonly protocol: string
  /** Maximum bytes of a message: one of {@link SocketHandler.messageBytes}. */
  readonly messageBytes: number
}

/** Serves one WebSocket. */
export interface SocketReceiver {
  /**
   * Called with each message.
   * @param bytes one complete message, valid only during the call
   */
  message(bytes: Uint8Array, isBinary: boolean): void
  /** Called with each ping of the client, after it has been answered. */
  pinged(): void
  /** Called when the client has read some or all of the waiting bytes. */
  drained(): void
  /**
   * Called when the connection has ended.
   * @param code the code of the close frame; 1006 if there was none
   */
  closed(code: number): void
}

/** Serves the WebSockets of one path. */
export interface SocketHandler {
  readonly path: string
  /** The subprotocols. A client that names none gets the first one. */
  readonly protocols: readonly [string, ...string[]]
  /** The most bytes of a message of a usual connection, and of a small one. */
  readonly messageBytes: { readonly usual: number; readonly small: number }
  /**
   * A message that exceeds its limit by at most this many bytes still reaches the receiver, which can tell the client
   * why it is refused. A longer one cuts the connection.
   */
  readonly excessBytes: number
  /** Seconds without a sign of life, pings included, after which the connection is closed; 8 to 960. */
  readonly idleSeconds: number
  /**
   * Decides whether one more may be opened, and for messages of which size. If so, {@link open} follows at once.
   * @param keyName the name under which the caller is counted
   * @throws {ApiError} the answer to the upgrade request
   */
  admit(keyName: string): 'usual' | 'small'
  open(socket: Socket, request: SocketRequest): SocketReceiver
}
