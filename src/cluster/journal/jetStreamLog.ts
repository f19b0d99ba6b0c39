import { setTimeout as sleep } from 'node:timers/promises'
import { FencedOut, LeaderMissing, LogDamaged, LogTrimmed, LogUnavailable } from '../../log/errors.ts'
import type { EventPublisher, PartitionEvents } from './eventPublisher.ts'
import type { Journal, JournalMessage } from './jetStreamPort.ts'
import {
  ANY_CLAIM,
  ANY_RECORD,
  COMMIT,
  NO_FRAME,
  claimRecord,
  frameBatch,
  ownerOf,
  ownerRecord,
  pointOf,
  type LogPoint,
} from './jetStreamRecords.ts'
import type { Committed, LogEvent, LogFrame, PartitionLog } from '../../log/port.ts'
import { Backoff, type Pause } from '../../runtime/retry.ts'
import { ATTEMPTS, asked, MAX_LEADER_MS, PAUSES } from './askAgain.ts'

/**
 * The log of a partition in its JetStream stream.
 *
 * The obvious way appends and, if no answer comes, appends again. Then a frame may be there twice, and an owner that
 * was stopped for a while writes into a log that belongs to another by now. A lease does not help: it ends while a
 * message is on its way. So each batch names the sequence that it must follow, the fence, and the stream takes it
 * there or nowhere.
 *
 * To own a partition is to have put a claim at its end: whoever appended before knows an older end and fails from
 * then on. A batch without an answer is sent again as it was until it is known what became of it. That is safe,
 * because of all its copies the stream can take one only.
 *
 * The events of a frame stand in its bytes. They are published once the frame is durable (eventPublisher.ts); a new
 * owner publishes what of them is missing.
 *
 * docs/protocol.md has the whole of it, with each place where a process may die.
 *
 * Invariants
 * - JOURNAL-1: Of two owners only the later one can append (G4). The earlier one learns of it when it tries.
 * - JOURNAL-2: The stream holds each frame once, in the order of their offsets (G2, G3).
 * - JOURNAL-3: `done` means durable. A frame whose `done` was not called may be durable.
 * - JOURNAL-4: No frame is removed before its events are published.
 */
export interface JetStreamLogOptions {
  readonly partition: number
  readonly journal: Journal
  /** The publisher of the host, which all its partitions share. */
  readonly publisher: EventPublisher
  /** A text that identifies this opening of the log. */
  readonly owner: string
  /** Reads the events from a frame, in the order in which it was appended with them. */
  readonly eventsOf: (frame: Uint8Array) => readonly LogEvent[]
  /** Called once, when another owner is known. The log accepts nothing afterwards. */
  readonly fencedOut: (error: FencedOut) => void
  /** Called for each failed attempt to append. The attempt is repeated. */
  readonly troubled: (error: Error) => void
  readonly pause?: Pause
}

/** The pause before a replica that answers reads is asked again whether it has all records. */
const BEHIND_MS = 50
const PAGE_ATTEMPTS = 100

/**
 * Becomes the owner of the partition: claims it, finds the end of the log, and records the ownership.
 * @throws {LogUnavailable} also if another process claims it at the same time; it may then be tried again
 */
export async function openJetStreamLog(options: JetStreamLogOptions): Promise<PartitionLog> {
  const { partition, journal } = options
  try {
    // If it cannot be read, its owner must handle it.
    const newest = await journal.last(ANY_RECORD)
    if (newest !== undefined) pointOf(newest)
    const claim = await claimPartition(options)
    return await JetStreamLog.begin(options, claim, await pointBefore(claim, options))
  } catch (error) {
    if (error instanceof LogDamaged) throw error
    throw new LogUnavailable(partition, error)
  }
}

/**
 * Locks out all other owners. Returns the claim's sequence. A claim has no fence, because a busy owner would otherwise
 * always be faster.
 */
function claimPartition({ journal, owner, pause = sleep }: JetStreamLogOptions): Promise<number> {
  const claim = async () => {
    try {
      return await journal.append([claimRecord(owner)])
    } catch (error) {
      // The claim may have been stored, and only the answer lost.
      const newest = await journal.last(ANY_CLAIM).catch(() => undefined)
      if (newest !== undefined && ownerOf(newest) === owner) return newest.sequence
      throw error
    }
  }
  return asked(claim, pause)
}

/**
 * Finds the end of the log. The replica that answers may not have the newest record yet, so the record is compared
 * with the claim: between the two there may only be claims.
 */
async function pointBefore(
  claim: number,
  { journal, pause = sleep }: JetStreamLogOptions,
): Promise<LogPoint> {
  const backoff = new Backoff(PAUSES)
  for (let attempt = 1; ; attempt++) {
    const newest = await asked(() => journal.last(ANY_RECORD), pause)
    const point = newest === undefined ? NO_FRAME : pointOf(newest)
    const end = newest === undefined ? 0 : newest.sequence + point.behind
    if (end > claim) throw new Error('another host was faster')
    if (end === claim - 1) return point
    if ((await claimsBetween(end, claim, journal, pause)) === claim - 1 - end) return point
    if (attempt === ATTEMPTS) throw new Error(`of what is before ${claim}, messages after ${end} are missing`)
    await pause(backoff.next())
  }
}

async function claimsBetween(after: number, before: number, journal: Journal, pause: Pause): Promise<number> {
  let count = 0
  for (let sequence = after + 1; ;) {
    const page = await asked(() => journal.page(ANY_CLAIM, sequence), pause)
    for (const claim of page) if (claim.sequence < before) count++
    sequence = (page.at(-1)?.sequence ?? before) + 1
    if (sequence >= before) return count
  }
}

class JetStreamLog implements PartitionLog {
  readonly epoch: number
  readonly #partition: number
  readonly #journal: Journal
  readonly #owner: string
  readonly #onFencedOut: (error: FencedOut) => void
  readonly #troubled: (error: Error) => void
  readonly #pause: Pause
  readonly #events: PartitionEvents
  /** The last frame that is known to be durable. */
  #point: LogPoint
  #lastSequence: number
  #bytes = 0
  #inFlight = false
  #closed = false
  #fencedOut: FencedOut | undefined
  /** The appends, one after the other. It never rejects. */
  #appends: Promise<void> = Promise.resolve()
  /** The trims, one after the other. It never rejects. */
  #trims: Promise<void> = Promise.resolve()

  private constructor(options: JetStreamLogOptions, claim: number, point: LogPoint, events: PartitionEvents) {
    this.epoch = claim
    this.#lastSequence = claim
    this.#partition = options.partition
    this.#journal = options.journal
    this.#owner = options.owner
    this.#onFencedOut = options.fencedOut
    this.#troubled = options.troubled
    this.#pause = options.pause ?? sleep
    this.#point = point
    this.#events = events
  }

  /** The log directly after its owner's claim. Publishes the events that the previous owner did not publish. */
  static async begin(options: JetStreamLogOptions, claim: number, point: LogPoint): Promise<JetStreamLog> {
    const events = await options.publisher.open(options.partition)
    const log = new JetStreamLog(options, claim, point, events)
    await log.#store([ownerRecord(options.owner, point)])
    // From here on it is certain that nobody has committed since the claim.
    const { found } = events
    if (found.offset > point.offset) {
      throw log.#damaged(`events are published up to frame ${found.offset}, the last is ${point.offset}`)
    }
    log.#bytes = await asked(() => log.#journal.bytes(), log.#pause)
    // The events of a trimmed frame are already published, so frames before it are not needed.
    for await (const { offset, payload } of log.#frames(Math.max(found.offset, point.published + 1))) {
      await events.room()
      events.committed({ offset, events: options.eventsOf(payload) })
    }
    return log
  }

  get offset(): number {
    return this.#point.offset
  }

  /** The approximate size in bytes. What others have removed is noticed at the next trim. */
  get bytes(): number {
    return this.#bytes
  }

  append<E extends LogEvent>(
    parts: readonly Uint8Array[],
    done: (frame: Committed<E>) => void,
    events: readonly E[] = [],
    areKept = false,
  ): void {
    if (this.#fencedOut !== undefined)
      throw new Error('The log has another owner.', { cause: this.#fencedOut })
    if (this.#closed) throw new Error('The log is closed.')
    if (this.#inFlight) throw new Error('The log has an append in flight.')
    const offset = this.offset + 1
    const published = this.#published
    const { maxDataBytes } = this.#journal
    // The system takes long to provide new memory for a frame of megabytes.
    const frame = areKept && parts.length === 1 ? parts[0]! : Buffer.concat(parts)
    const batch = frameBatch(this.#owner, offset, frame, published, maxDataBytes)
    this.#inFlight = true
    this.#enqueue(async () => {
      if (events.length > 0) await this.#events.room()
      await this.#store(batch)
      this.#point = { ...NO_FRAME, offset, published }
      this.#inFlight = false
      const committed = { offset, events }
      this.#events.committed(committed)
      done(committed)
    })
  }

  async *read(offset: number): AsyncGenerator<LogFrame, void, undefined> {
    let expected = Math.max(1, offset)
    for await (const frame of this.#frames(expected)) {
      if (frame.offset !== expected++) throw new LogTrimmed(expected - 1, frame.offset)
      yield frame
    }
  }

  trim(offset: number): void {
    this.#trims = this.#trims
      .then(() => this.#trim(offset))
      // What could not be removed now is removed with the next trim.
      .catch((error) => this.#troubled(error as Error))
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#appends
    await this.#trims
    await this.#events.close()
  }

  /** The offset up to which the events of all frames are published. */
  get #published(): number {
    return Math.min(this.offset, this.#events.unpublished - 1)
  }

  #enqueue(work: () => Promise<void>): void {
    this.#appends = this.#appends.then(async () => {
      if (this.#fencedOut !== undefined) return
      try {
        await work()
      } catch (error) {
        if (!(error instanceof FencedOut)) throw error
        this.#fencedOut = error
        // The events that still wait are also in the next owner's log.
        void this.#events.close()
        this.#onFencedOut(error)
      }
    })
  }

  /**
   * Stores a batch at the end of the stream.
   * @throws {FencedOut}
   */
  async #store(messages: readonly JournalMessage[]): Promise<void> {
    const fence = this.#lastSequence
    for (const backoff = new Backoff(PAUSES); ;) {
      try {
        this.#lastSequence = await this.#journal.append(messages, fence)
        break
      } catch (error) {
        this.#troubled(error as Error)
        if (error instanceof LeaderMissing) {
          await this.#pause(Math.min(backoff.next(), MAX_LEADER_MS))
          continue
        }
      }
      const newest = await this.#journal.last(ANY_RECORD).catch(() => undefined)
      if (newest !== undefined && newest.sequence > fence) {
        if (ownerOf(newest) !== this.#owner) throw new FencedOut(this.#partition, ownerOf(newest))
        // It is this log's own batch, because no other was in flight.
        this.#lastSequence = fence + messages.length
        break
      }
      const claim = await this.#journal.last(ANY_CLAIM).catch(() => undefined)
      if (claim !== undefined && claim.sequence > fence) {
        throw new FencedOut(this.#partition, ownerOf(claim))
      }
      await this.#pause(backoff.next())
    }
    for (const { data } of messages) this.#bytes += data.length
  }

  /** The frames from an offset on, without trimmed ones, also if they are trimmed while it reads. */
  async *#frames(offset: number): AsyncGenerator<LogFrame> {
    if (offset > this.offset) return
    let sequence = await this.#sequenceOf(offset)
    let next: number | undefined
    let pieces: Uint8Array[] = []
    for (let attempt = 0; next === undefined || next <= this.offset; attempt++) {
      const page = await asked(() => this.#journal.page(COMMIT, sequence), this.#pause)
      if (page.length === 0) {
        // The replica that answers may not have the newest frames yet.
        if (attempt === PAGE_ATTEMPTS) throw this.#damaged(`the frame ${next ?? offset} is missing`)
        await this.#pause(BEHIND_MS)
        continue
      }
      attempt = 0
      for (const record of page) {
        sequence = record.sequence + 1
        const { offset: found, part, parts } = pointOf(record)
        if (next !== undefined && (found !== next || part !== pieces.length + 1)) {
          const first = await asked(() => this.#journal.next(COMMIT, 1), this.#pause)
          if (first !== undefined && first.sequence < record.sequence) {
            throw this.#damaged(
              `part ${pieces.length + 1} of frame ${next} is missing before ${record.sequence}`,
            )
          }
          next = undefined
          pieces = []
        }
        // A replica that was behind may name a beginning that is too early. For a trim, that could cut a frame.
        if (next === undefined && (found < offset || part > 1)) continue
        next ??= found
        pieces.push(record.data)
        if (part < parts) continue
        yield { offset: next, payload: parts === 1 ? pieces[0]! : Buffer.concat(pieces) }
        pieces = []
        // The following frames belong to a later owner, who took the partition while this one read.
        if (next++ === this.offset) return
      }
    }
  }

  /**
   * Finds where an offset begins in the stream: the lowest sequence after all frames before the offset.
   *
   * A search by halves through the whole stream would ask the server some twenty times, one question after the other,
   * while devices wait for the new owner. But each frame has at least one message, so the offset begins at the latest
   * where it would if each had exactly one. Few messages are parts of longer frames, or claims. So the search steps back
   * from there, each step twice as long as the one before, and soon meets a frame before the offset.
   */
  async #sequenceOf(offset: number): Promise<number> {
    let low = 1
    let high = Math.max(low, this.#lastSequence - (this.offset - offset))
    let step = 1
    while (low < high) {
      const at = Math.max(Math.floor((low + high) / 2), high - step)
      const record = await asked(() => this.#journal.next(COMMIT, at), this.#pause)
      if (record !== undefined && pointOf(record).offset < offset) low = record.sequence + 1
      else {
        high = at
        step *= 2
      }
    }
    return low
  }

  async #trim(offset: number): Promise<void> {
    if (this.#closed || this.#fencedOut !== undefined) return
    // The last frame stays, because its record tells at which offset the log continues.
    const upTo = Math.min(offset, this.offset, this.#published + 1)
    if (upTo <= 1) return
    await this.#journal.purge(await this.#sequenceOf(upTo))
    this.#bytes = await this.#journal.bytes()
  }

  #damaged(reason: string): LogDamaged {
    return new LogDamaged(`stream of partition ${this.#partition}`, reason)
  }
}
