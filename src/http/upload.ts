import { Readable } from 'node:stream'
import type { HttpResponse } from 'uWebSockets.js'
import { ApiError } from '../runtime/errors.ts'
import { tooLarge } from './errors.ts'

/** How many bytes the stream holds before it asks the socket to wait. */
const HIGH_WATER_BYTES = 64 * 1024

/**
 * The most that waits for the reader here. Usually it is what one turn of the socket reads; but a client on the same
 * machine may send as fast as uWebSockets.js reads, and then that does not end its turn, whatever it is asked.
 */
const MOST_WAITING_BYTES = 256 * 1024 * 1024

/** What one upload may cost in memory: the above, and the 512 KB that uWebSockets.js reads at a time. */
export const UPLOAD_MEMORY_BYTES = 1024 * 1024

/**
 * A request's body on its way in, of any size: read from the socket no faster than it is read here.
 *
 * Why not collect it as JSON bodies are: a file of 100,000 rows is tens of megabytes, and its first bad row can be told
 * after the first packet. While the socket waits for the reader, uWebSockets.js suspends its time limits.
 *
 * It ends in one of three ways: the body is whole; the reader stops (destroy); or an {@link ApiError} is thrown at the
 * reader, because the body is too large, the client has gone or the server shuts down.
 */
export class Upload extends Readable {
  readonly #res: HttpResponse
  readonly #maxBytes: number
  #received = 0
  /** The time of `performance.now()` since which the socket has been asked to wait. */
  #waitingSince: number | undefined
  #waitedMs = 0
  #isWhole = false
  /** Whether `res` must not be touched any more. */
  #detached = false

  constructor(res: HttpResponse, maxBytes: number) {
    super({ highWaterMark: HIGH_WATER_BYTES })
    this.#res = res
    this.#maxBytes = maxBytes
    // Without a listener the error of an upload that nobody reads would end the process.
    this.on('error', () => undefined)
  }

  /** How many bytes have arrived so far. */
  get received(): number {
    return this.#received
  }

  /** Whether the socket waits for the reader. */
  get isWaiting(): boolean {
    return this.#waitingSince !== undefined
  }

  /** How long the socket has waited so far, in milliseconds. */
  get waitedMs(): number {
    return this.#waitedMs
  }

  /**
   * Receives a piece.
   * @param chunk the socket's memory, which is copied
   */
  receive(chunk: ArrayBuffer, isLast: boolean): void {
    if (this.#isWhole || this.#detached || this.destroyed) return
    this.#received += chunk.byteLength
    if (this.#received > this.#maxBytes) {
      this.destroy(tooLarge(this.#maxBytes))
      return
    }
    if (this.readableLength > MOST_WAITING_BYTES) {
      this.destroy(
        new ApiError(503, 'The body came faster than it can be stored. Send it more slowly.', {
          retryAfter: 1,
        }),
      )
      return
    }
    const wantsMore = chunk.byteLength === 0 || this.push(Buffer.from(new Uint8Array(chunk)))
    if (isLast) {
      this.#isWhole = true
      this.push(null)
    } else if (!wantsMore) {
      // The socket is paused again for each piece, because it keeps reading until the end of its turn. Each piece also
      // restarts the time limit, which would otherwise end an upload whose reader is busy for longer.
      this.#waitingSince ??= performance.now()
      this.#res.pause()
    }
  }

  /**
   * Gives out a piece. Without a size, a reader that waits for pieces would get all that is here as one, and a client on the
   * same machine may have sent a hundred megabytes: to copy them takes longer than to read them.
   */
  override read(size?: number): Buffer | null {
    return super.read(
      size ?? (this.readableLength > HIGH_WATER_BYTES ? HIGH_WATER_BYTES : undefined),
    ) as Buffer | null
  }

  override _read(): void {
    if (!this.#isWhole) this.#resume()
  }

  /**
   * Bytes that the reader does not take are still read from the socket and dropped, because otherwise the next request
   * would never arrive.
   */
  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    if (!this.#isWhole) this.#resume()
    callback(error)
  }

  /**
   * Ends the use of `res`, because the request is answered or its client is gone. A socket that was asked to wait when
   * the last piece came waits until now: resuming it starts its time limit, which would cut off a handler that takes
   * longer.
   */
  detach(error?: ApiError): void {
    if (error === undefined) this.#resume()
    this.#detached = true
    this.destroy(error)
  }

  #resume(): void {
    if (this.#waitingSince === undefined || this.#detached) return
    this.#waitedMs += performance.now() - this.#waitingSince
    this.#waitingSince = undefined
    this.#res.resume()
  }
}
