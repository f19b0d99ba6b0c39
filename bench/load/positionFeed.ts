/**
 * A recorded source of positions for a page: it stands in front of a server and passes on everything but the stream, on
 * which it plays devices that drive through a city, each with one position a second. All messages are written before
 * the first page comes, so that a page that is measured shares the processors with hardly anything.
 *
 * On a subscription it plays events, if it is told to.
 *
 * The rounds are played forwards and backwards, so that no device ever jumps.
 *
 * Usage: node bench/load/positionFeed.ts --target PORT --devices N --geofences N --seed N [--events N a second]; prints `listening <port>`.
 */
import { request } from 'node:http'
import { parseArgs } from 'node:util'
import {
  App,
  us_socket_local_port,
  type HttpRequest,
  type HttpResponse,
  type WebSocket,
} from 'uWebSockets.js'
import { Fleet, regionOf } from './workload.ts'

/** How often a watch gets a message, as from the server. */
const TICK_MS = 100
const TICKS_A_ROUND = 10
/** Devices drive for two seconds from one round to the next. */
const ROUNDS = 8
const FIRST_POSITIONS = 4000
/** Positions are recorded with a time in the future, so that no device ever counts as silent. */
const LEAD_MS = 24 * 3600 * 1000

interface Watch {
  readonly id: string
  tick: number
}

interface User {
  readonly watches: Map<string, Watch>
  /** The names of its subscriptions. */
  readonly subscriptions: Set<string>
}

const { values: options } = parseArgs({
  options: {
    target: { type: 'string' },
    devices: { type: 'string' },
    geofences: { type: 'string' },
    seed: { type: 'string', default: '1' },
    events: { type: 'string', default: '0' },
  },
})
const devices = Number(options.devices)
const eventsATick = Number(options.events) / TICKS_A_ROUND
const { first, parts } = record()
let eventsDue = 0
let eventsSent = 0
const open = new Set<WebSocket<User>>()

/** The enters of all devices, and the moves of each tick: the members of `positions`, in JSON. */
function record(): { readonly first: readonly string[]; readonly parts: readonly string[] } {
  const fleet = new Fleet(regionOf(Number(options.geofences)), devices, Number(options.seed))
  const updatedAt = new Date(Date.now() + LEAD_MS).toISOString()
  const textOf = (change: string, update: Record<string, unknown>) => {
    const deviceId = update.deviceId as string
    return (
      `{"change":"${change}","user":{"_id":"${deviceId.replaceAll('-', '').slice(0, 24)}","deviceId":"${deviceId}"},` +
      `"location":{"type":"Point","coordinates":[${update.longitude},${update.latitude}]},` +
      `"locationAccuracy":${update.accuracy},"updatedAt":"${updatedAt}"}`
    )
  }
  const inParts = (texts: readonly string[], length: number) =>
    Array.from({ length: Math.ceil(texts.length / length) }, (_, i) =>
      texts.slice(i * length, (i + 1) * length).join(),
    )
  const enters: string[] = []
  const moves: string[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const updates = [...fleet.round()].toSorted((a, b) => (String(a.deviceId) < String(b.deviceId) ? -1 : 1))
    if (round === 0)
      enters.push(
        ...inParts(
          updates.map((update) => textOf('enter', update)),
          FIRST_POSITIONS,
        ),
      )
    moves.push(
      ...inParts(
        updates.map((update) => textOf('move', update)),
        Math.ceil(devices / TICKS_A_ROUND),
      ),
    )
  }
  return { first: enters, parts: moves }
}

function send(socket: WebSocket<User>, watch: string, positions: string): void {
  socket.send(`{"type":"positions","watch":${JSON.stringify(watch)},"positions":[${positions}]}`)
}

function read(socket: WebSocket<User>, text: string): void {
  const message = JSON.parse(text) as { type: string; id: string; from?: string }
  const { watches, subscriptions } = socket.getUserData()
  const answer = (fields: object) => socket.send(JSON.stringify(fields))
  if (message.type === 'ping') answer({ type: 'pong' })
  else if (message.type === 'subscribe') {
    subscriptions.add(message.id)
    answer({ type: 'subscribed', id: message.id, from: message.from ?? 'now' })
  } else if (message.type === 'unsubscribe') subscriptions.delete(message.id)
  else if (message.type === 'unwatch') watches.delete(message.id)
  else if (message.type === 'watch') {
    answer({ type: 'watching', id: message.id })
    for (const positions of first) send(socket, message.id, positions)
    watches.set(message.id, { id: message.id, tick: 0 })
  }
}

/** The moves of a tick. In every second turn the rounds are played backwards. */
function movesAt(tick: number): string {
  const rounds = parts.length / TICKS_A_ROUND
  const round = Math.floor(tick / TICKS_A_ROUND) % (2 * rounds - 2)
  const played = round < rounds ? round : 2 * rounds - 2 - round
  return parts[played * TICKS_A_ROUND + (tick % TICKS_A_ROUND)]!
}

/** Passes a request on to the server, and its answer back. */
function pass(response: HttpResponse, incoming: HttpRequest): void {
  const headers: Record<string, string> = {}
  incoming.forEach((name, value) => {
    headers[name] = value
  })
  const query = incoming.getQuery()
  const path = `${incoming.getUrl()}${query ? `?${query}` : ''}`
  const method = incoming.getCaseSensitiveMethod()
  let isGone = false
  const outgoing = request({ host: '127.0.0.1', port: Number(options.target), method, path, headers })
  response.onAborted(() => {
    isGone = true
    outgoing.destroy()
  })
  response.onData((chunk, isLast) => {
    outgoing.write(Buffer.from(Buffer.from(chunk)))
    if (isLast) outgoing.end()
  })
  outgoing.on('error', () => {
    if (!isGone) response.cork(() => response.writeStatus('502').end())
  })
  outgoing.on('response', (answer) => {
    const chunks: Buffer[] = []
    answer.on('data', (chunk: Buffer) => chunks.push(chunk))
    answer.on('end', () => {
      if (isGone) return
      response.cork(() => {
        response.writeStatus(`${answer.statusCode} ${answer.statusMessage}`)
        for (let i = 0; i < answer.rawHeaders.length; i += 2)
          if (!/^(content-length|transfer-encoding|connection|date)$/i.test(answer.rawHeaders[i]!))
            response.writeHeader(answer.rawHeaders[i]!, answer.rawHeaders[i + 1]!)
        response.end(Buffer.concat(chunks))
      })
    })
  })
}

/** An event like those of the server. Its `_id` is its number. */
function eventOf(number: number): object {
  const id = number.toString(16).padStart(24, '0')
  const userId = (number % devices).toString(16).padStart(24, '0')
  const now = new Date().toISOString()
  return {
    _id: id,
    live: false,
    type: number % 2 === 0 ? 'user.entered_geofence' : 'user.exited_geofence',
    createdAt: now,
    actualCreatedAt: now,
    confidence: 3,
    user: { _id: userId, deviceId: `device-${number % devices}`, userId: `user-${number % devices}` },
    geofence: {
      _id: userId,
      tag: 'bench',
      externalId: String(number % 1000),
      description: `Geofence ${number % 1000}`,
    },
    location: { type: 'Point', coordinates: [13.1, 52.2] },
    locationAccuracy: 8,
  }
}

setInterval(() => {
  eventsDue += eventsATick
  const events: object[] = []
  for (; eventsDue >= 1; eventsDue--) events.push(eventOf(++eventsSent))
  for (const socket of open) {
    const { watches, subscriptions } = socket.getUserData()
    for (const watch of watches.values()) send(socket, watch.id, movesAt(watch.tick++))
    for (const subscription of subscriptions)
      for (const event of events) socket.send(JSON.stringify({ type: 'event', subscription, event }))
  }
}, TICK_MS)

App()
  .ws<User>('/v1/stream', {
    maxBackpressure: 64 * 1024 * 1024,
    upgrade(response, incoming, context) {
      const [protocol] = incoming.getHeader('sec-websocket-protocol').split(',')
      response.upgrade(
        { watches: new Map(), subscriptions: new Set() },
        incoming.getHeader('sec-websocket-key'),
        protocol!,
        incoming.getHeader('sec-websocket-extensions'),
        context,
      )
    },
    open: (socket) => void open.add(socket),
    message: (socket, bytes) => read(socket, Buffer.from(bytes).toString()),
    close: (socket) => void open.delete(socket),
  })
  .any('/*', pass)
  .listen('127.0.0.1', 0, (token) => {
    if (token === false) throw new Error('no free port')
    console.log(`listening ${us_socket_local_port(token)}`)
  })
