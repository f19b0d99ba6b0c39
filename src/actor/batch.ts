import type { StoredEvent } from '../events/port.ts'
import { Crowded } from '../rules/crowded.ts'
import { Unready } from '../rules/unready.ts'
import type { RegistryView } from '../rules/port.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Measurer } from '../spatial/port.ts'
import type { RemovedRecord } from './command.ts'
import { FrameWriter } from './commitCodec.ts'
import type { FeedShortcut } from './feedShortcut.ts'
import type { Mailboxes, PartitionCommand, UpdateMail } from './mailboxes.ts'
import type { Partition } from './partition.ts'
import type { TakenBack } from './port.ts'
import { errorOf, RATE_LIMITED, Unwritten, type Refusal } from './refusal.ts'

/**
 * The batch of a host: puts waiting commands into one frame, and keeps the results until that frame is durable. There
 * is one batch at a time, so one object serves all.
 *
 * Owns: the order within a batch, its bounds in bytes and time. Does not own: when it begins, durability, who gets
 * the results (host.ts).
 */
export interface BatchParts {
  readonly partitions: readonly Partition[]
  readonly registry: RegistryView
  readonly clock: Clock
  /** Measures geometry in place of the main thread if an update needs much of it. */
  readonly measurer?: Measurer | undefined
  /** Moves trips in the frames of their updates. Without it, all are told by the feeds. */
  readonly shortcut?: FeedShortcut | undefined
}

/** What an update needs before it can be applied. */
export type Missing = Exclude<Refusal, symbol>

/** Results of updates; they only increase. */
export interface UpdateCounters {
  updates: number
  repeats: number
  rateLimited: number
}

/**
 * A frame is closed when it reaches this size; the rest waits for the next. With its last update it stays below the 4 MB
 * up to which its memory is used again.
 */
const FRAME_BYTES = 3 * 1024 * 1024
/** Evaluating such a frame takes milliseconds, and writing it more, so others get a turn in between. */
const LARGE_FRAME_BYTES = 1024 * 1024
/**
 * A batch is also closed after this time: an update in thousands of geofences takes milliseconds, and others must get
 * a turn.
 */
const EVALUATION_MS = 10
/**
 * An update that took this long, and evaluated this many geofences, is expensive: the rest of its submission waits
 * behind the updates of others. Time alone is not enough, because it includes that of other processes: if processors
 * are busy, any update may take long.
 */
const EXPENSIVE_MS = 2
const EXPENSIVE_MEETINGS = 32
/** The backlog is evaluated for this long in a batch. At least one update is evaluated. */
const BACKLOG_MS = 4
/** With fewer updates than this, it is not worth while to load all their rows at once. */
const FEW = 4
/** With more updates than this, each partition's are loaded by themselves, because the first ones would leave the cache again. */
const MANY = 1024
/** A burst may need more places for results than this. They are given back. */
const KEPT_PLACES = 8192
/** The clock is read once for this many updates within their zones. */
const UPDATES_A_LOOK = 64

export class Batch {
  /**
   * The updates that have results: the first {@link count}. The places after them are spare, because a list that grew anew
   * for each frame would be copied ten times.
   */
  mails: (UpdateMail | undefined)[] = []
  count = 0
  readonly executed: { readonly command: PartitionCommand; readonly result: unknown }[] = []
  readonly removed: RemovedRecord[] = []
  /** The bytes of updates that went back to their submitters; see {@link Submitter.takenBack}. */
  bytesTakenBack = 0
  /** The events of the frame, in order. */
  events: StoredEvent[] = []
  /** Whether the time of the batch is over, so that something may be left for the next one. */
  isLate = false
  /** Whether a partition has something to report to trips. */
  isFed = false

  readonly #parts: BatchParts
  readonly #waiting: Mailboxes
  readonly #counters: UpdateCounters
  readonly #prepare: (mail: UpdateMail, missing: Missing) => void
  readonly #writer = new FrameWriter()
  /** The size of a frame without commits, in bytes. */
  #emptyBytes = 0
  /** The partition whose commit has many events that are not all written; it is the last of the frame. */
  #unended: Partition | undefined
  #wasLarge = false
  #takesBacklog = false
  /** The devices of {@link hasPrepared}. */
  readonly #prepared = new Set<string>()
  /** The server's time of the frame. */
  #time = 0
  /** A time of `performance.now()`. */
  #evaluateUntil = 0
  /** The time of `performance.now()` at which the clock was last read. */
  #lookedAt = 0

  /**
   * Creates an empty batch.
   * @param prepare called for an update that needs preparation; its device waits in the backlog until then
   */
  constructor(
    parts: BatchParts,
    waiting: Mailboxes,
    counters: UpdateCounters,
    prepare: (mail: UpdateMail, missing: Missing) => void,
  ) {
    this.#parts = parts
    this.#waiting = waiting
    this.#counters = counters
    this.#prepare = prepare
  }

  /** The size of the frame in bytes; 0 if it has no commit. */
  get bytes(): number {
    const { bytes } = this.#writer
    return bytes === this.#emptyBytes ? 0 : bytes
  }

  /** Whether the frame, or the previous one once a new batch has begun, is so large that others should get a turn. */
  get isLarge(): boolean {
    return this.#wasLarge
  }

  /** The frame. Its bytes are valid until the next batch. */
  get frame(): Uint8Array {
    return this.#writer.take()
  }

  /**
   * Empties the mailboxes into one frame, up to its bound. Returns whether the frame is complete; if not,
   * {@link writeMore} must be called.
   * @param takesBacklog whether the backlog may be evaluated, too
   */
  evaluate(takesBacklog: boolean): boolean {
    const writer = this.#writer
    const waiting = this.#waiting
    this.#takesBacklog = takesBacklog
    if (!takesBacklog) this.#giveBackPrepared()
    const withBacklog = takesBacklog && waiting.backlog.isReady
    const time = this.#parts.clock.now()
    writer.begin(time)
    this.#emptyBytes = writer.bytes
    this.#applyCommands(waiting.beforeUpdates, time)
    this.#parts.shortcut?.begin(time, this.#parts.registry)
    this.#time = time
    const indices = waiting.waiting
    waiting.waiting = []
    this.#lookedAt = performance.now()
    this.#evaluateUntil = this.#lookedAt + EVALUATION_MS
    this.isLate = false
    const unfinished: number[] = []
    const { updates } = waiting
    if (updates >= FEW && updates <= MANY) this.#fetch(indices)
    for (const index of indices) {
      if (writer.bytes < FRAME_BYTES && !this.isLate && this.#unended === undefined) {
        this.#applyUpdates(index, time)
        if (waiting.boxes[index]!.length > 0) unfinished.push(index)
      } else waiting.waiting.push(index)
    }
    // They come after the partitions that had no turn at all.
    waiting.waiting.push(...unfinished)
    if (withBacklog) this.#applyBacklog(time)
    if (this.#unended === undefined) {
      this.#moveTrips()
      this.#applyCommands(waiting.afterUpdates, time)
    }
    if (this.#unended !== undefined) return false
    this.#wasLarge = this.bytes >= LARGE_FRAME_BYTES
    return true
  }

  /** Writes some of the many events of the last commit; returns whether the frame is complete. */
  writeMore(): boolean {
    const partition = this.#unended!
    if (partition.events.write(this.#writer, this.events)) return false
    partition.end(this.#writer, this.events)
    this.#unended = undefined
    this.#moveTrips()
    this.#wasLarge = this.bytes >= LARGE_FRAME_BYTES
    return true
  }

  /**
   * Whether updates have been prepared, wait in the backlog, and can be taken back. They need not wait like the others
   * there, which make many events.
   */
  get hasPrepared(): boolean {
    return this.#prepared.size > 0
  }

  /** An update has been prepared, and waits in the backlog. */
  prepared({ update, submitter }: UpdateMail): void {
    if (submitter.takenBack !== undefined) this.#prepared.add(update.deviceId)
  }

  /** Forgets the results once they have been delivered. */
  clear(): void {
    this.isFed = false
    this.bytesTakenBack = 0
    if (this.mails.length > KEPT_PLACES) this.mails = []
    else this.mails.fill(undefined, 0, this.count)
    this.count = 0
    this.executed.length = 0
    this.removed.length = 0
    if (this.events.length > 0) this.events = []
  }

  /** Moves trips that need not wait, before anything else can change them. */
  #moveTrips(): void {
    const { shortcut, registry } = this.#parts
    const { removed } = this
    shortcut?.commit({ writer: this.#writer, time: this.#time, registry, removed }, this.events)
  }

  /**
   * Loads what the updates of partitions read first into the processor's cache, for all of them together, because most batches have
   * only one or two for each partition.
   */
  #fetch(indices: readonly number[]): void {
    const { boxes } = this.#waiting
    const { partitions } = this.#parts
    for (const index of indices) partitions[index]!.table.fetch(boxes[index]!)
    for (const index of indices) partitions[index]!.table.fetchEvaluated(boxes[index]!)
  }

  #applyUpdates(index: number, time: number): void {
    const writer = this.#writer
    const { backlog, boxes } = this.#waiting
    const { shortcut } = this.#parts
    const partition = this.#parts.partitions[index]!
    const box = boxes[index]!
    partition.begin(writer, time, this.#parts.registry.revision)
    if (this.#waiting.updates > MANY && box.length >= FEW) this.#fetch([index])
    let taken = 0
    while (
      taken < box.length &&
      writer.bytes + partition.events.bytes < FRAME_BYTES &&
      (taken === 0 || !this.isLate)
    ) {
      const mail = box[taken++]!
      if (this.#isTakenBack(mail)) continue
      const { update, submitter } = mail
      const waits = submitter.isBehind || backlog.has(update.deviceId)
      // While the backlog pauses, nobody knows how long.
      const letsOthersFirst = this.#takesBacklog && shortcut?.letsOthersFirst(update) === true
      if (waits || letsOthersFirst || !this.#apply(mail, partition)) backlog.push(mail)
    }
    this.#endCommit(partition)
    this.#waiting.updates -= taken
    // Setting an array's length to 0 deoptimizes V8's compiled code, and a new array costs almost nothing.
    boxes[index] = taken === box.length ? [] : box.slice(taken)
  }

  /** Evaluates the backlog after all other updates have had their time. */
  #applyBacklog(time: number): void {
    const writer = this.#writer
    const { backlog } = this.#waiting
    // Writing a large frame to the disk takes long. Updates that came in the meantime get their own frame first.
    const isOthers = this.#wasLarge && this.count > 0
    if (this.#unended !== undefined || !backlog.isReady || isOthers) return
    this.#lookedAt = performance.now()
    const until = this.#lookedAt + BACKLOG_MS
    do {
      const mail = backlog.first()!
      const { deviceId } = mail.update
      mail.hasWaited = true
      this.#prepared.delete(deviceId)
      if (this.#isTakenBack(mail)) {
        backlog.taken(deviceId)
        continue
      }
      const partition = this.#parts.partitions[this.#waiting.indexOf(mail.update)]!
      partition.begin(writer, time, this.#parts.registry.revision)
      if (this.#apply(mail, partition)) backlog.taken(deviceId)
      this.#endCommit(partition)
    } while (
      this.#unended === undefined &&
      backlog.isReady &&
      writer.bytes < FRAME_BYTES &&
      performance.now() < until
    )
  }

  #applyCommands(waiting: PartitionCommand[], time: number): void {
    const writer = this.#writer
    const { removed } = this
    let taken = 0
    while (this.#unended === undefined && taken < waiting.length && writer.bytes < FRAME_BYTES) {
      const command = waiting[taken++]!
      const { partition, kind, args } = command
      const { registry } = this.#parts
      partition.begin(writer, time, registry.revision)
      this.executed.push({
        command,
        result: kind.apply(partition, args, { writer, time, registry, removed }),
      })
      this.#endCommit(partition)
    }
    if (taken > 0) waiting.splice(0, taken)
  }

  /** Ends the commit of a partition, or leaves that to {@link writeMore}. Nothing more is added to the frame then. */
  #endCommit(partition: Partition): void {
    this.isFed ||= partition.feed.hasFresh
    if (partition.events.areLong) this.#unended = partition
    else partition.end(this.#writer, this.events)
  }

  /**
   * Lets the submitter take an update back if the update must not overtake others of its device: those that came back
   * before it, or those of another submitter that wait in the backlog, which may take long.
   */
  #isTakenBack(mail: UpdateMail): boolean {
    const { takenBack } = mail.submitter
    if (takenBack === undefined) return false
    const { deviceId } = mail.update
    const waits = this.#waiting.backlog.firstOf(deviceId)
    const isBehindOthers = waits !== undefined && waits.submitter.takenBack === undefined
    if (!isBehindOthers && !takenBack.has(deviceId)) return false
    this.#giveBack(mail, takenBack)
    return true
  }

  /**
   * Gives back what would wait in the backlog until the events of others are published; other updates came in the same
   * requests.
   */
  #giveBackPrepared(): void {
    const { backlog } = this.#waiting
    for (const deviceId of this.#prepared) {
      for (let mail = backlog.firstOf(deviceId); mail !== undefined; mail = backlog.firstOf(deviceId)) {
        const { takenBack } = mail.submitter
        if (takenBack === undefined) break
        this.#giveBack(mail, takenBack)
        backlog.taken(deviceId)
      }
    }
    this.#prepared.clear()
  }

  #giveBack({ update, bytes }: UpdateMail, takenBack: TakenBack): void {
    this.bytesTakenBack += bytes
    takenBack.add(update.deviceId)
    takenBack.take(update)
  }

  /** Applies one update. Returns false if it needs preparation first; its device waits in the backlog for that. */
  #apply(mail: UpdateMail, partition: Partition): boolean {
    const { update, submitter } = mail
    const { rateLimited, wantsUser } = submitter
    const view = this.#parts.registry.scope(update.scope)
    const measuring = mail.measured ?? (this.#parts.measurer && 'elsewhere')
    const cheap = partition.zoneHits + partition.passes
    const result = partition.apply(update, view, this.#writer, rateLimited, wantsUser, measuring, mail)
    // Within a zone, or going past places, an update takes hardly longer than reading the clock, except if a user with many stays
    // is requested, or if trips are told about them.
    const isCheap = partition.zoneHits + partition.passes !== cheap && !wantsUser && partition.meetings === 0
    if (!isCheap || this.count % UPDATES_A_LOOK === 0) this.#look(mail, partition.meetings)
    const { takenBack } = submitter
    if (takenBack !== undefined && (result instanceof Crowded || result instanceof Unwritten)) {
      this.#giveBack(mail, takenBack)
      return true
    }
    if (result instanceof Unready) {
      this.#prepare(mail, result)
      return false
    }
    if (this.count < this.mails.length) this.mails[this.count] = mail
    else this.mails.push(mail)
    this.count++
    if (typeof result === 'symbol') {
      if (result === RATE_LIMITED) this.#counters.rateLimited++
      mail.result = errorOf(result)
    } else {
      if (result.repeated) this.#counters.repeats++
      else this.#counters.updates++
      mail.result = result
      mail.row = partition.row
    }
    return true
  }

  /**
   * Reads the clock after an update. If it took long, its submitter is marked as expensive; where it takes updates back,
   * it stands for many clients, and only the device is.
   */
  #look({ submitter, update }: UpdateMail, meetings: number): void {
    const now = performance.now()
    if (meetings >= EXPENSIVE_MEETINGS && now - this.#lookedAt >= EXPENSIVE_MS) {
      if (submitter.takenBack === undefined) submitter.isBehind = true
      else submitter.takenBack.add(update.deviceId)
    }
    this.#lookedAt = now
    this.isLate ||= now >= this.#evaluateUntil
  }
}
