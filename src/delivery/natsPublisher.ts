import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import {
  connect,
  credsAuthenticator,
  headers,
  nkeyAuthenticator,
  type NatsConnection,
  type NodeConnectionOptions,
} from '@nats-io/transport-node'
import type { HookEndpoint } from '../model/hook.ts'
import { publicReason, RequestTimedOut, type Outgoing } from '../runtime/outgoing.ts'
import type { Message } from './webhookPort.ts'

/**
 * The connection of one hook to the NATS server that its owner named, from the first message on. After a failure,
 * the next message connects again. The client library could reconnect by itself, but messages in flight would be lost
 * silently; and it would connect to whatever servers the first one announces.
 *
 * Invariants
 * - NATS-PUBLISHER-1: No connection is made to an address that {@link Outgoing} refuses, and the client learns no
 *   other servers.
 * - NATS-PUBLISHER-2: A message counts as delivered once the server has answered after it, or, with JetStream, once a
 *   stream has stored it.
 */
export class NatsPublisher {
  readonly #endpoint: HookEndpoint
  readonly #outgoing: Outgoing
  readonly #timeoutMs: number
  #session: Promise<Session> | undefined
  #isClosed = false

  /**
   * Creates a publisher that connects at its first message.
   * @param timeoutMs the limit of each step, in milliseconds
   */
  constructor(endpoint: HookEndpoint, outgoing: Outgoing, timeoutMs: number) {
    this.#endpoint = endpoint
    this.#outgoing = outgoing
    this.#timeoutMs = timeoutMs
  }

  /**
   * Publishes a message.
   * @throws an error whose message is for the owner of the hook: see {@link reasonOf}
   */
  async publish(message: Message): Promise<void> {
    let session: Session | undefined
    try {
      session = await this.#inTime((this.#session ??= this.#connect()))
      await this.#inTime(this.#send(session, message))
    } catch (cause) {
      if (session === undefined || session.connection.isClosed()) this.#session = undefined
      throw new Error(reasonOf(cause as Error), { cause })
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await (await this.#session?.catch(() => undefined))?.connection.close()
  }

  async #send({ connection, refusals }: Session, message: Message): Promise<void> {
    const { subject = '', jetStream = false } = this.#endpoint
    const head = headers()
    head.set('Nats-Msg-Id', message.id)
    const data = Buffer.from(message.body)
    if (jetStream) {
      const reply = await connection.request(subject, data, { headers: head, timeout: this.#timeoutMs })
      const { error } = reply.json() as { error?: { description?: string } }
      if (error !== undefined)
        throw new Refused(`the stream refused it: ${error.description ?? 'no reason given'}`)
      return
    }
    const before = refusals.count
    connection.publish(subject, data, { headers: head })
    await connection.flush()
    // A refusal comes before the answer to the flush, and is reported by the library in a later turn.
    await nextTurn()
    if (refusals.count !== before) throw new Refused(NOT_ALLOWED)
  }

  async #connect(): Promise<Session> {
    const { url, user, password, token, credentials, tlsCa, tlsCertificate, tlsKey } = this.#endpoint
    const { protocol, hostname, port } = new URL(url)
    const addresses = await this.#outgoing.addressesOf(hostname)
    const options: NodeConnectionOptions = {
      name: 'ringfence hook',
      servers: addresses.map((address) => `${address.includes(':') ? `[${address}]` : address}:${port}`),
      noRandomize: true,
      ignoreClusterUpdates: true,
      reconnect: false,
      timeout: this.#timeoutMs,
      // A user with few permissions may listen to this prefix only.
      inboxPrefix: '_INBOX.hooks',
      ...(user !== undefined && { user, pass: password! }),
      ...(token !== undefined && { token }),
      ...(credentials !== undefined && { authenticator: authenticatorOf(credentials) }),
    }
    if (protocol === 'tls:') {
      // The library passes these on to Node. Its types lack `servername`, the name that the certificate must be
      // for.
      const tls = {
        servername: hostname,
        ...(tlsCa !== undefined && { ca: tlsCa }),
        ...(tlsCertificate !== undefined && { cert: tlsCertificate, key: tlsKey! }),
      }
      options.tls = tls
    }
    const connection = await connect(options)
    if (this.#isClosed) await connection.close()
    const refusals = { count: 0 }
    void countRefusals(connection, refusals)
    return { connection, refusals }
  }

  /**
   * Fails if the work takes too long. The work may still happen, so the connection is closed, and later messages are
   * not delayed by it.
   */
  async #inTime<T>(work: Promise<T>): Promise<T> {
    const done = new AbortController()
    const late = sleep(this.#timeoutMs, undefined, { signal: done.signal, ref: false }).then(async () => {
      const session = this.#session
      this.#session = undefined
      void session?.then(({ connection }) => connection.close()).catch(() => {})
      throw new RequestTimedOut(this.#timeoutMs)
    })
    try {
      return await Promise.race([work, late])
    } finally {
      done.abort()
      late.catch(() => {})
      work.catch(() => {})
    }
  }
}

interface Session {
  readonly connection: NatsConnection
  /** Messages that the server did not let this user publish. */
  readonly refusals: { count: number }
}

const NOT_ALLOWED = 'the server does not allow this user to publish to the subject'

/** A refusal whose message is for the owner of the hook. */
class Refused extends Error {
  override readonly name = 'Refused'
}

async function countRefusals(connection: NatsConnection, refusals: { count: number }): Promise<void> {
  for await (const status of connection.status())
    if (status.type === 'error' && status.error.name === 'PermissionViolationError') refusals.count++
}

function authenticatorOf(credentials: string) {
  return credentials.includes('NATS USER JWT')
    ? credsAuthenticator(Buffer.from(credentials))
    : nkeyAuthenticator(Buffer.from(credentials.trim()))
}

/** Says why a message was not published, without addresses and secrets. */
function reasonOf(error: Error): string {
  for (let each: unknown = error; each instanceof Error; each = each.cause) {
    if (each instanceof Refused) return each.message
    switch (each.name) {
      case 'AuthorizationError':
      case 'UserAuthenticationExpiredError':
        return 'the server refuses the credentials'
      case 'PermissionViolationError':
        return NOT_ALLOWED
      case 'NoResponders':
        return 'no stream has the subject'
      case 'TimeoutError':
        return 'no answer in time'
    }
    if (/max_payload/i.test(each.message)) return 'the message is larger than the server allows'
    if (/does not support 'tls'/.test(each.message)) return 'the server does not offer TLS'
    if (!(each.cause instanceof Error)) return publicReason(each)
  }
  return publicReason(error)
}
