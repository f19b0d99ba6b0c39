import type { FeedRow } from '../actor/feedTable.ts'
import type { FeedDispatcher } from '../actor/host.ts'
import type { Partition } from '../actor/partition.ts'
import type { ScopeId } from '../model/scope.ts'
import { ApiError } from '../runtime/errors.ts'
import { ConcurrencyLimit } from '../runtime/concurrencyLimit.ts'
import { Backoff } from '../runtime/retry.ts'
import {
  OUTCOME_MS,
  type FeedOutcome,
  type FeedOutcomes,
  type FeedQuestion,
  type ToldRow,
} from './feedOutcome.ts'
import { deviceIn, SeenOutcomes } from './seenOutcomes.ts'
import type { TripDelivery } from './tripDelivery.ts'

/**
 * Carries the rows of the feeds of a process's partitions (actor/feedTable.ts) to trips, until they are told.
 *
 * The obvious way sends a row when its update is committed, and forgets it: a process that ends in between, or a
 * partition without an owner, would lose it. Here the row stays in the feed, so that the next owner tells it.
 *
 * Owns: the order of a device's rows, when they are told again and acknowledged, what a device saw last. Does not
 * own: which trips a row concerns (tripDelivery.ts), how many rows may wait (TRIP-FEED-2).
 *
 * Invariants
 * - DISPATCH-1: A row is told after all rows of its device with lower numbers have been.
 * - DISPATCH-2: A row is acknowledged only after it was told, and told again until then, whoever owns the partition.
 * - DISPATCH-3: What it keeps is bounded: a queue per device with rows, and what devices saw in `seenBytes`.
 * - DISPATCH-4: A row that no trip remembers is acknowledged before its outcome is known to anybody.
 */
export interface DispatcherParts {
  readonly delivery: Pick<TripDelivery, 'tell'>
  /** Makes it durable that rows were told. */
  readonly acknowledge: (partition: Partition, numbers: readonly number[]) => Promise<unknown>
  /** The limit of the outcomes that devices saw, in bytes. */
  readonly seenBytes: number
  /** Called for a failure after which a row is told again. */
  readonly troubled: (error: Error) => void
  readonly outcomeMs?: number
  readonly gatherMs?: number
}

/**
 * How many devices are told about at a time. This is many more than the number of ways that may wait for the road engine,
 * so the engine says at once that it is busy. Devices that waited here for the ways of others would not be answered in time.
 */
const DEVICES_AT_ONCE = 2048
/** How many devices have their turn at once. Each takes some 30 µs at its beginning. */
const DEVICES_A_TURN = 64
const PAUSES = { firstMs: 20, lastMs: 2000 }
/** Rows are acknowledged together after this time, because each acknowledgement costs a commit. */
const GATHER_MS = 50

/** The rows of one device that wait. */
interface DeviceQueue {
  readonly device: string
  readonly partition: Partition
  readonly numbers: number[]
  /** Whether some trips may already have received the first of them. */
  hasFailed: boolean
  readonly backoff: Backoff
}

export class TripDispatcher implements FeedDispatcher, FeedOutcomes {
  readonly #parts: DispatcherParts
  readonly #limit = new ConcurrencyLimit(DEVICES_AT_ONCE)
  readonly #queues = new Map<string, DeviceQueue>()
  /** Devices whose rows nobody has begun to tell. They take turns with everything else. */
  readonly #fresh: DeviceQueue[] = []
  #isBeginning = false
  /** Callers that wait, by device and number. */
  readonly #waiters = new Map<string, ((outcome: FeedOutcome) => void)[]>()
  readonly #seen: SeenOutcomes
  #told = new Map<Partition, number[]>()
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(parts: DispatcherParts) {
    this.#parts = parts
    this.#seen = new SeenOutcomes(parts.seenBytes, parts.outcomeMs)
  }

  /** How many devices have rows that wait. */
  get waiting(): number {
    return this.#queues.size
  }

  committed(partitions: readonly Partition[]): void {
    if (this.#isStopped) return
    for (const partition of partitions) {
      if (!partition.feed.hasFresh) continue
      for (const { number, scope, user } of partition.feed.takeFresh())
        this.#post(partition, deviceIn(scope, user.deviceId), number)
    }
  }

  moved(scope: ScopeId, deviceId: string): void {
    this.#seen.moved(scope, deviceId)
  }

  /** Stops telling. What is being told is told again by the next owner, and has no effect then. */
  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
  }

  of(question: FeedQuestion): Promise<FeedOutcome | undefined> {
    const { scope, deviceId, number } = question
    const device = deviceIn(scope, deviceId)
    const queue = this.#queues.get(device)
    if (number <= 0) return this.#last(question, device, queue)
    if ((this.#seen.lastOf(device) ?? -1) >= number) return Promise.resolve(this.#seen.get(device, number))
    // Another owner has told the row.
    if (queue === undefined) return Promise.resolve(undefined)
    return this.#wait(question, device, number)
  }

  /** The outcome for an update that was sent again. Its events were told before. */
  async #last(
    question: FeedQuestion,
    device: string,
    queue: DeviceQueue | undefined,
  ): Promise<FeedOutcome | undefined> {
    if (queue === undefined) return this.#seen.get(device)
    const waited = await this.#wait(question, device, queue.numbers.at(-1)!)
    return waited && { trip: waited.trip, events: [] }
  }

  #wait({ scope, deviceId }: FeedQuestion, device: string, number: number): Promise<FeedOutcome | undefined> {
    const { outcomeMs = OUTCOME_MS } = this.#parts
    const key = `${number} ${device}`
    return new Promise((resolve, reject) => {
      const told = (outcome: FeedOutcome): void => {
        clearTimeout(timer)
        resolve(outcome)
      }
      const timer = setTimeout(() => {
        const waiters = this.#waiters.get(key)!.filter((one) => one !== told)
        if (waiters.length > 0) this.#waiters.set(key, waiters)
        else this.#waiters.delete(key)
        if (this.#seen.hasSeen(scope, deviceId)) resolve(this.#seen.get(device))
        else reject(notInTime())
      }, outcomeMs)
      this.#waiters.set(key, [...(this.#waiters.get(key) ?? []), told])
    })
  }

  #post(partition: Partition, device: string, number: number): void {
    const known = this.#queues.get(device)
    if (known !== undefined) {
      known.numbers.push(number)
      return
    }
    const queue: DeviceQueue = {
      device,
      partition,
      numbers: [number],
      hasFailed: false,
      backoff: new Backoff(PAUSES),
    }
    this.#queues.set(device, queue)
    this.#fresh.push(queue)
    if (this.#isBeginning) return
    this.#isBeginning = true
    setImmediate(this.#begin)
  }

  /**
   * Begins to tell about some devices. A frame of a thousand updates may have as many rows, and the answers to all other
   * updates would wait while their ways are asked for.
   */
  readonly #begin = (): void => {
    for (const queue of this.#fresh.splice(0, DEVICES_A_TURN)) this.#run(queue)
    this.#isBeginning = this.#fresh.length > 0
    if (this.#isBeginning) setImmediate(this.#begin)
  }

  #run(queue: DeviceQueue): void {
    void this.#limit.run(() => this.#tellAll(queue))
  }

  /** Tells the rows of a device, one after the other. After a failure it lets others go first. */
  async #tellAll(queue: DeviceQueue): Promise<void> {
    const { device, partition, numbers } = queue
    try {
      while (numbers.length > 0 && !this.#isStopped) {
        const number = numbers[0]!
        const row = partition.feed.get(number)
        const isAgain = queue.hasFailed || number <= partition.feed.recoveredTo
        if (row !== undefined) await this.#tell(queue, row, isAgain)
        numbers.shift()
        queue.hasFailed = false
        queue.backoff.reset()
      }
      this.#queues.delete(device)
    } catch (error) {
      if (this.#isStopped) return
      this.#parts.troubled(error as Error)
      queue.hasFailed = true
      setTimeout(() => this.#run(queue), queue.backoff.next()).unref()
    }
  }

  async #tell({ device, partition }: DeviceQueue, row: FeedRow, isAgain: boolean): Promise<void> {
    const { number } = row
    const { isInVain = false, trip, events }: ToldRow = await this.#parts.delivery.tell(row, isAgain)
    if (isInVain && !this.#isStopped) await this.#parts.acknowledge(partition, [number])
    if (this.#isStopped) return
    const outcome = { trip, events }
    this.#seen.put(device, number, outcome, true)
    const key = `${number} ${device}`
    const waiters = this.#waiters.get(key)
    this.#waiters.delete(key)
    for (const told of waiters ?? []) told(outcome)
    if (isInVain) return
    const numbers = this.#told.get(partition)
    if (numbers === undefined) this.#told.set(partition, [number])
    else numbers.push(number)
    this.#acknowledgeSoon()
  }

  async #acknowledge(): Promise<void> {
    const told = this.#told
    this.#told = new Map()
    await Promise.all([...told].map(([partition, numbers]) => this.#acknowledgeOf(partition, numbers)))
    this.#timer = undefined
    if (this.#told.size > 0) this.#acknowledgeSoon()
  }

  async #acknowledgeOf(partition: Partition, numbers: number[]): Promise<void> {
    try {
      await this.#parts.acknowledge(partition, numbers)
    } catch (error) {
      this.#parts.troubled(error as Error)
      this.#told.set(partition, [...numbers, ...(this.#told.get(partition) ?? [])])
    }
  }

  #acknowledgeSoon(): void {
    const { gatherMs = GATHER_MS } = this.#parts
    if (!this.#isStopped) this.#timer ??= setTimeout(() => void this.#acknowledge(), gatherMs)
  }
}

function notInTime(): ApiError {
  return new ApiError(
    503,
    'The update is stored, but its trip did not answer in time. Its events are in GET /v1/events later.',
    { retryAfter: 1 },
  )
}
