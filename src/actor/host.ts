import { ApiError } from '../runtime/errors.ts'
import type { ByteBound } from '../runtime/byteBound.ts'
import { LoopRest } from '../runtime/loopRest.ts'
import { TextCache } from '../runtime/textCache.ts'
import type { StoredEvent } from '../events/port.ts'
import type { AppendLog, Committed, CommittedConsumer } from '../log/port.ts'
import { deviceHash } from '../model/deviceHash.ts'
import type { ScopeId } from '../model/scope.ts'
import type { GeofenceProperties } from '../model/geofence.ts'
import type { Update } from '../model/update.ts'
import { Batch, type BatchParts, type Missing, type UpdateCounters } from './batch.ts'
import type { CommandKind, StoreShape } from './command.ts'
import { Mailboxes, type UpdateMail } from './mailboxes.ts'
import { GEOFENCE_TEXT_CHARACTERS } from './commitEvents.ts'
import type { Partition } from './partition.ts'
import type { Intake, PositionObserver, Submitter } from './port.ts'
import { prepareUpdate } from './preparation.ts'
import { RowPosition } from './rowPosition.ts'
import { BatchScheduler } from './batchScheduler.ts'

/**
 * The host of the device actors: from mailbox to commit.
 *
 * The obvious way makes each update durable before it reads the next: one flush per update, 0.2 ms each. Here,
 * updates that arrive during a flush wait in the mailboxes of their partitions and become the next batch. So there is
 * one flush in flight, batches grow with the load, and a single update never waits for others.
 *
 * Owns: the bound of what waits, when a batch begins, the order evaluate → commit → flush → tell. Does not own: what
 * goes into a batch (mailboxes.ts, batch.ts), what an update means (partition.ts), recovery (recovery.ts), snapshots
 * (checkpoint.ts).
 *
 * Invariants
 * - HOST-1: No update, event or removal is reported to anybody before its frame is durable (G1, G5).
 * - HOST-2: Updates of a device are applied in the order of submission, because a device belongs to one partition
 *   (G3).
 * - HOST-3: A batch reads one registry revision: it is evaluated without interruption, and edits happen between
 *   batches (G10).
 * - HOST-4: Readers run between batches, so they see only committed state.
 * - HOST-5: The bytes of waiting updates are bounded. A submission that does not fit is refused as a whole (G7).
 * - HOST-6: A device whose update takes long lets others go first (backlog.ts): they are evaluated before it in each
 *   batch, and while something is measured for it, the other devices of its partition continue.
 */

export interface HostParts extends BatchParts {
  /** The log of this machine, or of a partition. */
  readonly log: Pick<AppendLog, 'append'>
  /** Receives the frames that have events, before replies are sent; undefined if the log passes them on itself. */
  readonly events?: EventConsumer | undefined
  /** Returns the bytes of events that the log has not passed on yet, if it passes them on itself. */
  readonly eventBacklog?: (() => number) | undefined
  readonly mailbox: ByteBound
  /** Shared by hosts that take their turns together; otherwise the host has its own. */
  readonly scheduler?: BatchScheduler
  /** Carries what devices must report to trips. */
  readonly dispatcher?: FeedDispatcher
}

/** Takes the rows of the partitions' feeds (feedTable.ts) once they are durable. */
export interface FeedDispatcher {
  /** Called when some partitions have new rows, all of which are durable. */
  committed(partitions: readonly Partition[]): void
  /** Called for an update whose trips were moved with it (feedShortcut.ts), when that is durable. */
  moved(scope: ScopeId, deviceId: string): void
}

export interface EventConsumer extends CommittedConsumer<StoredEvent> {
  /**
   * The approximate size of the events that it received and has not stored yet, in bytes. It says how far it is
   * behind.
   */
  readonly pendingBytes: number
}

/** Counters for metrics; they only increase. */
export interface HostCounters extends UpdateCounters {
  events: number
  frames: number
  frameBytes: number
}

/**
 * If the event index is this far behind, no more updates are evaluated until it has caught up. They wait in the
 * mailboxes, and beyond the bound of those they are refused. So senders learn of a flood of events like of any other.
 */
const EVENT_BACKLOG_BYTES = 64 * 1024 * 1024
const EVENTS_WAIT_MS = 10
/**
 * From here on the backlog is not evaluated: the rest of the room is for others. It is no more than a fraction of an
 * expensive update's events, so that the index has stored them before the next such update: it writes to the same disk
 * as the log, and others would wait longer for their flush.
 */
const BACKLOG_EVENT_BYTES = EVENT_BACKLOG_BYTES / 32
/** For this many updates, the CPU of a flush is a tenth of a microsecond each, so nothing is gained by waiting for more. */
const ENOUGH_UPDATES = 512
/** Memory of a waiting update besides the bytes in which it came. */
const UPDATE_OVERHEAD_BYTES = 512
/**
 * While fewer bytes wait, more should come: about as much as the last batches processed in their time, so that a new
 * update waits for one or two batches.
 */
const LEAST_ROOM_BYTES = 256 * 1024
const MOST_ROOM_BYTES = 4 * 1024 * 1024

export class ActorHost implements Intake {
  readonly counters: HostCounters = {
    updates: 0,
    repeats: 0,
    rateLimited: 0,
    events: 0,
    frames: 0,
    frameBytes: 0,
  }

  /** Undefined while nobody watches, so that it costs nothing. */
  observer: PositionObserver | undefined

  readonly #parts: HostParts
  readonly #scheduler: BatchScheduler
  readonly #mailboxes: Mailboxes
  readonly #batch: Batch
  readonly #geofenceTexts = new TextCache<GeofenceProperties>(GEOFENCE_TEXT_CHARACTERS)
  #waitsForIndex = false
  #readers: (() => void)[] = []
  #flushing = false
  #scheduled = false
  /** Updates in the last batch with updates. Each batch without one halves it. */
  #lastBatch = 0

  readonly #position = new RowPosition()
  #roomBytes = MOST_ROOM_BYTES

  constructor(parts: HostParts) {
    this.#parts = parts
    this.#scheduler = parts.scheduler ?? new BatchScheduler(new LoopRest())
    this.#mailboxes = new Mailboxes(parts.partitions.length)
    this.#batch = new Batch(parts, this.#mailboxes, this.counters, this.#prepare)
    for (const partition of parts.partitions) {
      partition.events.geofenceTexts = this.#geofenceTexts
      partition.shortcut = parts.shortcut
    }
  }

  /** The partition that handles all updates of a device. */
  partitionOf(deviceId: string): Partition {
    return this.#parts.partitions[deviceHash(deviceId) % this.#parts.partitions.length]!
  }

  get hasRoom(): boolean {
    return this.#parts.mailbox.used <= this.#roomBytes
  }

  submit(updates: readonly Update[], bytes: number, submitter: Submitter): void {
    const share = Math.ceil(bytes / updates.length) + UPDATE_OVERHEAD_BYTES
    if (!this.#parts.mailbox.tryAcquire(share * updates.length)) throw overloaded()
    for (const update of updates)
      this.#mailboxes.post({ update, bytes: share, submitter, result: undefined, row: -1 })
    this.#schedule()
  }

  submitOne(update: Update, bytes: number, submitter: Submitter): void {
    const share = bytes + UPDATE_OVERHEAD_BYTES
    if (!this.#parts.mailbox.tryAcquire(share)) throw overloaded()
    this.#mailboxes.post({ update, bytes: share, submitter, result: undefined, row: -1 })
    this.#schedule()
  }

  execute<A, R>(kind: CommandKind<A, R>, args: A, bytes: number): Promise<R> {
    const number = kind.partitionOf(args, this.#store)
    if (number === undefined) return Promise.resolve(kind.nowhere!)
    return this.executeIn(this.#parts.partitions[number]!, kind, args, bytes)
  }

  /** Does the same as {@link execute}, for a known partition. */
  executeIn<A, R>(partition: Partition, kind: CommandKind<A, R>, args: A, bytes: number): Promise<R> {
    const share = kind.isBounded ? bytes + UPDATE_OVERHEAD_BYTES : 0
    if (!this.#parts.mailbox.tryAcquire(share)) throw overloaded()
    return new Promise((resolve, reject) => {
      const done = (result: unknown) => {
        if (result instanceof ApiError) reject(result)
        else resolve(result as R)
      }
      this.#mailboxes.postCommand({ kind, args, partition, bytes: share, done })
      this.#schedule()
    })
  }

  /** Runs `read` on committed state: now, or once the batch in flight is durable. */
  read<T>(read: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const run = () => {
        try {
          resolve(read())
        } catch (error) {
          reject(error as Error)
        }
      }
      this.whenCommitted(run)
    })
  }

  /** Calls `read` when the state is committed: now, or once the batch in flight is durable. */
  whenCommitted(read: () => void): void {
    if (this.#flushing) this.#readers.push(read)
    else read()
  }

  /** Whether something waits or is in flight. */
  get isBusy(): boolean {
    return this.#flushing || this.#scheduled || this.#hasMail || !this.#mailboxes.backlog.isEmpty
  }

  /** Resolves when nothing waits and nothing is in flight. */
  async drained(): Promise<void> {
    while (this.isBusy) await new Promise((resolve) => setImmediate(resolve))
  }

  get #store(): StoreShape {
    const { partitions } = this.#parts
    return { partitions: partitions.length, salt: partitions[0]!.salt }
  }

  get partitions(): readonly Partition[] {
    return this.#parts.partitions
  }

  /** How many user records there are. */
  get users(): number {
    return this.partitions.reduce((sum, { table }) => sum + table.count, 0)
  }

  /** How many updates the first tier has handled. */
  get zoneHits(): number {
    return this.partitions.reduce((sum, partition) => sum + partition.zoneHits, 0)
  }

  get #hasMail(): boolean {
    const { isEmpty, backlog } = this.#mailboxes
    return !isEmpty || (backlog.isReady && this.#takesBacklog)
  }

  /** Approximate bytes of the events in the frame that is not durable yet. */
  get eventBytesUnderWay(): number {
    return this.#flushing ? this.partitions.reduce((sum, { events }) => sum + events.bytes, 0) : 0
  }

  /** Whether the backlog may be evaluated. */
  get #takesBacklog(): boolean {
    return this.#pendingBytes <= BACKLOG_EVENT_BYTES
  }

  get #pendingBytes(): number {
    const { events, eventBacklog } = this.#parts
    return events === undefined ? (eventBacklog?.() ?? 0) : events.pendingBytes
  }

  /**
   * Starts a batch after the sockets of this turn of the event loop have been read, so that updates that arrived
   * together are processed together. Under load (if the last batch had several updates), it waits for two milliseconds
   * more, unless there are many already. A batch of commands alone says little about the load: if the next one did not
   * gather, each answer of the road engine about a trip would cost the updates around it flushes of their own.
   */
  #schedule(): void {
    if (this.#flushing || this.#scheduled) return
    this.#scheduled = true
    if (this.#lastBatch > 1 && this.#mailboxes.updates < ENOUGH_UPDATES)
      this.#scheduler.gathered(this.#runScheduled, this.#lastBatch)
    else this.#scheduler.soon(this.#runScheduled)
  }

  readonly #runScheduled = (): void => {
    this.#scheduled = false
    if (this.#pendingBytes > EVENT_BACKLOG_BYTES) {
      this.#scheduled = true
      setTimeout(this.#runScheduled, EVENTS_WAIT_MS)
      return
    }
    if (this.#hasMail || this.#batch.hasPrepared) this.#run()
    else this.#backlogLater()
  }

  /** Returns to the backlog when the event index may have caught up. */
  #backlogLater(): void {
    if (this.#waitsForIndex || !this.#mailboxes.backlog.isReady) return
    this.#waitsForIndex = true
    setTimeout(() => {
      this.#waitsForIndex = false
      this.#schedule()
    }, EVENTS_WAIT_MS)
  }

  #run(): void {
    if (this.#batch.evaluate(this.#takesBacklog)) return this.#close()
    this.#flushing = true
    setImmediate(this.#writeMore)
  }

  /** Writes the many events of a commit in turns with everything else. */
  readonly #writeMore = (): void => {
    if (this.#batch.writeMore()) this.#close()
    else setImmediate(this.#writeMore)
  }

  /** Prepares an update before it is evaluated; its device waits in the backlog for that. */
  readonly #prepare = (mail: UpdateMail, missing: Missing): void => {
    const { backlog } = this.#mailboxes
    const { deviceId } = mail.update
    backlog.pause(deviceId)
    void prepareUpdate(mail, missing, this.#parts, this.#geofenceTexts).then(() => {
      backlog.resume(deviceId)
      this.#batch.prepared(mail)
      this.#schedule()
    })
  }

  /** Appends the complete frame to the log. */
  #close(): void {
    const { bytes, isLarge } = this.#batch
    if (bytes === 0) {
      this.#flushing = false
      return this.#tell()
    }
    this.#flushing = true
    this.counters.frames++
    this.counters.frameBytes += bytes
    if (isLarge) setImmediate(this.#append)
    else this.#append()
  }

  readonly #append = (): void => {
    // The next batch begins after this one is durable.
    this.#parts.log.append([this.#batch.frame], this.#committed, this.#batch.events, true)
  }

  readonly #committed = (frame: Committed<StoredEvent>): void => {
    this.#flushing = false
    if (frame.events.length > 0) {
      this.counters.events += frame.events.length
      this.#parts.events?.committed(frame)
    }
    this.#tell()
  }

  /** The batch is durable: delivers the results, runs readers, and continues. */
  #tell(): void {
    const { mails, count, executed } = this.#batch
    if (this.observer !== undefined) this.#show(this.observer)
    if (this.#batch.isFed) this.#parts.dispatcher?.committed(this.#parts.partitions)
    let bytes = this.#batch.bytesTakenBack
    for (let i = 0; i < count; i++) bytes += mails[i]!.bytes
    this.#parts.mailbox.release(bytes)
    this.#adaptRoom(bytes)
    for (let i = 0; i < count; i++) {
      const { update, submitter, result } = mails[i]!
      if (result instanceof ApiError) submitter.refused(result, update)
      else {
        if (result!.trips !== undefined) this.#parts.dispatcher?.moved(update.scope, update.deviceId)
        submitter.applied(result!, update)
      }
    }
    for (const { command, result } of executed) {
      this.#parts.mailbox.release(command.bytes)
      command.done(result)
    }
    this.#lastBatch = count > 0 ? count : this.#lastBatch >> 1
    this.#batch.clear()
    const readers = this.#readers
    this.#readers = []
    for (const read of readers) read()
    if (this.#hasMail) this.#schedule()
    else this.#backlogLater()
  }

  /**
   * Adapts the room for waiting updates to the speed of the last batches.
   * @param bytes the size of the batch whose results were delivered
   */
  #adaptRoom(bytes: number): void {
    if (this.#batch.isLate) this.#roomBytes = Math.min(MOST_ROOM_BYTES, Math.max(LEAST_ROOM_BYTES, bytes))
    else this.#roomBytes = Math.min(MOST_ROOM_BYTES, 2 * this.#roomBytes)
  }

  #show(observer: PositionObserver): void {
    const { mails, count, removed } = this.#batch
    for (const { scope, deviceId, recordId } of removed) observer.removed(scope, deviceId, recordId)
    for (let i = 0; i < count; i++) {
      const { update, result, row } = mails[i]!
      if (result instanceof ApiError || result!.repeated) continue
      const { partitions } = this.#parts
      const index = this.#mailboxes.indexOf(update)
      const handle = row * partitions.length + index
      if (observer.stirred?.(handle) === true) continue
      observer.moved(this.#position.at(partitions[index]!.table, row, update.deviceId, handle))
    }
  }
}

function overloaded(): ApiError {
  return new ApiError(503, 'Too many updates are waiting. Try again.', { retryAfter: 1 })
}
