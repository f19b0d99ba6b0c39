import { randomUUID } from 'node:crypto'
import { isIP } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient, type RedisClientType } from '@redis/client'
import { systemReason, failureFields } from '../runtime/errors.ts'
import type { Logger } from '../runtime/logger.ts'
import { keepRunning, type RetryPauses } from '../runtime/retry.ts'
import { readSettingFile, SettingUnfit } from '../runtime/settingFile.ts'
import { TroubleOnce } from '../runtime/troubles.ts'
import {
  Tile38Refused,
  Tile38Unreachable,
  type Tile38,
  type Tile38Command,
  type Tile38Follower,
  type Tile38Reply,
} from './tile38Port.ts'

const CONNECT_MS = 3000
/**
 * How long the answers to a pipeline may take. After that, the connection is given up, because a stopped server does
 * not answer at all.
 */
const ANSWER_MS = 5000
/** How often a silent connection is checked. */
const PING_MS = 2000
/** How often it is checked whether an earlier server of the list can be used. */
const RETURN_MS = 5000
/** The pauses between two attempts to connect. */
const PAUSES: RetryPauses = { firstMs: 250, lastMs: 5000, isSpread: true }

/** The addresses of Tile38, and our password. */
export interface Tile38Address {
  /**
   * The servers as `tile38://HOST:PORT`, or `tile38s://` for TLS by a proxy in front of Tile38. There is at least one.
   */
  readonly urls: readonly string[]
  /** The password; empty if there is none. */
  readonly password: string
  /**
   * The file with the certificates of the authorities to trust for `tile38s://`. If it is empty, those that Node
   * trusts count.
   */
  readonly tlsCa: string
}

/**
 * Asks for the random name that the first process gave to the server's contents. If the name is missing or another one,
 * the server was emptied. A server answers this only after it has read its file and accepted us, but PING before that.
 */
const LIFE: Tile38Command = ['GET', 'ringfence', 'life']
const ROLE: Tile38Command = ['ROLE']

/** The first channel of each connection, on which nothing is published. */
const FIRST_CHANNEL = 'ringfence:first'

type Client = RedisClientType<{}, {}, {}, 2>

/**
 * The connection to Tile38. Tile38 speaks the protocol of Redis, so the client of the Redis project is used.
 *
 * The client could reconnect by itself. But the content of Tile38 must be checked after each loss, and a server that
 * stopped without closing the connection would keep its callers waiting for ever. So a connection lasts until its
 * first failure, and every answer has a time limit.
 *
 * Owns: connecting, time-outs, subscriptions of one connection. Does not own: what the server holds.
 *
 * Invariants
 * - TILE38-1: A session lasts for one life of the server's contents. If the server was emptied, or follows another
 *   one, the session ends, so whatever was stored or set up there is made again.
 * - TILE38-2: Every process uses the first server of the list that it can reach and that follows no other, and returns
 *   to it, so all processes meet at the same one.
 */
export class Tile38Connection implements Tile38 {
  readonly name = 'Tile38'
  readonly #address: Tile38Address
  readonly #logger: Logger
  readonly #followers: Tile38Follower[] = []
  readonly #stopped = new AbortController()
  #running: Promise<void> = Promise.resolve()
  #session: Session | undefined
  readonly #trouble: TroubleOnce

  /**
   * Reads the settings.
   * @throws {SettingUnfit}
   */
  constructor(address: Tile38Address, logger: Logger) {
    this.#address = address
    this.#logger = logger
    caOf(address)
    // A failure outside of this process is logged without a stack.
    this.#trouble = new TroubleOnce((error) =>
      logger.warn({ urls: address.urls, ...failureFields(error) }, 'cannot connect to Tile38; retrying'),
    )
  }

  get isConnected(): boolean {
    return this.#session !== undefined
  }

  get detail(): string {
    // Anybody may read this state, so the server's address is only in the log.
    return this.isConnected ? 'connected' : 'not connected; the log says why'
  }

  /** Begins to connect, in the background. */
  start(): void {
    this.#running = this.#run()
  }

  async stop(): Promise<void> {
    this.#stopped.abort()
    await this.#running
  }

  follow(follower: Tile38Follower): void {
    this.#followers.push(follower)
    if (this.isConnected) follower.connected()
  }

  async send(commands: readonly Tile38Command[]): Promise<readonly Tile38Reply[]> {
    return this.#open().send(commands)
  }

  async subscribe(channel: string, listener: (message: string) => void): Promise<void> {
    await this.#open().subscribe(channel, listener)
  }

  async unsubscribe(channel: string): Promise<void> {
    await this.#session?.unsubscribe(channel)
  }

  #open(): Session {
    if (this.#session === undefined) throw new Tile38Unreachable(`Tile38 is ${this.detail}.`)
    return this.#session
  }

  #run(): Promise<void> {
    const { signal } = this.#stopped
    const failed = (error: Error): void => {
      if (!signal.aborted) this.#trouble.tell(error)
    }
    return keepRunning((connected) => this.#runSession(connected), { pauses: PAUSES, signal, failed })
  }

  /** Runs one connection until its end, and throws the reason. */
  async #runSession(connected: () => void): Promise<never> {
    const session = await this.#openFirst(this.#address.urls)
    connected()
    this.#trouble.clear()
    this.#session = session
    this.#logger.info({ url: session.url }, 'connected to Tile38')
    try {
      for (const follower of this.#followers) follower.connected()
      void this.#lookForEarlier(session)
      throw await session.ended
    } finally {
      this.#session = undefined
      for (const follower of this.#followers) follower.disconnected()
    }
  }

  /**
   * Opens a session with the first server that can be used.
   * @throws {Tile38Unreachable} {@link Tile38Refused}; if there are several servers, with the reason of each
   */
  async #openFirst(urls: readonly string[]): Promise<Session> {
    const reasons: string[] = []
    for (const url of urls) {
      try {
        return await Session.open(this.#address, url, this.#stopped.signal)
      } catch (error) {
        if (this.#address.urls.length === 1) throw error
        reasons.push(`${new URL(url).host}: ${(error as Error).message}`)
      }
    }
    throw new Tile38Unreachable(reasons.join('; '))
  }

  /** Ends a session if a server before its own in the list can be used again. */
  async #lookForEarlier(session: Session): Promise<void> {
    const { urls } = this.#address
    const earlier = urls.slice(0, urls.indexOf(session.url))
    while (earlier.length > 0) {
      await Promise.race([sleep(RETURN_MS, undefined, { ref: false }), session.ended])
      if (session.isEnded) return
      const found = await this.#openFirst(earlier).catch(() => undefined)
      if (found === undefined) continue
      found.end(new Tile38Unreachable('It was only tried.'))
      session.end(new Tile38Unreachable('An earlier server of the list can be used again.'))
    }
  }
}

/** One connection for commands, until its first failure, and a second one as soon as there is a subscription. */
class Session {
  readonly url: string
  /** Resolves to the reason for its end. */
  readonly ended: Promise<Error>
  readonly #address: Tile38Address
  readonly #client: Client
  #listening: Promise<Client> | undefined
  /** The name of the server's contents; see {@link LIFE}. */
  #life: Tile38Reply = null
  /** Ends the session. Later reasons are ignored. */
  readonly end: (reason: Error) => void
  isEnded = false

  /**
   * Opens a session.
   * @throws {Tile38Unreachable} {@link Tile38Refused}
   */
  static async open(address: Tile38Address, url: string, stopped: AbortSignal): Promise<Session> {
    const session = new Session(address, url)
    const stop = () => session.end(new Tile38Unreachable('Stopped.'))
    stopped.addEventListener('abort', stop)
    void session.ended.then(() => stopped.removeEventListener('abort', stop))
    try {
      await session.#connect(session.#client)
      await session.#begin()
    } catch (error) {
      session.end(error as Error)
      // The first reason is the cause. The client's own error about the end is not.
      throw await session.ended
    }
    void session.#watch()
    return session
  }

  private constructor(address: Tile38Address, url: string) {
    this.#address = address
    this.url = url
    let resolve!: (reason: Error) => void
    this.ended = new Promise((done) => (resolve = done))
    this.end = (reason) => {
      if (this.isEnded) return
      this.isEnded = true
      resolve(reason)
      destroy(this.#client)
      void this.#listening?.then(destroy, () => {})
    }
    this.#client = this.#create()
  }

  async send(commands: readonly Tile38Command[]): Promise<readonly Tile38Reply[]> {
    if (this.isEnded) throw new Tile38Unreachable('The connection to Tile38 has ended.')
    // Commands that are sent in one turn form one pipeline; each has its own answer or error.
    const answers = Promise.allSettled(commands.map((command) => this.#client.sendCommand([...command])))
    const outcomes = await this.#inTime(answers)
    return outcomes.map((outcome, i) => {
      if (outcome.status === 'fulfilled') return outcome.value as unknown as Tile38Reply
      const { message } = outcome.reason as Error
      if (this.isEnded) throw new Tile38Unreachable(message, { cause: outcome.reason })
      throw new Tile38Refused(`Tile38 refused ${commands[i]![0]}: ${message}`, { cause: outcome.reason })
    })
  }

  async subscribe(channel: string, listener: (message: string) => void): Promise<void> {
    this.#listening ??= this.#openListening()
    const client = await this.#listening
    await this.#inTime(client.subscribe(channel, listener))
  }

  async unsubscribe(channel: string): Promise<void> {
    if (this.#listening === undefined || this.isEnded) return
    await this.#inTime((await this.#listening).unsubscribe(channel))
  }

  async #openListening(): Promise<Client> {
    const client = this.#create()
    try {
      await this.#connect(client)
      // Tile38 loses whatever follows a connection's first SUBSCRIBE in the same packet, so that command is sent
      // alone.
      await this.#inTime(client.subscribe(FIRST_CHANNEL, () => {}))
    } catch (error) {
      this.end(error as Error)
      throw error
    }
    return client
  }

  /**
   * Begins the session. The server reports a missing password only to the first command, and not to the connection.
   */
  async #begin(): Promise<void> {
    await this.#look()
    if (this.#life !== null) return
    await this.send([['SET', 'ringfence', 'life', 'NX', 'STRING', randomUUID()]])
    await this.#look()
  }

  /**
   * Checks the server.
   * @throws {Tile38Unreachable} if it follows another one; {@link Tile38Refused}
   */
  async #look(): Promise<void> {
    const [life = null, role] = await this.send([LIFE, ROLE])
    if ((role as readonly Tile38Reply[])[0] !== 'master')
      throw new Tile38Unreachable('it follows another server, and takes no writes')
    if (this.#life !== null && life !== this.#life) throw new Tile38Unreachable('it was emptied')
    this.#life = life
  }

  /** Checks from time to time whether the server is still there. */
  async #watch(): Promise<void> {
    while (!this.isEnded) {
      await sleep(PING_MS, undefined, { ref: false })
      if (this.isEnded) return
      await this.#look().catch((error: Error) => this.end(error))
    }
  }

  #create(): Client {
    const { hostname, port, protocol } = new URL(this.url)
    const host = hostname.replaceAll(/[[\]]/g, '')
    const ca = caOf(this.#address)
    const client: Client = createClient({
      // Tile38 does not know HELLO, with which later versions of the protocol begin.
      RESP: 2,
      socket: {
        host,
        port: Number(port),
        connectTimeout: CONNECT_MS,
        reconnectStrategy: false,
        ...(protocol === 'tile38s:'
          ? {
              tls: true as const,
              // The name in a certificate may be an address, but the extension of TLS is only for names.
              ...(isIP(host) === 0 && { servername: host }),
              ...(ca !== undefined && { ca }),
            }
          : {}),
      },
      ...(this.#address.password === '' ? {} : { password: this.#address.password }),
      disableOfflineQueue: true,
      disableClientInfo: true,
    })
    client.on('error', (error: Error) => this.end(unreachable(error)))
    client.on('end', () => this.end(new Tile38Unreachable('The connection to Tile38 was closed.')))
    return client
  }

  async #connect(client: Client): Promise<void> {
    try {
      await this.#inTime(client.connect())
    } catch (error) {
      throw unreachable(error as Error)
    }
  }

  /** Waits for an answer. If it is overdue, the session ends. */
  async #inTime<T>(answer: Promise<T>): Promise<T> {
    const done = new AbortController()
    const late = sleep(ANSWER_MS, undefined, { signal: done.signal, ref: false }).then(
      () => {
        const error = new Tile38Unreachable(`Tile38 has not answered for ${ANSWER_MS / 1000} s.`)
        this.end(error)
        throw error
      },
      () => answer,
    )
    try {
      return await Promise.race([answer, late])
    } finally {
      done.abort()
    }
  }
}

/** The file is read again for each connection, so that it may be replaced while the process runs. */
function caOf({ urls, tlsCa }: Tile38Address): Buffer | undefined {
  if (tlsCa === '') return undefined
  if (!urls.some((url) => url.startsWith('tile38s:')))
    throw new SettingUnfit('tile38TlsCa is for tile38s:// in tile38Url')
  return readSettingFile('tile38TlsCa', tlsCa)
}

function unreachable(error: Error): Tile38Unreachable {
  if (error instanceof Tile38Unreachable) return error
  // A host with several addresses fails with one error for each, and an empty message.
  const [first = error] = error instanceof AggregateError ? (error.errors as Error[]) : []
  // This is the parser's message for a server of another kind.
  const reason = /RESP type/.test(first.message)
    ? 'it does not answer as Tile38 does; check the port'
    : systemReason(first)
  return new Tile38Unreachable(reason, { cause: error })
}

function destroy(client: Client): void {
  if (client.isOpen) client.destroy()
}
