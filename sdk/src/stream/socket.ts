/** The part of a WebSocket that this client uses. Browsers, Node from version 22 on, and the package `ws` have it. */
export interface Socket {
  binaryType: string
  /* oxlint-disable typescript/no-explicit-any -- each of them has event types of its own */
  addEventListener(type: 'open' | 'message' | 'close' | 'error', listener: (event: any) => void): void
  send(data: string | Uint8Array): void
  close(code?: number, reason?: string): void
}

export type WebSocketConstructor = new (url: string, protocols?: any, options?: any) => Socket
/* oxlint-enable typescript/no-explicit-any */

/**
 * Opens `GET /v1/stream` for a page in which a person has signed in.
 * @param ticket opens one stream
 * @throws TypeError if there is no WebSocket
 */
export function openSocketOfSession(
  url: string,
  ticket: string,
  protocol: string,
  WebSocket: WebSocketConstructor | undefined,
): Socket {
  const Constructor = constructorOf(WebSocket)
  return new Constructor(addressOf(url), [protocol, `ringfence.ticket.${ticket}`])
}

/**
 * Opens `GET /v1/stream` with a key. A secret key is sent in a header, which browsers cannot do. A publishable key is
 * part of the address, which works everywhere.
 * @param WebSocket the class of the package `ws`, if there is no global one
 * @throws TypeError if a secret key cannot be sent, or there is no WebSocket
 */
export function openSocket(
  url: string,
  key: string,
  protocol: string,
  WebSocket: WebSocketConstructor | undefined,
): Socket {
  const Constructor = constructorOf(WebSocket)
  const address = addressOf(url)
  if (!key.includes('_sk_'))
    return new Constructor(`${address}?publishableKey=${encodeURIComponent(key)}`, [protocol])
  const headers = { authorization: key }
  if (WebSocket !== undefined) return new WebSocket(address, [protocol], { headers })
  try {
    // This is Node's form. Browsers would take the object for the name of a protocol, and throw.
    return new Constructor(address, { protocols: [protocol], headers })
  } catch (cause) {
    throw new TypeError('A secret key belongs on a server: this WebSocket cannot send it.', { cause })
  }
}

function constructorOf(WebSocket: WebSocketConstructor | undefined): WebSocketConstructor {
  const Constructor = WebSocket ?? (globalThis.WebSocket as unknown as WebSocketConstructor | undefined)
  if (Constructor === undefined)
    throw new TypeError('This platform has no WebSocket: pass the one of the package ws as { WebSocket }.')
  return Constructor
}

function addressOf(url: string): string {
  return `${url.replace(/^http/, 'ws')}/v1/stream`
}
