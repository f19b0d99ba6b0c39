import type { Clock } from '../runtime/clock.ts'
import { ApiError } from '../runtime/errors.ts'
import type { ByteBound } from '../runtime/byteBound.ts'
import { LoopRest } from '../runtime/loopRest.ts'
import type { StoredEvent } from '../events/port.ts'
import { Backlog } from '../runtime/backlog.ts'
import type { Intake, PositionObserver, Submitter } from './port.ts'
import type { AppendLog, Committed, CommittedConsumer } from '../log/port.ts'
import { deviceHash } from '../model/deviceHash.ts'
import type { GeofenceProperties } from '../model/geofence.ts'
import { geofenceText } from '../events/record.ts'
import { Slice } from '../runtime/slices.ts'
import { TextCache } from '../runtime/textCache.ts'
import type { Update } from '../model/update.ts'
import type { RegistryView } from '../rules/port.ts'
import type { Measurer } from '../spatial/port.ts'
import type { Command, CommandKind, RemovedRecord, StoreShape } from './command.ts'
import { FrameWriter } from './commitCodec.ts'
import { measureElsewhere, Unmeasured, type Measured } from '../rules/measured.ts'
import { RowPosition } from './rowPosition.ts'
import { Turns } from './turns.ts'
import {
  GEOFENCE_TEXT_CHARACTERS,
  MAX_RECORDS,
  Partition,
  RATE_LIMITED,
  TOO_MANY_EVENTS,
  TOO_MANY_RECORDS,
  Unwritten,
  type Applied,
} from './partition.ts'

/**
 * The host of the device actors: from mailbox to commit.
 *
 * The naive way makes each update durable before the next is looked at: one flush per update, 0.2 ms each. Here what
 * arrives while a flush is under way waits in the mailboxes of its partitions and is the next batch. So there is one
 * flush in flight, and batches grow by themselves with the load; a lone update never waits for company.
 *
 * Owns: mailboxes and their bound, batching, the order evaluate → commit → flush → tell.
 * Does not own: what an update means (partition.ts), recovery (recovery.ts), snapshots (checkpoint.ts).
 *
 * Invariants
 * - HOST-1: No update, event or removal is reported to anybody before its frame is durable (G1, G5).
 * - HOST-2: Updates of a device are applied in the order of submission, because a device belongs to one partition (G3).
 * - HOST-3: A batch reads one registry revision: it is evaluated without interruption, and edits happen between batches
 *   (G10).
 * - HOST-4: Readers run between batches, so they see only committed state.
 * - HOST-5: The bytes of waiting updates are bounded. A submission that does not fit is refused as a whole (G7).
 * - HOST-6: A device whose update takes long lets others go first (backlog.ts): they are evaluated before it in each
 *   batch, and while something is measured for it, the other devices of its partition continue.
 */

export interface HostParts {
  readonly partitions: readonly Partition[]
  /** That of this machine, or of a partition. */
  readonly log: Pick<AppendLog, 'append'>
  readonly registry: RegistryView
  /** Is handed the frames that have events, before replies go out; undefined: the log hands them to somebody. */
  readonly events?: EventConsumer | undefined
  readonly mailbox: ByteBound
  readonly clock: Clock
  /** Fetches what the evaluation of these updates looks up, as far as it can in a moment. Never rejects. */
  readonly prepare?: ((updates: readonly Update[]) => Promise<void>) | undefined
  /** Takes over where an update has much to measure. */
  readonly measurer?: Measurer | undefined
  /** Of hosts that take their turns together; else it has its own. */
  readonly turns?: Turns
}

export interface EventConsumer extends CommittedConsumer<StoredEvent> {
  /** Bytes of events that it was handed and has not stored, about: how far it is behind. */
  readonly pendingBytes: number
}

/** Counters for metrics; they only rise. */
export interface HostCounters {
  updates: number
  repeats: number
  rateLimited: number
  events: number
  frames: number
  frameBytes: number
}

/** A frame is closed when it has grown this large; what is left waits for the next. */
const FRAME_BYTES = 4 * 1024 * 1024
/** To evaluate what makes such a frame takes milliseconds, and to write it some more: others have their turn between the two. */
const LARGE_FRAME_BYTES = 1024 * 1024
/**
 * A batch that has taken this long is closed too: an update amid thousands of geofences takes milliseconds, and others
 * must have their turn.
 */
const EVALUATION_MS = 10
/**
 * An update that took this long, and that met so many geofences, is dear: what else came with it waits behind the updates of
 * others. Time alone would also be that of other processes: where processors are scarce, every update is now and then long.
 */
const DEAR_MS = 2
const DEAR_MEETINGS = 32
/** What waits behind the others is evaluated this long in a batch, one update at least. */
const BACKLOG_MS = 4
/** Updates within their zones after which the clock is looked at. */
const UPDATES_A_LOOK = 64
/**
 * When the event index is that far behind, no more updates are evaluated until it has caught up. They wait in the
 * mailboxes, and past the bound of those they are refused: a flood of events is told to its senders like any other.
 */
const EVENT_BACKLOG_BYTES = 64 * 1024 * 1024
const EVENTS_WAIT_MS = 10
/** From here on nothing that waits behind others is evaluated: what is left is for them. */
const BACKLOG_EVENT_BYTES = EVENT_BACKLOG_BYTES / 4
/** Updates that are looked at for what a batch needs; a batch is mostly smaller. */
const MOST_PREPARED = 4096
/** What a waiting update takes beside the bytes it came in. */
const UPDATE_OVERHEAD_BYTES = 512
/**
 * Bytes that wait, between which more should come: about as much as the last batches could take in their time, so that who
 * comes now waits for a batch or two.
 */
const LEAST_ROOM_BYTES = 256 * 1024
const MOST_ROOM_BYTES = 4 * 1024 * 1024

interface Mail {
  readonly update: Update
  readonly bytes: number
  readonly submitter: Submitter
  /** What was measured for it before it is evaluated. */
  measured?: Measured
  /** Whether what its events say of geofences was written before. */
  isWritten?: boolean
}

interface CommandMail extends Command {
  readonly partition: Partition
  /** In the bound. */
  readonly bytes: number
  readonly done: (result: unknown) => void
}

export class ActorHost implements Intake {
  readonly counters: HostCounters = {
    updates: 0,
    repeats: 0,
    rateLimited: 0,
    events: 0,
    frames: 0,
    frameBytes: 0,
  }

  /** Undefined while nobody watches: then it costs nothing. */
  observer: PositionObserver | undefined

  private readonly parts: HostParts
  private readonly turns: Turns
  private readonly mailboxes: Mail[][]
  private readonly geofenceTexts = new TextCache<GeofenceProperties>(GEOFENCE_TEXT_CHARACTERS)
  /** Numbers of the partitions with mail, in the order in which it arrived. */
  private waiting: number[] = []
  private readonly backlog = new Backlog<Mail>()
  private backlogTimer: NodeJS.Timeout | undefined
  /** Commands that wait, by when they are applied. */
  private readonly beforeUpdates: CommandMail[] = []
  private readonly afterUpdates: CommandMail[] = []
  private readers: (() => void)[] = []
  private flushing = false
  private scheduled = false
  /** Updates in the batch before. */
  private lastBatch = 0

  // The batch in flight.
  private readonly writer = new FrameWriter()
  private readonly told: Mail[] = []
  private readonly results: (Applied | ApiError)[] = []
  private readonly executed: { readonly mail: CommandMail; readonly result: unknown }[] = []
  private readonly removed: RemovedRecord[] = []
  private readonly position = new RowPosition()
  private batchEvents: StoredEvent[] = []
  private batchBytes = 0
  /** Of a frame without commits. */
  private emptyBytes = 0
  /** Whose commit is open still, see {@link endInTurns}. */
  private unended: Partition | undefined
  /** The last frame was of {@link LARGE_FRAME_BYTES} or more. */
  private wasLarge = false
  /** Of `performance.now()`. */
  private evaluateUntil = 0
  /** When the clock was looked at last, of `performance.now()`. */
  private lookedAt = 0
  /** The batch has had its time. */
  private isLate = false
  private roomBytes = MOST_ROOM_BYTES

  constructor(parts: HostParts) {
    this.parts = parts
    this.turns = parts.turns ?? new Turns(new LoopRest())
    this.mailboxes = parts.partitions.map(() => [])
    for (const partition of parts.partitions) partition.geofenceTexts = this.geofenceTexts
  }

  /** The partition that all updates of a device go through. */
  partitionOf(deviceId: string): Partition {
    return this.parts.partitions[deviceHash(deviceId) % this.parts.partitions.length]!
  }

  get hasRoom(): boolean {
    return this.parts.mailbox.used <= this.roomBytes
  }

  submit(updates: readonly Update[], bytes: number, submitter: Submitter): void {
    const share = Math.ceil(bytes / updates.length) + UPDATE_OVERHEAD_BYTES
    if (!this.parts.mailbox.tryAcquire(share * updates.length)) throw overloaded()
    for (const update of updates) this.post({ update, bytes: share, submitter })
    this.schedule()
  }

  submitOne(update: Update, bytes: number, submitter: Submitter): void {
    const share = bytes + UPDATE_OVERHEAD_BYTES
    if (!this.parts.mailbox.tryAcquire(share)) throw overloaded()
    this.post({ update, bytes: share, submitter })
    this.schedule()
  }

  execute<A, R>(kind: CommandKind<A, R>, args: A, bytes: number): Promise<R> {
    const number = kind.partitionOf(args, this.store)
    if (number === undefined) return Promise.resolve(kind.nowhere!)
    return this.executeIn(this.parts.partitions[number]!, kind, args, bytes)
  }

  /** As {@link execute}, where the partition is known. */
  executeIn<A, R>(partition: Partition, kind: CommandKind<A, R>, args: A, bytes: number): Promise<R> {
    const share = kind.isBounded ? bytes + UPDATE_OVERHEAD_BYTES : 0
    if (!this.parts.mailbox.tryAcquire(share)) throw overloaded()
    return new Promise((resolve, reject) => {
      const done = (result: unknown) => {
        if (result instanceof ApiError) reject(result)
        else resolve(result as R)
      }
      const mail: CommandMail = { kind, args, partition, bytes: share, done }
      if (kind.isBeforeUpdates) this.beforeUpdates.push(mail)
      else this.afterUpdates.push(mail)
      this.schedule()
    })
  }

  /** Runs `read` on committed state: now, or when the batch in flight is durable. */
  read<T>(read: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const run = () => {
        try {
          resolve(read())
        } catch (error) {
          reject(error as Error)
        }
      }
      if (this.flushing) this.readers.push(run)
      else run()
    })
  }

  /** Whether something waits or is in flight. */
  get isBusy(): boolean {
    return this.flushing || this.scheduled || this.hasMail || !this.backlog.isEmpty
  }

  /** Resolves when nothing waits and nothing is in flight. */
  async drained(): Promise<void> {
    while (this.isBusy) await new Promise((resolve) => setImmediate(resolve))
  }

  private get store(): StoreShape {
    const { partitions } = this.parts
    return { partitions: partitions.length, salt: partitions[0]!.salt }
  }

  get partitions(): readonly Partition[] {
    return this.parts.partitions
  }

  /** User records. */
  get users(): number {
    return this.partitions.reduce((sum, { table }) => sum + table.count, 0)
  }

  /** Updates that the first tier answered. */
  get zoneHits(): number {
    return this.partitions.reduce((sum, partition) => sum + partition.zoneHits, 0)
  }

  private get hasMail(): boolean {
    const { waiting, beforeUpdates, afterUpdates } = this
    return waiting.length > 0 || beforeUpdates.length > 0 || afterUpdates.length > 0 || this.hasBacklog
  }

  /** Whether something that waits behind others may be evaluated. */
  private get hasBacklog(): boolean {
    return this.backlog.isReady && this.pendingBytes <= BACKLOG_EVENT_BYTES
  }

  private get pendingBytes(): number {
    return this.parts.events === undefined ? 0 : this.parts.events.pendingBytes
  }

  private post(mail: Mail): void {
    const { sender, deviceId } = mail.update
    const number = (sender?.deviceHash ?? deviceHash(deviceId)) % this.mailboxes.length
    const mailbox = this.mailboxes[number]!
    if (mailbox.length === 0) this.waiting.push(number)
    mailbox.push(mail)
  }

  /**
   * After the sockets of this turn of the event loop have been read, so that what arrived together goes together;
   * under load (the last batch had company) two milliseconds later.
   */
  private schedule(): void {
    if (this.flushing || this.scheduled) return
    this.scheduled = true
    if (this.lastBatch > 1) this.turns.gathered(this.turn, this.lastBatch)
    else this.turns.soon(this.turn)
  }

  private readonly turn = (): void => {
    this.scheduled = false
    if (this.pendingBytes > EVENT_BACKLOG_BYTES) {
      this.scheduled = true
      setTimeout(this.turn, EVENTS_WAIT_MS)
      return
    }
    if (!this.hasMail) return this.backlogLater()
    if (this.parts.prepare === undefined) return this.run()
    this.scheduled = true
    void this.parts.prepare(this.firstUpdates()).then(this.prepared)
  }

  private readonly prepared = (): void => {
    this.scheduled = false
    this.run()
  }

  /** Comes back to what waits behind others, when the event index may have caught up. */
  private backlogLater(): void {
    if (!this.backlog.isReady) return
    this.backlogTimer ??= setTimeout(() => {
      this.backlogTimer = undefined
      this.schedule()
    }, EVENTS_WAIT_MS)
  }

  private run(): void {
    this.evaluate()
    if (this.unended === undefined) return this.close()
    this.flushing = true
    setImmediate(this.endInTurns)
  }

  /** Writes the many events of the commit that is open still, in turns with everything else. */
  private readonly endInTurns = (): void => {
    if (this.unended!.writeEvents(this.writer, this.batchEvents)) {
      setImmediate(this.endInTurns)
      return
    }
    this.unended!.end(this.writer, this.batchEvents)
    this.unended = undefined
    this.close()
  }

  /** The frame is complete. */
  private close(): void {
    this.batchBytes = this.writer.bytes === this.emptyBytes ? 0 : this.writer.bytes
    this.wasLarge = this.batchBytes >= LARGE_FRAME_BYTES
    if (this.batchBytes === 0) {
      this.flushing = false
      return this.tell()
    }
    this.flushing = true
    this.counters.frames++
    this.counters.frameBytes += this.batchBytes
    if (this.wasLarge) setImmediate(this.append)
    else this.append()
  }

  private readonly append = (): void => {
    this.parts.log.append([this.writer.take()], this.committed, this.batchEvents)
  }

  private readonly committed = (frame: Committed<StoredEvent>): void => {
    this.flushing = false
    if (frame.events.length > 0) {
      this.counters.events += frame.events.length
      this.parts.events?.committed(frame)
      this.batchEvents = []
    }
    this.tell()
  }

  /** Of those that wait, in the order in which they are evaluated. */
  private firstUpdates(): Update[] {
    const updates: Update[] = []
    for (const number of this.waiting) {
      for (const { update } of this.mailboxes[number]!) {
        if (updates.length === MOST_PREPARED) return updates
        updates.push(update)
      }
    }
    for (const { update } of this.backlog.firsts()) {
      if (updates.length === MOST_PREPARED) return updates
      updates.push(update)
    }
    return updates
  }

  /** Empties the mailboxes into one frame, up to its bound. */
  private evaluate(): void {
    const { writer } = this
    const time = this.parts.clock.now()
    writer.begin(time)
    this.emptyBytes = writer.bytes
    this.applyCommands(this.beforeUpdates, time)
    const waiting = this.waiting
    this.waiting = []
    this.lookedAt = performance.now()
    this.evaluateUntil = this.lookedAt + EVALUATION_MS
    this.isLate = false
    const unfinished: number[] = []
    for (const number of waiting) {
      if (writer.bytes < FRAME_BYTES && !this.isLate && this.unended === undefined) {
        this.applyMail(number, time)
        if (this.mailboxes[number]!.length > 0) unfinished.push(number)
      } else this.waiting.push(number)
    }
    // Behind those that had no turn at all.
    this.waiting.push(...unfinished)
    this.applyBacklog(time)
    this.applyCommands(this.afterUpdates, time)
  }

  private applyMail(number: number, time: number): void {
    const { writer, backlog } = this
    const partition = this.parts.partitions[number]!
    const mailbox = this.mailboxes[number]!
    partition.begin(writer, time, this.parts.registry.revision)
    let taken = 0
    while (
      taken < mailbox.length &&
      writer.bytes + partition.eventBytes < FRAME_BYTES &&
      (taken === 0 || !this.isLate)
    ) {
      const mail = mailbox[taken++]!
      if (mail.submitter.isBehind || backlog.has(mail.update.deviceId) || !this.apply(mail, partition))
        backlog.push(mail)
    }
    this.endCommit(partition)
    // Setting the length of an array to 0 leaves V8's compiled code, and a new one costs next to nothing.
    this.mailboxes[number] = taken === mailbox.length ? [] : mailbox.slice(taken)
  }

  /** After all others, who have had their time: what waits behind them has its own. */
  private applyBacklog(time: number): void {
    const { backlog, writer } = this
    // To bring a large frame to the disk takes long. Those who came meanwhile get one of their own first.
    if (this.unended !== undefined || !this.hasBacklog || (this.wasLarge && this.told.length > 0)) return
    this.lookedAt = performance.now()
    const until = this.lookedAt + BACKLOG_MS
    do {
      const mail = backlog.first()!
      const { deviceId } = mail.update
      const partition = this.partitionOf(deviceId)
      partition.begin(writer, time, this.parts.registry.revision)
      if (this.apply(mail, partition)) backlog.taken(deviceId)
      this.endCommit(partition)
    } while (
      this.unended === undefined &&
      backlog.isReady &&
      writer.bytes < FRAME_BYTES &&
      performance.now() < until
    )
  }

  /** Ends the commit of a partition, or leaves that to turns after this one: the frame takes nothing else then. */
  private endCommit(partition: Partition): void {
    if (partition.isLong) this.unended = partition
    else partition.end(this.writer, this.batchEvents)
  }

  /** Applies one update; false: it needs something first, and its device waits in the backlog for that. */
  private apply(mail: Mail, partition: Partition): boolean {
    const { update, submitter } = mail
    const { rateLimited, wantsUser } = submitter
    const view = this.parts.registry.scope(update.scope)
    const measuring = mail.measured ?? (this.parts.measurer && 'elsewhere')
    const { zoneHits } = partition
    const writing = mail.isWritten ? undefined : 'before'
    const result = partition.apply(update, view, this.writer, rateLimited, wantsUser, measuring, writing)
    // Within a zone an update takes hardly more than looking at the clock, but for a user who is told of many stays.
    const isCheap = partition.zoneHits !== zoneHits && !wantsUser
    if (!isCheap || this.told.length % UPDATES_A_LOOK === 0) this.look(submitter, partition.meetings)
    if (result instanceof Unmeasured) {
      void this.measure(mail, result)
      return false
    }
    if (result instanceof Unwritten) {
      void this.write(mail, result)
      return false
    }
    this.told.push(mail)
    if (result === RATE_LIMITED) {
      this.counters.rateLimited++
      this.results.push(tooFast())
    } else if (result === TOO_MANY_EVENTS) {
      this.results.push(tooManyEvents())
    } else if (result === TOO_MANY_RECORDS) {
      this.results.push(tooManyRecords())
    } else {
      if (result.repeated) this.counters.repeats++
      else this.counters.updates++
      this.results.push(result)
    }
    return true
  }

  /** Looks at the clock, after an update of theirs. */
  private look(submitter: Submitter, meetings: number): void {
    const now = performance.now()
    if (meetings >= DEAR_MEETINGS && now - this.lookedAt >= DEAR_MS) submitter.isBehind = true
    this.lookedAt = now
    this.isLate ||= now >= this.evaluateUntil
  }

  /** Has an update measured; its device waits for that. */
  private async measure(mail: Mail, unmeasured: Unmeasured): Promise<void> {
    const { deviceId } = mail.update
    this.backlog.pause(deviceId)
    mail.measured = await measureElsewhere(this.parts.measurer!, unmeasured)
    this.backlog.resume(deviceId)
    this.schedule()
  }

  /** Has written, in turns with others, what its events say of geofences; its device waits for that. */
  private async write(mail: Mail, { geofences }: Unwritten): Promise<void> {
    const { deviceId, scope } = mail.update
    this.backlog.pause(deviceId)
    const slice = new Slice()
    // The batch that it was in goes first.
    await slice.next()
    for (const geofence of geofences) {
      if (slice.isOver) await slice.next()
      const { index } = this.parts.registry.scope(scope)
      const slot = index.slotOf(geofence.id)
      // What was edited meanwhile is evaluated as it is then.
      if (slot < 0 || index.geofence(slot) !== geofence) continue
      this.geofenceTexts.get(geofence, () => geofenceText(geofence, index.outline(slot)))
    }
    mail.isWritten = true
    this.backlog.resume(deviceId)
    this.schedule()
  }

  private applyCommands(waiting: CommandMail[], time: number): void {
    const { writer, removed } = this
    let taken = 0
    while (this.unended === undefined && taken < waiting.length && writer.bytes < FRAME_BYTES) {
      const mail = waiting[taken++]!
      const { partition, kind, args } = mail
      partition.begin(writer, time, this.parts.registry.revision)
      this.executed.push({ mail, result: kind.apply(partition, args, { writer, time, removed }) })
      this.endCommit(partition)
    }
    if (taken > 0) waiting.splice(0, taken)
  }

  /** The batch is durable: tells everybody, lets readers in, and goes on. */
  private tell(): void {
    const { told, results, executed, observer } = this
    if (observer !== undefined) this.show(observer)
    let bytes = 0
    for (const mail of told) bytes += mail.bytes
    this.parts.mailbox.release(bytes)
    this.adaptRoom(bytes)
    for (let i = 0; i < told.length; i++) {
      const { update, submitter } = told[i]!
      const result = results[i]!
      if (result instanceof ApiError) submitter.refused(result, update)
      else submitter.applied(result, update)
    }
    this.lastBatch = told.length
    told.length = 0
    results.length = 0
    for (const { mail, result } of executed) {
      this.parts.mailbox.release(mail.bytes)
      mail.done(result)
    }
    executed.length = 0
    this.removed.length = 0
    const readers = this.readers
    this.readers = []
    for (const read of readers) read()
    if (this.hasMail) this.schedule()
    else this.backlogLater()
  }

  /** @param bytes of the batch that was told */
  private adaptRoom(bytes: number): void {
    if (this.isLate) this.roomBytes = Math.min(MOST_ROOM_BYTES, Math.max(LEAST_ROOM_BYTES, bytes))
    else this.roomBytes = Math.min(MOST_ROOM_BYTES, 2 * this.roomBytes)
  }

  private show(observer: PositionObserver): void {
    for (const { scope, deviceId, recordId } of this.removed) observer.removed(scope, deviceId, recordId)
    for (let i = 0; i < this.told.length; i++) {
      const result = this.results[i]!
      if (result instanceof ApiError || result.repeated) continue
      const { deviceId } = this.told[i]!.update
      observer.moved(this.position.at(this.partitionOf(deviceId).table, result.row, deviceId))
    }
  }
}

function overloaded(): ApiError {
  return new ApiError(503, 'Too many updates are waiting. Try again.', { retryAfter: 1 })
}

function tooManyEvents(): ApiError {
  return new ApiError(
    400,
    'metadata: Too large, because each of the many events of this update repeats it.',
    {
      param: 'metadata',
    },
  )
}

function tooManyRecords(): ApiError {
  return new ApiError(400, `userId: This device has already had ${MAX_RECORDS} users, which is the limit.`, {
    param: 'userId',
  })
}

function tooFast(): ApiError {
  return new ApiError(429, 'Rate limit exceeded: 1 update per second and device.', {
    param: 'deviceId',
    type: 'second',
    retryAfter: 1,
  })
}
