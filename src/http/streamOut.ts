import type { HttpResponse } from 'uWebSockets.js'
import type { AnswerStream } from './route.ts'

type Piece = string | Uint8Array

/** The most bytes that are written without a pause. Then other requests get a turn. */
const TURN_BYTES = 64 * 1024

/**
 * An answer that is written piece by piece as its reader takes it: a slow reader slows down its own producer and
 * nobody else, and at most one piece waits in memory, besides what the producer holds for the next ones.
 */
export class StreamOut {
  readonly #res: HttpResponse
  readonly #pieces: AsyncIterator<Piece>
  readonly #heldBytes: () => number
  readonly #filler: string | undefined
  readonly #onWaiting: (bytes: number) => void
  #next: IteratorResult<Piece> | undefined
  #wake: (() => void) | undefined
  #gone = false
  #sinceTurn = 0

  /**
   * A stream to a client.
   * @param onWaiting called with the number of bytes that wait for the reader; 0 if none wait any more
   */
  constructor(
    res: HttpResponse,
    { chunks, heldBytes = () => 0, filler }: Pick<AnswerStream, 'chunks' | 'heldBytes' | 'filler'>,
    onWaiting: (bytes: number) => void,
  ) {
    this.#res = res
    this.#pieces = chunks[Symbol.asyncIterator]()
    this.#heldBytes = heldBytes
    this.#filler = filler
    this.#onWaiting = onWaiting
  }

  /** Makes the first piece. Errors here can still be answered. */
  async prepare(): Promise<void> {
    this.#next = await this.#pieces.next()
  }

  /** Writes all pieces after the head, which was sent; returns early if the client disconnects. */
  async writeAll(): Promise<void> {
    this.#res.onWritable(() => {
      // This must not happen at once. A piece of more than 16 KB that is written from within this call, and does not
      // fit again, would get stuck (us_socket_write2 of uSockets does not note that it failed, so polling is stopped
      // after the call).
      if (this.#wake !== undefined) setImmediate(this.#wake)
      return true
    })
    for (let piece = this.#next; piece !== undefined && !piece.done; piece = await this.#pieces.next()) {
      if (!this.#gone) await this.#write(piece.value)
      if (this.#gone) return
    }
  }

  /** Ends the making of pieces and the waiting, because the client has disconnected. */
  abort(): void {
    this.#gone = true
    this.#wake?.()
    this.letGo()
  }

  /** Ends the making of pieces. Its errors do not matter any more. */
  letGo(): void {
    this.#pieces.return?.().catch(() => undefined)
  }

  /**
   * Writes the filler, if there is one. Returns whether nothing waits any more. uWebSockets.js only flushes waiting
   * bytes at the next write, and a stream that follows events may have none for a long time.
   */
  #fill(): boolean {
    if (this.#filler === undefined) return true
    let taken = true
    this.#res.cork(() => {
      taken = this.#res.write(this.#filler!)
    })
    return taken
  }

  async #write(piece: Piece): Promise<void> {
    // An empty piece would end the answer.
    if (piece.length === 0) return
    let taken = true
    this.#res.cork(() => {
      taken = this.#res.write(piece)
    })
    if (!taken) {
      this.#onWaiting(piece.length + this.#heldBytes())
      do {
        await new Promise<void>((resolve) => (this.#wake = resolve))
        this.#wake = undefined
      } while (!this.#gone && !this.#fill())
      this.#onWaiting(0)
      this.#sinceTurn = 0
      return
    }
    this.#sinceTurn += piece.length
    if (this.#sinceTurn < TURN_BYTES) return
    this.#sinceTurn = 0
    await new Promise((resolve) => setImmediate(resolve))
  }
}
