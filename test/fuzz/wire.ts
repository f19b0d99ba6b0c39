/** A small HTTP/1.1 client that sends exactly the given bytes, because other clients refuse to send invalid ones. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'

export interface WireAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** The server closed the connection before its answer was complete. */
export class Closed extends Error {
  override name = 'Closed'
}

/** One connection, for a series of exchanges or for sending any other bytes. */
export class Connection {
  readonly socket: Socket
  closed = false
  /** Whether an answer has come over it. From then on the server may close it at any time. */
  used = false
  #pieces: Buffer[] = []
  #wake: (() => void) | undefined

  private constructor(socket: Socket) {
    this.socket = socket
    socket.setNoDelay(true)
    socket.on('data', (piece: Buffer) => {
      this.#pieces.push(piece)
      this.#wake?.()
    })
    const end = () => {
      this.closed = true
      this.#wake?.()
    }
    socket.on('end', end)
    socket.on('close', end)
    // A reset is one way to close a connection.
    socket.on('error', () => undefined)
  }

  /** @throws Closed if nobody listens */
  static async open(port: number): Promise<Connection> {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    try {
      await once(socket, 'connect')
    } catch (error) {
      throw new Closed(`cannot connect: ${(error as Error).message}`, { cause: error })
    }
    return new Connection(socket)
  }

  /** All received bytes that {@link answer} has not taken. */
  get received(): Buffer {
    if (this.#pieces.length > 1) this.#pieces = [Buffer.concat(this.#pieces)]
    return this.#pieces[0] ?? Buffer.alloc(0)
  }

  write(bytes: Uint8Array | string): this {
    if (!this.closed) this.socket.write(bytes)
    return this
  }

  destroy(): void {
    this.socket.destroy()
  }

  /** Whether the received bytes are an answer that is meant never to end. */
  get isEndless(): boolean {
    const end = this.received.indexOf('\r\n\r\n')
    return end > 0 && isStream(this.received.toString('latin1', 0, end))
  }

  /**
   * The next answer. Of an endless one, the part that has come in time. Undefined if it is not complete in time.
   * @param isHead the request was HEAD, so there is no body
   * @throws Closed
   */
  async answer(milliseconds: number, isHead = false): Promise<WireAnswer | undefined> {
    const deadline = performance.now() + milliseconds
    let expected = 0
    for (;;) {
      let size = 0
      for (const piece of this.#pieces) size += piece.length
      // Large answers come in thousands of pieces, so they are joined once instead of with each piece.
      if (size >= expected) {
        const parsed = parseAnswer(this.received, isHead)
        if (typeof parsed === 'object') {
          this.#pieces = [this.received.subarray(parsed.bytes)]
          this.used = true
          return parsed.answer
        }
        expected = parsed
      }
      if (this.closed)
        throw new Closed(`closed after ${JSON.stringify(this.received.toString('latin1', 0, 200))}`)
      const left = deadline - performance.now()
      if (left <= 0) return undefined
      await this.#more(left)
    }
  }

  /** Whether the server closes the connection within the time. */
  async closes(milliseconds: number): Promise<boolean> {
    const deadline = performance.now() + milliseconds
    while (!this.closed && performance.now() < deadline) await this.#more(deadline - performance.now())
    return this.closed
  }

  async #more(milliseconds: number): Promise<void> {
    const waited = new AbortController()
    const woken = new Promise<void>((resolve) => (this.#wake = resolve))
    await Promise.race([
      woken,
      sleep(milliseconds, undefined, { signal: waited.signal }).catch(() => undefined),
    ])
    waited.abort()
    this.#wake = undefined
  }
}

/** The answer at the start of the bytes and its length, or the number of bytes that are needed at least. */
function parseAnswer(bytes: Buffer, isHead: boolean): { answer: WireAnswer; bytes: number } | number {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return bytes.length + 1
  const [first = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n')
  const match = /^HTTP\/1\.1 (\d{3})/.exec(first)
  if (match === null) throw new Error(`no status line: ${JSON.stringify(first.slice(0, 200))}`)
  const status = Number(match[1])
  const start = end + 4
  if (status === 100) {
    const after = parseAnswer(bytes.subarray(start), isHead)
    return typeof after === 'number' ? after + start : { ...after, bytes: after.bytes + start }
  }
  const headers = new Headers()
  for (const line of lines) {
    const colon = line.indexOf(':')
    headers.append(line.slice(0, colon), line.slice(colon + 1).trim())
  }
  const isPacked = headers.get('content-encoding') === 'gzip'
  const whole = (body: Buffer, length: number) => {
    const text = (isPacked && body.length > 0 ? gunzipSync(body) : body).toString()
    return { answer: { status, headers, text }, bytes: length }
  }
  if (isHead || status === 204 || status === 304) return whole(Buffer.alloc(0), start)
  if (isStream(first + lines.join('\n'))) return whole(bytes.subarray(start), bytes.length)
  if (headers.get('transfer-encoding') === 'chunked') return parseChunks(bytes, start, whole)
  const length = Number(headers.get('content-length') ?? 0)
  if (bytes.length < start + length) return start + length
  return whole(bytes.subarray(start, start + length), start + length)
}

/** Server-sent events. */
function isStream(head: string): boolean {
  return /content-type: *text\/event-stream/i.test(head)
}

function parseChunks<T>(
  bytes: Buffer,
  start: number,
  whole: (body: Buffer, length: number) => T,
): T | number {
  const chunks: Buffer[] = []
  for (let at = start; ;) {
    const line = bytes.indexOf('\r\n', at)
    if (line < 0) return bytes.length + 1
    const size = Number.parseInt(bytes.toString('latin1', at, line), 16)
    if (!(size >= 0)) throw new Error(`no chunk size: ${JSON.stringify(bytes.toString('latin1', at, line))}`)
    const after = line + 2 + size + 2
    if (bytes.length < after) return after
    if (size === 0) return whole(Buffer.concat(chunks), after)
    chunks.push(bytes.subarray(line + 2, line + 2 + size))
    at = after
  }
}
