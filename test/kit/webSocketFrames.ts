/** A client of `/v1/stream` that sends frames as no library would: in pieces, broken, unmasked, and without reading answers. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { KEYS } from './server.ts'

export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

export interface FrameOptions {
  /** Whether it is the last of its message; true by default. */
  readonly isLast?: boolean
  /** False leaves out the mask, which every client must use. */
  readonly isMasked?: boolean
  /** The three reserved bits: 4 is the one of compressed messages. */
  readonly reserved?: number
  /** The length that the frame declares, if it is not that of its payload. */
  readonly declared?: number | bigint
}

/** One frame. Its mask is zero, so that the payload is seen on the wire. */
export function frame(opcode: number, payload: string | Uint8Array = '', options: FrameOptions = {}): Buffer {
  const { isLast = true, isMasked = true, reserved = 0 } = options
  const bytes = Buffer.from(payload as string)
  const length = options.declared ?? bytes.length
  const first = (isLast ? 0x80 : 0) | (reserved << 4) | opcode
  const mask = isMasked ? 0x80 : 0
  const head =
    length < 126
      ? Buffer.from([first, mask | Number(length)])
      : length < 65_536
        ? Buffer.from([first, mask | 126, Number(length) >> 8, Number(length) & 255])
        : Buffer.concat([Buffer.from([first, mask | 127]), bigEndian(BigInt(length))])
  return Buffer.concat([head, Buffer.alloc(isMasked ? 4 : 0), bytes])
}

function bigEndian(value: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(value)
  return bytes
}

/** The frames of a message that is cut into pieces of so many bytes. */
export function fragments(opcode: number, message: string | Uint8Array, size: number): Buffer {
  const bytes = Buffer.from(message as string)
  const count = Math.max(1, Math.ceil(bytes.length / size))
  return Buffer.concat(
    Array.from({ length: count }, (_, i) =>
      frame(i === 0 ? opcode : OPCODE.continuation, bytes.subarray(i * size, (i + 1) * size), {
        isLast: i === count - 1,
      }),
    ),
  )
}

/** The same bytes again and again, as often as they fit. */
export function repeated(bytes: Buffer, most: number): Buffer {
  const count = Math.max(1, Math.floor(most / bytes.length))
  return Buffer.alloc(count * bytes.length, bytes)
}

export interface RawOptions {
  readonly encoding?: 'json' | 'msgpack' | 'protobuf'
  readonly key?: string
  /** Further lines of the upgrade request, each with its end. */
  readonly headers?: string
}

/** One connection after its upgrade. */
export class RawStream {
  readonly socket: Socket
  /** The answer to the upgrade request. */
  readonly head: string
  closed = false
  #received: Buffer[] = []

  private constructor(socket: Socket, head: string) {
    this.socket = socket
    this.head = head
    socket.on('error', () => undefined)
    socket.on('data', (bytes: Buffer) => this.#received.push(bytes))
    socket.once('close', () => (this.closed = true))
  }

  /** Opens a stream. It reads what the server sends, unless its socket is paused. */
  static async open(port: number, options: RawOptions = {}): Promise<RawStream> {
    const { encoding = 'json', key = KEYS.testPublishable, headers = '' } = options
    const socket = connect(port, '127.0.0.1')
    socket.write(
      `GET /v1/stream HTTP/1.1\r\nHost: x\r\nAuthorization: ${key}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        `Sec-WebSocket-Protocol: ringfence.${encoding}\r\nSec-WebSocket-Version: 13\r\n${headers}` +
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    )
    const [bytes] = (await once(socket, 'data')) as [Buffer]
    const head = bytes.toString('latin1')
    if (!head.startsWith('HTTP/1.1 101')) throw new Error(`not upgraded: ${head}`)
    return new RawStream(socket, head)
  }

  write(...bytes: readonly Buffer[]): this {
    if (!this.closed) this.socket.write(Buffer.concat(bytes))
    return this
  }

  /** What has come so far, as text. Frames of the server have no mask. */
  get received(): string {
    return Buffer.concat(this.#received).toString('latin1')
  }

  /** The code of the close frame, if one has come and nothing behind it. */
  get closeCode(): number | undefined {
    const bytes = Buffer.concat(this.#received)
    for (let at = 0; at + 2 <= bytes.length;) {
      const short = bytes[at + 1]! & 127
      const [length, start] =
        short < 126
          ? [short, at + 2]
          : short === 126
            ? [bytes.readUInt16BE(at + 2), at + 4]
            : [Number(bytes.readBigUInt64BE(at + 2)), at + 10]
      if ((bytes[at]! & 15) === OPCODE.close) return length < 2 ? 1005 : bytes.readUInt16BE(start)
      at = start + length
    }
    return undefined
  }

  destroy(): void {
    this.socket.destroy()
  }
}
