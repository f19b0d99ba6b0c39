import { createInbox, type Msg, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node'
import { ConnectionLost } from './connectionLoss.ts'

/**
 * Requests with headers and one answer each, for hosts that make thousands a second.
 *
 * The client's own request makes three promises, an error object with its stack and a random token for each one, and
 * looks at each character of the names of headers. Here a request is one promise and a number, and the headers are
 * written as they are.
 */

/** The names and values of headers. They are printable ASCII characters. */
export type Head = Readonly<Record<string, string>>

interface Waiting {
  readonly answered: (message: Msg) => void
  readonly lost: (error: Error) => void
}

const made = new WeakMap<NatsConnection, Requests>()

/** The answer has not come in time. */
export class RequestOverdue extends Error {
  override readonly name = 'RequestOverdue'
}

/** The requests of a connection. */
export class Requests {
  readonly #connection: NatsConnection
  readonly #inboxPrefix: string
  readonly #waiting = new Map<string, Waiting>()
  /** The common prefix of the subjects of all answers; undefined before the first request. */
  #inbox: string | undefined
  #asked = 0

  private constructor(connection: NatsConnection, inboxPrefix: string) {
    this.#connection = connection
    this.#inboxPrefix = inboxPrefix
    void this.#watchConnection()
  }

  /**
   * The requests of a connection, which are made when they are first used.
   * @param inboxPrefix the connection's prefix for the subjects of answers, which counts the first time
   */
  static of(connection: NatsConnection, inboxPrefix = '_INBOX'): Requests {
    const known = made.get(connection) ?? new Requests(connection, inboxPrefix)
    made.set(connection, known)
    return known
  }

  /**
   * Resolves to the answer.
   * @throws {ConnectionLost} {@link RequestOverdue}
   */
  ask(subject: string, data: Uint8Array, head: Head, timeoutMs: number): Promise<Msg> {
    return new Promise((resolve, reject) => {
      const token = String(++this.#asked)
      const end = (): void => {
        clearTimeout(timer)
        this.#waiting.delete(token)
      }
      const timer = setTimeout(() => {
        end()
        reject(new RequestOverdue(`${subject} was not answered in ${timeoutMs} ms.`))
      }, timeoutMs)
      this.#waiting.set(token, {
        answered: (message) => (end(), resolve(message)),
        lost: (error) => (end(), reject(error)),
      })
      try {
        const reply = (this.#inbox ??= this.#subscribe()) + token
        this.#connection.publish(subject, data, { reply, headers: headersOf(head) })
      } catch (error) {
        end()
        reject(error as Error)
      }
    })
  }

  /** Sends a message to which no answer is wanted. */
  send(subject: string, data: Uint8Array, head: Head): void {
    this.#connection.publish(subject, data, { headers: headersOf(head) })
  }

  #subscribe(): string {
    const inbox = `${createInbox(this.#inboxPrefix)}.`
    this.#connection.subscribe(`${inbox}*`, {
      callback: (error, message) => {
        // A server that does not let us listen there may allow it the next time.
        if (error === null) this.#waiting.get(message.subject.slice(inbox.length))?.answered(message)
        else this.#inbox = undefined
      },
    })
    return inbox
  }

  /** There will be no answer to what was asked over a connection that is lost. */
  async #watchConnection(): Promise<void> {
    for await (const { type } of this.#connection.status()) {
      if (type !== 'disconnect' && type !== 'reconnect') continue
      const error = new ConnectionLost('The connection to NATS was lost.')
      for (const { lost } of this.#waiting.values()) lost(error)
    }
  }
}

/** Headers as the client takes them: all that it does with them is to encode them. */
function headersOf(head: Head): MsgHdrs {
  let text = 'NATS/1.0\r\n'
  for (const name in head) text += `${name}: ${head[name]!}\r\n`
  const encoded = Buffer.from(`${text}\r\n`, 'latin1')
  return { encode: () => encoded } as unknown as MsgHdrs
}
