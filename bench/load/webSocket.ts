import type { Socket } from 'node:net'
import type { Encoding } from './streamFrames.ts'

/** The part of a WebSocket client (RFC 6455) that is needed for load. Making its messages costs nothing. */

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

/** The header of a frame, masked with zeros, so the payload is sent unchanged. */
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

const CLOSE = 8
const PING = 9
/** Without a payload, because the pings of uWebSockets.js have none. */
const PONG = Buffer.from([0x8a, 0x80, 0, 0, 0, 0])

/** Receives what comes over a connection. */
export interface MessageOwner {
  /** The server has accepted the upgrade. */
  opened(): void
  /** The server has answered something else. */
  refused(head: string): void
  message(payload: Buffer): void
  closed(reason: string): void
}

/** Reads what a server sends after {@link upgradeRequest}, and answers its pings. */
export class MessageReader {
  readonly #socket: Socket
  readonly #owner: MessageOwner
  #isOpen = false
  #buffer: Buffer = Buffer.alloc(0)

  constructor(socket: Socket, owner: MessageOwner) {
    this.#socket = socket
    this.#owner = owner
  }

  receive(data: Buffer): void {
    this.#buffer = this.#buffer.length === 0 ? data : Buffer.concat([this.#buffer, data])
    if (!this.#isOpen) {
      const end = this.#buffer.indexOf('\r\n\r\n')
      if (end < 0) return
      const head = this.#buffer.toString('latin1', 0, end)
      this.#buffer = this.#buffer.subarray(end + 4)
      this.#isOpen = true
      if (head.startsWith('HTTP/1.1 101')) this.#owner.opened()
      else this.#owner.refused(head)
    }
    for (;;) {
      const buffer = this.#buffer
      if (buffer.length < 2) return
      const short = buffer[1]! & 127
      const head = short < 126 ? 2 : short === 126 ? 4 : 10
      if (buffer.length < head) return
      const length =
        short < 126 ? short : short === 126 ? buffer.readUInt16BE(2) : Number(buffer.readBigUInt64BE(2))
      if (buffer.length < head + length) return
      this.#take(buffer[0]! & 15, buffer.subarray(head, head + length))
      this.#buffer = buffer.subarray(head + length)
    }
  }

  #take(opcode: number, payload: Buffer): void {
    if (opcode === PING) this.#socket.write(PONG)
    else if (opcode === CLOSE)
      this.#owner.closed(`closed with ${payload.readUInt16BE(0)}: ${payload.toString('utf8', 2)}`)
    else if ((opcode & 8) === 0) this.#owner.message(payload)
  }
}
