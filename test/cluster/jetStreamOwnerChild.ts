/**
 * An owner as a separate process. It takes partition 0 of the server at argv[2] and appends frames `<argv[3]>.<i>`
 * with their events as fast as it can. It prints a line for each that is durable, and `fenced out` at the end.
 */
import { connect } from '@nats-io/transport-node'
import { jetstreamManager } from '@nats-io/jetstream'
import { eventsIn, openOwner } from './jetStreamKit.ts'

const [, , address, name] = process.argv
const connection = await connect({ servers: address!, maxReconnectAttempts: -1, reconnectTimeWait: 50 })
const manager = await jetstreamManager(connection)
const owner = await openOwner({ connection, manager }, 0)
for (let i = 0; await owner.commit(`${name}.${i}`, eventsIn(`${name}.${i}`)); i++)
  process.stdout.write(`${name}.${i}\n`)
process.stdout.write('fenced out\n')
await connection.close()
