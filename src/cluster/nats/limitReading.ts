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

/**
 * Applies to the present socket of the connection, and to those after it. The client library has no way of its own to limit
 * reading: `connect` makes its transports itself, and their socket is not part of its interface.
 * @throws Error if this version of the library keeps its socket elsewhere. Processes do not start then.
 */
export function limitReading(connection: NatsConnection): void {
  limit(socketOf(connection))
  void (async () => {
    for await (const { type } of connection.status()) if (type === 'reconnect') limit(socketOf(connection))
  })()
}

/** The members of the client library that lead to the socket. The last is undefined while there is no connection. */
interface Inside {
  readonly protocol?: { readonly transport?: { readonly socket?: Socket | undefined } }
}

function socketOf(connection: NatsConnection): Socket | undefined {
  const transport = (connection as unknown as Inside).protocol?.transport
  if (transport === undefined || !('socket' in transport)) {
    throw new Error(
      'The client library of NATS does not keep its socket in protocol.transport.socket any more, so what is read in a turn cannot be limited.',
    )
  }
  return transport.socket
}

/** @param socket undefined if the connection has been lost again; the socket after it follows */
function limit(socket: Socket | undefined): void {
  if (socket === undefined) return
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
