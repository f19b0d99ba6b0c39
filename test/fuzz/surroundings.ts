/** What stands around the fuzzed server: a web server that it fetches from and sends to, and imports that do not end. */
import { once } from 'node:events'
import { createServer, type Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Api, Json } from '../e2e/contract.ts'
import { keyOf } from './callers.ts'
import type { Known } from './known.ts'
import { Connection } from './wire.ts'

/** A file with three geofences and one row that is refused. */
const STORES = [
  'description,type,tag,externalId,coordinates,radius',
  ...['a', 'b', 'c'].map((id) => `Store ${id},circle,synced,${id},"[10.001, 50.001]",60`),
  'Store d,circle,synced,d,"[10.001, 150]",60',
].join('\n')

/** Answers GET with a file of geofences, and everything else with 200 or 500. */
export class WebServer {
  readonly #server: HttpServer

  private constructor(server: HttpServer) {
    this.#server = server
  }

  static async start(): Promise<WebServer> {
    const server = createServer((req, res) => {
      req.resume()
      if (req.method === 'GET') {
        res.writeHead(200, { 'content-type': 'text/csv', etag: `"${req.url}"` }).end(STORES)
      } else res.writeHead(req.url?.endsWith('3') ? 500 : 200).end()
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new WebServer(server)
  }

  /** One of a few addresses. */
  url(draw: number): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/${draw % 4}`
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}

/** The server closes a body that brings little, after ten seconds at the earliest. */
const RENEW_MS = 8000
const MOST_TRIES = 50
const KINDS = ['geofences', 'beacons'] as const
const HEADERS = {
  geofences: 'description,type,tag,externalId,coordinates,radius',
  beacons: 'description,type,coordinates,enabled',
} as const

/** Imports of files that have not arrived yet, one of each kind and scope, because only a running import can be canceled. */
export class RunningImports {
  readonly #api: Api
  readonly #known: Known
  readonly #uploads = new Map<string, { readonly connection: Connection; readonly since: number }>()

  constructor(api: Api, known: Known) {
    this.#api = api
    this.#known = known
  }

  /** Begins those again that have ended. */
  async replenish(): Promise<void> {
    for (const kind of KINDS)
      for (const live of [false, true]) {
        const name = `${kind} ${live}`
        const upload = this.#uploads.get(name)
        const isOver =
          upload === undefined ||
          upload.connection.closed ||
          upload.connection.received.length > 0 ||
          performance.now() - upload.since > RENEW_MS
        if (!isOver) continue
        upload?.connection.destroy()
        this.#uploads.set(name, { connection: await this.#begin(kind, live), since: performance.now() })
      }
  }

  close(): void {
    for (const { connection } of this.#uploads.values()) connection.destroy()
    this.#uploads.clear()
  }

  async #begin(kind: (typeof KINDS)[number], live: boolean): Promise<Connection> {
    const { key, scope } = keyOf('secret', live)
    const connection = await Connection.open(this.#api.server.port)
    const head = [
      `POST /v1/imports/${kind} HTTP/1.1`,
      'Host: x',
      `Authorization: ${key}`,
      'Content-Type: text/csv',
      'Content-Length: 100000',
    ]
    connection.write(`${head.join('\r\n')}\r\n\r\n${HEADERS[kind]}\n${'Slow\n'.repeat(100)}`)
    // It is in the history once its first bytes have been read.
    for (let tries = 0; tries < MOST_TRIES && !connection.closed; tries++) {
      const { body } = await this.#api.call('GET', `/v1/imports/${kind}?limit=20`, undefined, key)
      const running = body.imports.find(({ status }: Json) => status === 'running')
      if (running !== undefined) {
        this.#known.set(`${kind}running`, scope, running._id)
        break
      }
      await sleep(20)
    }
    return connection
  }
}
