/**
 * What the transport of a stream alone costs: a uWebSockets.js handler that parses the same frames with the libraries
 * that a plain server would use, and acknowledges each at once. It evaluates and stores nothing.
 *
 * Usage: node bench/load/bareStream.ts --proto FILE; prints `listening <port>`.
 */
import { parseArgs } from 'node:util'
import { Unpackr } from 'msgpackr'
import protobuf from 'protobufjs'
import { App, us_listen_socket_close, us_socket_local_port } from 'uWebSockets.js'

interface Frame {
  readonly id: number
  readonly updates: readonly { readonly latitude: number }[]
}

const { values: options } = parseArgs({ options: { proto: { type: 'string' } } })
const root = protobuf.loadSync(options.proto!)
const ClientMessage = root.lookupType('ringfence.v1.ClientMessage')
const ServerMessage = root.lookupType('ringfence.v1.ServerMessage')
const unpackr = new Unpackr({ useRecords: false })

/** Keeps the result of parsing in use. */
let seen = 0

interface Parser {
  parse(bytes: ArrayBuffer): Frame
  ack(id: number): string | Uint8Array
}

const PARSERS: Readonly<Record<string, Parser>> = {
  'ringfence.json': {
    parse: (bytes) => JSON.parse(Buffer.from(bytes).toString()) as Frame,
    ack: (id) => `{"type":"ack","id":${id}}`,
  },
  'ringfence.msgpack': {
    parse: (bytes) => unpackr.unpack(new Uint8Array(bytes)) as Frame,
    ack: (id) =>
      Buffer.from([
        0x82,
        0xa4,
        ...Buffer.from('type'),
        0xa3,
        ...Buffer.from('ack'),
        0xa2,
        0x69,
        0x64,
        0xce,
        id >>> 24,
        (id >>> 16) & 255,
        (id >>> 8) & 255,
        id & 255,
      ]),
  },
  'ringfence.protobuf': {
    parse: (bytes) => {
      const { track } = ClientMessage.decode(new Uint8Array(bytes)) as unknown as {
        track: { id: unknown; updates: Frame['updates'] }
      }
      return { id: Number(track.id), updates: track.updates }
    },
    ack: (id) => ServerMessage.encode({ ack: { id } }).finish(),
  },
}

App()
  .ws<{ readonly protocol: string }>('/v1/stream', {
    maxPayloadLength: 1 << 20,
    upgrade(res, req, context) {
      const protocol = req.getHeader('sec-websocket-protocol')
      res.upgrade({ protocol }, req.getHeader('sec-websocket-key'), protocol, '', context)
    },
    message(ws, message) {
      const { protocol } = ws.getUserData()
      const parser = PARSERS[protocol]!
      const { id, updates } = parser.parse(message)
      for (const { latitude } of updates) seen += latitude
      ws.send(parser.ack(id), protocol !== 'ringfence.json')
    },
  })
  .listen('127.0.0.1', 0, (socket) => {
    if (!socket) throw new Error('cannot listen')
    console.log(`listening ${us_socket_local_port(socket)}`)
    process.once('SIGTERM', () => {
      us_listen_socket_close(socket)
      process.exit(Number.isNaN(seen) ? 1 : 0)
    })
  })
