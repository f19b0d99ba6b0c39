/** Messages of NATS that arrive at once are read in several turns of the event loop (G7). */
import { setTimeout as sleep } from 'node:timers/promises'
import type { NatsConnection, Status } from '@nats-io/transport-node'
import t from 'tap'
import { NatsLink } from '../../src/cluster/nats/jetStreamConnection.ts'
import { limitReading } from '../../src/cluster/nats/limitReading.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { natsServer } from '../kit/nats.ts'
import { until } from '../kit/waiting.ts'

const skip = await skipWithout(NATS_SERVER)
const MESSAGES = 20_000
const MESSAGE = new Uint8Array(200)
/** What a turn reads, and the two reads of 64 KB that may be under way. */
const MOST_BYTES = (256 + 2 * 64) * 1024

t.test('a turn reads a quarter of a megabyte, also after a reconnection', { skip }, async (t) => {
  const server = await natsServer(t)
  const refused = (error: Error) => t.fail(error.message)
  let ups = 0
  const changed = (isUp: boolean) => void (ups += isUp ? 1 : 0)
  const link = await NatsLink.open({ servers: server.address }, () => {}, changed, refused)
  t.teardown(() => link.close())
  let received = 0
  let ofTurn = 0
  let mostOfTurn = 0
  link.connection.subscribe('many', {
    callback: (_error, { data, subject }) => {
      received++
      if (ofTurn === 0) setImmediate(() => (ofTurn = 0))
      ofTurn += data.length + subject.length
      mostOfTurn = Math.max(mostOfTurn, ofTurn)
    },
  })
  for (const round of ['first', 'second']) {
    received = mostOfTurn = 0
    const sender = await server.client()
    await link.connection.flush()
    for (let i = 0; i < MESSAGES; i++) sender.publish('many', MESSAGE)
    await sender.flush()
    // This thread reads nothing until the server has sent what fits on the way.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)
    await until(() => received >= MESSAGES)
    t.ok(mostOfTurn < MOST_BYTES, `${round}: ${mostOfTurn} bytes in a turn`)
    t.ok(mostOfTurn > 64 * 1024, 'much has arrived at once')
    if (round === 'second') break
    await server.kill9()
    await server.start()
    await until(() => ups >= 1)
  }
})

/** A connection of a library whose members have these names, and which connects again once. */
function connectionWith(members: object): NatsConnection {
  const status = async function* (): AsyncGenerator<Status> {
    await sleep(0)
    yield { type: 'reconnect', server: 'nats://127.0.0.1' }
  }
  return { ...members, status } as unknown as NatsConnection
}

t.test('a library that keeps its socket elsewhere is refused at the start', async (t) => {
  for (const members of [{}, { protocol: {} }, { protocol: { transport: { connection: {} } } }])
    t.throws(
      () => limitReading(connectionWith(members)),
      /does not keep its socket in protocol.transport.socket/,
    )
})

t.test('a connection that is lost again before its socket is seen is not an error', async (t) => {
  const rejected = (error: unknown) => t.fail(String(error))
  process.on('unhandledRejection', rejected)
  t.teardown(() => process.off('unhandledRejection', rejected))
  limitReading(connectionWith({ protocol: { transport: { socket: undefined } } }))
  await sleep(20)
  t.pass('the process goes on')
})
