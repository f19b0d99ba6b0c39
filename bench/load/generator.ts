/**
 * The load generator in Node, for machines without a C compiler. It has the same options, walk and output as
 * generator.c, which explains them. It costs several times the CPU per request and its timers are coarse, so
 * latencies below a millisecond are its own.
 */
import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { parseArgs } from 'node:util'

const { values: options } = parseArgs({
  options: {
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string' },
    connections: { type: 'string', default: '256' },
    requests: { type: 'string' },
    head: { type: 'string' },
    group: { type: 'string' },
    offset: { type: 'string', default: '0' },
    count: { type: 'string' },
    rate: { type: 'string', default: '0' },
    'max-lag-ms': { type: 'string', default: '1000' },
    'patience-ms': { type: 'string', default: '0' },
  },
})
if (!options.port || !options.requests || !options.head || !options.group || !options.count)
  throw new Error('--port, --requests, --head, --group and --count are needed')
const { host } = options
const port = Number(options.port)
const connectionCount = Number(options.connections)
const count = Number(options.count)
const rate = Number(options.rate)
const maxLagMs = Number(options['max-lag-ms'])
const patienceMs = Number(options['patience-ms'])
const RETRY_MS = 50
const DRAIN_MS = 5000
const PROGRESS_MS = 500

/** The records of a request file, and the order in which they are used. */
class Requests {
  private readonly bytes: Buffer
  private readonly starts: number[] = []
  private readonly group: number
  private readonly offset: number
  private readonly head: Buffer

  constructor(path: string, head: string, group: number, offset: number) {
    this.bytes = readWhole(path)
    for (let at = 0; at < this.bytes.length; at += 4 + this.bytes.readUInt32LE(at)) this.starts.push(at)
    this.group = group
    this.offset = offset
    this.head = readFileSync(head)
  }

  /** The bytes of the i-th request of this run. */
  request(i: number): Buffer {
    const start = this.starts[this.record(this.offset + i)]!
    const length = this.bytes.readUInt32LE(start)
    const record = this.bytes.subarray(start + 4, start + 4 + length)
    return Buffer.concat([this.head, Buffer.from(`Content-Length: ${length}\r\n\r\n`), record])
  }

  private record(i: number): number {
    const { group } = this
    const rounds = Math.floor(this.starts.length / group)
    if (rounds < 2) return i % group
    const period = 2 * (rounds - 1)
    const round = Math.floor(i / group) % period
    return (round < rounds ? round : period - round) * group + (i % group)
  }
}

function readWhole(path: string): Buffer {
  const file = openSync(path, 'r')
  const bytes = Buffer.allocUnsafe(fstatSync(file).size)
  for (let at = 0; at < bytes.length;) at += readSync(file, bytes, at, bytes.length - at, at)
  closeSync(file)
  return bytes
}

const requests = new Requests(options.requests, options.head, Number(options.group), Number(options.offset))
const free: Connection[] = []
/** The latency of each answer, in milliseconds. */
const latencies: number[] = []
const delays: number[] = []
const statuses: Record<string, number> = {}
let sent = 0
let ok = 0
let connectionErrors = 0
let bytesReceived = 0
let busy = 0
let next = 0
let saturated = false
let startedAt = 0
let sending = false

/** One keep-alive connection with at most one request in flight. */
class Connection {
  private socket!: Socket
  private dueAt = 0
  private busy = false
  private received = ''
  private isOpen = false

  send(request: Buffer, dueAt: number): void {
    this.dueAt = dueAt
    this.busy = true
    busy++
    sent++
    this.socket.write(request)
  }

  get usable(): boolean {
    return this.isOpen && !this.busy
  }

  open(): void {
    this.received = ''
    this.socket = connect({ host, port, noDelay: true })
      .setEncoding('latin1')
      .on('connect', () => {
        this.isOpen = true
        free.push(this)
        pump()
      })
      .on('data', (text: string) => this.take(text))
      .on('error', () => {})
      .on('close', () => this.lost())
  }

  private lost(): void {
    this.isOpen = false
    if (this.busy) {
      this.busy = false
      busy--
      connectionErrors++
    }
    if (sending) setTimeout(() => this.open(), RETRY_MS)
  }

  private take(text: string): void {
    bytesReceived += text.length
    this.received += text
    const answer = completeAnswer(this.received)
    if (answer === undefined || !this.busy) return
    const { status } = answer
    this.received = ''
    this.busy = false
    busy--
    latencies.push(performance.now() - this.dueAt)
    statuses[status] = (statuses[status] ?? 0) + 1
    if (status >= 200 && status < 300) ok++
    if (answer.closes) {
      this.isOpen = false
      this.socket.end()
    } else free.push(this)
    pump()
  }
}

/** An answer that has arrived completely; undefined before that. */
function completeAnswer(text: string): { status: number; closes: boolean } | undefined {
  const headEnd = text.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const head = text.slice(0, headEnd)
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)
  const isWhole = length
    ? text.length >= headEnd + 4 + Number(length[1])
    : !/\r\ntransfer-encoding:/i.test(head) || text.endsWith('\r\n0\r\n\r\n')
  if (!isWhole) return undefined
  return { status: Number(head.slice(9, 12)), closes: /\r\nconnection: *close/i.test(head) }
}

function pump(): void {
  if (!sending) return
  const now = performance.now()
  const due = rate > 0 ? Math.min(count, Math.floor(((now - startedAt) * rate) / 1000) + 1) : count
  if (rate > 0 && ((due - next) / rate) * 1000 > maxLagMs) {
    saturated = true
    sending = false
    return
  }
  while (next < due) {
    const connection = free.shift()
    if (connection === undefined) return
    if (!connection.usable) continue
    const dueAt = rate > 0 ? startedAt + (next * 1000) / rate : now
    delays.push(now - dueAt)
    connection.send(requests.request(next++), dueAt)
  }
  if (next === count) sending = false
}

async function until(condition: () => boolean, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (!condition() && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 5))
}

/** Waits, but no longer than until no answer has come for this long. */
async function whileAnswered(condition: () => boolean, patience: number): Promise<void> {
  let answered: number
  do {
    answered = latencies.length
    await until(() => condition() || latencies.length > answered, patience)
  } while (!condition() && latencies.length > answered)
}

function quantile(sorted: readonly number[], q: number): number {
  return Number((sorted[Math.min(sorted.length - 1, Math.ceil(q * sorted.length) - 1)] ?? 0).toFixed(3))
}

for (let i = 0; i < connectionCount; i++) new Connection().open()
await until(() => free.length === connectionCount, DRAIN_MS)
if (free.length === 0) throw new Error(`cannot connect to ${host}:${port}`)
startedAt = performance.now()
sending = true
const ticks = setInterval(pump, 1)
const reports = setInterval(
  () => process.stderr.write(`progress ${latencies.length} ${count}\n`),
  PROGRESS_MS,
)
pump()
await whileAnswered(() => !sending, rate === 0 && patienceMs > 0 ? patienceMs : Infinity)
if (sending) {
  saturated = true
  sending = false
}
if (patienceMs > 0) await whileAnswered(() => busy === 0, patienceMs)
else await until(() => busy === 0, DRAIN_MS)
clearInterval(ticks)
clearInterval(reports)
const seconds = (performance.now() - startedAt) / 1000
const usage = process.cpuUsage()
const latency = Float64Array.from(latencies).sort() as unknown as number[]
const delay = Float64Array.from(delays).sort() as unknown as number[]
const result = {
  sent,
  ok,
  statuses,
  connectionErrors,
  unanswered: busy,
  unsent: count - next,
  saturated,
  seconds,
  perSecond: latencies.length / seconds,
  bytesReceived,
  cpuSeconds: (usage.user + usage.system) / 1e6,
  latencyMs: {
    p50: quantile(latency, 0.5),
    p90: quantile(latency, 0.9),
    p99: quantile(latency, 0.99),
    p999: quantile(latency, 0.999),
    max: quantile(latency, 1),
  },
  sendDelayMs: { p50: quantile(delay, 0.5), p99: quantile(delay, 0.99) },
}
process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0))
