/**
 * What delivering one message to many WebSockets alone costs: a uWebSockets.js server that makes an event of each
 * update by putting its device into a text, and publishes it to everyone who subscribed to all devices or to that
 * one. It evaluates and stores nothing.
 *
 * Usage: node bench/load/bareFanout.ts --event FILE, a message of Ringfence; prints `listening <port>`.
 */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { App, us_listen_socket_close, us_socket_local_port } from 'uWebSockets.js'
import { DEVICE_ID_LENGTH, DEVICE_PREFIX } from './fanoutDevices.ts'

interface Message {
  readonly type: string
  readonly id: number | string
  readonly filter?: { readonly deviceIds: readonly string[] }
  readonly updates?: readonly [{ readonly deviceId: string }]
}

const { values: options } = parseArgs({ options: { event: { type: 'string' } } })
const event = readFileSync(options.event!, 'utf8')
const at = event.indexOf(DEVICE_PREFIX)
const before = event.slice(0, at)
const after = event.slice(at + DEVICE_ID_LENGTH)
const ALL = 'all'

const app = App()
app
  .ws('/v1/stream', {
    maxPayloadLength: 1 << 20,
    idleTimeout: 0,
    upgrade(res, req, context) {
      const protocol = req.getHeader('sec-websocket-protocol')
      res.upgrade({}, req.getHeader('sec-websocket-key'), protocol, '', context)
    },
    message(ws, bytes) {
      const { type, id, filter, updates } = JSON.parse(Buffer.from(bytes).toString()) as Message
      if (type === 'track') {
        const { deviceId } = updates![0]
        const text = before + deviceId + after
        app.publish(ALL, text)
        app.publish(deviceId, text)
        ws.send(`{"type":"ack","id":${id}}`)
      } else {
        for (const topic of filter?.deviceIds ?? [ALL]) ws.subscribe(topic)
        ws.send(`{"type":"subscribed","id":"${id}"}`)
      }
    },
  })
  .listen('127.0.0.1', 0, (socket) => {
    if (!socket) throw new Error('cannot listen')
    console.log(`listening ${us_socket_local_port(socket)}`)
    process.once('SIGTERM', () => {
      us_listen_socket_close(socket)
      process.exit(0)
    })
  })
