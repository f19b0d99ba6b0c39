import type { Intake } from '../actor/port.ts'
import type { RequestQuotas } from '../http/authenticate.ts'
import { shuttingDown } from '../http/errors.ts'
import type { KeyWatch } from '../http/keyWatch.ts'
import type { ErrorLog } from '../runtime/logger.ts'
import type { Socket, SocketHandler, SocketRequest } from '../http/socket.ts'
import { Validator } from '../http/validate.ts'
import type { Senders } from '../wire/senders.ts'
import type { Clock } from '../runtime/clock.ts'
import { KeyedBound } from '../runtime/keyedBound.ts'
import { ApiError } from '../runtime/errors.ts'
import { waitingEventsBound } from '../actor/waitingEvents.ts'
import { Admission } from './admission.ts'
import { CLOSE } from './closeCodes.ts'
import { Connection } from './connection.ts'
import type { ConnectionParts } from './connectionParts.ts'
import { jsonCodec } from './jsonCodec.ts'
import { msgpackCodec } from './msgpackCodec.ts'
import type { Codec, FeatureEntry, StreamCounters, StreamFeatureKind } from './port.ts'
import { protobufCodec } from './protobufCodec.ts'

export interface StreamOptions {
  readonly intake: Pick<Intake, 'submit' | 'hasRoom'>
  readonly features: readonly StreamFeatureKind[]
  readonly keyWatch: KeyWatch
  /** How many bytes subscriptions and watches take. */
  readonly kept: KeyedBound
  /** The memory for events of frames that are not acknowledged yet; a bound of its own if absent. */
  readonly waitingEvents?: KeyedBound
  readonly quotas: RequestQuotas
  /** Whether the per-device limit of POST /v1/track also applies to streams. */
  readonly streamDeviceLimit: boolean
  /** How many streams a key may have at a time. */
  readonly maxStreamsPerKey: number
  /** After how many seconds of silence a stream is closed. */
  readonly streamIdleSeconds: number
  /** How many bytes a message may have. */
  readonly maxBodyBytes: number
  /** Memory that streams reserve for messages of that size while they arrive. */
  readonly streamMessageBytes: number
  readonly clock: Clock
  /** The senders of the host. */
  readonly senders: Senders
  readonly logger: ErrorLog
}

const KIB = 1024
/** How many bytes a message may have on a stream that came when there was no room for a larger one. */
const SMALL_MESSAGE_BYTES = 64 * KIB
/**
 * By how many bytes a message may exceed its limit and still be answered. It is small, because uWebSockets.js keeps
 * what has arrived of a message, and nobody else can count it.
 */
const EXCESS_BYTES = 16 * KIB
/** How long a shutdown waits for slow readers. */
const UNREAD_WAIT_MS = 2000

const MIB = KIB * KIB
/**
 * How many bytes all clients together may leave unread. One connection may leave 4 MB and a message (connection.ts).
 */
const UNREAD_BOUNDS = { connection: 64 * MIB, key: 64 * MIB, all: 128 * MIB }

/** How many bytes of messages may wait for their turn. The limit of one connection is lower (connection.ts). */
const WAITING_BOUNDS = { connection: 4 * MIB, key: 64 * MIB, all: 128 * MIB }

const CODECS: readonly Codec[] = [jsonCodec, msgpackCodec, protobufCodec]

/**
 * Serves `GET /v1/stream`: all streams of the process.
 *
 * Owns: who may connect, and how many; the shutdown. Does not own: the messages of a stream (connection.ts), how long
 * a key is valid (keyWatch.ts).
 */
export class StreamServer implements SocketHandler {
  readonly name = 'streams'
  readonly path = '/v1/stream'
  readonly protocols: readonly [string, ...string[]] = [
    jsonCodec.protocol,
    msgpackCodec.protocol,
    protobufCodec.protocol,
  ]
  readonly messageBytes: SocketHandler['messageBytes']
  readonly excessBytes = EXCESS_BYTES
  readonly idleSeconds: number
  readonly counters: StreamCounters = { frames: 0, updates: 0, refused: 0, busy: 0, inFlight: 0 }
  /** How many streams were closed by each code of the close frame, from either side. It is 1006 if there was none. */
  readonly closedByCode = new Map<number, number>()
  readonly #options: StreamOptions
  readonly #parts: ConnectionParts
  readonly #admission: Admission
  readonly #unread = new KeyedBound('Unread messages', UNREAD_BOUNDS)
  /**
   * Counts the room for messages while they arrive. Each stream that may send messages of the usual size counts with
   * one of them. The others are limited by their number.
   */
  readonly #arriving: KeyedBound
  #smallStreams = 0
  readonly #byKey = new Map<string, Set<Connection>>()
  #toFlush: Connection[] = []
  #draining = false

  constructor(options: StreamOptions) {
    this.#options = options
    const { maxBodyBytes, streamMessageBytes } = options
    this.messageBytes = { usual: maxBodyBytes, small: Math.min(SMALL_MESSAGE_BYTES, maxBodyBytes) }
    this.#arriving = new KeyedBound('Arriving messages', {
      connection: Infinity,
      key: streamMessageBytes / 2,
      all: streamMessageBytes,
    })
    this.idleSeconds = options.streamIdleSeconds
    const bounds = {
      ...WAITING_BOUNDS,
      connection: Math.max(WAITING_BOUNDS.connection, 2 * maxBodyBytes),
    }
    this.#admission = new Admission(options.intake, new KeyedBound('Waiting messages', bounds))
    this.#parts = {
      intake: options.intake,
      quotas: options.quotas,
      clock: options.clock,
      senders: options.senders,
      log: options.logger,
      rateLimited: options.streamDeviceLimit,
      features: entriesOf(options.features),
      counters: this.counters,
      admission: this.#admission,
      kept: options.kept,
      events: options.waitingEvents ?? waitingEventsBound(),
      unread: this.#unread,
      flushSoon: (connection) => {
        if (this.#toFlush.push(connection) === 1) queueMicrotask(this.#flush)
      },
      ended: (code) => void this.closedByCode.set(code, (this.closedByCode.get(code) ?? 0) + 1),
      closed: (connection) => this.#closed(connection),
    }
  }

  /** How many streams are open. */
  get connections(): number {
    let count = 0
    for (const connections of this.#byKey.values()) count += connections.size
    return count
  }

  /** How many bytes clients have not read. */
  get unreadBytes(): number {
    return this.#unread.used
  }

  /** How many bytes of messages wait for their turn. */
  get waitingBytes(): number {
    return this.#admission.waitingBytes
  }

  /** How many bytes messages may take while they arrive, if every stream sends one of the largest size. */
  get arrivingBytes(): number {
    return this.#arriving.used + this.#smallStreams * (this.messageBytes.small + EXCESS_BYTES)
  }

  admit(keyName: string): 'usual' | 'small' {
    if (this.#draining) throw shuttingDown()
    const { maxStreamsPerKey } = this.#options
    if ((this.#byKey.get(keyName)?.size ?? 0) >= maxStreamsPerKey)
      throw new ApiError(429, `Too many streams: a key may have ${maxStreamsPerKey} at one time.`)
    return this.#arriving.exceeded(keyName, 0, this.messageBytes.usual + EXCESS_BYTES) === undefined
      ? 'usual'
      : 'small'
  }

  open(socket: Socket, request: SocketRequest): Connection {
    const codec = CODECS.find(({ protocol }) => protocol === request.protocol)!
    const connection = new Connection(socket, request, codec, this.#parts)
    const connections = this.#byKey.get(connection.keyName)
    if (connections === undefined) this.#byKey.set(connection.keyName, new Set([connection]))
    else connections.add(connection)
    this.#countArriving(connection, 1)
    this.#options.keyWatch.add(connection.credentials, connection)
    return connection
  }

  /** Accepts nothing more, acknowledges what was accepted, and closes. */
  async stop(): Promise<void> {
    this.#draining = true
    const connections = [...this.#byKey.values()].flatMap((ofKey) => [...ofKey])
    for (const connection of connections) connection.stopReading()
    while (this.counters.inFlight > 0) await turn()
    const deadline = this.#options.clock.now() + UNREAD_WAIT_MS
    while (this.#options.clock.now() < deadline && connections.some(({ bufferedBytes }) => bufferedBytes > 0))
      await turn()
    for (const connection of connections) connection.close(CLOSE.goingAway, 'Shutting down.')
  }

  readonly #flush = (): void => {
    const connections = this.#toFlush
    this.#toFlush = []
    for (const connection of connections) connection.flush()
    this.#admission.pump()
  }

  #closed(connection: Connection): void {
    this.#options.keyWatch.remove(connection.credentials, connection)
    const connections = this.#byKey.get(connection.keyName)!
    connections.delete(connection)
    this.#countArriving(connection, -1)
    if (connections.size === 0) this.#byKey.delete(connection.keyName)
  }

  /**
   * Counts a connection.
   * @param change 1 for a new connection, -1 for one that has gone
   */
  #countArriving({ keyName, messageBytes }: Connection, change: 1 | -1): void {
    if (messageBytes === this.messageBytes.usual)
      this.#arriving.add(keyName, change * (messageBytes + EXCESS_BYTES))
    else this.#smallStreams += change
  }
}

function entriesOf(kinds: readonly StreamFeatureKind[]): Map<string, FeatureEntry> {
  const entries = new Map<string, FeatureEntry>()
  for (const kind of kinds) {
    for (const [type, schema] of Object.entries(kind.messages))
      entries.set(type, { kind, validator: new Validator(schema) })
  }
  return entries
}

function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5))
}
