import { CLOSE } from './closeCodes.ts'
import type { StreamConnection } from './port.ts'

/** Milliseconds in which a client has to read what was sent. */
const PATIENCE_MS = 60_000

/**
 * How long one connection may leave unread what a feature has sent. Nothing more is sent meanwhile, so a reader that
 * stalls costs some kilobytes; but it must not hold them for ever.
 */
export class SlowReaderTimer {
  readonly #connection: StreamConnection
  readonly #milliseconds: number
  #timer: NodeJS.Timeout | undefined

  constructor(connection: StreamConnection, milliseconds = PATIENCE_MS) {
    this.#connection = connection
    this.#milliseconds = milliseconds
  }

  /** Whether the reader is behind: then nothing is to be sent until it has read, and it is given so long for that. */
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

  /** The reader has read all, or is gone. */
  restore(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }
}
