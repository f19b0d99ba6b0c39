/**
 * A host with partitions as a separate process: the composition of the role `actors`, with the world of the test in
 * place of the registry. Its arguments are the address of the NATS server, the name of the host, and the lifetime in
 * milliseconds. On SIGTERM it hands its partitions over.
 */
import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { eventsOfFrame } from '../../src/actor/frameEvents.ts'
import { NatsCalls } from '../../src/cluster/nats/natsCalls.ts'
import { joinHosts } from '../../src/cluster/ownership/jetStreamOwnership.ts'
import { openJetStreamSnapshots } from '../../src/cluster/journal/jetStreamSnapshots.ts'
import type { Ownership } from '../../src/log/port.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { openLog, publisherOf, STREAM_OPTIONS } from './jetStreamKit.ts'
import { fixedWorld, PARTITIONS, serverOf } from './kit.ts'

const [, , address, host, ttl] = process.argv as [string, string, string, string, string]
const troubled = (error: Error) => console.error(`${host}: ${error.message}`)
const connection = await connect({ servers: address, maxReconnectAttempts: -1, reconnectTimeWait: 50 })
const manager = await jetstreamManager(connection)
const publisher = publisherOf({ connection, manager }, { troubled })
let ownership: Ownership | undefined
const server = serverOf(
  new NatsCalls(connection),
  { world: fixedWorld(), clock: systemClock },
  {
    openLog: (n, fencedOut) =>
      openLog({ connection, manager }, n, { publisher, eventsOf: eventsOfFrame, fencedOut, troubled }),
    snapshots: await openJetStreamSnapshots(connection, STREAM_OPTIONS.newStoreId, 1, (object, reason) =>
      troubled(new Error(`${object}: ${reason}`)),
    ),
    isLive: () => ownership?.isLive ?? false,
    lost: (n) => ownership?.lost(n),
    troubled,
  },
)
ownership = await joinHosts({
  connection,
  host,
  partitions: PARTITIONS,
  replicas: 1,
  ttlMs: Number(ttl),
  handlers: server,
  troubled,
})
const checkpoints = setInterval(() => server.checkpoint(16 * 1024), 200)
process.once('SIGTERM', async () => {
  clearInterval(checkpoints)
  await ownership.leave()
  await server.stop()
  await connection.close()
})
console.log('ready')
