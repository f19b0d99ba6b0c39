import type {
  HttpRequest,
  HttpResponse,
  TemplatedApp,
  us_socket_context_t,
  WebSocketBehavior,
} from 'uWebSockets.js'
import { ApiError, badParam } from '../runtime/errors.ts'
import { authenticate, publishableKey } from './authenticate.ts'
import { shuttingDown } from './errors.ts'
import type { Shared } from './shared.ts'
import type { SocketHandler, SocketReceiver, SocketRequest } from './socket.ts'

/** What uWebSockets.js keeps with a socket. */
interface UserData {
  readonly request: SocketRequest
  receiver: SocketReceiver | undefined
}

const PROTOCOL_HEADER = 'sec-websocket-protocol'
/** Of RFC 6455; drafts before it had others. */
const VERSION = '13'
const NO_HANDSHAKE =
  'This is a WebSocket: connect with a WebSocket client. /docs/guides/stream describes how.'

/** What an answer with 426 says beside its error, as lines joined by CRLF (RFC 6455, section 4.4). */
export const UPGRADE_HEADERS = `Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: ${VERSION}`

/** Maximum bytes of a message that may come, in the answer to the upgrade request. */
const MESSAGE_BYTES_HEADER = 'Ringfence-Max-Message-Bytes'

/**
 * Lets WebSockets in on the handler's path. Who may not come is answered as any other request, before the upgrade; and
 * as it would be then, who asks without one: browsers do not tell a page why a WebSocket was refused.
 * Pages of any origin may connect: no cookie is read, the key decides.
 *
 * uWebSockets.js answers pings, sends its own when a connection is silent for long, closes on text that is not UTF-8
 * and on messages over the limit. Its bound on what waits for a reader is off: the handler looks at it before it sends.
 *
 * It keeps what has arrived of a message, does not say how much that is, and has one limit of messages for each of its
 * routes. So small connections have a route of their own, to which the first one passes the request on.
 *
 * @param hasFault reads the headers, and answers the request where they are at fault
 * @param refuse answers the request with an error
 * @param left told of each socket that has gone: the app's own filter is not
 */
export function serveSockets(
  app: TemplatedApp,
  path: string,
  handler: SocketHandler,
  shared: Shared,
  hasFault: (res: HttpResponse, req: HttpRequest, mayHaveBody: boolean) => boolean,
  refuse: (res: HttpResponse, error: unknown) => void,
  left: () => void,
): void {
  app.get(path, (res, req) => {
    if (!hasFault(res, req, false)) refuse(res, upgradeRefusal(res, req, handler, shared))
  })
  let passedOn: SocketRequest | undefined
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
    drain(ws) {
      ws.getUserData().receiver?.drained()
    },
    close(ws, code) {
      left()
      ws.getUserData().receiver?.closed(code)
    },
  }
  app.ws<UserData>(path, {
    ...behavior,
    maxPayloadLength: usual + handler.excessBytes,
    upgrade(res, req, context) {
      if (hasFault(res, req, false)) return
      try {
        const request = admitted(res, req, handler, shared, true)
        if (request.messageBytes === usual) upgrade(res, req, context, request)
        else {
          passedOn = request
          req.setYield(true)
        }
      } catch (error) {
        refuse(res, error)
      }
    },
  })
  // A pattern that is less exact comes later.
  app.ws<UserData>(path.replace(/[^/]+$/, ':socket'), {
    ...behavior,
    maxPayloadLength: small + handler.excessBytes,
    upgrade(res, req, context) {
      const request = passedOn
      passedOn = undefined
      if (request === undefined) req.setYield(true)
      else upgrade(res, req, context, request)
    },
  })
}

/** What a request is answered that asks for no upgrade, once its headers were read. */
export function upgradeRefusal(
  res: HttpResponse,
  req: HttpRequest,
  handler: SocketHandler,
  shared: Shared,
): unknown {
  try {
    return admitted(res, req, handler, shared, false)
  } catch (error) {
    return error
  }
}

function upgrade(
  res: HttpResponse,
  req: HttpRequest,
  context: us_socket_context_t,
  request: SocketRequest,
): void {
  const data: UserData = { request, receiver: undefined }
  res.writeStatus('101 Switching Protocols')
  res.writeHeader(MESSAGE_BYTES_HEADER, String(request.messageBytes))
  res.upgrade(
    data,
    req.getHeader('sec-websocket-key'),
    // Named only where the client named some: browsers refuse a protocol that they have not offered.
    req.getHeader(PROTOCOL_HEADER) === '' ? '' : request.protocol,
    req.getHeader('sec-websocket-extensions'),
    context,
  )
}

/**
 * Credentials before quotas before limits before parameters, as for every request.
 * @throws ApiError why it may not come
 */
function admitted(
  res: HttpResponse,
  req: HttpRequest,
  handler: SocketHandler,
  shared: Shared,
  isHandshake: boolean,
): SocketRequest {
  if (shared.draining) throw shuttingDown()
  const { headers } = shared
  const authorization = headers.authorization || publishableKey(req.getQuery('publishableKey'))
  const credentials = authenticate(authorization, 'publishable', shared.keys)
  shared.quotas?.take(credentials.scope, shared.clock.now())
  try {
    const key = authorization.slice(authorization.lastIndexOf(' ') + 1)
    const messageBytes = handler.messageBytes[handler.admit(key)]
    const protocol = chosenProtocol(req.getHeader(PROTOCOL_HEADER), handler.protocols)
    if (!isHandshake) throw new ApiError(426, NO_HANDSHAKE)
    if (req.getHeader('sec-websocket-version') !== VERSION)
      throw new ApiError(426, `Sec-WebSocket-Version: Must be ${VERSION}.`, {
        param: 'Sec-WebSocket-Version',
      })
    return {
      credentials,
      key,
      ip: requester(res, shared),
      fromSdk: headers.sdkVersion !== '',
      protocol,
      messageBytes,
    }
  } catch (error) {
    shared.quotas?.giveBack(credentials.scope)
    throw error
  }
}

/** @throws ApiError 400 where the client wants none that we speak */
function chosenProtocol(offered: string, protocols: SocketHandler['protocols']): string {
  if (offered === '') return protocols[0]
  const names = offered.split(',').map((name) => name.trim())
  const chosen = names.find((name) => protocols.includes(name))
  if (chosen === undefined)
    throw badParam('Sec-WebSocket-Protocol', `Must be one of ${protocols.join(', ')}.`)
  return chosen
}

function requester(res: HttpResponse, shared: Shared): string {
  const peer = shared.peers.sole ?? shared.addresses.peer(res.getRemoteAddress())
  if (!shared.addresses.trustsAnybody) return peer
  return shared.addresses.requester(peer, shared.headers.forwardedFor)
}
