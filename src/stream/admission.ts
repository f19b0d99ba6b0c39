import type { Intake } from '../actor/port.ts'
import type { KeyedBound, Share } from '../runtime/keyedBound.ts'
import { FairQueue, type Waiting } from './fairQueue.ts'
import { MessageBuffers } from './messageBuffers.ts'

/** A message that waits for its turn, or a gap where messages were refused. */
export interface WaitingMessage extends Waiting {
  /** The message; undefined for a gap. */
  readonly message: Buffer | undefined
  /** In epoch milliseconds. */
  readonly receivedAt: number
}

/** How many messages one stream has sent in one turn. */
export interface TurnMessages {
  turn: number
  count: number
}

/** The connection whose messages wait. */
export interface AdmissionClient {
  readonly keyName: string
  /** The client's share of the waiting bytes. */
  readonly waiting: Share
  /** Called when it is its next message's turn. */
  turn(message: WaitingMessage): void
}

/**
 * How many bytes of messages are read in one turn of the event loop, which takes a few milliseconds. The rest of a
 * socket's messages is queued. Otherwise uWebSockets.js would keep reading from it for as long as its client is faster
 * than the server, and block everything else.
 */
const TURN_BYTES = 512 * 1024
/**
 * For how many milliseconds messages are read in one turn. Forty kilobytes that are refused may take as long as half a megabyte of
 * updates.
 */
const TURN_MS = 6
/** So many bytes are read in each turn, however long they take: on a busy machine a turn may be long for other reasons. */
const LEAST_TURN_BYTES = 64 * 1024
/**
 * How many bytes of messages are set aside in one turn, which takes a few milliseconds. After that, a stream may still
 * set aside its share: so a client that sends little is not refused because others flood.
 */
const ASIDE_BYTES = 4 * 1024 * 1024
const ASIDE_SHARE_BYTES = 256 * 1024
/**
 * How many messages come in one turn before streams are ended that have sent more than {@link FEW_MESSAGES} of them. Even a message
 * that is refused unread takes half a microsecond, and a hundred streams can have a million of them in one turn.
 */
const MOST_MESSAGES = 20_000
const FEW_MESSAGES = 200
/**
 * A stream that has sent more than this in one turn is ended even if it is the only one: half a megabyte of the smallest messages are
 * 80,000, and take 150 ms. Of updates that have a frame each, no more than 5,000 come at once.
 */
const MOST_OF_STREAM = 8000
/** The time until the next attempt to find room in milliseconds, because streams are not notified of it. */
const ROOM_WAIT_MS = 2

/**
 * Admits messages of streams: immediately while there is little to do, otherwise keys and streams take turns
 * (fairQueue.ts). Waiting messages stay undecoded bytes in front of everything else. So a client within its share,
 * and every HTTP request, waits only for the updates that the actors process in a moment.
 *
 * Owns: the order in which messages of different streams are read. Messages of one stream stay in order.
 */
export class Admission {
  readonly #intake: Pick<Intake, 'hasRoom'>
  readonly #queue = new FairQueue<AdmissionClient, WaitingMessage>()
  readonly #bound: KeyedBound
  /** How many bytes were read in this turn of the event loop, and when the first message of the turn came. */
  #spent = 0
  #began = 0
  /** How many bytes were set aside in this turn: of all streams, and of each. */
  #aside = 0
  readonly #asideOf = new Map<AdmissionClient, number>()
  /** The number of this turn, and how many messages came in it. */
  #turn = 0
  #messages = 0
  readonly #buffers = new MessageBuffers()
  #isTurnOver = true
  #isTimed = false

  /**
   * Starts without messages.
   * @param bound the limit of the waiting bytes
   */
  constructor(intake: Pick<Intake, 'hasRoom'>, bound: KeyedBound) {
    this.#intake = intake
    this.#bound = bound
  }

  /** How many bytes of messages wait. */
  get waitingBytes(): number {
    return this.#bound.used
  }

  share(key: string): Share {
    return this.#bound.share(key)
  }

  /**
   * Counts a message. Returns whether more have come in this turn than one turn can take, and many of them from this stream, or too
   * many from this stream alone.
   * @param own the count of the stream, which begins anew with each turn
   */
  isFlooded(own: TurnMessages): boolean {
    this.#countTurn()
    if (own.turn !== this.#turn) {
      own.turn = this.#turn
      own.count = 0
    }
    const isFull = ++this.#messages > MOST_MESSAGES
    return ++own.count > (isFull ? FEW_MESSAGES : MOST_OF_STREAM)
  }

  /**
   * Whether a message may be read now. If so, it counts as read.
   * @param bytes its size, including what even the smallest message costs, because half a megabyte of empty ones would
   * take half a second
   */
  passes(bytes: number): boolean {
    if (!this.#queue.isEmpty || this.#isSpent || !this.#intake.hasRoom) return false
    this.#spend(bytes)
    return true
  }

  /**
   * Whether one more message of the client may be queued in this turn. Otherwise a frame is to be refused unread: all
   * that sockets have received would be copied in one turn, some megabytes of each.
   */
  maySetAside(client: AdmissionClient): boolean {
    return this.#aside < ASIDE_BYTES || (this.#asideOf.get(client) ?? 0) < ASIDE_SHARE_BYTES
  }

  /**
   * Queues a message.
   * @param bytes may become invalid after this returns
   */
  push(client: AdmissionClient, bytes: Uint8Array | undefined, cost: number, receivedAt: number): void {
    const message = bytes && this.#buffers.copy(bytes)
    this.#aside += cost
    this.#asideOf.set(client, (this.#asideOf.get(client) ?? 0) + cost)
    this.#countTurn()
    this.#queue.push(client.keyName, client, { message, bytes: cost, receivedAt })
    this.#later()
  }

  /** Drops the client's waiting messages. */
  leave(client: AdmissionClient): void {
    this.#queue.remove(client.keyName, client)
    client.waiting.release(client.waiting.used)
  }

  /** Called when there may be room. */
  readonly pump = (): void => {
    while (!this.#queue.isEmpty && !this.#isSpent && this.#intake.hasRoom) {
      const { owner, item } = this.#queue.next()!
      this.#spend(item.bytes)
      owner.waiting.release(item.bytes)
      owner.turn(item)
      if (item.message !== undefined) this.#buffers.release(item.message)
    }
    if (!this.#queue.isEmpty) this.#later()
  }

  /** Whether enough was read in this turn. */
  get #isSpent(): boolean {
    if (this.#spent < LEAST_TURN_BYTES) return false
    return this.#spent >= TURN_BYTES || performance.now() - this.#began >= TURN_MS
  }

  #spend(bytes: number): void {
    this.#spent += bytes
    this.#countTurn()
  }

  /** What was read and set aside counts until the next turn of the event loop. */
  #countTurn(): void {
    if (!this.#isTurnOver) return
    this.#isTurnOver = false
    this.#began = performance.now()
    setImmediate(this.#nextTurn)
  }

  readonly #nextTurn = (): void => {
    this.#isTurnOver = true
    this.#spent = this.#aside = this.#messages = 0
    this.#turn++
    this.#asideOf.clear()
    this.pump()
  }

  /** Continues later. If this turn's bytes are used up, the next turn of the loop does so by itself. */
  #later(): void {
    if (!this.#isTurnOver || this.#isTimed) return
    this.#isTimed = true
    setTimeout(this.#timeIsUp, ROOM_WAIT_MS)
  }

  readonly #timeIsUp = (): void => {
    this.#isTimed = false
    this.pump()
  }
}
