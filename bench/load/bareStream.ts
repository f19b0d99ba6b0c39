/**
 * What the transport of a stream alone costs: a uWebSockets.js handler that parses the same frames with the libraries
 * that a plain server would use, and acknowledges each at once. It evaluates and stores nothing.
 *
 * Options add what no server of this design gets around, each as cheap as it can be:
 * - `--log FILE`: it acknowledges once its rows are on the disk ({@link Flusher}), all frames of a connection by one message.
 *   `--gather MS` lets a batch gather before its flush.
 * - `--devices`: reads and writes 64 bytes of the update's device, found by the bytes of its id among 100,000.
 * - `--index FILE`: one update in fourteen makes an event: 700 bytes more in the log, and a row in SQLite, in a thread.
 * - `--plain`: reads JSON by one that knows the order of its bytes, and not by JSON.parse.
 *
 * Usage: node bench/load/bareStream.ts --proto FILE; prints `listening <port>`.
 */
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { Unpackr } from 'msgpackr'
import protobuf from 'protobufjs'
import { App, us_listen_socket_close, us_socket_local_port, type WebSocket } from 'uWebSockets.js'
import { BareDevices, ID_BYTES } from './bareDevices.ts'
import { Flusher } from './flusher.ts'
import { readPlainFrame } from './plainJson.ts'

/** Bytes that an update adds to the log of Ringfence: position, time, flags, device. */
const ROW_BYTES = 26
/** So often an update of the workload makes an event, and so long is its text. */
const UPDATES_PER_EVENT = 14
const EVENT_TEXT = Buffer.alloc(700, 'x')
/** Events gather so long before they go to the thread. */
const EVENTS_GATHER_MS = 200

interface Frame {
  readonly id: number
  readonly updates: readonly {
    readonly deviceId: string
    readonly latitude: number
    readonly longitude: number
  }[]
}

interface User {
  readonly protocol: string
  /** The newest of its frames that is on the disk and not acknowledged; 0: none. */
  durable: number
}

type Stream = WebSocket<User>

const { values: options } = parseArgs({
  options: {
    proto: { type: 'string' },
    log: { type: 'string' },
    gather: { type: 'string', default: '0' },
    devices: { type: 'boolean', default: false },
    index: { type: 'string' },
    plain: { type: 'boolean', default: false },
  },
})
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

const flusher =
  options.log === undefined
    ? undefined
    : new Flusher<readonly [ws: Stream, id: number]>(
        options.log,
        ROW_BYTES,
        Number(options.gather),
        acknowledgeAll,
      )
const devices = options.devices ? new BareDevices() : undefined
const index =
  options.index === undefined
    ? undefined
    : new Worker(new URL('bareIndexWorker.ts', import.meta.url), { workerData: options.index })
let updates = 0
let events: (string | number)[] = []

/** What is done with an update once it is parsed. */
function take(bytes: Buffer, idAt: number, latitude: number, longitude: number, time: number): void {
  seen += latitude
  flusher?.row(latitude, longitude, time)
  if (devices !== undefined) seen += devices.move(bytes, idAt, latitude, longitude, time)
  if (index === undefined || ++updates % UPDATES_PER_EVENT > 0) return
  flusher?.text(EVENT_TEXT)
  const id = updates.toString(16).padStart(24, '0')
  if (events.length === 0) setTimeout(sendEvents, EVENTS_GATHER_MS)
  events.push(id, bytes.toString('latin1', idAt, idAt + ID_BYTES), time, latitude, longitude)
}

function sendEvents(): void {
  index!.postMessage(events)
  events = []
}

const idOfText = Buffer.alloc(ID_BYTES)

function takeParsed({ updates: list }: Frame): void {
  const time = Date.now()
  for (const { deviceId, latitude, longitude } of list) {
    if (devices !== undefined || index !== undefined)
      for (let i = 0; i < ID_BYTES; i++) idOfText[i] = deviceId.charCodeAt(i)
    take(idOfText, 0, latitude, longitude, time)
  }
}

/** @returns the frame's id */
function takePlain(message: ArrayBuffer): number {
  const bytes = Buffer.from(message)
  const time = Date.now()
  return readPlainFrame(bytes, ID_BYTES, (idAt, latitude, longitude) =>
    take(bytes, idAt, latitude, longitude, time),
  )
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

/** Those of a batch that were closed meanwhile must not be asked for anything. */
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
      let id: number
      if (options.plain) id = takePlain(message)
      else {
        const frame = PARSERS[ws.getUserData().protocol]!.parse(message)
        takeParsed(frame)
        id = frame.id
      }
      if (flusher === undefined) acknowledge(ws, id)
      else flusher.wait([ws, id])
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
