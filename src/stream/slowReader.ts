import { CLOSE } from './closeCodes.ts'
import type { StreamConnection } from './port.ts'

/** How many milliseconds a client has to read what was sent. */
const GIVE_UP_MS = 60_000

/**
 * Limits how long a connection may leave a feature's messages unread. Nothing more is sent in the meantime, so a
 * stalled reader costs a few kilobytes, but it must not hold them forever.
 */
export class SlowReaderTimer {
  readonly #connection: StreamConnection
  readonly #milliseconds: number
  #timer: NodeJS.Timeout | undefined

  constructor(connection: StreamConnection, milliseconds = GIVE_UP_MS) {
    this.#connection = connection
    this.#milliseconds = milliseconds
  }

  /**
   * Whether the reader is behind. If so, nothing may be sent until it has read everything, and its time limit starts.
   */
  get isTried(): boolean {
    if (this.#connection.bufferedBytes === 0) return false
    this.#timer ??= setTimeout(() => {
      this.#connection.close(
        CLOSE.slowReader,
        'Too slow: the client does not read. Connect again and resume.',
      )
    }, this.#milliseconds)
    return true
  }

  /** Ends the time limit, because the reader has read everything or has disconnected. */
  restore(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }
}
