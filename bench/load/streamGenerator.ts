/**
 * The load of the stream bench, in a process of its own: opens streams and sends frames at a given rate, whether they
 * are acknowledged or not (an open loop). Frames are encoded before the clock runs, and masked with zeros, which costs
 * neither side anything.
 *
 * Reads one JSON line per run from its input, {@link StreamLoad}, and writes one {@link StreamResult} for each.
 */
import { connect, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { frameEncoder, readUpdates, type Encoding, type FrameEncoder } from './streamFrames.ts'

export interface StreamLoad {
  readonly port: number
  readonly key: string
  readonly encoding: Encoding
  readonly connections: number
  readonly updatesPerFrame: number
  /** Updates per second. */
  readonly rate: number
  readonly seconds: number
}

export interface StreamResult {
  readonly updates: number
  /** Of those, in frames that were acknowledged within five seconds after the last was sent. */
  readonly acknowledged: number
  readonly seconds: number
  /** CPU time of the generator. */
  readonly cpuSeconds: number
  /** From the time when the frame was due to its acknowledgement. */
  readonly latencyMs: { readonly p50: number; readonly p99: number; readonly max: number }
  /** Messages that are no acknowledgements, and closed connections; the first of them. */
  readonly problems: number
  readonly problem: string | undefined
}

const DRAIN_MS = 5000

const { values: options } = parseArgs({
  options: { updates: { type: 'string' }, count: { type: 'string' }, proto: { type: 'string' } },
})
const updates = readUpdates(options.updates!, Number(options.count))
const prepared = new Map<string, { encoder: FrameEncoder; bodies: Buffer[] }>()
/** Frames go on where the run before has ended. */
let nextBody = 0

class Stream {
  readonly socket: Socket
  sent = 0
  acknowledged = 0
  /** When the frames were due that are not acknowledged, milliseconds. */
  readonly due: number[] = []
  #open: (() => void) | undefined
  #buffer: Buffer = Buffer.alloc(0)
  readonly #run: Run

  constructor(run: Run, opened: () => void) {
    this.#run = run
    this.#open = opened
    const { port, key, encoding } = run.load
    this.socket = connect(port, '127.0.0.1')
    this.socket.setNoDelay(true)
    this.socket.write(
      `GET /v1/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: ${key}\r\nUpgrade: websocket\r\n` +
        'Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n' +
        `Sec-WebSocket-Protocol: ringfence.${encoding}\r\n\r\n`,
    )
    this.socket.on('data', (data) => this.#receive(data))
    this.socket.on('error', (error) => run.problem(error.message))
    this.socket.on('close', () => run.closed())
  }

  send(encoder: FrameEncoder, body: Buffer, count: number, due: number): void {
    const [before, after] = encoder.around(++this.sent, body, count)
    const length = before.length + body.length + after.length
    const head = headOf(length, this.#run.load.encoding === 'json' ? 0x81 : 0x82)
    this.due.push(due)
    this.socket.write(Buffer.concat([head, before, body, after], head.length + length))
  }

  #receive(data: Buffer): void {
    this.#buffer = this.#buffer.length === 0 ? data : Buffer.concat([this.#buffer, data])
    if (this.#open !== undefined) {
      const end = this.#buffer.indexOf('\r\n\r\n')
      if (end < 0) return
      if (!this.#buffer.toString('latin1', 0, 12).endsWith('101'))
        this.#run.problem(this.#buffer.toString('latin1'))
      this.#buffer = this.#buffer.subarray(end + 4)
      this.#open()
      this.#open = undefined
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
      this.#message(buffer[0]!, buffer.subarray(head, head + length))
      this.#buffer = buffer.subarray(head + length)
    }
  }

  #message(first: number, message: Buffer): void {
    if ((first & 8) !== 0) return
    const id = acknowledgedId(this.#run.load.encoding, message)
    if (id === undefined) return this.#run.problem(message.toString('latin1'))
    const now = performance.now()
    const frames = id - this.acknowledged
    for (let i = 0; i < frames; i++) this.#run.latencies.push(now - this.due[i]!)
    this.due.splice(0, frames)
    this.acknowledged = id
    this.#run.acknowledge(frames)
  }
}

class Run {
  readonly load: StreamLoad
  readonly latencies: number[] = []
  problems = 0
  firstProblem: string | undefined
  frames = 0
  acknowledged = 0
  onAcknowledged: (() => void) | undefined
  #over = false

  constructor(load: StreamLoad) {
    this.load = load
  }

  problem(text: string): void {
    this.problems++
    this.firstProblem ??= text.slice(0, 300)
  }

  closed(): void {
    if (!this.#over) this.problem('a connection was closed')
  }

  acknowledge(frames: number): void {
    this.acknowledged += frames
    if (this.acknowledged === this.frames) this.onAcknowledged?.()
  }

  async result(): Promise<StreamResult> {
    const { load } = this
    const { encoder, bodies } = framesOf(load)
    const streams: Stream[] = []
    for (let i = 0; i < load.connections; i++)
      await new Promise<void>((resolve) => streams.push(new Stream(this, resolve)))
    const framesPerMs = load.rate / load.updatesPerFrame / 1000
    const total = Math.ceil(framesPerMs * 1000 * load.seconds)
    const cpu = process.cpuUsage()
    const start = performance.now()
    while (this.frames < total) {
      const due = Math.min(total, Math.ceil((performance.now() - start) * framesPerMs))
      for (; this.frames < due; this.frames++) {
        const stream = streams[this.frames % streams.length]!
        const body = bodies[nextBody++ % bodies.length]!
        stream.send(encoder, body, load.updatesPerFrame, start + this.frames / framesPerMs)
      }
      await new Promise((resolve) => (framesPerMs > 1 ? setImmediate(resolve) : setTimeout(resolve, 1)))
    }
    if (this.acknowledged < this.frames) {
      await new Promise<void>((resolve) => {
        this.onAcknowledged = resolve
        setTimeout(resolve, DRAIN_MS)
      })
    }
    const seconds = (performance.now() - start) / 1000
    const { user, system } = process.cpuUsage(cpu)
    this.#over = true
    for (const { socket } of streams) socket.destroy()
    const sorted = Float64Array.from(this.latencies).sort()
    const at = (share: number) =>
      Math.round((sorted[Math.floor(share * (sorted.length - 1))] ?? 0) * 1000) / 1000
    return {
      updates: this.frames * load.updatesPerFrame,
      acknowledged: this.acknowledged * load.updatesPerFrame,
      seconds,
      cpuSeconds: (user + system) / 1e6,
      latencyMs: { p50: at(0.5), p99: at(0.99), max: at(1) },
      problems: this.problems,
      problem: this.firstProblem,
    }
  }
}

function framesOf({ encoding, updatesPerFrame }: StreamLoad): { encoder: FrameEncoder; bodies: Buffer[] } {
  const name = `${encoding} ${updatesPerFrame}`
  let found = prepared.get(name)
  if (found === undefined) {
    const encoder = frameEncoder(encoding, options.proto!)
    const bodies: Buffer[] = []
    for (let i = 0; i + updatesPerFrame <= updates.length; i += updatesPerFrame)
      bodies.push(encoder.body(updates.slice(i, i + updatesPerFrame)))
    // One at a time: they are large.
    prepared.clear()
    found = { encoder, bodies }
    prepared.set(name, found)
  }
  return found
}

/** A frame's head, masked with zeros. */
function headOf(length: number, first: number): Buffer {
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

/** The number in an acknowledgement; undefined: it is another message. */
function acknowledgedId(encoding: Encoding, message: Buffer): number | undefined {
  if (encoding === 'json') {
    const match = /^\{"type":"ack","id":(\d+)\}$/.exec(message.toString('latin1'))
    return match === null ? undefined : Number(match[1])
  }
  if (encoding === 'msgpack') {
    if (message.toString('latin1', 1, 10) !== '\xa4type\xa3ack' || message[0] !== 0x82) return undefined
    const byte = message[13]!
    if (byte < 128) return byte
    return byte === 0xcc ? message[14] : byte === 0xcd ? message.readUInt16BE(14) : message.readUInt32BE(14)
  }
  if (message[0] !== 0x0a || message[2] !== 0x08) return undefined
  let id = 0
  for (let at = 3, scale = 1; ; at++, scale *= 128) {
    id += (message[at]! & 127) * scale
    if (message[at]! < 128) return id
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const result = await new Run(JSON.parse(line) as StreamLoad).result()
  console.log(JSON.stringify(result))
}
