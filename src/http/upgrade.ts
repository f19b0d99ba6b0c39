import type {
  HttpRequest,
  HttpResponse,
  TemplatedApp,
  us_socket_context_t,
  WebSocketBehavior,
} from 'uWebSockets.js'
import { ApiError, badParam } from '../runtime/errors.ts'
import { authenticate, keyName, publishableKey } from './authenticate.ts'
import type { Credentials } from './credentials.ts'
import { shuttingDown } from './errors.ts'
import type { Shared } from './shared.ts'
import type { SocketHandler, SocketReceiver, SocketRequest } from './socket.ts'

/** What uWebSockets.js keeps with a socket. */
interface UserData {
  readonly request: SocketRequest
  receiver: SocketReceiver | undefined
}

const PROTOCOL_HEADER = 'sec-websocket-protocol'
/** The prefix of a session's ticket among the offered protocols, because pages cannot set another header. */
const TICKET_PREFIX = 'ringfence.ticket.'
/** The version of RFC 6455. Earlier drafts had other numbers. */
const VERSION = '13'
const NO_HANDSHAKE =
  'This is a WebSocket: connect with a WebSocket client. /docs/guides/stream describes how.'

/** The headers of an answer with 426 besides its error, as lines joined by CRLF (RFC 6455, section 4.4). */
export const UPGRADE_HEADERS = `Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: ${VERSION}`

/** The header in the answer to the upgrade request that says how many bytes a message may have. */
const MESSAGE_BYTES_HEADER = 'Ringfence-Max-Message-Bytes'

/** How requests for WebSockets are answered that are refused. */
export interface SocketAnswers {
  /** Reads the headers of a request, and answers it if they are at fault. */
  hasFault(res: HttpResponse, req: HttpRequest, mayHaveBody: boolean): boolean
  /** Answers the request with an error. */
  refuse(res: HttpResponse, error: unknown): void
  /** Does the same in a later turn than the one in which the request came. */
  refuseLater(res: HttpResponse, error: unknown): void
  /** Called for each socket that has closed, because the app's own filter is not called. */
  left(): void
}

/**
 * Lets WebSockets in on the handler's path. Clients that may not connect get an ordinary HTTP answer before the
 * upgrade. A request without an upgrade gets the same answer: browsers do not tell a page why a WebSocket was refused.
 * Pages of any origin may connect: no cookie is read, the key or the ticket decides.
 *
 * uWebSockets.js answers pings, sends its own when a connection is silent for long, closes on text that is not UTF-8
 * and on messages over the limit. Its bound on what waits for a reader is off: the handler looks at it before it sends, and after
 * each ping, because the library's answers wait for the reader as well.
 *
 * It keeps what has arrived of a message, does not say how much that is, and has one limit of messages for each of its
 * routes. So small connections have a route of their own, to which the first one passes the request on. Those of people
 * are small: they send no updates, and whether there is room for large messages cannot be known before their ticket.
 */
export function serveSockets(
  app: TemplatedApp,
  path: string,
  handler: SocketHandler,
  shared: Shared,
  answers: SocketAnswers,
): void {
  app.get(path, (res, req) => {
    if (!answers.hasFault(res, req, false)) answers.refuse(res, upgradeRefusal(res, req, handler, shared))
  })
  let passedOn: PassedOn | undefined
  const { usual, small } = handler.messageBytes
  const behavior: WebSocketBehavior<UserData> = {
    idleTimeout: handler.idleSeconds,
    maxBackpressure: 0,
    open(ws) {
      const data = ws.getUserData()
      data.receiver = handler.open(ws, data.request)
    },
    message(ws, message, isBinary) {
      ws.getUserData().receiver?.message(new Uint8Array(message), isBinary)
    },
    ping(ws) {
      ws.getUserData().receiver?.pinged()
    },
    drain(ws) {
      ws.getUserData().receiver?.drained()
    },
    close(ws, code) {
      answers.left()
      ws.getUserData().receiver?.closed(code)
    },
  }
  app.ws<UserData>(path, {
    ...behavior,
    maxPayloadLength: usual + handler.excessBytes,
    upgrade(res, req, context) {
      if (answers.hasFault(res, req, false)) return
      try {
        const asked = readRequest(res, req, shared, true)
        const request =
          asked.ticket === undefined ? admitted(asked, keyHolder(asked, shared), handler, shared) : undefined
        if (request?.messageBytes === usual) upgrade(res, context, asked, request)
        else {
          passedOn = { asked, request }
          req.setYield(true)
        }
      } catch (error) {
        answers.refuse(res, error)
      }
    },
  })
  // A pattern that is less exact must be registered later.
  app.ws<UserData>(`${path.slice(0, path.lastIndexOf('/') + 1)}:socket`, {
    ...behavior,
    maxPayloadLength: small + handler.excessBytes,
    upgrade(res, req, context) {
      const passed = passedOn
      passedOn = undefined
      if (passed === undefined) req.setYield(true)
      else if (passed.request !== undefined) upgrade(res, context, passed.asked, passed.request)
      else upgradeWithTicket(res, context, passed.asked, handler, shared, answers)
    },
  })
}

/** What the first route found out about a request that it passes on. */
interface PassedOn {
  readonly asked: Asked
  /** The admitted request; undefined if the ticket decides. */
  readonly request: SocketRequest | undefined
}

/** The answer to a request that asks for no upgrade, once its headers have been read. */
export function upgradeRefusal(
  res: HttpResponse,
  req: HttpRequest,
  handler: SocketHandler,
  shared: Shared,
): unknown {
  try {
    const asked = readRequest(res, req, shared, false)
    // A ticket is not used up without an upgrade.
    if (asked.ticket !== undefined) return new ApiError(426, NO_HANDSHAKE)
    return admitted(asked, keyHolder(asked, shared), handler, shared)
  } catch (error) {
    return error
  }
}

function upgrade(
  res: HttpResponse,
  context: us_socket_context_t,
  asked: Asked,
  request: SocketRequest,
): void {
  const data: UserData = { request, receiver: undefined }
  res.writeStatus('101 Switching Protocols')
  res.writeHeader(MESSAGE_BYTES_HEADER, String(request.messageBytes))
  // It is only named if the client has named some, because browsers refuse a protocol that they have not offered.
  const named = asked.offered === '' ? '' : onlyTicket(asked) ? asked.offered : request.protocol
  res.upgrade(data, asked.key, named, asked.extensions, context)
}

/** Upgrades a request with a ticket, for which another process may have to be asked. */
function upgradeWithTicket(
  res: HttpResponse,
  context: us_socket_context_t,
  asked: Asked,
  handler: SocketHandler,
  shared: Shared,
  answers: SocketAnswers,
): void {
  const accept = (credentials: Credentials | undefined): void => {
    if (credentials === undefined)
      throw new ApiError(401, 'Unauthorized. The ticket is unknown, used or more than 30 seconds old.')
    upgrade(res, context, asked, admitted(asked, credentials, handler, shared))
  }
  const found = shared.sessions?.takeTicket(asked.ticket!)
  if (!(found instanceof Promise)) {
    try {
      accept(found)
    } catch (error) {
      answers.refuse(res, error)
    }
    return
  }
  let isGone = false
  res.onAborted(() => (isGone = true))
  found.then(
    (credentials) => {
      if (isGone) return
      res.cork(() => {
        try {
          accept(credentials)
        } catch (error) {
          answers.refuseLater(res, error)
        }
      })
    },
    (error) => {
      if (!isGone) answers.refuseLater(res, error)
    },
  )
}

/**
 * The credentials of the key.
 * @throws {ApiError} 401 without a valid key
 */
function keyHolder({ authorization }: Asked, shared: Shared): Credentials {
  return authenticate(authorization, 'publishable', shared.keys)
}

/** The parts of a request for a WebSocket, which is valid during its first callback only. */
interface Asked {
  readonly isHandshake: boolean
  readonly authorization: string
  /** The ticket that was sent instead of a key. */
  readonly ticket: string | undefined
  /** The protocols as the header names them. */
  readonly offered: string
  readonly protocols: readonly string[]
  readonly version: string
  readonly key: string
  readonly extensions: string
  readonly ip: string
  readonly fromSdk: boolean
}

function readRequest(res: HttpResponse, req: HttpRequest, shared: Shared, isHandshake: boolean): Asked {
  const { headers } = shared
  const authorization = headers.authorization || publishableKey(req.getQuery('publishableKey'))
  const offered = req.getHeader(PROTOCOL_HEADER)
  const names = offered === '' ? [] : offered.split(',').map((name) => name.trim())
  const ticket = names.find((name) => name.startsWith(TICKET_PREFIX))?.slice(TICKET_PREFIX.length)
  return {
    isHandshake,
    authorization,
    ticket: authorization === '' ? ticket : undefined,
    offered,
    protocols: names.filter((name) => !name.startsWith(TICKET_PREFIX)),
    version: req.getHeader('sec-websocket-version'),
    key: req.getHeader('sec-websocket-key'),
    extensions: req.getHeader('sec-websocket-extensions'),
    ip: requester(res, shared),
    fromSdk: headers.sdkVersion !== '',
  }
}

/**
 * Admits a request. Credentials are checked before quotas, quotas before limits, and limits before parameters, as for
 * every request.
 * @throws {ApiError} why it is refused
 */
function admitted(
  asked: Asked,
  credentials: Credentials,
  handler: SocketHandler,
  shared: Shared,
): SocketRequest {
  if (shared.draining) throw shuttingDown()
  shared.quotas?.take(credentials.scope, shared.clock.now())
  try {
    const size = handler.admit(keyName(credentials))
    const messageBytes = handler.messageBytes[asked.ticket === undefined ? size : 'small']
    const protocol = chosenProtocol(asked, handler.protocols)
    if (!asked.isHandshake) throw new ApiError(426, NO_HANDSHAKE)
    if (asked.version !== VERSION)
      throw new ApiError(426, `Sec-WebSocket-Version: Must be ${VERSION}.`, {
        param: 'Sec-WebSocket-Version',
      })
    return { credentials, ip: asked.ip, fromSdk: asked.fromSdk, protocol, messageBytes }
  } catch (error) {
    shared.quotas?.giveBack(credentials.scope)
    throw error
  }
}

/**
 * The protocol of the connection.
 * @throws {ApiError} 400 if the client only offers protocols that the server does not support
 */
function chosenProtocol(asked: Asked, protocols: SocketHandler['protocols']): string {
  if (asked.offered === '' || onlyTicket(asked)) return protocols[0]
  const chosen = asked.protocols.find((name) => protocols.includes(name))
  if (chosen === undefined)
    throw badParam('Sec-WebSocket-Protocol', `Must be one of ${protocols.join(', ')}.`)
  return chosen
}

/** Whether the client has offered nothing but its ticket. */
function onlyTicket({ ticket, protocols }: Asked): boolean {
  return ticket !== undefined && protocols.length === 0
}

function requester(res: HttpResponse, shared: Shared): string {
  const peer = shared.peers.sole ?? shared.addresses.peer(res.getRemoteAddress())
  if (!shared.addresses.trustsAnybody) return peer
  return shared.addresses.requester(peer, shared.headers.forwardedFor)
}
