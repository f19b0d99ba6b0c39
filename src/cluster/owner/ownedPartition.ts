import { DeviceMemory } from '../../actor/deviceMemory.ts'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Command, CommandKind } from '../../actor/command.ts'
import { FEED_ACK } from '../../actor/feedAck.ts'
import { ActorHost, type HostParts } from '../../actor/host.ts'
import type { Partition } from '../../actor/partition.ts'
import { snapshotOf } from '../../actor/recovery.ts'
import type { RecoveredPartition } from '../../actor/partitionRecovery.ts'
import type { BatchScheduler } from '../../actor/batchScheduler.ts'
import type { PartitionLog, SharedSnapshotStore } from '../../log/port.ts'
import type { Update } from '../../model/update.ts'
import type { RegistryView } from '../../rules/port.ts'
import type { Measurer } from '../../spatial/port.ts'
import { aborted } from '../../runtime/aborted.ts'
import { ByteBound } from '../../runtime/byteBound.ts'
import type { DispatcherParts, TripDispatcher } from '../../trips/tripDispatcher.ts'
import type { Senders } from '../../wire/senders.ts'
import type { Clock } from '../../runtime/clock.ts'
import { ApiError } from '../../runtime/errors.ts'
import type { StoreSalt } from '../../events/ids.ts'
import {
  decodeRequest,
  encodeReply,
  encodeStillWaiting,
  TAKEN_BACK,
  type PartitionRequest,
  type UpdateResult,
} from '../protocol/partitionProtocol.ts'
import type { Outcome, Submitter, TakenBack } from '../../actor/port.ts'
import { charactersOf } from '../../runtime/textPieces.ts'
import { FULL_CHARACTERS, type LargeResults } from './largeResults.ts'
import { revisionReached } from './revisions.ts'
import { wantedOf, type RemoteUpdate } from '../protocol/updateRows.ts'

/**
 * A partition that this process owns: its own actor host, the partition's log, and the requests of gateways.
 *
 * Invariants
 * - OWNER-1: A request that is in progress, or was the last of its gateway and is answered, is not evaluated when it
 *   is sent again. The answer goes to whoever asked last, or asked first if the others were told that it still waits.
 * - OWNER-2: What this owner does not know is recognised by the numbers of its updates (G9). For a repeated command,
 *   its kind says what to do (`CommandKind.repeat`).
 * - OWNER-3: Nothing is evaluated with an older registry than the gateway had (G10).
 * - OWNER-4: An update that would wait behind those of others goes back to its gateway, with all later ones of its device
 *   in the request: otherwise the other updates of the request would wait for it, and all later requests.
 */

export interface OwnedParts {
  readonly registry: RegistryView
  readonly snapshots: SharedSnapshotStore
  readonly salt: StoreSalt
  readonly clock: Clock
  /** The host's senders, for updates that come from gateways. */
  readonly senders: Senders
  /** The limit of waiting updates for each partition, in bytes. */
  readonly mailboxBytes: number
  /** The memory of the devices of all partitions of the process. */
  readonly memory: DeviceMemory
  /** Measures geometry in place of the main thread if an update needs much of it. */
  readonly measurer?: Measurer | undefined
  /** The scheduler of all partitions of the process. */
  readonly scheduler: BatchScheduler
  /** Opens what carries the rows of the partition's feed to trips. */
  readonly openDispatcher: (acknowledge: DispatcherParts['acknowledge']) => TripDispatcher
  /** Returns the bytes of events of all partitions of the process that are not published yet. */
  readonly eventBacklog?: (() => number) | undefined
  /** Keeps the results of the process that are too large for a reply. */
  readonly largeResults: LargeResults
  /** Called for failures of requests. The requests are repeated. */
  readonly troubled: (error: Error) => void
}

/** What the owner remembers about a gateway. */
interface Session {
  readonly number: number
  /** Answers the last request. */
  answer: (bytes: Uint8Array) => void
  /** The reply to the last request. Undefined while the request is in progress, and if the reply is not kept. */
  reply: Uint8Array | undefined
  isOpen: boolean
}

/** The number of gateways that are remembered; the updates of a forgotten one are recognized by their numbers. */
const MAX_SESSIONS = 100
/** Replies that are larger than this are not kept. */
const KEPT_REPLY_BYTES = 64 * 1024
/** The memory of a waiting update besides its bytes; see host.ts. */
const UPDATE_BYTES = 512
/**
 * The cost of reading a frame, expressed in bytes of frames. On a calm machine, 20,000 frames of 150 bytes take 0.6 s,
 * whatever they contain. If each frame has few updates, a take-over costs as much as its frames, and their bytes
 * hardly matter.
 */
const FRAME_BYTES = 1024
/** An owner that leaves writes a snapshot if its successor would have to read more than this. */
const LEFT_BEHIND_BYTES = 1024 * 1024

export class OwnedPartition {
  readonly number: number
  readonly host: ActorHost
  readonly dispatcher: TripDispatcher
  readonly log: PartitionLog
  readonly #partition: Partition
  readonly #parts: OwnedParts
  readonly #mailbox: ByteBound
  readonly #kinds: ReadonlyMap<string, CommandKind>
  readonly #sessions = new Map<string, Session>()
  readonly #open = new Set<Promise<void>>()
  readonly #ending = new AbortController()
  /** Aborted when the states may not be used any more. */
  readonly #dropped = new AbortController()
  /**
   * How much had been written when the last snapshot was taken. It is negative if frames of former owners come after
   * the snapshot.
   */
  #snapshotAt: number
  #checkpoint: Promise<void> | undefined

  /**
   * Starts at the end of the log.
   * @param recovered frames that were read after the newest snapshot still count as written since it, whoever wrote
   * them
   */
  constructor(recovered: RecoveredPartition, log: PartitionLog, parts: OwnedParts) {
    const { partition } = recovered
    this.number = partition.number
    this.#snapshotAt = -readingBytes(recovered.frames, recovered.bytes)
    this.log = log
    this.#partition = partition
    this.#parts = parts
    this.#mailbox = new ByteBound(parts.mailboxBytes)
    const kinds = partition.types.flatMap(({ commands }) => commands)
    this.#kinds = new Map(kinds.map((kind) => [kind.name, kind]))
    partition.countIn(parts.memory)
    const { registry, clock, scheduler } = parts
    // A host that never learns that its frame is durable does not continue.
    const guarded: HostParts['log'] = {
      append: (pieces, done, ofFrame, areKept) => {
        if (!this.isDropped) log.append(pieces, done, ofFrame, areKept)
      },
    }
    this.dispatcher = parts.openDispatcher((_, numbers) =>
      this.host.executeIn(partition, FEED_ACK, { partition: this.number, numbers }, 0),
    )
    this.host = new ActorHost({
      dispatcher: this.dispatcher,
      partitions: [partition],
      log: guarded,
      registry,
      mailbox: this.#mailbox,
      clock,
      measurer: parts.measurer,
      eventBacklog: parts.eventBacklog,
      scheduler,
    })
  }

  /** The number of the last row that the devices of the partition have told to trips. */
  get lastRow(): number {
    return this.#partition.feed.last
  }

  get isDropped(): boolean {
    return this.#dropped.signal.aborted
  }

  /** Drops the partition, because there is another owner, or will be one. Nothing is answered or appended any more. */
  drop(): void {
    this.#dropped.abort()
    this.dispatcher.stop()
    this.#partition.countIn(new DeviceMemory())
  }

  /**
   * Finishes the work in progress, after requests have stopped coming; resolves at once if the partition was dropped.
   */
  async close(): Promise<void> {
    this.#ending.abort()
    this.dispatcher.stop()
    await Promise.race([this.#finish(), aborted(this.#dropped.signal)])
    if (this.isDropped) return
    this.drop()
    await this.log.close()
  }

  async #finish(): Promise<void> {
    await Promise.all(this.#open)
    await this.#checkpoint
    // This includes removals by housekeeping.
    while (this.host.isBusy && !this.isDropped) await nextTurn()
  }

  /**
   * Takes a snapshot so that the next owner has little to read. Resolves at once if the partition is dropped. It must
   * be called while requests still come, because from {@link close} on nobody is answered until the next owner has
   * read everything.
   */
  async leaveSnapshot(): Promise<void> {
    const taken = (async () => {
      // A snapshot that began long ago may leave much unread by now.
      await this.#checkpoint
      this.checkpoint(LEFT_BEHIND_BYTES)
      await this.#checkpoint
    })()
    await Promise.race([taken, aborted(this.#dropped.signal)])
  }

  /**
   * Takes a snapshot and trims the log if reading everything since the last snapshot would cost as much as reading
   * this many bytes.
   */
  checkpoint(everyBytes: number): void {
    if (this.#checkpoint !== undefined || this.isDropped) return
    if (this.#written - this.#snapshotAt < everyBytes) return
    this.#checkpoint = this.#snapshot()
      .catch((error: Error) => this.#parts.troubled(error))
      .finally(() => (this.#checkpoint = undefined))
  }

  /** How much this owner has written, measured by the cost of reading it. */
  get #written(): number {
    const { frames, frameBytes } = this.host.counters
    return readingBytes(frames, frameBytes)
  }

  async #snapshot(): Promise<void> {
    const { snapshots, registry, clock } = this.#parts
    const { host, log } = this
    const snapshot = await host.read(() => {
      this.#snapshotAt = this.#written
      return { offset: log.offset, bytes: snapshotOf(this.#partition, registry.revision, clock.now()) }
    })
    await snapshots.write(this.number, snapshot)
    const offset = await snapshots.trimOffset(this.number)
    if (!this.isDropped) log.trim(offset)
  }

  /** Handles a request of a gateway. */
  serve(bytes: Uint8Array, answer: (bytes: Uint8Array) => void): void {
    const request = decodeRequest(bytes, (name) => this.#kinds.get(name), this.#parts.senders)
    const { gateway, number } = request
    const known = this.#sessions.get(gateway)
    // This request was in flight for long, and a newer one has arrived before it.
    if (known !== undefined && number < known.number) return
    if (known?.number === number) {
      if (known.isOpen && request.takesBack && request.isBehind) return answer(encodeStillWaiting())
      known.answer = answer
      if (known.reply !== undefined) answer(known.reply)
      if (known.reply !== undefined || known.isOpen) return
    }
    const session: Session = { number, answer, reply: undefined, isOpen: true }
    this.#remember(gateway, session)
    const work = this.#process(request, session).finally(() => this.#open.delete(work))
    this.#open.add(work)
  }

  async #process(request: PartitionRequest, session: Session): Promise<void> {
    try {
      const { registry, scheduler } = this.#parts
      // If the partition is given away before that, the next owner is asked.
      await revisionReached(registry, request.revision, this.#ending.signal)
      const reply = await this.#apply(request)
      // Under load, the answer is sent together with those of other partitions.
      if (request.updates.length > 1)
        await new Promise<void>((resolve) => scheduler.gathered(resolve, request.updates.length))
      if (this.isDropped) return
      session.answer(reply ?? encodeReply(undefined))
      // If a gateway was told that the owner is busy, its next request must be admitted.
      if (reply !== undefined && reply.length <= KEPT_REPLY_BYTES) session.reply = reply
    } catch (error) {
      this.#parts.troubled(error as Error)
    } finally {
      session.isOpen = false
    }
  }

  /**
   * Resolves to the reply once everything is durable. Resolves to undefined if there was no room and nothing was done.
   */
  #apply(request: PartitionRequest): Promise<Uint8Array | undefined> {
    const { updates, commands, retried } = request
    const bounded = commands.filter((one) => 'kind' in one && one.kind.isBounded)
    const bytes = UPDATE_BYTES * (updates.length + bounded.length)
    const mostBytes = this.#mailbox.limit - this.#mailbox.used
    // A request is admitted as a whole or not at all. One that would never fit must be admitted when it is alone.
    if (bytes > mostBytes && this.#mailbox.used > 0) return Promise.resolve(undefined)
    const results = new RequestResults(updates.length, request, this.#parts.largeResults)
    for (const run of runsOf(updates)) {
      results.take(run, (submitter) => this.host.submit(run, 0, submitter))
    }
    const executed = commands.map((one) => ('kind' in one ? this.#execute(one, retried) : one))
    return Promise.all([results.all, Promise.all(executed)]).then(([ofUpdates, ofCommands]) =>
      encodeReply({ updates: ofUpdates, commands: ofCommands }),
    )
  }

  /** Resolves to the result, or to the reason why the command was refused. */
  async #execute({ kind, args }: Command, retried: boolean): Promise<unknown> {
    const apply = () => this.host.executeIn(this.#partition, kind, args, 0)
    try {
      return await (retried ? kind.repeat(apply) : apply())
    } catch (error) {
      if (error instanceof ApiError) return error
      throw error
    }
  }

  #remember(gateway: string, session: Session): void {
    this.#sessions.delete(gateway)
    this.#sessions.set(gateway, session)
    if (this.#sessions.size <= MAX_SESSIONS) return
    const [oldest] = this.#sessions.keys()
    this.#sessions.delete(oldest!)
  }
}

function readingBytes(frames: number, bytes: number): number {
  return bytes + frames * FRAME_BYTES
}

/** The results of the updates of one request. */
class RequestResults {
  /** The results in the order of the request, once all are known. */
  readonly all: Promise<readonly UpdateResult[]>
  readonly #results: UpdateResult[]
  readonly #large: LargeResults | undefined
  readonly #takenBack: TakenBack | undefined
  /** Characters of the events that will be in the reply. */
  #characters = 0
  #left: number
  #done: (results: readonly UpdateResult[]) => void = () => {}

  /** @param large keeps the large ones, if the gateway fetches them; otherwise all of them are in the reply */
  constructor(count: number, { fetches, takesBack, isBehind }: PartitionRequest, large: LargeResults) {
    this.#large = fetches ? large : undefined
    if (takesBack && !isBehind) this.#takenBack = this.#backToGateway()
    this.#results = Array.from<UpdateResult>({ length: count }).fill(0)
    this.#left = count
    this.all = new Promise((resolve) => (this.#done = resolve))
    if (count === 0) this.#done(this.#results)
  }

  /** Submits updates that go together. */
  take(updates: readonly RemoteUpdate[], submit: (submitter: Submitter) => void): void {
    const wanted = wantedOf(updates[0]!.flags)
    const submitter: Submitter = {
      ...wanted,
      takenBack: wanted.isBehind ? undefined : this.#takenBack,
      applied: (outcome: Outcome, update: Update) => {
        const told = wanted.wantsEvents ? outcome.events : []
        const large = this.#large?.keep(outcome, told, this.#characters >= FULL_CHARACTERS)
        if (large !== undefined) return this.#set(update, large)
        this.#characters += charactersOf(told)
        const { repeated, verdict, feed } = outcome
        const set = (user: string) => {
          const isPlain = user === '' && told.length === 0 && !repeated
          this.#set(update, isPlain ? 0 : { user, events: told, repeated, verdict, feed })
        }
        if (outcome.userPieces === undefined) set(outcome.user)
        else void outcome.userPieces().then((pieces) => set(pieces.join('')))
      },
      refused: (error, update) => this.#set(update, error),
    }
    try {
      submit(submitter)
    } catch (error) {
      for (const update of updates) this.#set(update, error as ApiError)
    }
  }

  /** What the host gives back. All runs share it, because a device may have updates in several of them. */
  #backToGateway(): TakenBack {
    const devices = new Set<string>()
    return {
      has: (deviceId) => devices.has(deviceId),
      add: (deviceId) => void devices.add(deviceId),
      take: (update) => this.#set(update, TAKEN_BACK),
    }
  }

  #set(update: Update, result: UpdateResult): void {
    this.#results[(update as RemoteUpdate).index] = result
    if (--this.#left === 0) this.#done(this.#results)
  }
}

/** Runs of updates with the same wanted results. */
function runsOf(updates: readonly RemoteUpdate[]): RemoteUpdate[][] {
  const runs: RemoteUpdate[][] = []
  for (const update of updates) {
    const run = runs.at(-1)
    if (run?.[0]!.flags === update.flags) run.push(update)
    else runs.push([update])
  }
  return runs
}
