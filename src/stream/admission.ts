import type { Intake } from '../actor/port.ts'
import type { KeyedBound, Share } from '../runtime/keyedBound.ts'
import { FairQueue, type Waiting } from './fairQueue.ts'

/** A message that waits for its turn, or the gap where some were refused. */
export interface WaitingMessage extends Waiting {
  /** Undefined for a gap. */
  readonly message: Buffer | undefined
  /** Epoch milliseconds. */
  readonly receivedAt: number
}

/** Whose messages wait. */
export interface AdmissionClient {
  readonly keyName: string
  /** What waits of it, counted while it waits. */
  readonly waiting: Share
  /** Its next message has its turn. */
  turn(message: WaitingMessage): void
}

/**
 * Bytes of messages that are read in one turn of the event loop: some milliseconds. What a socket has more is set aside, or
 * uWebSockets.js would go on reading from it for as long as its sender is faster than we are, and nobody else has a turn.
 */
const TURN_BYTES = 512 * 1024
/** How long to wait for room, milliseconds, where no stream is told of it. */
const ROOM_WAIT_MS = 2

/**
 * Lets messages of streams in: at once while there is little to do, else keys and streams take turns (fairQueue.ts). What waits
 * is bytes as they came, in front of everything: whoever sends within its share, and every request by HTTP, has only those
 * updates before it that the actors take in a moment.
 *
 * Owns: the order in which messages of different streams are read. Those of one stream stay in theirs.
 */
export class Admission {
  readonly #intake: Pick<Intake, 'hasRoom'>
  readonly #queue = new FairQueue<AdmissionClient, WaitingMessage>()
  readonly #bound: KeyedBound
  /** In this turn of the event loop. */
  #spent = 0
  #isTurnOver = true
  #isTimed = false

  /** @param bound of the bytes that wait */
  constructor(intake: Pick<Intake, 'hasRoom'>, bound: KeyedBound) {
    this.#intake = intake
    this.#bound = bound
  }

  /** Bytes that wait. */
  get waitingBytes(): number {
    return this.#bound.used
  }

  share(key: string): Share {
    return this.#bound.share(key)
  }

  /** Whether a message of so many bytes may be read now; then it counts as read. */
  passes(bytes: number): boolean {
    if (!this.#queue.isEmpty || this.#spent >= TURN_BYTES || !this.#intake.hasRoom) return false
    this.#spend(bytes)
    return true
  }

  /** @param bytes may be gone when this returns */
  push(client: AdmissionClient, bytes: Uint8Array | undefined, cost: number, receivedAt: number): void {
    const message = bytes && Buffer.from(bytes)
    this.#queue.push(client.keyName, client, { message, bytes: cost, receivedAt })
    this.#later()
  }

  /** Forgets what waits of the client. */
  leave(client: AdmissionClient): void {
    this.#queue.remove(client.keyName, client)
    client.waiting.release(client.waiting.used)
  }

  /** There may be room. */
  readonly pump = (): void => {
    while (!this.#queue.isEmpty && this.#spent < TURN_BYTES && this.#intake.hasRoom) {
      const { owner, item } = this.#queue.next()!
      this.#spend(item.bytes)
      owner.waiting.release(item.bytes)
      owner.turn(item)
    }
    if (!this.#queue.isEmpty) this.#later()
  }

  #spend(bytes: number): void {
    this.#spent += bytes
    if (!this.#isTurnOver) return
    this.#isTurnOver = false
    setImmediate(this.#nextTurn)
  }

  readonly #nextTurn = (): void => {
    this.#isTurnOver = true
    this.#spent = 0
    this.pump()
  }

  /** The next turn of the loop comes by itself where this one has had its bytes. */
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
