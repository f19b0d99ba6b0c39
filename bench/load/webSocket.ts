import type { Encoding } from './streamFrames.ts'

/** As much of a WebSocket client (RFC 6455) as load needs: what it sends costs nothing to make. */

/** The first byte of a message in one frame. */
export const TEXT = 0x81
export const BINARY = 0x82

export function upgradeRequest(key: string, encoding: Encoding): string {
  return (
    `GET /v1/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: ${key}\r\nUpgrade: websocket\r\n` +
    'Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n' +
    `Sec-WebSocket-Protocol: ringfence.${encoding}\r\n\r\n`
  )
}

/** The head of a frame, masked with zeros: the payload goes out as it is. */
export function frameHead(first: number, length: number): Buffer {
  const size = length < 126 ? 6 : length < 65536 ? 8 : 14
  const head = Buffer.alloc(size)
  head[0] = first
  if (size === 6) head[1] = 128 | length
  else if (size === 8) {
    head[1] = 254
    head.writeUInt16BE(length, 2)
  } else {
    head[1] = 255
    head.writeUInt32BE(length, 6)
  }
  return head
}

/** A text as one message. */
export function textFrame(text: string): Buffer {
  const payload = Buffer.from(text)
  return Buffer.concat([frameHead(TEXT, payload.length), payload])
}
