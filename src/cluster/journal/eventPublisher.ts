import { setTimeout as sleep } from 'node:timers/promises'
import { LeaderMissing } from '../../log/errors.ts'
import type { Committed, CommittedConsumer, LogEvent } from '../../log/port.ts'
import { SubjectWriter } from '../../model/eventSubject.ts'
import {
  MAX_BATCH_MESSAGES,
  type PublishedEvent,
  type EventStream,
  type Mark,
  type Progress,
  type Publication,
} from './jetStreamPort.ts'
import { Backoff, type Pause } from '../../runtime/retry.ts'
import { asked, MAX_LEADER_MS, PAUSES } from './askAgain.ts'

/**
 * Publishes the events of committed frames, many frames and partitions in one batch.
 *
 * The obvious way puts the events of a frame into the batch of its commit. The server spends milliseconds on each
 * batch, however small it is, and the frame waits for it. So a commit is durable by itself, and its events follow.
 *
 * They come once all the same, by a mark: the newest `mark.<n>` in the stream of events says how far partition n is
 * published, and a batch is stored only where the mark of each partition in it is still the one that its sender knew.
 * Who sends it does not matter, for everybody has the same to send: what stands in the log of the partition, from the
 * mark on. An owner of before that wakes up either publishes what the new owner was about to, or is refused, and both
 * learn it from the mark.
 *
 * Invariants
 * - PUBLISHER-1: What is added is durable in its log (G5), and the events of a partition are added in their order
 *   (G3).
 * - PUBLISHER-2: A batch continues where the mark that it replaces ends (G2).
 * - PUBLISHER-3: The memory for events that wait is bounded by the limit plus one frame per partition (G7).
 */
export interface PublisherOptions {
  readonly stream: EventStream
  /** The most bytes of waiting events, over all partitions. */
  readonly maxBacklogBytes: number
  /** Called for each failed attempt, which is repeated. */
  readonly troubled: (error: Error) => void
  readonly pause?: Pause
}

/** The events of a partition, for its owner. */
export interface PartitionEvents extends CommittedConsumer {
  /** How far the events were published when the partition was opened. */
  readonly found: Progress
  /** Offset of the first frame that may have unpublished events; Infinity if there is none. */
  readonly unpublished: number
  /** Resolves when there is room for more. */
  room(): Promise<void>
  /** Takes a frame, in the order of the log. Events that are published already are left out. */
  committed(frame: Committed): void
  /**
   * Resolves once everything is published, or cannot be published now. In that case, the next process that opens the
   * partition publishes it.
   */
  close(): Promise<void>
}

/**
 * The time from the end of a batch to the next one, unless that is full. Under load, events are at most one batch and
 * this time late, and each host sends at most about thirty batches a second. After a pause, the first batch is sent at
 * once.
 */
const GATHER_MS = 25
/** Bytes of one batch; a single event may be larger. */
const BATCH_BYTES = 4 * 1024 * 1024
/** Approximate memory of an event besides its data. */
const EVENT_BYTES = 200

export class EventPublisher {
  readonly #stream: EventStream
  readonly #maxBacklogBytes: number
  readonly #troubled: (error: Error) => void
  readonly #pause: Pause
  readonly #subjects = new SubjectWriter()
  readonly #open = new Map<number, Backlog>()
  /** Backlogs with waiting events; the one that has waited longest comes first. */
  readonly #waiting = new Set<Backlog>()
  #bytes = 0
  #forRoom: (() => void)[] = []
  #isRunning = false

  constructor(options: PublisherOptions) {
    this.#stream = options.stream
    this.#maxBacklogBytes = options.maxBacklogBytes
    this.#troubled = options.troubled
    this.#pause = options.pause ?? sleep
  }

  /** Bytes of waiting events. */
  get backlogBytes(): number {
    return this.#bytes
  }

  /**
   * Opens a partition, beginning at its mark. Events that an earlier owner has not published are in the partition's
   * log.
   */
  async open(partition: number): Promise<PartitionEvents> {
    const earlier = this.#open.get(partition)
    if (earlier !== undefined) this.#forget(earlier)
    const mark = await asked(() => this.#stream.mark(partition), this.#pause)
    const backlog = new Backlog(this.#subjects, partition, mark ?? NO_MARK)
    this.#open.set(partition, backlog)
    // If the backlog was closed or opened again since then, nothing is known about it.
    const unpublished = () => (this.#open.get(partition) === backlog ? (backlog.first ?? Infinity) : 0)
    return {
      found: backlog.mark,
      get unpublished() {
        return unpublished()
      },
      room: () => this.#room(),
      committed: (frame) => this.#add(backlog, frame),
      close: () => this.#close(backlog),
    }
  }

  async #room(): Promise<void> {
    while (this.#bytes >= this.#maxBacklogBytes) {
      await new Promise<void>((resolve) => this.#forRoom.push(resolve))
    }
  }

  #add(backlog: Backlog, frame: Committed): void {
    if (this.#open.get(backlog.partition) !== backlog || frame.events.length === 0) return
    this.#count(backlog, () => backlog.add(frame))
    if (backlog.isEmpty) return
    this.#waiting.add(backlog)
    if (this.#isRunning) return
    this.#isRunning = true
    void this.#run()
  }

  async #close(backlog: Backlog): Promise<void> {
    if (this.#waiting.has(backlog)) {
      backlog.closing ??= Promise.withResolvers()
      await backlog.closing.promise
    }
    this.#forget(backlog)
  }

  #forget(backlog: Backlog): void {
    this.#waiting.delete(backlog)
    this.#count(backlog, () => backlog.clear())
    if (this.#open.get(backlog.partition) === backlog) this.#open.delete(backlog.partition)
    backlog.closing?.resolve()
  }

  /** Makes a change to a backlog, and counts the bytes that it adds or removes. */
  #count(backlog: Backlog, change: () => void): void {
    const before = backlog.bytes
    change()
    this.#bytes += backlog.bytes - before
    if (this.#bytes >= this.#maxBacklogBytes) return
    for (const resolve of this.#forRoom.splice(0)) resolve()
  }

  async #run(): Promise<void> {
    for (const backoff = new Backoff(PAUSES); this.#waiting.size > 0;) {
      const { shares, isFull } = this.#compose()
      const outcome = await this.#publish(shares)
      if (outcome === 'ahead') {
        backoff.reset()
        if (!isFull) await this.#pause(GATHER_MS)
      } else {
        const pauseMs = backoff.next()
        await this.#pause(outcome === 'no leader' ? Math.min(pauseMs, MAX_LEADER_MS) : pauseMs)
      }
    }
    this.#isRunning = false
  }

  /** Composes a batch of as much as fits, beginning with the partitions that have waited longest. */
  #compose(): { readonly shares: readonly Share[]; readonly isFull: boolean } {
    const shares: Share[] = []
    let messages = MAX_BATCH_MESSAGES
    let bytes = BATCH_BYTES
    for (const backlog of this.#waiting) {
      // A share needs room for a mark and at least one event.
      if (messages < 2 || bytes <= 0) return { shares, isFull: true }
      const share = backlog.share(messages - 1, bytes)
      shares.push(share)
      messages -= 1 + share.publication.messages.length
      bytes -= share.bytes
      if (!share.isAll) return { shares, isFull: true }
    }
    return { shares, isFull: false }
  }

  /**
   * Publishes a batch. Returns whether it, or another process's in its place, made progress. Without a leader, nobody
   * has the marks.
   */
  async #publish(shares: readonly Share[]): Promise<'ahead' | 'nowhere' | 'no leader'> {
    let marks: readonly number[] | undefined
    let hasLeader = true
    try {
      marks = await this.#stream.publish(shares.map(({ publication }) => publication))
    } catch (error) {
      this.#troubled(error as Error)
      hasLeader = !(error instanceof LeaderMissing)
    }
    let isAhead = false
    await Promise.all(
      shares.map(async ({ backlog, publication }, i) => {
        const mark =
          marks === undefined
            ? hasLeader
              ? await this.#stream.mark(publication.partition).catch(() => backlog.mark)
              : backlog.mark
            : { ...publication.progress, sequence: marks[i]! }
        isAhead ||= mark !== undefined && mark.sequence > backlog.mark.sequence
        this.#count(backlog, () => backlog.learn(mark ?? NO_MARK))
      }),
    )
    for (const { backlog } of shares) {
      // A partition with more events goes to the end of the queue.
      if (!this.#waiting.delete(backlog)) continue
      if (!backlog.isEmpty && (isAhead || backlog.closing === undefined)) this.#waiting.add(backlog)
      else backlog.closing?.resolve()
    }
    if (isAhead) return 'ahead'
    return hasLeader ? 'nowhere' : 'no leader'
  }
}

/** The part of a batch that belongs to one partition. */
interface Share {
  readonly backlog: Backlog
  readonly publication: Publication
  readonly bytes: number
  /** Whether nothing of the backlog is left. */
  readonly isAll: boolean
}

const NO_MARK: Mark = { sequence: 0, offset: 0, events: 0 }

/** A waiting event, and the progress of the partition once it is published. */
interface Waiting {
  readonly progress: Progress
  readonly event: LogEvent
  readonly bytes: number
}

/** The unpublished events of a partition. */
class Backlog {
  readonly partition: number
  mark: Mark
  bytes = 0
  /** Resolved when nothing waits any more, or publishing is given up. */
  closing: PromiseWithResolvers<void> | undefined
  readonly #subjects: SubjectWriter
  #waiting: Waiting[] = []

  constructor(subjects: SubjectWriter, partition: number, mark: Mark) {
    this.#subjects = subjects
    this.partition = partition
    this.mark = mark
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  /** Offset of the first frame with a waiting event. */
  get first(): number | undefined {
    return this.#waiting[0]?.progress.offset
  }

  add({ offset, events }: Committed): void {
    for (const [i, one] of events.entries()) {
      const progress = { offset, events: i + 1 }
      if (!isBehind(this.mark, progress)) continue
      // Its message is made when it is sent: a frame may have ten thousand events, and a batch has a thousand.
      const bytes = Buffer.byteLength(one.json) + EVENT_BYTES
      this.#waiting.push({ progress, event: one, bytes })
      this.bytes += bytes
    }
  }

  clear(): void {
    this.#waiting = []
    this.bytes = 0
  }

  /** As much as fits, but at least one event. */
  share(messages: number, bytes: number): Share {
    let taken = 0
    let takenBytes = 0
    while (taken < messages && taken < this.#waiting.length && takenBytes < bytes) {
      takenBytes += this.#waiting[taken++]!.bytes
    }
    const some = this.#waiting.slice(0, taken)
    return {
      backlog: this,
      publication: {
        partition: this.partition,
        after: this.mark.sequence,
        progress: some.at(-1)!.progress,
        messages: some.map(({ event }) => this.#messageOf(event)),
      },
      bytes: takenBytes,
      isAll: taken === this.#waiting.length,
    }
  }

  /** Takes over a mark. If it is not the newest, a batch that names it is refused, and the mark is read again. */
  learn(mark: Mark): void {
    this.mark = mark
    let published = 0
    for (const { progress, bytes } of this.#waiting) {
      if (isBehind(this.mark, progress)) break
      this.bytes -= bytes
      published++
    }
    this.#waiting.splice(0, published)
  }

  #messageOf(event: LogEvent): PublishedEvent {
    return { subject: this.#subjects.subjectOf(event), id: event.id, data: Buffer.from(event.json) }
  }
}

/** Whether the first is less than the second. */
function isBehind(one: Progress, other: Progress): boolean {
  return one.offset < other.offset || (one.offset === other.offset && one.events < other.events)
}
