/**
 * What the transport alone costs: a uWebSockets.js handler that parses the body of POST /v1/track with JSON.parse and
 * sends as many bytes back as Ringfence does, with the same headers. It evaluates and stores nothing.
 *
 * With `--log FILE` it answers only after its bytes are on disk: one write and one fdatasync cover everything that
 * arrived while the last flush was under way. No server that keeps its word can be cheaper than that.
 *
 * Usage: node bench/load/bare.ts --answer FILE [--log FILE]; prints `listening <port>`.
 */
import { closeSync, fdatasync, openSync, readFileSync, writeSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { App, us_listen_socket_close, us_socket_local_port } from 'uWebSockets.js'
import type { HttpResponse } from 'uWebSockets.js'
import type { AnswerShape } from './answerShape.ts'

/** Bytes that an update adds to the log: position, time, flags, and its share of a frame's header. */
const ROW_BYTES = 32

const { values: options } = parseArgs({ options: { answer: { type: 'string' }, log: { type: 'string' } } })
if (options.answer === undefined) throw new Error('--answer FILE is needed')
const shape = JSON.parse(readFileSync(options.answer, 'utf8')) as AnswerShape
const answer = JSON.stringify({ filler: 'x'.repeat(Math.max(0, shape.bodyBytes - '{"filler":""}'.length)) })
/** All header lines in one call: uWebSockets.js copies the value as it is, and each call costs more than its bytes. */
const [[firstName, firstValue], ...furtherHeaders] = shape.headers as [
  [string, string],
  ...[string, string][],
]
const headerLines = [firstValue, ...furtherHeaders.map(([name, value]) => `${name}: ${value}`)].join('\r\n')

interface Track {
  readonly deviceId: string
  readonly latitude: number
  readonly longitude: number
}

function respond(res: HttpResponse): void {
  res.writeHeader(firstName, headerLines)
  res.end(answer)
}

/** Calls `done` with the parsed body. */
function readTrack(res: HttpResponse, done: (track: Track) => void): void {
  let chunks = ''
  res.onData((chunk, isLast) => {
    chunks += Buffer.from(chunk).toString()
    if (isLast) done(JSON.parse(chunks) as Track)
  })
}

/** Keeps the result of parsing in use. */
let seen = 0

function answerAtOnce(res: HttpResponse): void {
  res.onAborted(() => {})
  readTrack(res, (track) => {
    seen += track.latitude
    respond(res)
  })
}

interface Waiting {
  readonly res: HttpResponse
  aborted: boolean
}

/** The durable variant: collects while a flush is under way, one flush at a time. */
class Flusher {
  private readonly file: number
  private waiting: Waiting[] = []
  private busy = false
  private rows = Buffer.alloc(1 << 16)

  constructor(path: string) {
    this.file = openSync(path, 'a')
  }

  add(entry: Waiting, track: Track): void {
    const at = this.waiting.length * ROW_BYTES
    if (at + ROW_BYTES > this.rows.length)
      this.rows = Buffer.concat([this.rows, Buffer.alloc(this.rows.length)])
    this.rows.writeDoubleLE(track.latitude, at)
    this.rows.writeDoubleLE(track.longitude, at + 8)
    if (this.waiting.push(entry) === 1 && !this.busy) {
      this.busy = true
      setImmediate(() => this.flush())
    }
  }

  close(): void {
    closeSync(this.file)
  }

  private flush(): void {
    const batch = this.waiting
    this.waiting = []
    writeSync(this.file, this.rows, 0, batch.length * ROW_BYTES)
    fdatasync(this.file, (error) => {
      if (error) throw error
      for (const { res, aborted } of batch) if (!aborted) res.cork(() => respond(res))
      if (this.waiting.length > 0) this.flush()
      else this.busy = false
    })
  }
}

const flusher = options.log === undefined ? undefined : new Flusher(options.log)

function answerWhenDurable(res: HttpResponse): void {
  const entry = { res, aborted: false }
  res.onAborted(() => {
    entry.aborted = true
  })
  readTrack(res, (track) => flusher!.add(entry, track))
}

App()
  .post('/v1/track', flusher === undefined ? answerAtOnce : answerWhenDurable)
  .listen('127.0.0.1', 0, (socket) => {
    if (!socket) throw new Error('cannot listen')
    console.log(`listening ${us_socket_local_port(socket)}`)
    process.once('SIGTERM', () => {
      us_listen_socket_close(socket)
      flusher?.close()
      process.exit(Number.isNaN(seen) ? 1 : 0)
    })
  })
