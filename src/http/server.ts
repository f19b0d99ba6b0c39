import { randomBytes } from 'node:crypto'
// Before uWebSockets.js, which reads the value when it is loaded.
// oxlint-disable-next-line import/no-unassigned-import
import './headSize.ts'
import * as uWS from 'uWebSockets.js'
import type { HttpRequest, HttpResponse, us_listen_socket } from 'uWebSockets.js'
import type { Clock } from '../runtime/clock.ts'
import { ApiError } from '../runtime/errors.ts'
import type { KeyLookup, RequestQuotas, SessionLookup } from './authenticate.ts'
import { BodyRoom } from './bodyRoom.ts'
import { ClientAddress, Peers } from './clientAddress.ts'
import { Connections, connectionsOf, type ConnectionRefusal } from './connections.ts'
import { preflightHeaders } from './cors.ts'
import { Endpoint, type RequestObserver } from './endpoint.ts'
import { errorAnswer, shuttingDown } from './errors.ts'
import { CLIENT_CLOSED, Exchange } from './exchange.ts'
import type { Method, Route } from './route.ts'
import { Router } from './router.ts'
import { LaterWrites } from './laterWrites.ts'
import type { ErrorLog } from '../runtime/logger.ts'
import type { Shared } from './shared.ts'
import type { SocketHandler } from './socket.ts'
import { RequestHeaders } from './requestHeaders.ts'
import { Sites } from './site.ts'
import { Turn } from './turn.ts'
import { UnreadAnswers } from './unreadAnswers.ts'
import { upgradeRefusal, serveSockets, UPGRADE_HEADERS } from './upgrade.ts'
import { JSON_CONTENT_TYPE } from './answerText.ts'
import { endHead, writeHead } from './wire.ts'

export interface ServerOptions {
  readonly routes: readonly Route[]
  /** The WebSockets. Each handler has its own path. */
  readonly sockets?: readonly SocketHandler[]
  readonly authenticate: KeyLookup
  /** The sessions of people. If absent, nobody can sign in. */
  readonly sessions?: SessionLookup
  /** The origin that people see in their browsers. If it is '' or absent, the Host header says it. */
  readonly publicUrl?: string
  /** The quotas of projects. If absent, every key may make any number of requests. */
  readonly quotas?: RequestQuotas
  /** Addresses or CIDR ranges whose X-Forwarded-For is trusted. */
  readonly trustedProxies: readonly string[]
  /** The limit of a request's body in bytes; 1 MiB by default. */
  readonly maxBodyBytes?: number
  /**
   * The limit of all bodies that are arriving or being handled, in bytes; 64 MiB by default. One key may use half of
   * it, one address a quarter.
   */
  readonly maxHeldBytes?: number
  /**
   * The limit of all answers that clients are slow to read, in bytes; 64 MiB by default. Beyond it, the slowest
   * clients are disconnected.
   */
  readonly maxUnreadBytes?: number
  /** How many connections there may be at a time. A further one is closed at once. There is no limit by default. */
  readonly maxConnections?: number
  /**
   * How many connections one address may have that is not a trusted proxy. This is enforced on Linux. There is no
   * limit by default.
   */
  readonly maxConnectionsPerAddress?: number
  /** Called for a refused connection, at most once a minute. */
  readonly refusedConnection?: (refusal: ConnectionRefusal) => void
  readonly clock: Clock
  readonly logger?: ErrorLog
  /** The answer if no route has the path; 404 by default. */
  readonly elsewhere?: ApiError
  /** Returns the observer of a route's requests; if the route is undefined, of requests to unknown paths. */
  readonly observe?: (route: Route | undefined) => RequestObserver
}

export interface Server {
  /**
   * Listens.
   * @param port 0 means any free one
   * @returns the port
   * @throws Error if it cannot listen there; the port is never shared with another process
   */
  listen(host: string, port: number): Promise<number>
  /**
   * Stops listening, answers requests that have arrived completely, refuses the rest with 503, and closes every
   * connection. Resolves when that is done, or after `graceMs`, when requests that still have no answer are
   * cut off.
   */
  close(graceMs?: number): Promise<void>
  /** How many requests have not been answered yet, including those whose body is still arriving. */
  readonly inFlight: number
  /** The bytes of bodies that are arriving or being handled. */
  readonly heldBytes: number
  /** How many bodies were refused because they arrived more slowly than others that needed their room. */
  readonly slowBodies: number
  /** Bytes of answers that clients have not read completely. */
  readonly unreadBytes: number
  /** Open connections. */
  readonly connections: number
  /** Connections that were closed at once because there were too many. */
  readonly refusedConnections: number
}

const NO_SUCH_PATH = 'Not found. GET /v1/openapi.json lists the paths.'
const DEFAULT_MAX_BODY_BYTES = 1024 * 1024
const DEFAULT_MAX_HELD_BYTES = 64 * 1024 * 1024
const DEFAULT_MAX_UNREAD_BYTES = 64 * 1024 * 1024
const DEFAULT_GRACE_MS = 10_000

/** `LIBUS_LISTEN_EXCLUSIVE_PORT`, which the typings lack: otherwise two processes share a port unnoticed. */
const LISTEN_EXCLUSIVE_PORT = 1

/** The geofence endpoints are documented with and without this prefix, so both are served. */
const API_PREFIX = '/api'
/** Map plugins of SDKs request these paths without the version, so both are served. */
const MAPS_PATH = '/maps/'

const NATIVE = { GET: 'get', POST: 'post', PUT: 'put', PATCH: 'patch', DELETE: 'del' } as const

/** Methods whose bodies have no meaning. */
const BODILESS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

const ignore: RequestObserver = () => undefined

/**
 * The HTTP server over a route table.
 *
 * uWebSockets.js itself closes connections, with timers that tick every four seconds: if the complete head of a request
 * has not arrived 10 seconds after the connection was opened or last answered, however the bytes come; if less than
 * 160 KB of a body arrive in 10 seconds; or if the client does not read its answer. A connection that waits for an
 * answer stays open. A client that sends a request while another on the same connection still waits for its answer is
 * disconnected, unless both can be answered at once ({@link Turn}). HTTP/1.0 is answered 505, broken HTTP 400 and large
 * headers 431, none of them as JSON.
 */
export function createServer(options: ServerOptions): Server {
  const addresses = new ClientAddress(options.trustedProxies)
  const shared: Shared = {
    keys: options.authenticate,
    sessions: options.sessions,
    sites: new Sites(options.publicUrl ?? '', addresses),
    quotas: options.quotas,
    addresses,
    peers: new Peers(),
    headers: new RequestHeaders(),
    turn: new Turn(),
    later: new LaterWrites(),
    clock: options.clock,
    log: options.logger,
    maxBodyBytes: options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES,
    bodies: new BodyRoom(options.maxHeldBytes ?? DEFAULT_MAX_HELD_BYTES),
    unread: new UnreadAnswers(options.maxUnreadBytes ?? DEFAULT_MAX_UNREAD_BYTES),
    inFlight: 0,
    handling: 0,
    draining: false,
    onIdle: undefined,
  }
  const elsewhere = options.elsewhere ?? new ApiError(404, NO_SUCH_PATH)
  const observeUnknown = options.observe?.(undefined) ?? ignore
  const nextRequestId = requestIds()
  const router = new Router<Endpoint>()
  withoutMark()
  const app = uWS.App()
  let listenSocket: us_listen_socket | undefined
  let localPort = 0

  for (const route of options.routes) {
    const endpoint = new Endpoint(route, options.observe?.(route) ?? ignore)
    router.add(route.method, route.path, endpoint, route.accepts, route.isUnescaped)
    // Fixed paths are matched in native code, so method and path need not become texts.
    if (endpoint.isFixed) {
      app[NATIVE[route.method]](route.path, (res, req) => {
        new Exchange(shared, endpoint, res, nextRequestId(), false).start(req, [])
      })
    }
  }
  const socketHandlers = new Map<string, SocketHandler>()
  for (const handler of options.sockets ?? []) {
    for (const path of [handler.path, API_PREFIX + handler.path]) {
      serveSockets(app, path, handler, shared, {
        hasFault,
        refuse: (res, error) => refuse(res, false, error, undefined),
        refuseLater: (res, error) =>
          void res.cork(() => writeRefusal(res, false, error, undefined, shared.draining)),
        left: disconnected,
      })
    }
    socketHandlers.set(handler.path, handler)
  }
  app.any('/*', dispatch)
  const connections = new Connections({
    max: options.maxConnections ?? Infinity,
    maxPerAddress: options.maxConnectionsPerAddress ?? Infinity,
    exempt: (peer) => shared.addresses.trusts(peer),
    census: () => connectionsOf(localPort, (bytes) => shared.addresses.peer(bytes)),
    now: () => performance.now(),
    refused: options.refusedConnection,
  })
  app.filter((res, change) => {
    if (change < 0) {
      disconnected()
      return
    }
    const peer = shared.addresses.peer(res.getRemoteAddress())
    shared.peers.connected(peer)
    // Closing a connection calls this function again, with -1.
    if (!connections.connected(peer)) res.close()
  })

  function disconnected(): void {
    shared.peers.disconnected()
    connections.disconnected()
  }

  function dispatch(res: HttpResponse, req: HttpRequest): void {
    const method = req.getCaseSensitiveMethod()
    const url = req.getUrl()
    const path = usualPath(url)
    const isHead = method === 'HEAD'
    const match = router.match((isHead ? 'GET' : method) as Method, path)
    if (match?.value !== undefined) {
      new Exchange(shared, match.value, res, nextRequestId(), isHead).start(req, match.segments)
      return
    }
    if (hasFault(res, req, !BODILESS.has(method))) return
    if (method === 'OPTIONS') {
      preflight(res, req)
      return
    }
    const sockets = socketHandlers.get(path)
    if (match === undefined && sockets !== undefined) {
      // These handlers answer a GET.
      if (isHead) refuse(res, true, upgradeRefusal(res, req, sockets, shared), undefined)
      else refuseMethod(res, ['GET'])
    } else if (match === undefined) {
      refuse(res, isHead, shared.draining ? shuttingDown() : elsewhere, undefined)
    } else refuseMethod(res, match.allowed, isHead)
  }

  /** Reads the headers of a request without an endpoint. If they are faulty, it is answered here. */
  function hasFault(res: HttpResponse, req: HttpRequest, mayHaveBody: boolean): boolean {
    const fault = shared.headers.read(req).fault(mayHaveBody)
    if (fault !== undefined) refuseLater(res, req.getCaseSensitiveMethod() === 'HEAD', fault, undefined, true)
    return fault !== undefined
  }

  function refuseMethod(res: HttpResponse, methods: readonly Method[], isHead = false): void {
    const allowed = allowedText(methods)
    const error = new ApiError(405, `Method not allowed. Allowed: ${allowed}.`)
    refuse(res, isHead, shared.draining ? shuttingDown() : error, `Allow: ${allowed}`)
  }

  function preflight(res: HttpResponse, req: HttpRequest): void {
    const headers = preflightHeaders(req.getHeader('access-control-request-headers'))
    const write = (): void => {
      writeHead(res, 204, JSON_CONTENT_TYPE, nextRequestId(), headers)
      res.endWithoutBody()
      observeUnknown(204, 0)
    }
    if (shared.turn.isTooLong()) writeLater(res, write)
    else write()
  }

  function refuse(res: HttpResponse, isHead: boolean, error: unknown, headers: string | undefined): void {
    if (shared.headers.isChunked || shared.turn.isTooLong())
      refuseLater(res, isHead, error, headers, shared.headers.isChunked)
    else writeRefusal(res, isHead, error, headers, shared.draining)
  }

  /**
   * Refuses a request in the next turn.
   * @param isLast whether the end of the request is uncertain, so that the connection is closed after the answer
   */
  function refuseLater(
    res: HttpResponse,
    isHead: boolean,
    error: unknown,
    headers: string | undefined,
    isLast: boolean,
  ): void {
    writeLater(res, () => writeRefusal(res, isHead, error, headers, isLast || shared.draining))
  }

  /**
   * Answers a request in the next turn. While a request waits for its answer, uWebSockets.js disconnects a client that
   * sends another one, so nothing after it is read.
   */
  function writeLater(res: HttpResponse, write: () => void): void {
    let isGone = false
    res.onAborted(() => (isGone = true))
    shared.later.add(() => {
      if (isGone) observeUnknown(CLIENT_CLOSED, 0)
      else res.cork(write)
    })
  }

  function writeRefusal(
    res: HttpResponse,
    isHead: boolean,
    error: unknown,
    headers: string | undefined,
    isLast: boolean,
  ): void {
    const { status, json, retryAfter } = errorAnswer(error)
    const usual = status === 426 ? UPGRADE_HEADERS : headers
    const lines = retryAfter === undefined ? usual : `Retry-After: ${retryAfter}`
    writeHead(res, status, JSON_CONTENT_TYPE, nextRequestId(), lines)
    if (isHead && !isLast) endHead(res, json)
    else res.end(isHead ? '' : json, isLast)
    observeUnknown(status, 0)
  }

  function listen(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      const listening = (socket: us_listen_socket | false): void => {
        if (socket === false) {
          reject(new Error(`Cannot listen on ${host}:${port}`))
          return
        }
        listenSocket = socket
        localPort = uWS.us_socket_local_port(socket as never)
        resolve(localPort)
      }
      // The typings lack this overload.
      const listenExclusively = app.listen.bind(app) as unknown as (
        host: string,
        port: number,
        options: number,
        callback: (socket: us_listen_socket | false) => void,
      ) => void
      listenExclusively(host, port, LISTEN_EXCLUSIVE_PORT, listening)
    })
  }

  async function close(graceMs = DEFAULT_GRACE_MS): Promise<void> {
    if (listenSocket !== undefined) uWS.us_listen_socket_close(listenSocket)
    listenSocket = undefined
    shared.draining = true
    for (const arriving of shared.bodies.arriving) arriving.cutOff(shuttingDown())
    if (shared.handling > 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, graceMs)
        shared.onIdle = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    // The last answers of connections are written a turn later, or more (see Exchange).
    do await new Promise((resolve) => setImmediate(resolve))
    while (!shared.later.isEmpty)
    app.close()
  }

  return {
    listen,
    close,
    get inFlight() {
      return shared.inFlight
    },
    get heldBytes() {
      return shared.bodies.used
    },
    get slowBodies() {
      return shared.bodies.slow
    },
    get unreadBytes() {
      return shared.unread.bytes
    },
    get connections() {
      return connections.open
    },
    get refusedConnections() {
      return connections.refusals
    },
  }
}

/**
 * Keeps uWebSockets.js from naming itself and its version in a header of each answer. The typings lack this function.
 */
function withoutMark(): void {
  ;(uWS as unknown as { _cfg(setting: 'silent'): void })._cfg('silent')
}

/** Ids that are unique across processes by a random prefix, and within one by a counter. */
function requestIds(): () => string {
  const prefix = `${randomBytes(6).toString('hex')}-`
  let count = 0
  return () => prefix + (++count).toString(36)
}

/** The path in the route table for an alternative path. */
function usualPath(path: string): string {
  if (path.startsWith(`${API_PREFIX}/v1/`)) return path.slice(API_PREFIX.length)
  return path.startsWith(MAPS_PATH) ? `/v1${path}` : path
}

function allowedText(methods: readonly Method[]): string {
  return [...methods.toSorted(), ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ')
}
