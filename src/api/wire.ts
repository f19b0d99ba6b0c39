import type { HttpResponse } from 'uWebSockets.js'
import { CORS_HEADERS } from './cors.ts'
import { statusLine } from './errors.ts'
import type { Answer } from './route.ts'

export const JSON_CONTENT_TYPE = 'application/json; charset=utf-8'

/** Beyond it an answer is sent as fast as its reader takes it, instead of being copied to the socket at once. */
const LARGE_CHARACTERS = 64 * 1024

const SUCCESS = '{"meta":{"code":200}'

/** The JSON text of a handler's answer. */
export function successText(status: number, answer: Answer): string {
  const meta =
    status === 200 && answer.meta === undefined
      ? SUCCESS
      : `{"meta":${JSON.stringify({ code: status, ...answer.meta })}`
  if (answer.json !== undefined) return answer.json === '' ? `${meta}}` : `${meta},${answer.json}}`
  const members = answer.body === undefined ? '{}' : JSON.stringify(answer.body)
  return members === '{}' ? `${meta}}` : `${meta},${members.slice(1)}`
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
export function endHead(res: HttpResponse, content: string): void {
  res.writeHeader('Content-Length', String(Buffer.byteLength(content)))
  res.endWithoutBody()
}

export function isLarge(content: string): boolean {
  return content.length > LARGE_CHARACTERS
}

/**
 * Writes a large body piece by piece as the reader takes it.
 * @returns the bytes that are kept until it is out, when `done` is called; 0 when it is out already
 */
export function writeLarge(res: HttpResponse, content: string, done: () => void): number {
  const bytes = Buffer.from(content)
  const [, isWhole] = res.tryEnd(bytes, bytes.length)
  if (isWhole) return 0
  res.onWritable((offset) => {
    const [accepted, isDone] = res.tryEnd(bytes.subarray(offset), bytes.length)
    if (isDone) done()
    return accepted
  })
  return bytes.length
}
