import type { Socket } from 'node:net'
import type { NatsConnection } from '@nats-io/transport-node'

/**
 * Lets the socket of a connection read only some of what has arrived in one turn of the event loop.
 *
 * The obvious way leaves that to Node, which reads up to two megabytes before anything else gets a turn, and the client
 * library passes each message on at once. These may be twenty thousand messages: an update into thousands of geofences
 * brings its events to every process.
 */

/** How many bytes are read in a turn. Parsing them takes a millisecond or two, even where messages are small. */
const TURN_BYTES = 256 * 1024

/** Applies to the present socket of the connection, and to those after it. */
export function limitReading(connection: NatsConnection): void {
  limit(connection)
  void (async () => {
    for await (const { type } of connection.status()) if (type === 'reconnect') limit(connection)
  })()
}

/** The members of the client library that lead to the socket. They are not part of its interface. */
interface Inside {
  readonly protocol?: { readonly transport?: { readonly socket?: Socket } }
}

function limit(connection: NatsConnection): void {
  const socket = (connection as unknown as Inside).protocol?.transport?.socket
  if (socket === undefined) throw new Error('The client library of NATS does not show its socket any more.')
  let bytes = 0
  socket.on('data', (read: Buffer) => {
    if (bytes === 0) {
      setImmediate(() => {
        if (bytes >= TURN_BYTES) socket.resume()
        bytes = 0
      })
    }
    bytes += read.length
    if (bytes >= TURN_BYTES) socket.pause()
  })
}
