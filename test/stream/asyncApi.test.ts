/** The AsyncAPI document is valid, and what a stream and a webhook send is as it says. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { Parser } from '@asyncapi/parser'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { KEYS, startServer } from '../kit/server.ts'
import { Stream } from '../kit/stream.ts'

const PRIVATE = { RINGFENCE_WEBHOOK_PRIVATE_ADDRESSES: '127.0.0.1' }
const HERE = { latitude: 51, longitude: 9, accuracy: 5 }
const CIRCLE = { description: 'x', type: 'circle', coordinates: [9, 51], radius: 100 }

const server = await startServer(t, { env: PRIVATE })
const { body: document } = await server.api('GET', '/v1/asyncapi.json', undefined, null)
const ajv = new Ajv2020({ strict: false, formats: { 'date-time': true } })
ajv.addSchema(document, 'async')

/** What differs between a message and its schema; null if nothing does. */
function difference(name: string, message: unknown): unknown {
  const check = ajv.compile({ $ref: `async#/components/messages/${name}/payload` })
  return check(message) ? null : check.errors
}

t.test('the document is valid AsyncAPI', async (t) => {
  const { document: parsed, diagnostics } = await new Parser().parse(JSON.stringify(document))
  t.strictSame(
    diagnostics.filter(({ severity }) => severity === 0).map(({ message, path }) => [message, path]),
    [],
  )
  t.equal(parsed?.version(), '3.0.0')
  t.strictSame(
    parsed
      ?.operations()
      .all()
      .map((one) => [one.id(), one.messages().all().length]),
    [
      ['receiveStream', 6],
      ['sendStream', 12],
      ['sendWebhook', 2],
    ],
  )
})

t.test('every message of a stream is as the document says', async (t) => {
  t.equal((await server.api('PUT', '/v1/geofences/a/1', CIRCLE)).status, 200)
  const stream = await Stream.open(server, { key: KEYS.testSecret })
  t.teardown(() => stream.socket.close())
  const area = { type: 'circle', center: [9, 51], radius: 1000 }
  const sent = [
    { type: 'ping' },
    { type: 'subscribe', id: 's', filter: { deviceIds: ['d'] } },
    { type: 'subscribe', id: 'g', batch: true },
    { type: 'watch', id: 'w', area, minIntervalMs: 0 },
    { type: 'watch', id: 'b', area, batch: true },
    { type: 'track', id: 1, events: true, updates: [{ deviceId: 'd', ...HERE }] },
    { type: 'track', id: 2, updates: [{ deviceId: 'd', ...HERE, latitude: 91 }] },
    { type: 'track', id: 7, updates: [{ deviceId: 'd', ...HERE }] },
    { type: 'unsubscribe', id: 's' },
    { type: 'unwatch', id: 'w' },
  ]
  const wanted = new Set(
    'ack error pong subscribed unsubscribed event events watching unwatched position positions'.split(' '),
  )
  for (const message of sent) {
    const name = `Client${message.type[0]!.toUpperCase()}${message.type.slice(1)}`
    if (message.id !== 2) t.equal(difference(name, message), null, name)
    // The subscription and the watch end after their messages.
    if (message.type === 'unsubscribe')
      while (['event', 'events', 'position', 'positions'].some((type) => wanted.has(type))) await receive()
    stream.send(message)
  }
  while (wanted.size > 0) await receive()
  t.not(difference('ClientTrack', sent[6]), null, 'the latitude is out of its range')

  async function receive(): Promise<void> {
    const message = await stream.next()
    const name = `Server${message.type[0].toUpperCase()}${message.type.slice(1)}`
    t.equal(difference(name, message), null, `${name} ${JSON.stringify(message)}`)
    wanted.delete(message.type)
  }
})

t.test('the messages of webhooks are as the document says', async (t) => {
  const received: { body: unknown; headers: Record<string, unknown> }[] = []
  const receiver = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (more: string) => (text += more))
    request.on('end', () => {
      received.push({ body: JSON.parse(text), headers: request.headers })
      response.end()
      receiver.emit('message')
    })
  })
  receiver.listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  t.teardown(() => receiver.close())
  const { port } = receiver.address() as { port: number }
  for (const mode of ['single', 'multiple']) {
    const url = `http://127.0.0.1:${port}/${mode}`
    const { body } = await server.api('POST', '/v1/webhooks', { url, mode })
    const arrives = once(receiver, 'message')
    await server.api('POST', '/v1/track', { deviceId: mode, ...HERE }, KEYS.testPublishable)
    await arrives
    await server.api('DELETE', `/v1/webhooks/${body.webhook._id}`)
    const message = received.at(-1)!
    t.equal(difference(`Webhook${mode[0]!.toUpperCase()}${mode.slice(1)}`, message.body), null, mode)
    const { required } = document.components.messages.WebhookSingle.headers
    t.strictSame(
      required.filter((name: string) => message.headers[name.toLowerCase()] === undefined),
      [],
    )
  }
})
