/** A part of what WebSockets have, in browsers, in Node from 22 on, and in the package `ws`. */
export interface Socket {
  /* oxlint-disable typescript/no-explicit-any -- each of them has event types of its own */
  addEventListener(type: 'open' | 'message' | 'close' | 'error', listener: (event: any) => void): void
  send(text: string): void
  close(code?: number, reason?: string): void
}

export type WebSocketConstructor = new (url: string, options?: any) => Socket
/* oxlint-enable typescript/no-explicit-any */

/**
 * Opens `GET /v1/stream` in the JSON encoding. A secret key goes into a header, which browsers cannot send; a publishable
 * key into the address, which all can.
 * @throws TypeError where a secret key cannot be sent, or there is no WebSocket
 */
export function openSocket(url: string, key: string, WebSocket: WebSocketConstructor | undefined): Socket {
  const Constructor = WebSocket ?? (globalThis.WebSocket as WebSocketConstructor | undefined)
  if (Constructor === undefined)
    throw new TypeError('There is no WebSocket here: pass the one of the package ws, { WebSocket }.')
  const address = `${url.replace(/^http/, 'ws')}/v1/stream`
  if (!key.includes('_sk_')) return new Constructor(`${address}?publishableKey=${encodeURIComponent(key)}`)
  try {
    return new Constructor(address, { headers: { authorization: key } })
  } catch (cause) {
    throw new TypeError('A secret key belongs on a server: this WebSocket cannot send it.', { cause })
  }
}
