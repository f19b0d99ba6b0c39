/** How the fault suite and the soak of a cluster read the stream of events, and compare it with their ledger. */
import { jetstream } from '@nats-io/jetstream'
import { headers } from '@nats-io/transport-node'
import t, { type Test } from 'tap'
import { EVENTS } from '../../src/cluster/journal/jetStreamStreams.ts'
import { EventLedger } from '../clusterFaults/eventLedger.ts'
import type { Load } from '../clusterFaults/load.ts'
import type { EventRecord, Mover } from '../clusterFaults/movers.ts'
import { Streams } from '../clusterFaults/streams.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { natsServer, type NatsServer } from '../kit/nats.ts'

const skip = await skipWithout(NATS_SERVER)

/** More bytes than a server keeps for a reader that is slow: 64 MB. */
const COUNT = 100_000
const PADDING = 'x'.repeat(1000)
const AT_ONCE = 1000
const DEVICES = 10

function eventOf(n: number) {
  const createdAt = new Date(1_700_000_000_000 + n).toISOString()
  return {
    _id: `id-${n}`,
    type: 'user.entered_geofence',
    createdAt,
    actualCreatedAt: createdAt,
    user: { deviceId: `device-${n % DEVICES}` },
  }
}

async function publish(server: NatsServer, count: number): Promise<void> {
  const connection = await server.client()
  const manager = await server.manager()
  await manager.streams.add({ name: EVENTS, subjects: ['events.>', 'marks.>'] })
  const stream = jetstream(connection)
  for (let from = 0; from < count; from += AT_ONCE)
    await Promise.all(
      Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, i) => {
        const event = { ...eventOf(from + i), padding: PADDING }
        const head = headers()
        head.set('Nats-Msg-Id', event._id)
        return stream.publish('events.1', JSON.stringify(event), { headers: head })
      }),
    )
  await stream.publish('marks.0', '')
}

async function opened(t: Test, server: NatsServer): Promise<Streams> {
  const streams = await Streams.open([server.address])
  t.teardown(() => streams.close())
  return streams
}

t.test('a stream that is longer than what a server keeps for a slow reader', { skip }, async (t) => {
  const server = await natsServer(t)
  await publish(server, COUNT)
  const streams = await opened(t, server)
  const faults: string[] = []
  const read = async (at: (count: number) => void) => {
    let count = 0
    let differs = 0
    const { perSecond } = await streams.readEvents(
      ({ _id }) => {
        if (_id !== `id-${count}`) differs++
        at(++count)
      },
      (sentence) => faults.push(sentence),
    )
    return { count, differs, perSecond }
  }
  const { perSecond, ...found } = await read(() => {})
  t.comment(`${perSecond} messages a second`)
  t.strictSame({ ...found, faults }, { count: COUNT, differs: 0, faults: [] })
  t.notMatch(server.output, /Slow Consumer/)

  // The server is killed, and comes back.
  let restarted: Promise<void> | undefined
  const again = await read((count) => {
    if (count === COUNT / 4) restarted = server.kill9().then(() => server.start())
  })
  await restarted
  t.match(again, { count: COUNT, differs: 0 }, 'each of them once and in order')
})

t.test('the ledger reports what is missing, twice, of nobody, or out of order', async (t) => {
  const texts = (of: number, from = 0) =>
    Array.from({ length: of }, (_, i) => `user.entered_geofence ${from + i}`)
  const compared = (events: readonly object[], answered: readonly string[] = []) => {
    const faults: string[] = []
    const mover = {
      deviceId: 'a',
      events: texts(3),
      textOf: ({ type, createdAt }: EventRecord) => `${type} ${createdAt}`,
    } as unknown as Mover
    const load = { movers: [mover], answered: new Set(answered) } as unknown as Load
    const ledger = new EventLedger(load, (sentence) => faults.push(sentence))
    for (const event of events) ledger.take(event as EventRecord)
    ledger.finish()
    return faults
  }
  const event = (n: number, more: object = {}) => ({
    _id: `id-${n}`,
    type: 'user.entered_geofence',
    createdAt: String(n),
    user: { deviceId: 'a' },
    ...more,
  })
  t.strictSame(compared([event(0), event(1), event(2)], ['id-1']), [])
  t.match(compared([event(0), event(1)]), [/^G2, G3 event 2 of the 2 of a is undefined, expected .* 2 of 3$/])
  t.match(compared([event(0), event(2)]), [/^G2, G3 event 1 of the 2 of a is .* 2, expected .* 1 of 3$/])
  t.match(compared([event(0), event(1), event(2), event(3)]), [
    /event 3 of the 4 of a is .* 3, expected undefined/,
  ])
  t.match(compared([event(0), event(1), event(1), event(2)]), [
    /^G2 event id-1 is twice/,
    /event 2 of the 4 of a/,
  ])
  t.match(compared([event(1), event(0), event(2)]), [/event 0 of the 3 of a/, /^G3 the time of event 1 of a/])
  t.match(compared([event(0), event(1), event(2), event(3, { user: { deviceId: 'b' } })]), [
    /event id-3 is of b, which nobody sent/,
  ])
  t.match(compared([event(0), event(1), event(2)], ['id-9']), [/^G5 event id-9 was answered, and is not/])
})
