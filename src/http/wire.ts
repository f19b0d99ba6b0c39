import type { HttpResponse } from 'uWebSockets.js'
import { CORS_HEADERS } from './cors.ts'
import { statusLine } from './errors.ts'
import { ownTurn } from '../runtime/slices.ts'
import type { Answer } from './route.ts'

/** A longer answer is sent as fast as its reader takes it, instead of being copied to the socket at once. */
const LARGE_CHARACTERS = 64 * 1024
/** How many bytes are handed to the socket at a time. The system copies them, which takes a fraction of a millisecond. */
const PIECE_BYTES = 512 * 1024

/**
 * An answer's own headers as lines, with those that belong to its kind; undefined if there are none.
 * @throws Error for a header that would break out of its line
 */
export function headerLines({ headers, stream, bytes }: Answer): string | undefined {
  if (headers === undefined && stream?.fileName === undefined && bytes?.etag === undefined) return undefined
  const lines = Object.entries(headers ?? {}).map(([name, value]) => `${name}: ${value}`)
  if (bytes?.etag !== undefined) lines.push(`ETag: "${bytes.etag}"`)
  if (stream?.fileName !== undefined) {
    if (!/^[\w.-]+$/.test(stream.fileName)) throw new Error(`Not a file name: ${stream.fileName}`)
    lines.push(`Content-Disposition: attachment; filename="${stream.fileName}"`)
  }
  const broken = lines.find((line) => /[\r\n]/.test(line))
  if (broken !== undefined) throw new Error(`Not a header: ${JSON.stringify(broken)}`)
  return lines.join('\r\n')
}

/** Whether a client's If-None-Match names this version. */
export function hasVersion(ifNoneMatch: string, etag: string): boolean {
  return ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === `"${etag}"`)
}

/**
 * Writes status line and headers. All headers go out as one: uWebSockets.js copies the value as it is, and each call
 * into it costs more than the bytes. So none of the texts may come from a request.
 * @param headers further lines, joined by CRLF
 */
export function writeHead(
  res: HttpResponse,
  status: number,
  contentType: string,
  requestId: string,
  headers: string | undefined,
): void {
  if (status !== 200) res.writeStatus(statusLine(status))
  const more = headers === undefined ? '' : `\r\n${headers}`
  res.writeHeader(
    'Content-Type',
    `${contentType}\r\nX-Radar-Request-Id: ${requestId}\r\n${CORS_HEADERS}${more}`,
  )
}

/**
 * Ends the answer to a HEAD request, which tells the length of the content but does not send it.
 * `endWithoutBody` gets no arguments: with a length it does not end the answer, and the process aborts.
 */
export function endHead(res: HttpResponse, content: string | Uint8Array): void {
  res.writeHeader('Content-Length', String(Buffer.byteLength(content)))
  res.endWithoutBody()
}

export function isLarge(content: string | Uint8Array): boolean {
  return content.length > LARGE_CHARACTERS
}

/**
 * Makes an answer that is written as its reader takes it the last one of its connection. uWebSockets.js can only close
 * with an end that copies everything that the reader has not taken yet. Nothing more is read, and the client is asked
 * to close the connection. If it does not, the connection is closed once it has been idle for as long as any may be.
 */
export function readNoMore(res: HttpResponse): void {
  res.writeHeader('Connection', 'close')
  res.pause()
}

/**
 * Writes a large body piece by piece as the reader takes it. A socket takes megabytes at once, more if its reader reads meanwhile, and
 * a hundred of them may do so in the same turn of the event loop. So each piece has a turn of its own.
 * @param isOver whether `res` must not be touched any more
 * @returns how many bytes are kept until everything is written and `done` is called; 0 if it is written already
 */
export function writeLarge(
  res: HttpResponse,
  content: string | Uint8Array,
  isOver: () => boolean,
  done: () => void,
): number {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  /** Writes a piece. Returns whether it was the last one; if the socket has not taken all of it, `onWritable` follows. */
  const write = (offset: number): boolean => {
    const [isTaken, isWhole] = res.tryEnd(bytes.subarray(offset, offset + PIECE_BYTES), bytes.length)
    if (isTaken && !isWhole) void goOn(offset + PIECE_BYTES)
    return isWhole
  }
  const goOn = async (offset: number): Promise<void> => {
    await ownTurn()
    if (isOver()) return
    res.cork(() => {
      if (write(offset)) done()
    })
  }
  if (write(0)) return 0
  res.onWritable((offset) => {
    void goOn(offset)
    return true
  })
  return bytes.length
}
