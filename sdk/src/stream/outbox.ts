import { RingfenceError, StreamFullError } from '../errors.ts'
import type { Update } from '../types.ts'
import type { ErrorMessage, TrackMessage } from './messages.ts'

/**
 * The updates that are not acknowledged yet, and the frames in which they are sent. It is a state machine without a
 * clock or a connection: `stream.ts` sends what {@link Outbox.next} returns and reports the answers.
 *
 * Invariants
 * 1. Updates are sent in the order in which they were added, each under the same number every time, so an update that
 *    is sent twice is applied once.
 * 2. Each update is settled once: resolved when it is durable, rejected when it is refused or the stream fails.
 * 3. What waits is bounded, in bytes and in frames that are not answered.
 */

/**
 * How many characters of JSON, which is about as many bytes, may wait. Callers who wait for room are released below
 * that.
 */
const MAX_WAITING_CHARACTERS = 32 * 1024 * 1024
const ROOM_BELOW = 8 * 1024 * 1024
/** How many characters a frame may have. The server takes 1 MiB, and a character takes up to three bytes. */
const MAX_FRAME_CHARACTERS = 256 * 1024
const MAX_FRAME_UPDATES = 250
const MAX_FRAMES_ON_THEIR_WAY = 8

interface Entry {
  /** The number of the update in the stream. Numbers ascend by one. */
  readonly sequence: number
  readonly update: Update
  /** The length of its JSON in characters. */
  readonly size: number
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
  isSettled: boolean
}

interface Frame {
  /** The number of the frame on the connection. Numbers ascend by one. */
  readonly id: number
  readonly entries: readonly Entry[]
}

export class Outbox {
  /** A name that distinguishes this sender from all others. */
  readonly #stream: string
  #sequence = 0
  #waiting: Entry[] = []
  #frames: Frame[] = []
  #nextId = 1
  #characters = 0
  /**
   * How many updates a frame may have. If a connection ends without an acknowledgement, its frames may have been
   * larger than this server takes, which it cannot always report. So frames become smaller then, and grow again with
   * each one that is accepted.
   */
  #mostUpdates = MAX_FRAME_UPDATES
  #isAcknowledged = false
  /** The id of the first frame for which the server was too busy. Nothing is sent until {@link rewind}. */
  #busyFrom: number | undefined

  constructor(stream: string) {
    this.#stream = stream
  }

  /** Whether no update waits for its acknowledgement. */
  get isEmpty(): boolean {
    return this.#waiting.length === 0 && this.#frames.length === 0
  }

  get hasRoom(): boolean {
    return this.#characters < ROOM_BELOW
  }

  /**
   * Adds an update.
   * @returns resolves when the update is durable; rejects with the reason why the server refuses it
   * @throws StreamFullError, RingfenceError 413
   */
  add(update: Update): Promise<void> {
    const json = JSON.stringify(update)
    if (json.length > MAX_FRAME_CHARACTERS)
      throw new RingfenceError(413, `An update has at most ${MAX_FRAME_CHARACTERS} characters.`)
    if (this.#characters >= MAX_WAITING_CHARACTERS) throw new StreamFullError()
    this.#characters += json.length
    // The update is copied, because the caller may change the object afterwards.
    const copy = JSON.parse(json) as Update
    const sequence = ++this.#sequence
    return new Promise((resolve, reject) => {
      this.#waiting.push({ sequence, update: copy, size: json.length, resolve, reject, isSettled: false })
    })
  }

  /** The next frame to send, if one may go out. */
  next(): TrackMessage | undefined {
    if (this.#busyFrom !== undefined || this.#frames.length >= MAX_FRAMES_ON_THEIR_WAY) return undefined
    const first = this.#waiting[0]
    if (first === undefined) return undefined
    let count = 0
    let characters = 0
    for (const { sequence, size } of this.#waiting) {
      characters += size
      // After a refusal, the numbers of what is sent again have a gap. A frame must not contain a gap.
      if (
        count === this.#mostUpdates ||
        characters > MAX_FRAME_CHARACTERS ||
        sequence !== first.sequence + count
      )
        break
      count++
    }
    const entries = this.#waiting.splice(0, count)
    const id = this.#nextId++
    this.#frames.push({ id, entries })
    const updates = entries.map(({ update }) => update)
    return { type: 'track', id, stream: this.#stream, sequence: first.sequence, updates }
  }

  /** All frames up to `id` are durable, except for updates that were refused. */
  acknowledged(id: number): void {
    let count = 0
    for (const frame of this.#frames) {
      if (frame.id > id) break
      count++
      for (const entry of frame.entries) if (this.#settles(entry)) entry.resolve()
    }
    this.#frames.splice(0, count)
    this.#isAcknowledged = true
    this.#mostUpdates = Math.min(MAX_FRAME_UPDATES, this.#mostUpdates + count)
  }

  /** An update was refused, or a whole frame if there is no `index`. */
  refused({ id, index, ...error }: ErrorMessage): void {
    const entries = this.#frames.find((frame) => frame.id === id)?.entries ?? []
    for (const entry of index === undefined ? entries : entries.slice(index, index + 1)) {
      if (this.#settles(entry)) entry.reject(new RingfenceError(error.code, error.message, error))
    }
  }

  /**
   * The server was too busy for the frame `id`, and refuses each frame that follows.
   * @returns whether this was the last of them; {@link rewind} must then be called after a while
   */
  busy(id: number): boolean {
    this.#busyFrom ??= id
    return id === this.#nextId - 1
  }

  /** Sends the frames again for which the server was too busy. */
  rewind(): void {
    const from = this.#busyFrom
    if (from === undefined) return
    this.#busyFrom = undefined
    this.#nextId = from
    const at = this.#frames.findIndex(({ id }) => id >= from)
    this.#takeBack(this.#frames.splice(at))
  }

  /** The connection is lost. What was not acknowledged is sent again on the next one. */
  disconnected(): void {
    const longest = Math.max(0, ...this.#frames.map(({ entries }) => entries.length))
    if (longest > 0 && !this.#isAcknowledged) this.#mostUpdates = Math.max(1, longest >> 1)
    this.#isAcknowledged = false
    this.#busyFrom = undefined
    this.#nextId = 1
    this.#takeBack(this.#frames)
    this.#frames = []
  }

  /** Rejects all waiting updates. */
  fail(error: unknown): void {
    this.disconnected()
    for (const entry of this.#waiting) if (this.#settles(entry)) entry.reject(error)
    this.#waiting = []
  }

  #takeBack(frames: readonly Frame[]): void {
    const entries = frames.flatMap((frame) => frame.entries.filter(({ isSettled }) => !isSettled))
    this.#waiting = [...entries, ...this.#waiting]
  }

  /** Marks the entry as settled. Returns whether it was still open. */
  #settles(entry: Entry): boolean {
    if (entry.isSettled) return false
    entry.isSettled = true
    this.#characters -= entry.size
    return true
  }
}
