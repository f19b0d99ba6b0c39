/** What one process at a time may do: src/log/jetStreamLease.ts. */
import t, { type Test } from 'tap'
import { Lease } from '../../src/log/jetStreamLease.ts'
import { NATS_SERVER, skipWithout } from '../kit/goServers.ts'
import { natsServer, type NatsServer } from '../kit/nats.ts'
import { until } from './contract.ts'
import { reconnecting } from './jetStreamKit.ts'

const skip = await skipWithout(NATS_SERVER)
const TTL_MS = 1200

async function holder(t: Test, server: NatsServer, name: string) {
  const connection = await reconnecting(t, [server])
  const state = { lost: 0, connection, lease: undefined as unknown as Lease }
  state.lease = await Lease.open({
    connection,
    name: 'delivery',
    holder: name,
    replicas: 1,
    ttlMs: TTL_MS,
    lost: () => state.lost++,
    troubled() {},
  })
  t.teardown(() => state.lease.end())
  return state
}

t.test('one has it, and the next when that one lets go, or is gone', { skip }, async (t) => {
  const server = await natsServer(t)
  const [a, b, c] = [await holder(t, server, 'a'), await holder(t, server, 'b'), await holder(t, server, 'c')]
  t.equal(await a.lease.take(), true)
  const taken: string[] = []
  const second = b.lease.take().then((isTaken) => taken.push(`b ${isTaken}`))
  // Longer than it lasts where nobody renews it.
  await new Promise((resolve) => setTimeout(resolve, 2 * TTL_MS))
  t.strictSame(taken, [])
  t.ok(a.lease.isHeld)
  await a.lease.end()
  t.notOk(a.lease.isHeld)
  await second
  t.strictSame(taken, ['b true'])
  const third = c.lease.take()
  const asked = (await holder(t, server, 'd')).lease
  const given = asked.take()
  await asked.end()
  t.equal(await given, false, 'who gives up waiting has it not')
  await b.connection.close()
  t.equal(await third, true)
  await until(() => b.lost === 1)
  t.notOk(b.lease.isHeld)
  t.equal(a.lost + c.lost, 0)
})
