import { backoffMs } from '../backoff.ts'
import { ConnectionError, RingfenceError } from '../errors.ts'
import type { StreamEncoding } from './encoding.ts'
import type { Servers } from '../servers.ts'
import type { ClientMessage, ServerMessage } from './messages.ts'
import type { Socket } from './socket.ts'

/**
 * A connection that comes back. Whenever it is lost, it reconnects with exponential backoff and jitter, to each server
 * in turn. It gives up only if the server says that the key is not valid.
 *
 * Owns: the socket, its health, when and where to try again. Does not own: what is sent again (stream.ts).
 */

const BASE_MS = 200
const CAP_MS = 5000
/**
 * If a connection is silent for this long, the server is asked whether it is still there. If it is silent for as long
 * again, the connection is lost.
 */
const SILENCE_MS = 15_000

/**
 * Why the server closes a connection for good: the code of its close frame, and the HTTP status that it stands for.
 */
const FINAL_CODES: Readonly<Record<number, number>> = { 4401: 401, 4402: 402 }
const FINAL_STATUSES: ReadonlySet<number> = new Set([401, 402, 403])
/** The status with which a plain request is answered if nothing prevents a stream. */
const UPGRADE_REQUIRED = 426

export interface LinkParts {
  readonly encoding: StreamEncoding
  readonly servers: Servers
  /**
   * Opens a socket. Throws what `ask` rejects with if the server is asked first, and a TypeError if no socket can be
   * opened.
   */
  open(server: string, signal: AbortSignal): Socket | Promise<Socket>
  /**
   * Makes a plain request, and rejects with its answer, because WebSockets do not tell why a connection was refused.
   */
  ask(server: string, signal: AbortSignal): Promise<void>
  opened(): void
  received(message: ServerMessage): void
  lost(): void
  /** Called when the connection is lost or could not be opened. It will be tried again after a while. */
  waiting(reason: ConnectionError | RingfenceError): void
  /** Called when no further connection will be tried. */
  failed(error: unknown): void
}

export class Link {
  readonly #parts: LinkParts
  readonly #ended = new AbortController()
  #socket: Socket | undefined
  #isOpen = false
  /** Attempts since a message last arrived. */
  #attempt = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #isAsked = false

  constructor(parts: LinkParts) {
    this.#parts = parts
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  /** Whether it was closed or has failed. */
  get hasEnded(): boolean {
    return this.#ended.signal.aborted
  }

  connect(): void {
    void this.#connect()
  }

  async #connect(): Promise<void> {
    const { open, servers } = this.#parts
    let socket: Socket
    try {
      socket = await open(servers.url, this.#timeout())
    } catch (error) {
      if (error instanceof TypeError || isFinal(error)) this.#fail(error)
      else this.#connectLater(reasonOf(error))
      return
    }
    if (this.hasEnded) {
      socket.close(1000)
      return
    }
    this.#socket = socket
    socket.binaryType = 'arraybuffer'
    this.#listen(socket)
    this.#watchSilence()
  }

  /** Sends a message. It must only be called while the connection is open. */
  send(message: ClientMessage): void {
    this.#socket?.send(this.#parts.encoding.encode(message))
  }

  /** Closes the connection for good. */
  close(): void {
    this.#ended.abort()
    this.#drop()
  }

  #listen(socket: Socket): void {
    // A socket that was dropped may still report events, which are ignored.
    const on = <T>(type: 'open' | 'message' | 'close' | 'error', handle: (event: T) => void) =>
      socket.addEventListener(type, (event: T) => {
        if (socket === this.#socket) handle(event)
      })
    on('open', () => {
      this.#isOpen = true
      this.#watchSilence()
      this.#parts.opened()
    })
    on('message', ({ data }: { readonly data: string | ArrayBuffer }) => {
      this.#attempt = 0
      this.#isAsked = false
      this.#parts.received(
        this.#parts.encoding.decode(typeof data === 'string' ? data : new Uint8Array(data)),
      )
    })
    on('close', ({ code, reason }: { readonly code: number; readonly reason: string }) => {
      const status = FINAL_CODES[code]
      if (status !== undefined) this.#fail(new RingfenceError(status, reason))
      else
        this.#gone(new ConnectionError(`The connection was closed: ${code} ${reason}`.trimEnd(), undefined))
    })
    // Node 22 reports no close if it could not connect.
    on('error', (cause: unknown) => this.#gone(new ConnectionError('The connection failed.', cause)))
  }

  #gone(reason: ConnectionError): void {
    if (this.#drop()) this.#connectLater(reason)
    else void this.#connectUnlessRefused(reason)
  }

  async #connectUnlessRefused(reason: ConnectionError | RingfenceError): Promise<void> {
    const { servers } = this.#parts
    try {
      await this.#parts.ask(servers.url, this.#timeout())
    } catch (error) {
      if (isFinal(error)) {
        this.#fail(error)
        return
      }
      if (error instanceof ConnectionError) reason = error
      if (error instanceof RingfenceError && error.status !== UPGRADE_REQUIRED) reason = error
    }
    this.#connectLater(reason)
  }

  #connectLater(reason: ConnectionError | RingfenceError): void {
    if (this.#ended.signal.aborted) return
    const { servers } = this.#parts
    servers.failed(servers.url)
    this.#timer = setTimeout(() => this.connect(), backoffMs(this.#attempt++, BASE_MS, CAP_MS))
    this.#parts.waiting(reason)
  }

  /** A signal that is aborted when the server should have answered. */
  #timeout(): AbortSignal {
    return AbortSignal.any([this.#ended.signal, AbortSignal.timeout(SILENCE_MS)])
  }

  #watchSilence(): void {
    clearTimeout(this.#timer)
    this.#isAsked = false
    this.#timer = setInterval(() => {
      if (this.#isAsked || !this.#isOpen) {
        this.#drop()
        this.#connectLater(new ConnectionError('The server does not answer.', undefined))
        return
      }
      this.#isAsked = true
      this.send({ type: 'ping' })
    }, SILENCE_MS)
  }

  /** Gives up the socket. Returns whether it was open. */
  #drop(): boolean {
    clearTimeout(this.#timer)
    const wasOpen = this.#isOpen
    const socket = this.#socket
    this.#isOpen = false
    this.#socket = undefined
    socket?.close(1000)
    if (wasOpen) this.#parts.lost()
    return wasOpen
  }

  #fail(error: unknown): void {
    if (this.#ended.signal.aborted) return
    this.close()
    this.#parts.failed(error)
  }
}

function isFinal(error: unknown): boolean {
  return error instanceof RingfenceError && FINAL_STATUSES.has(error.status)
}

function reasonOf(error: unknown): ConnectionError | RingfenceError {
  if (error instanceof ConnectionError || error instanceof RingfenceError) return error
  return new ConnectionError('The server does not answer.', error)
}
