/** A client of `/v1/stream` for tests, on the `ws` package. It can also send what a correct client never would. */
import { readFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { Packr } from 'msgpackr'
import protobuf from 'protobufjs'
import { WebSocket } from 'ws'
import type { StreamEncoding } from '../../sdk/src/index.ts'
import { KEYS, type Server } from './server.ts'

export const ENCODINGS = ['json', 'msgpack', 'protobuf'] as const
export type Encoding = (typeof ENCODINGS)[number]

// oxlint-disable-next-line typescript/no-explicit-any -- tests look into messages of every type
export type Message = any

const PROTO = new URL('../../proto/ringfence.proto', import.meta.url)
const { root } = protobuf.parse(readFileSync(PROTO, 'utf8'))
const ClientMessage = root.lookupType('ringfence.v1.ClientMessage')
const ServerMessage = root.lookupType('ringfence.v1.ServerMessage')
const packr = new Packr({ useRecords: false, variableMapSize: true })

/** A message in an encoding. The `updates` of protobuf frames have the fields of proto/ringfence.proto. */
export function encode(encoding: Encoding, message: { readonly type: string }): string | Uint8Array {
  if (encoding === 'json') return JSON.stringify(message)
  if (encoding === 'msgpack') return Uint8Array.from(packr.pack(message))
  const { type, ...fields } = message
  return ClientMessage.encode(ClientMessage.fromObject({ [type]: fields })).finish()
}

/** A message of the server, in the form that the JSON encoding has. */
export function decode(encoding: Encoding, bytes: Buffer): Message {
  if (encoding === 'json') return JSON.parse(bytes.toString())
  if (encoding === 'msgpack') return packr.unpack(bytes)
  const read = ServerMessage.toObject(ServerMessage.decode(bytes), { longs: Number, oneofs: true })
  const type = read.message as string
  const message = { type, ...read[type] }
  if (type === 'ack' && message.events !== undefined)
    message.events = (message.events.items ?? []).map(({ json }: { json: string }) => JSON.parse(json))
  if (type === 'event') message.event = JSON.parse(message.event.json)
  if (type === 'events')
    message.events = (message.events ?? []).map(({ json }: { json: string }) => JSON.parse(json))
  if (type === 'position') return { ...message, ...inJson(message) }
  if (type === 'positions') message.positions = message.positions.map(inJson)
  return message
}

/** A position of protobuf in the form that the JSON encoding has. */
function inJson({ user: { id, ...user }, location, ...position }: Message): Message {
  const { latitude = 0, longitude = 0 } = location
  const coordinates = [longitude, latitude]
  return { ...position, user: { _id: id, ...user }, location: { type: 'Point', coordinates } }
}

/** The encoding as the SDK's stream expects it. */
export function sdkEncoding(name: Encoding): StreamEncoding {
  return {
    protocol: `ringfence.${name}`,
    encode: (message) => encode(name, message),
    decode: (data: string | Uint8Array) => decode(name, Buffer.from(data as Uint8Array)),
  }
}

export interface StreamOptions {
  readonly encoding?: Encoding
  /** The key. Null sends no Authorization header. */
  readonly key?: string | null
  /** A query that is appended to the path, such as `?publishableKey=…`. */
  readonly query?: string
  readonly headers?: Readonly<Record<string, string>>
  /** The version of the WebSocket protocol; 13 if absent. */
  readonly protocolVersion?: 8
}

/** The server's refusal of an upgrade request. */
export class Refused extends Error {
  readonly status: number
  readonly body: Message
  readonly retryAfter: string | undefined
  /** The protocol versions that the server speaks, if it names them. */
  readonly versions: string | undefined

  constructor(status: number, body: Message, headers: IncomingHttpHeaders) {
    super(`refused with ${status}`)
    this.status = status
    this.body = body
    this.retryAfter = headers['retry-after']
    this.versions = headers['sec-websocket-version']
  }
}

export class Stream {
  readonly socket: WebSocket
  readonly encoding: Encoding
  /** Messages that have arrived and that the test has not read yet. */
  readonly inbox: Message[] = []
  /** The code and reason of the close frame, once it has come. */
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>
  #ended = false
  #wake: () => void = () => undefined

  private constructor(socket: WebSocket, encoding: Encoding) {
    this.socket = socket
    this.encoding = encoding
    socket.on('message', (data: Buffer) => {
      this.inbox.push(decode(encoding, data))
      this.#wake()
    })
    socket.on('error', () => undefined)
    this.closed = new Promise((resolve) => {
      socket.once('close', (code, reason) => {
        this.#ended = true
        this.#wake()
        resolve({ code, reason: String(reason) })
      })
    })
  }

  /**
   * Opens a stream.
   * @throws Refused if the server answers anything but 101
   */
  static async open(server: Pick<Server, 'url'>, options: StreamOptions = {}): Promise<Stream> {
    const { encoding, key = KEYS.testSecret, query = '', headers = {}, protocolVersion = 13 } = options
    const url = `${server.url.replace('http', 'ws')}/v1/stream${query}`
    const socket = new WebSocket(url, encoding === undefined ? [] : [`ringfence.${encoding}`], {
      headers: { ...(key === null ? {} : { authorization: key }), ...headers },
      protocolVersion,
    })
    const stream = new Stream(socket, encoding ?? 'json')
    await new Promise<void>((resolve, reject) => {
      socket.once('open', () => resolve())
      socket.once('error', reject)
      socket.once('unexpected-response', (_request, response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (part: string) => (text += part))
        response.on('end', () =>
          reject(new Refused(response.statusCode!, JSON.parse(text), response.headers)),
        )
      })
    })
    return stream
  }

  send(message: { readonly type: string; readonly [field: string]: unknown }): void {
    this.socket.send(encode(this.encoding, message))
  }

  /**
   * The next message.
   * @throws Error if the stream ends first
   */
  async next(): Promise<Message> {
    for (;;) {
      if (this.inbox.length > 0) return this.inbox.shift()
      if (this.#ended) throw new Error('the stream has ended')
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }

  /** The next message of that type. Messages before it are skipped. */
  async nextOf(type: string): Promise<Message> {
    for (;;) {
      const message = await this.next()
      if (message.type === type) return message
    }
  }

  /** All messages up to and including the acknowledgement of a frame. */
  async upToAck(id: number): Promise<Message[]> {
    const messages: Message[] = []
    for (;;) {
      const message = await this.next()
      messages.push(message)
      if (message.type === 'ack' && message.id >= id) return messages
    }
  }

  /** Closes the connection. */
  close(): Promise<{ readonly code: number; readonly reason: string }> {
    this.socket.close()
    return this.closed
  }
}
