import { createReadStream } from 'node:fs'
import { request as httpRequest } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { basename } from 'node:path'
import { Transform } from 'node:stream'
import { text } from 'node:stream/consumers'

/** The server could not be reached, or ended the connection. */
export class NoAnswer extends Error {
  override name = 'NoAnswer'
}

/** The file to send, and its destination. */
export interface ImportUpload {
  /** The URL of the server, without a path. */
  readonly url: URL
  readonly kind: string
  readonly path: string
  /** The size of the file in bytes. */
  readonly size: number
  readonly key: string
}

/** The progress of an upload. */
export interface Sent {
  readonly bytes: number
  readonly lines: number
}

const ASK_TIMEOUT_MS = 5000

/**
 * Sends a file as fast as the server takes it, and returns its answer. An answer that comes before the end of the
 * file ends the upload.
 * @param onSent called after each piece
 * @throws {NoAnswer} and errors of reading the file
 */
export async function uploadImport(
  { url, kind, path, size, key }: ImportUpload,
  onSent: (sent: Sent) => void,
): Promise<{ status: number; body: unknown }> {
  const target = new URL(`/v1/imports/${kind}`, url)
  target.searchParams.set('fileName', nameOf(path))
  const request = (target.protocol === 'https:' ? httpsRequest : httpRequest)(target, {
    method: 'POST',
    headers: { Authorization: key, 'Content-Type': typeOf(path), 'Content-Length': size },
  })
  const file = createReadStream(path)
  try {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      request.once('response', resolve)
      request.on('error', (cause) => reject(unreachable(url, cause)))
      file.on('error', reject)
      file.pipe(counter(onSent)).pipe(request)
    })
    const content = await text(answer).catch((cause: Error) => Promise.reject(unreachable(url, cause)))
    return { status: answer.statusCode ?? 0, body: parsed(content) }
  } finally {
    file.destroy()
    request.destroy()
  }
}

/** The content type by the ending of the file's name. It is CSV unless the name says GeoJSON. */
function typeOf(path: string): string {
  return /\.(?:geo)?json$/i.test(path) ? 'application/geo+json' : 'text/csv'
}

/**
 * Rows of the running upload that the server has imported or refused so far. They are asked for because sent data may
 * wait in buffers for as long as an import takes. Undefined if the server does not say.
 */
export async function rowsDone({ url, kind, path, key }: ImportUpload): Promise<number | undefined> {
  try {
    const signal = AbortSignal.timeout(ASK_TIMEOUT_MS)
    const list = new URL(`/v1/imports/${kind}?limit=1`, url)
    const answer = await fetch(list, { headers: { Authorization: key }, signal })
    const { imports } = (await answer.json()) as { imports?: readonly Running[] }
    const newest = imports?.[0]
    return newest?.status === 'running' && newest.fileName === nameOf(path) ? newest.rows : undefined
  } catch {
    return undefined
  }
}

interface Running {
  readonly status: string
  readonly fileName?: string
  readonly rows: number
}

/** The name of the file in the history of imports. */
function nameOf(path: string): string {
  return basename(path).slice(-256)
}

function counter(onSent: (sent: Sent) => void): Transform {
  let bytes = 0
  let lines = 0
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines += 1
      onSent({ bytes, lines })
      done(null, chunk)
    },
  })
}

function unreachable(url: URL, cause: Error): NoAnswer {
  const { code } = cause as NodeJS.ErrnoException
  const why = code === 'ECONNREFUSED' ? 'no server listens at this address' : cause.message
  return new NoAnswer(`${url.origin} does not answer: ${why}.`, { cause })
}

function parsed(content: string): unknown {
  try {
    return JSON.parse(content)
  } catch {
    return undefined
  }
}
