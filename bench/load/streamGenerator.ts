/**
 * The load of the stream bench, as a separate process: opens streams and sends frames at a given rate, whether they
 * are acknowledged or not (an open loop), or without a pause. Frames are encoded before the measurement begins, and
 * masked with zeros, which costs neither side anything.
 *
 * Reads one JSON line per command from its input, {@link StreamCommand}, and writes one line for each: the
 * {@link StreamResult} of a run, otherwise an empty object.
 */
import { connect, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { quantile, rounded } from '../figures.ts'
import { frameEncoder, readUpdates, type Encoding, type FrameEncoder } from './streamFrames.ts'
import { BINARY, frameHead, MessageReader, TEXT, upgradeRequest } from './webSocket.ts'

/**
 * Streams to one server that stay open over several runs, because the cost of opening them must not count for the
 * updates.
 */
export interface SessionOptions {
  readonly port: number
  readonly key: string
  readonly encoding: Encoding
  readonly connections: number
  readonly updatesPerFrame: number
  /**
   * How many updates of the file make a round of all devices. Rounds are walked forwards and back, so that no device
   * jumps.
   */
  readonly updatesPerRound: number
  /** Whether acknowledgements should contain events. */
  readonly events: boolean
}

export interface StreamLoad {
  /** Updates per second; 0: without a pause, with a fixed number of frames of each connection in flight. */
  readonly rate: number
  /** Updates. */
  readonly count: number
  /** An unacknowledged frame this old ends the run. */
  readonly maxLagMs: number
}

export type StreamCommand =
  | ({ readonly do: 'open'; readonly session: number } & SessionOptions)
  | ({ readonly do: 'run'; readonly session: number } & StreamLoad)
  | { readonly do: 'close'; readonly session: number }

/** Counts are updates. */
export interface StreamResult {
  readonly sent: number
  /** Updates in frames that were acknowledged within five seconds after the last was sent. */
  readonly ok: number
  /** Not sent because the run was given up. */
  readonly unsent: number
  readonly seconds: number
  readonly perSecond: number
  readonly bytesReceived: number
  /** CPU time of the generator. */
  readonly cpuSeconds: number
  /** From the time when the frame was due to its acknowledgement. */
  readonly latencyMs: {
    readonly p50: number
    readonly p99: number
    readonly p999: number
    readonly max: number
  }
  /** The generator could not keep to the schedule. */
  readonly generatorWasLimit: boolean
  /** Messages that are not acknowledgements, and closed connections; the first of them. */
  readonly problems: number
  readonly problem?: string | undefined
}

const DRAIN_MS = 5000
/** Frames in flight on each connection if there is no pause; fewer with many connections. */
const MAX_WINDOW = 8
const WINDOWS_TOTAL = 512
/** How often to check whether the server is too far behind. */
const LOOK_MS = 20
/** If the 99th percentile of frames leaves later than this, it is the generator's fault. */
const LATE_MS = 5

const { values: options } = parseArgs({
  options: { updates: { type: 'string' }, count: { type: 'string' }, proto: { type: 'string' } },
})
const updates = readUpdates(options.updates!, Number(options.count))
const prepared = new Map<string, Frames>()

interface Frames {
  readonly encoder: FrameEncoder
  /** The rounds one after another, each with the same number of frames. */
  readonly bodies: readonly Buffer[]
  readonly perRound: number
}

/** Receives what comes over a stream. */
interface StreamOwner {
  acknowledged(latencies: readonly number[], stream: Stream): void
  problem(text: string): void
}

class Stream {
  readonly socket: Socket
  readonly #encoding: Encoding
  readonly #owner: StreamOwner
  sent = 0
  acknowledged = 0
  bytesReceived = 0
  /** When the unacknowledged frames were due, milliseconds. */
  readonly due: number[] = []

  constructor({ port, key, encoding }: SessionOptions, owner: StreamOwner, opened: () => void) {
    this.#encoding = encoding
    this.#owner = owner
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true })
    const reader = new MessageReader(this.socket, {
      opened,
      refused: (head) => {
        owner.problem(head)
        opened()
      },
      message: (message) => this.#acknowledge(message),
      closed: (reason) => owner.problem(reason),
    })
    this.socket.write(upgradeRequest(key, encoding))
    this.socket.on('data', (data) => {
      this.bytesReceived += data.length
      reader.receive(data)
    })
    this.socket.on('error', (error) => owner.problem(error.message))
    this.socket.on('close', () => owner.problem('a connection was closed'))
  }

  send({ encoder }: Frames, body: Buffer, count: number, events: boolean, due: number): void {
    const [before, after] = encoder.around(++this.sent, body, count, events)
    const length = before.length + body.length + after.length
    const head = frameHead(this.#encoding === 'json' ? TEXT : BINARY, length)
    this.due.push(due)
    this.socket.write(Buffer.concat([head, before, body, after], head.length + length))
  }

  #acknowledge(message: Buffer): void {
    const id = acknowledgedId(this.#encoding, message)
    if (id === undefined) return this.#owner.problem(message.toString('latin1'))
    const now = performance.now()
    const latencies = this.due.splice(0, id - this.acknowledged).map((due) => now - due)
    this.acknowledged = id
    this.#owner.acknowledged(latencies, this)
  }
}

class Session implements StreamOwner {
  readonly #options: SessionOptions
  readonly #frames: Frames
  #streams: Stream[] = []
  /** Position in the walk through the frames. */
  #next = 0
  /** Frames of the current run. */
  #sent = 0
  #acknowledged = 0
  #latencies: number[] = []
  #problems = 0
  #problem: string | undefined
  #onAcknowledged: ((stream: Stream) => void) | undefined

  constructor(session: SessionOptions) {
    this.#options = session
    this.#frames = framesOf(session)
  }

  async open(): Promise<void> {
    for (let i = 0; i < this.#options.connections; i++)
      await new Promise<void>((resolve) => this.#streams.push(new Stream(this.#options, this, resolve)))
    if (this.#problem !== undefined) throw new Error(this.#problem)
  }

  close(): void {
    for (const { socket } of this.#streams) {
      socket.removeAllListeners('close')
      socket.destroy()
    }
    this.#streams = []
  }

  acknowledged(latencies: readonly number[], stream: Stream): void {
    for (const latency of latencies) this.#latencies.push(latency)
    this.#acknowledged += latencies.length
    this.#onAcknowledged?.(stream)
  }

  problem(text: string): void {
    this.#problems++
    this.#problem ??= text.slice(0, 300)
  }

  async run(load: StreamLoad): Promise<StreamResult> {
    const { updatesPerFrame } = this.#options
    // What a run that was given up left behind would disturb the next one.
    if (this.#problems > 0 || this.#acknowledged < this.#sent) {
      this.close()
      this.#problems = 0
      this.#problem = undefined
      await this.open()
    }
    this.#sent = this.#acknowledged = 0
    this.#latencies = []
    const delays: number[] = []
    const total = Math.ceil(load.count / updatesPerFrame)
    const cpu = process.cpuUsage()
    const bytes = this.#bytesReceived
    const start = performance.now()
    if (load.rate === 0) await this.#withoutPause(total)
    else await this.#atRate(total, load, start, delays)
    const seconds = (performance.now() - start) / 1000
    const { user, system } = process.cpuUsage(cpu)
    const latencies = Float64Array.from(this.#latencies).sort()
    const at = (share: number) => rounded(quantile(latencies, share), 3)
    return {
      sent: this.#sent * updatesPerFrame,
      ok: this.#acknowledged * updatesPerFrame,
      unsent: (total - this.#sent) * updatesPerFrame,
      seconds,
      perSecond: (this.#acknowledged * updatesPerFrame) / seconds,
      bytesReceived: this.#bytesReceived - bytes,
      cpuSeconds: (user + system) / 1e6,
      latencyMs: { p50: at(0.5), p99: at(0.99), p999: at(0.999), max: at(1) },
      generatorWasLimit: quantile(Float64Array.from(delays).sort(), 0.99) > LATE_MS,
      problems: this.#problems,
      problem: this.#problem,
    }
  }

  get #bytesReceived(): number {
    return this.#streams.reduce((sum, { bytesReceived }) => sum + bytesReceived, 0)
  }

  async #atRate(
    total: number,
    { rate, maxLagMs }: StreamLoad,
    start: number,
    delays: number[],
  ): Promise<void> {
    const framesPerMs = rate / this.#options.updatesPerFrame / 1000
    let lookAt = start + LOOK_MS
    while (this.#sent < total && this.#problems === 0) {
      const now = performance.now()
      const due = Math.min(total, Math.ceil((now - start) * framesPerMs))
      while (this.#sent < due) {
        const dueAt = start + this.#sent / framesPerMs
        delays.push(now - dueAt)
        this.#send(this.#streams[this.#sent % this.#streams.length]!, dueAt)
      }
      if (now > lookAt) {
        if (this.#streams.some((stream) => now - (stream.due[0] ?? now) > maxLagMs)) break
        lookAt = now + LOOK_MS
      }
      await new Promise((resolve) => (framesPerMs > 1 ? setImmediate(resolve) : setTimeout(resolve, 1)))
    }
    await this.#allAcknowledged()
  }

  async #withoutPause(total: number): Promise<void> {
    const streams = this.#streams
    const window = Math.max(1, Math.min(MAX_WINDOW, Math.floor(WINDOWS_TOTAL / streams.length)))
    this.#onAcknowledged = (stream) => {
      while (this.#sent < total && stream.due.length < window) this.#send(stream, performance.now())
    }
    for (const stream of streams) this.#onAcknowledged(stream)
    while (this.#sent < total && this.#problems === 0) await new Promise((resolve) => setTimeout(resolve, 1))
    await this.#allAcknowledged()
  }

  #send(stream: Stream, due: number): void {
    const { updatesPerFrame, events } = this.#options
    stream.send(this.#frames, bodyOf(this.#frames, this.#next++), updatesPerFrame, events, due)
    this.#sent++
  }

  async #allAcknowledged(): Promise<void> {
    const deadline = performance.now() + DRAIN_MS
    await new Promise<void>((resolve) => {
      const timer = setInterval(() => {
        if (performance.now() > deadline || this.#problems > 0) finish()
      }, LOOK_MS)
      const finish = () => {
        clearInterval(timer)
        this.#onAcknowledged = undefined
        resolve()
      }
      this.#onAcknowledged = () => {
        if (this.#acknowledged === this.#sent) finish()
      }
      if (this.#acknowledged === this.#sent) finish()
    })
  }
}

function framesOf({ encoding, updatesPerFrame, updatesPerRound }: SessionOptions): Frames {
  const name = `${encoding} ${updatesPerFrame}`
  let found = prepared.get(name)
  if (found === undefined) {
    const encoder = frameEncoder(encoding, options.proto!)
    const bodies: Buffer[] = []
    const perRound = Math.floor(updatesPerRound / updatesPerFrame)
    for (let round = 0; (round + 1) * updatesPerRound <= updates.length; round++)
      for (let i = 0; i < perRound; i++) {
        const at = round * updatesPerRound + i * updatesPerFrame
        bodies.push(encoder.body(updates.slice(at, at + updatesPerFrame)))
      }
    // Only one at a time is kept, because they are large.
    prepared.clear()
    found = { encoder, bodies, perRound }
    prepared.set(name, found)
  }
  return found
}

/** The i-th frame of an endless walk through the rounds, forwards and then backwards. */
function bodyOf({ bodies, perRound }: Frames, i: number): Buffer {
  const rounds = bodies.length / perRound
  const period = Math.max(1, 2 * (rounds - 1))
  const round = Math.floor(i / perRound) % period
  return bodies[(round < rounds ? round : period - round) * perRound + (i % perRound)]!
}

/** The number in an acknowledgement, with events or without; undefined if it is another message. */
function acknowledgedId(encoding: Encoding, message: Buffer): number | undefined {
  if (encoding === 'json') {
    const match = /^\{"type":"ack","id":(\d+)[,}]/.exec(message.toString('latin1', 0, 48))
    return match === null ? undefined : Number(match[1])
  }
  if (encoding === 'msgpack') {
    if ((message[0]! & 0xf0) !== 0x80 || message.toString('latin1', 1, 10) !== '\xa4type\xa3ack')
      return undefined
    const byte = message[13]!
    if (byte < 128) return byte
    return byte === 0xcc ? message[14] : byte === 0xcd ? message.readUInt16BE(14) : message.readUInt32BE(14)
  }
  if (message[0] !== 0x0a) return undefined
  let at = 1
  while (message[at]! > 127) at++
  if (message[at + 1] !== 0x08) return undefined
  at += 2
  let id = 0
  for (let scale = 1; ; at++, scale *= 128) {
    id += (message[at]! & 127) * scale
    if (message[at]! < 128) return id
  }
}

const sessions = new Map<number, Session>()

async function obey(command: StreamCommand): Promise<StreamResult | undefined> {
  switch (command.do) {
    case 'open': {
      const session = new Session(command)
      sessions.set(command.session, session)
      await session.open()
      return undefined
    }
    case 'run':
      return sessions.get(command.session)!.run(command)
    case 'close':
      sessions.get(command.session)!.close()
      sessions.delete(command.session)
      return undefined
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify((await obey(JSON.parse(line) as StreamCommand)) ?? {}))
}
