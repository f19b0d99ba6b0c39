/** Acknowledgements with many events, which are written in turns: their order, and that they are whole. */
import t from 'tap'
import { startServer } from '../kit/server.ts'
import { ENCODINGS, Stream, type Message } from '../kit/stream.ts'

const CIRCLES = 150
const server = await startServer(t)
const metadata = Object.fromEntries(Array.from({ length: 4 }, (_, i) => [`key${i}`, 'ü'.repeat(200)]))
const circle = { type: 'circle', description: 'c', coordinates: [7, 50], radius: 100, metadata }
await Promise.all(
  Array.from({ length: CIRCLES }, (_, i) => server.api('PUT', `/v1/geofences/crowd/${i}`, circle)),
)

for (const encoding of ENCODINGS) {
  t.test(`${encoding}: acknowledgements stay in the order of their frames`, async (t) => {
    const stream = await Stream.open(server, { encoding })
    const frames = [
      { id: 1, events: true, updates: [at(`${encoding} a`, 50)] },
      { id: 2, events: true, updates: [at(`${encoding} b`, 51)] },
      { id: 3, updates: [at(`${encoding} c`, 51)] },
      { id: 4, events: true, updates: [at(`${encoding} d`, 50)] },
    ]
    for (const frame of frames) stream.send({ type: 'track', ...frame })
    const acks: Message[] = []
    while (acks.at(-1)?.id !== 4) {
      const message = await stream.next()
      t.equal(message.type, 'ack')
      acks.push(message)
    }
    t.strictSame(
      acks.map(({ id }) => Number(id)),
      acks.map(({ id }) => Number(id)).sort((a, b) => a - b),
    )
    const events = (id: number) => acks.find((ack) => Number(ack.id) === id)!.events as Message[]
    t.equal(events(2).length, 0)
    for (const id of [1, 4]) {
      const ids = new Set(events(id).map(({ geofence }) => (geofence as Message)._id))
      t.equal(ids.size, CIRCLES)
      t.match(events(id)[0], { geofence: { metadata } })
    }
    stream.close()
  })
}

function at(deviceId: string, latitude: number) {
  return { deviceId, latitude, longitude: 7, accuracy: 5 }
}
