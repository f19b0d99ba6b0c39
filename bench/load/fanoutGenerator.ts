/**
 * The load of the fan-out bench, as a separate process: one stream whose updates each make one event, at a given rate
 * (an open loop), and readers that receive all or some of these events. The k-th event of a device that arrives
 * belongs to the device's k-th update. So each reader knows how late it is, and a missing event is noticed.
 *
 * Reads one JSON line per command from its input, {@link FanoutCommand}, and writes one line for each.
 */
import { connect, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { App, us_socket_local_port } from 'uWebSockets.js'
import { quantile, rounded } from '../figures.ts'
import { deviceAt, DEVICE_ID_LENGTH, DEVICE_PREFIX, DEVICES, deviceId, toggle } from './fanoutDevices.ts'
import { textFrame, upgradeRequest } from './webSocket.ts'

export type Transport = 'websocket' | 'sse' | 'webhook'

export interface Readers {
  readonly transport: Transport
  readonly count: number
  /** Each reader wants the events of one device, not of all. */
  readonly filtered: boolean
}

export interface Target {
  readonly port: number
  /** A secret key. */
  readonly key: string
}

export interface FanoutLoad {
  /** Events per second. */
  readonly rate: number
  readonly seconds: number
}

export type FanoutCommand =
  | ({ readonly do: 'connect' } & Target)
  | { readonly do: 'stall'; readonly subscriptions: number }
  | ({ readonly do: 'read' } & Readers)
  | ({ readonly do: 'run' } & FanoutLoad)
  | { readonly do: 'close' }

export interface FanoutResult {
  readonly events: number
  /** Deliveries to the readers that read. */
  readonly expected: number
  /** The deliveries that arrived within ten seconds after the last event. */
  readonly delivered: number
  readonly seconds: number
  readonly bytesReceived: number
  /** CPU time of the generator. */
  readonly cpuSeconds: number
  /** The time from when the update was due to the arrival of its event. */
  readonly latencyMs: { readonly p50: number; readonly p99: number; readonly max: number }
  /** Whether the generator could not keep to the schedule. */
  readonly generatorWasLimit: boolean
}

const DRAIN_MS = 10_000
const OPENED_AT_ONCE = 50
/** If the 99th percentile of updates leaves later than this, it is the generator's fault. */
const LATE_MS = 5
/** How long to wait for acknowledgements after a run. */
const ACKNOWLEDGED_MS = 1000
const NEEDLE = Buffer.from(DEVICE_PREFIX)
/** All readers read into this buffer, one after another. */
const shared = Buffer.allocUnsafe(256 * 1024)

/** Compares what is due with what has arrived. */
class Tally {
  /** When each update of a device was due in the current run. */
  readonly due: number[][] = Array.from({ length: DEVICES }, () => [])
  latencies: number[] = []
  delivered = 0
  bytesReceived = 0
  /** The last frame that the server has acknowledged, as far as that could be read. */
  acknowledged = 0

  begin(): void {
    for (const times of this.due) times.length = 0
    this.latencies = []
    this.delivered = 0
    this.bytesReceived = 0
  }

  arrived(device: number, k: number, now: number): void {
    const due = this.due[device]![k]
    if (due === undefined) throw new Error(`event ${k} of device ${device} came before its update`)
    this.latencies.push(now - due)
    this.delivered++
  }
}

const tally = new Tally()

/** A reader of events over any transport. It finds the ids of devices in the bytes. */
class Reader {
  /** Events of each device that have arrived in the current run. */
  readonly #seen = new Uint32Array(DEVICES)
  /** Bytes that may be the beginning of an id. */
  #rest: Buffer = Buffer.alloc(0)

  begin(): void {
    this.#seen.fill(0)
  }

  /** Receives one complete event. The user in it contains the device's id a second time. */
  receiveOne(body: Buffer): void {
    tally.bytesReceived += body.length
    const device = deviceAt(body, body.indexOf(NEEDLE))
    tally.arrived(device, this.#seen[device]!++, performance.now())
  }

  /** Receives any part of a sequence of events. */
  receive(chunk: Buffer): void {
    const now = performance.now()
    tally.bytesReceived += chunk.length
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    let from = 0
    for (;;) {
      const at = bytes.indexOf(NEEDLE, from)
      if (at < 0 || at + DEVICE_ID_LENGTH > bytes.length) break
      const device = deviceAt(bytes, at)
      tally.arrived(device, this.#seen[device]!++, now)
      from = at + DEVICE_ID_LENGTH
    }
    // Messages end outside of ids, so usually nothing is left over.
    const last = bytes[bytes.length - 1]
    const isWhole = last === CLOSING_BRACE || last === LINE_FEED
    this.#rest = isWhole
      ? EMPTY
      : Buffer.from(bytes.subarray(Math.max(from, bytes.length - DEVICE_ID_LENGTH + 1)))
  }
}

const EMPTY = Buffer.alloc(0)
const CLOSING_BRACE = 0x7d
const LINE_FEED = 0x0a

let target: Target
let driver: Socket
let frames = 0
let readers: Reader[] = []
let filtered = false
let sockets: Socket[] = []
/** Updates of each device so far, over all connections. */
const sentOf = new Uint32Array(DEVICES)

async function obey(command: FanoutCommand): Promise<unknown> {
  switch (command.do) {
    case 'connect':
      target = command
      frames = 0
      tally.acknowledged = 0
      driver = await opened([upgradeStep()], noteAcknowledged)
      return {}
    case 'stall':
      return stall(command.subscriptions)
    case 'read':
      return read(command)
    case 'run':
      return run(command)
    case 'close':
      for (const socket of [...sockets, driver]) socket.destroy()
      sockets = []
      readers = []
      return {}
  }
}

/** What is sent, and the text that shows that the answer has arrived. */
type Step = readonly [send: string | Buffer, sign: string]

/** Opens a connection step by step, because data that is sent together with an upgrade request may be lost. */
function opened(steps: readonly Step[], receive: (chunk: Buffer) => void): Promise<Socket> {
  return new Promise((resolve, reject) => {
    let step = 0
    let head = ''
    const take = () => {
      if (!head.includes(steps[step]![1])) {
        if (/^HTTP\/1.1 [345]/.test(head)) reject(new Error(head))
        return
      }
      head = ''
      if (++step === steps.length) resolve(socket)
      else socket.write(steps[step]![0])
    }
    const socket = connect({
      port: target.port,
      host: '127.0.0.1',
      noDelay: true,
      onread: {
        buffer: shared,
        callback(length) {
          const chunk = shared.subarray(0, length)
          if (step === steps.length) receive(chunk)
          else {
            head += chunk.toString('latin1')
            take()
          }
          return true
        },
      },
    })
    socket.once('error', reject)
    socket.write(steps[0]![0])
  })
}

function noteAcknowledged(chunk: Buffer): void {
  const ids = chunk.toString('latin1').matchAll(/"ack","id":(\d+)\}/g)
  for (const [, id] of ids) tally.acknowledged = Number(id)
}

function upgradeStep(): Step {
  return [upgradeRequest(target.key, 'json'), ' 101 ']
}

function subscribe(id: string, deviceIds: readonly string[] | undefined): Buffer {
  return textFrame(JSON.stringify({ type: 'subscribe', id, filter: deviceIds && { deviceIds } }))
}

/** A reader that subscribes to everything many times, and reads nothing. */
async function stall(subscriptions: number): Promise<object> {
  const socket = await opened([upgradeStep()], () => {})
  socket.pause()
  for (let i = 0; i < subscriptions; i++) socket.write(subscribe(`stalled-${i}`, undefined))
  sockets.push(socket)
  return {}
}

async function read(wanted: Readers): Promise<object> {
  filtered = wanted.filtered
  readers = Array.from({ length: wanted.count }, () => new Reader())
  if (wanted.transport === 'webhook') return { port: await receiveWebhooks() }
  for (let i = 0; i < readers.length; i += OPENED_AT_ONCE) {
    const some = readers.slice(i, i + OPENED_AT_ONCE)
    sockets.push(...(await Promise.all(some.map((reader, j) => openReader(wanted, i + j, reader)))))
  }
  return {}
}

function openReader({ transport }: Readers, i: number, reader: Reader): Promise<Socket> {
  const only = filtered ? deviceId(i % DEVICES) : undefined
  const receive = (chunk: Buffer) => reader.receive(chunk)
  if (transport === 'sse') return opened([[sseRequest(only), ': connected']], receive)
  const message = subscribe('s', only === undefined ? undefined : [only])
  return opened([upgradeStep(), [message, '"subscribed"']], receive)
}

function sseRequest(deviceIds: string | undefined): string {
  const query = deviceIds === undefined ? '' : `?deviceIds=${deviceIds}`
  return `GET /v1/events/stream${query} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: ${target.key}\r\n\r\n`
}

/** Webhook number i is POST /<i>. Resolves to the port. */
function receiveWebhooks(): Promise<number> {
  return new Promise((resolve) => {
    App()
      .post('/:reader', (res, req) => {
        const reader = readers[Number(req.getParameter(0))]!
        const chunks: Buffer[] = []
        res.onAborted(() => {})
        res.onData((chunk, isLast) => {
          chunks.push(Buffer.from(new Uint8Array(chunk)))
          if (!isLast) return
          reader.receiveOne(Buffer.concat(chunks))
          res.end('{}')
        })
      })
      .listen('127.0.0.1', 0, (socket) => resolve(us_socket_local_port(socket as never)))
  })
}

async function run({ rate, seconds }: FanoutLoad): Promise<FanoutResult> {
  tally.begin()
  for (const reader of readers) reader.begin()
  const total = Math.ceil(rate * seconds)
  const delays: number[] = []
  let expected = 0
  const cpu = process.cpuUsage()
  const start = performance.now()
  for (let sent = 0; sent < total;) {
    const now = performance.now()
    for (const due = Math.min(total, Math.ceil(((now - start) * rate) / 1000)); sent < due; sent++) {
      const dueAt = start + (sent * 1000) / rate
      const device = sent % DEVICES
      delays.push(now - dueAt)
      tally.due[device]!.push(dueAt)
      expected += wantedBy(device)
      const updates = [toggle(device, sentOf[device]!++)]
      driver.write(textFrame(JSON.stringify({ type: 'track', id: ++frames, updates })))
    }
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  const deadline = performance.now() + DRAIN_MS
  while (tally.delivered < expected && performance.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 2))
  // Events that nobody waits for must not reach the next readers.
  const acknowledgedBy = performance.now() + ACKNOWLEDGED_MS
  const last = frames
  while (tally.acknowledged < last && performance.now() < acknowledgedBy)
    await new Promise((resolve) => setTimeout(resolve, 2))
  const { user, system } = process.cpuUsage(cpu)
  const latencies = Float64Array.from(tally.latencies).sort()
  const at = (share: number) => rounded(quantile(latencies, share), 3)
  return {
    events: total,
    expected,
    delivered: tally.delivered,
    seconds: (performance.now() - start) / 1000,
    bytesReceived: tally.bytesReceived,
    cpuSeconds: (user + system) / 1e6,
    latencyMs: { p50: at(0.5), p99: at(0.99), max: at(1) },
    generatorWasLimit: quantile(Float64Array.from(delays).sort(), 0.99) > LATE_MS,
  }
}

/** The readers that receive an event of this device. */
function wantedBy(device: number): number {
  if (!filtered) return readers.length
  return Math.floor(readers.length / DEVICES) + (device < readers.length % DEVICES ? 1 : 0)
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await obey(JSON.parse(line) as FanoutCommand)))
}
process.exit(0)
