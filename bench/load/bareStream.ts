/**
 * What the transport of a stream alone costs: a uWebSockets.js handler that parses the same frames with the libraries
 * that a plain server would use, and acknowledges each at once. It evaluates and stores nothing.
 *
 * With `--log FILE` it acknowledges once its rows are on the disk ({@link Flusher}), with one message for all frames
 * of a connection. `--gather MS` lets a batch gather before its flush.
 *
 * Usage: node bench/load/bareStream.ts --proto FILE; prints `listening <port>`.
 */
import { parseArgs } from 'node:util'
import { Unpackr } from 'msgpackr'
import protobuf from 'protobufjs'
import { App, us_listen_socket_close, us_socket_local_port, type WebSocket } from 'uWebSockets.js'
import { Flusher } from './flusher.ts'

/** Bytes that an update adds to the log of Ringfence: position, time, flags, device. */
const ROW_BYTES = 26

interface Frame {
  readonly id: number
  readonly updates: readonly {
    readonly latitude: number
    readonly longitude: number
  }[]
}

interface User {
  readonly protocol: string
  /** The newest of its frames that is on the disk and not acknowledged; 0 if there is none. */
  durable: number
}

type Stream = WebSocket<User>

const { values: options } = parseArgs({
  options: {
    proto: { type: 'string' },
    log: { type: 'string' },
    gather: { type: 'string', default: '0' },
  },
})
const root = protobuf.loadSync(options.proto!)
const ClientMessage = root.lookupType('ringfence.v1.ClientMessage')
const ServerMessage = root.lookupType('ringfence.v1.ServerMessage')
const unpackr = new Unpackr({ useRecords: false })

/** Makes sure that the result of parsing is used. */
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

const flusher =
  options.log === undefined
    ? undefined
    : new Flusher<readonly [ws: Stream, id: number]>(
        options.log,
        ROW_BYTES,
        Number(options.gather),
        acknowledgeAll,
      )

function take({ updates }: Frame): void {
  const time = Date.now()
  for (const { latitude, longitude } of updates) {
    seen += latitude
    flusher?.row(latitude, longitude, time)
  }
}

function acknowledge(ws: Stream, id: number): void {
  const { protocol } = ws.getUserData()
  ws.send(PARSERS[protocol]!.ack(id), protocol !== 'ringfence.json')
}

/** One message for each connection that has frames in the batch. */
function acknowledgeAll(batch: readonly (readonly [ws: Stream, id: number])[]): void {
  const told: Stream[] = []
  for (const [ws, id] of batch) {
    if (!open.has(ws)) continue
    const user = ws.getUserData()
    if (user.durable === 0) told.push(ws)
    user.durable = id
  }
  for (const ws of told) {
    const user = ws.getUserData()
    acknowledge(ws, user.durable)
    user.durable = 0
  }
}

/** Methods of connections that were closed in the meantime must not be called. */
const open = new Set<Stream>()

App()
  .ws<User>('/v1/stream', {
    maxPayloadLength: 1 << 20,
    upgrade(res, req, context) {
      const protocol = req.getHeader('sec-websocket-protocol')
      const user: User = { protocol, durable: 0 }
      res.upgrade(user, req.getHeader('sec-websocket-key'), protocol, '', context)
    },
    open(ws) {
      open.add(ws)
    },
    close(ws) {
      open.delete(ws)
    },
    message(ws, message) {
      const frame = PARSERS[ws.getUserData().protocol]!.parse(message)
      take(frame)
      if (flusher === undefined) acknowledge(ws, frame.id)
      else flusher.wait([ws, frame.id])
    },
  })
  .listen('127.0.0.1', 0, (socket) => {
    if (!socket) throw new Error('cannot listen')
    console.log(`listening ${us_socket_local_port(socket)}`)
    process.once('SIGTERM', () => {
      us_listen_socket_close(socket)
      flusher?.close()
      process.exit(Number.isNaN(seen) ? 1 : 0)
    })
  })
