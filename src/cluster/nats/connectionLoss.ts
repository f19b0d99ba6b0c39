import type { NatsConnection } from '@nats-io/transport-node'

/** The connection was lost, and with it an expected answer. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost'
}

const waiting = new WeakMap<NatsConnection, Set<(error: ConnectionLost) => void>>()

/**
 * Resolves to the servers' answer, unless the connection is lost before. In that case there will be no answer, and the
 * client library would wait for it until the time limit. It also drops requests that are made before there is a
 * connection again.
 * @throws {ConnectionLost}, or the error of `answer`
 */
export function unlessLost<T>(connection: NatsConnection, answer: Promise<T>): Promise<T> {
  const all = waiting.get(connection) ?? watch(connection)
  return new Promise<T>((resolve, reject) => {
    all.add(reject)
    answer.then(resolve, reject).finally(() => all.delete(reject))
  })
}

function watch(connection: NatsConnection): Set<(error: ConnectionLost) => void> {
  const all = new Set<(error: ConnectionLost) => void>()
  waiting.set(connection, all)
  const tell = async () => {
    for await (const { type } of connection.status()) {
      if (type !== 'disconnect' && type !== 'reconnect') continue
      for (const reject of all) reject(new ConnectionLost('The connection to NATS was lost.'))
      all.clear()
    }
  }
  void tell()
  return all
}
