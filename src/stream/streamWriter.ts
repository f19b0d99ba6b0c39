import type { Encoded } from '../events/fanoutGroup.ts'
import type { Socket } from '../http/socket.ts'
import type { Share } from '../runtime/keyedBound.ts'
import type { ServerMessage } from './messages.ts'
import type { Codec } from './port.ts'

/** A client with more unread bytes than this is sent nothing more. A single message may be larger. */
const MAX_UNREAD_BYTES = 4 * 1024 * 1024
/** How long a client may take to read what was sent before the reason for the stream's end. */
const CLOSE_WAIT_MS = 10_000

/**
 * What a stream sends to its client, and how much of it the client has not read.
 *
 * Owns: the bytes that wait for the client, the close frame. Does not own: why the stream ends ({@link Connection}).
 */
export class StreamWriter {
  readonly #codec: Codec
  readonly #unread: Share
  readonly #refuseReader: () => void
  #socket: Socket | undefined
  /** Whether nothing more is sent. */
  #ended = false
  /** Whether the client has unread bytes. */
  #isBehind = false
  /** The close frame. It is sent once the client has read everything before it. */
  #closeFrame: { readonly code: number; readonly reason: string; readonly timer: NodeJS.Timeout } | undefined

  /**
   * Starts to write.
   * @param unread counts the bytes that the client has not read
   * @param refuseReader called to end the stream when the client reads too slowly to be sent more
   */
  constructor(socket: Socket, codec: Codec, unread: Share, refuseReader: () => void) {
    this.#socket = socket
    this.#codec = codec
    this.#unread = unread
    this.#refuseReader = refuseReader
  }

  /** How many bytes the client has not read. */
  get bufferedBytes(): number {
    return this.#isBehind ? (this.#socket?.getBufferedAmount() ?? 0) : 0
  }

  send(message: ServerMessage): void {
    if (!this.#maySend()) return
    this.#sendOne(this.#codec.encode(message))
    this.#countUnread()
  }

  /** Sends several messages at once. */
  sendEncoded(messages: readonly Encoded[]): void {
    if (!this.#maySend()) return
    if (messages.length === 1) this.#sendOne(messages[0]!)
    else
      this.#socket!.cork(() => {
        for (const message of messages) this.#sendOne(message)
      })
    this.#countUnread()
  }

  #sendOne(message: Encoded): void {
    if (this.#socket!.send(message, this.#codec.isBinary) === 0) this.#isBehind = true
  }

  #maySend(): boolean {
    if (this.#ended) return false
    if (!this.#isBehind || this.#socket!.getBufferedAmount() <= MAX_UNREAD_BYTES) return true
    this.#refuseReader()
    return false
  }

  /**
   * Counts the client's unread bytes. If all clients together, or those of one key, have too many, the connection is
   * cut.
   */
  #countUnread(): void {
    if (!this.#isBehind) return
    const unread = this.#unread
    const bytes = this.#socket!.getBufferedAmount() - unread.used
    if (bytes <= 0) unread.release(-bytes)
    else if (unread.tryAcquire(bytes) !== undefined) this.#socket!.close()
  }

  /** Counts what the library has written by itself, which waits for the client like everything else. */
  noteAnswer(): void {
    if (this.#socket === undefined || this.#socket.getBufferedAmount() === 0) return
    this.#isBehind = true
    if (this.#ended || this.#maySend()) this.#countUnread()
  }

  /** Cuts the connection. */
  cut(): void {
    this.#socket?.close()
  }

  /** The client has read some of what was waiting. Returns whether nothing is left, so that more may be sent. */
  drained(): boolean {
    const socket = this.#socket
    if (socket === undefined) return false
    if (this.#closeFrame !== undefined) {
      if (socket.getBufferedAmount() === 0) socket.end(this.#closeFrame.code, this.#closeFrame.reason)
      return false
    }
    this.#countUnread()
    if (this.#unread.used > 0) return false
    this.#isBehind = false
    return true
  }

  /** Stops sending, except for the close frame of {@link end}. */
  stop(): void {
    this.#ended = true
  }

  /**
   * Sends the close frame. uWebSockets.js keeps unread bytes, and the close frame after them, for as long as the
   * client does not read. So the socket is ended once they have been read, and cut if that takes too long.
   */
  end(code: number, reason: string): void {
    const socket = this.#socket!
    if (socket.getBufferedAmount() === 0) socket.end(code, reason)
    else this.#closeFrame = { code, reason, timer: setTimeout(() => socket.close(), CLOSE_WAIT_MS) }
  }

  /** The socket is closed. */
  closed(): void {
    clearTimeout(this.#closeFrame?.timer)
    this.#socket = undefined
    this.#unread.release(this.#unread.used)
  }
}
