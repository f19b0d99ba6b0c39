import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import type { Server } from '../kit/server.ts'
import { until } from '../kit/waiting.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- answers of every shape
export type Json = any

export const HEADER = 'description,type,tag,externalId,coordinates,radius\n'

/** A row of a circle. */
export function row(tag: string, externalId: string | number, radius: number | string = 100): string {
  return `Row,circle,${tag},${externalId},"[1,2]",${radius}\n`
}

/** Where sources of tests are allowed to be. */
export const ALLOWED = { RINGFENCE_SYNC_PRIVATE_ADDRESSES: '127.0.0.1' }

type Answerer = (request: IncomingMessage, response: ServerResponse) => void

/** A web server with files, of which tests say how it answers. */
export class FileServer {
  readonly files = new Map<string, string | Buffer | Answerer>()
  /** What was asked: the path and the headers. */
  readonly asked: { readonly path: string; readonly headers: IncomingMessage['headers'] }[] = []
  url = ''

  static async start(t: Test): Promise<FileServer> {
    const files = new FileServer()
    const server = createServer((request, response) => files.#answer(request, response))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    files.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    t.teardown(() => {
      server.closeAllConnections()
      server.close()
    })
    return files
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url!
    this.asked.push({ path, headers: request.headers })
    const file = this.files.get(path)
    if (file === undefined) {
      response.writeHead(404).end('a secret of the server')
      return
    }
    if (typeof file === 'function') return file(request, response)
    response
      .writeHead(200, { 'content-type': 'text/csv', 'content-length': Buffer.byteLength(file) })
      .end(file)
  }
}

/** Answers with an ETag, and 304 to who has it. */
export function versioned(content: string, etag: string): Answerer {
  return (request, response) => {
    if (request.headers['if-none-match'] === etag) response.writeHead(304, { etag }).end()
    else response.writeHead(200, { etag }).end(content)
  }
}

/** Sets the sync up, which must work. */
export async function setUp(server: Server, settings: Json, key?: string): Promise<Json> {
  return server.good('PUT', '/v1/geofence-sync', { enabled: false, ...settings }, key)
}

/** Runs and waits for the end. */
export async function ran(server: Server, wanted: Json = {}, key?: string): Promise<Json> {
  const { status, body } = await server.api('POST', '/v1/geofence-sync/runs', wanted, key)
  if (status !== 202) throw new Error(`${status}: ${JSON.stringify(body)}`)
  return ended(server, body.run._id, key)
}

export async function ended(server: Server, id: string, key?: string): Promise<Json> {
  let run: Json
  await until(async () => {
    run = await runOf(server, id, key)
    return !['queued', 'running'].includes(run.status)
  })
  return run
}

export async function runOf(server: Server, id: string, key?: string): Promise<Json> {
  return (await server.api('GET', `/v1/geofence-sync/runs/${id}`, undefined, key)).body.run
}
