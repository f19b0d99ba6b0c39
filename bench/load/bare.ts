/**
 * What the transport alone costs: a uWebSockets.js handler that parses the body of POST /v1/track with JSON.parse and
 * sends as many bytes back as Ringfence does, with the same headers. It evaluates and stores nothing.
 *
 * With `--log FILE` it answers only after its bytes are on disk ({@link Flusher}): one write and one fdatasync cover
 * everything that arrived during the last flush. `--gather MS` lets a batch gather before that.
 *
 * Usage: node bench/load/bare.ts --answer FILE [--log FILE [--gather MS]]; prints `listening <port>`.
 */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { App, us_listen_socket_close, us_socket_local_port } from 'uWebSockets.js'
import type { HttpResponse } from 'uWebSockets.js'
import type { AnswerShape } from './answerShape.ts'
import { Flusher } from './flusher.ts'

/** Bytes that an update adds to the log: position, time, flags, and its share of a frame's header. */
const ROW_BYTES = 32

const { values: options } = parseArgs({
  options: {
    answer: { type: 'string' },
    log: { type: 'string' },
    gather: { type: 'string', default: '0' },
  },
})
if (options.answer === undefined) throw new Error('--answer FILE is needed')
const shape = JSON.parse(readFileSync(options.answer, 'utf8')) as AnswerShape
const answer = JSON.stringify({ filler: 'x'.repeat(Math.max(0, shape.bodyBytes - '{"filler":""}'.length)) })
/**
 * Writes all header lines in one call, because uWebSockets.js copies the value unchanged and each call costs more
 * than its bytes.
 */
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

/** Makes sure that the result of parsing is used. */
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

const flusher =
  options.log === undefined
    ? undefined
    : new Flusher<Waiting>(options.log, ROW_BYTES, Number(options.gather), answerBatch)

function answerBatch(batch: readonly Waiting[]): void {
  for (const waiting of batch) answerLate(waiting)
}

function answerLate({ res, aborted }: Waiting): void {
  if (!aborted) res.cork(() => respond(res))
}

/** Answers once the update is durable, from another callback than that of the request. */
function answerLater(res: HttpResponse): void {
  const waiting = { res, aborted: false }
  res.onAborted(() => {
    waiting.aborted = true
  })
  readTrack(res, ({ latitude, longitude }) => {
    flusher!.row(latitude, longitude, Date.now())
    flusher!.wait(waiting)
  })
}

App()
  .post('/v1/track', flusher === undefined ? answerAtOnce : answerLater)
  .listen('127.0.0.1', 0, (socket) => {
    if (!socket) throw new Error('cannot listen')
    console.log(`listening ${us_socket_local_port(socket)}`)
    process.once('SIGTERM', () => {
      us_listen_socket_close(socket)
      flusher?.close()
      process.exit(Number.isNaN(seen) ? 1 : 0)
    })
  })
