/** The distributed engine in one process: gateways, owners, and the simulated calls between them. */
import type { ActorHost } from '../../src/actor/host.ts'
import { DeviceMemory } from '../../src/actor/deviceMemory.ts'
import { Senders } from '../../src/wire/senders.ts'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Gateway } from '../../src/cluster/gateway/gateway.ts'
import {
  AnswerOverdue,
  NobodyListens,
  type Calls,
  type OpenCall,
  type Served,
} from '../../src/cluster/nats/calls.ts'
import type { LateAnswers } from '../../src/cluster/nats/lateAnswers.ts'
import { Partition } from '../../src/actor/partition.ts'
import { PartitionServer, type PartitionServerParts } from '../../src/cluster/owner/partitionServer.ts'
import type { Intake, Outcome, Users } from '../../src/actor/port.ts'
import { FencedOut } from '../../src/log/errors.ts'
import type { LogEvent, LogFrame, PartitionLog, SharedSnapshotStore, Snapshot } from '../../src/log/port.ts'
import type { Update } from '../../src/model/update.ts'
import { TripDispatcher } from '../../src/trips/tripDispatcher.ts'
import { ByteBound } from '../../src/runtime/byteBound.ts'
import { ManualClock, type Clock } from '../../src/runtime/clock.ts'
import { ApiError } from '../../src/runtime/errors.ts'
import { aGeofence, MemorySnapshots, NOON, SALT, World } from '../actor/kit.ts'
import type { Random } from '../actor/world.ts'

export const PARTITIONS = 4

/** The result of an update, in either engine. */
export function track(
  intake: Intake,
  update: Update,
  wanted: {
    readonly rateLimited?: boolean
    readonly wantsUser?: boolean
    readonly wantsEvents?: boolean
    readonly isBehind?: boolean
  } = {},
): Promise<Outcome | ApiError> {
  return new Promise((resolve) => {
    intake.submitOne(update, 100, {
      rateLimited: false,
      wantsUser: true,
      wantsEvents: true,
      isBehind: false,
      ...wanted,
      applied: resolve,
      refused: resolve,
    })
  })
}

export function outcome(told: Outcome | ApiError): Outcome {
  if (told instanceof ApiError) throw told
  return told
}

/** Logs of partitions that hosts share, with their fence. */
export class SharedLogs {
  readonly frames: Uint8Array[][] = Array.from({ length: PARTITIONS }, () => [])
  /** Events of all partitions, in the order of their commits. */
  readonly events: LogEvent[] = []
  readonly #epochs: number[] = Array.from({ length: PARTITIONS }, () => 0)

  open(partition: number, fencedOut: (error: FencedOut) => void): PartitionLog {
    const epoch = ++this.#epochs[partition]!
    const frames = this.frames[partition]!
    const { events } = this
    const isOwner = () => this.#epochs[partition] === epoch
    // This owner does not see what a former owner still has in flight.
    let position = frames.length
    return {
      epoch,
      bytes: 0,
      get offset() {
        return position
      },
      append(parts, done, eventsOfFrame = []) {
        const frame = Buffer.concat(parts)
        setImmediate(() => {
          if (!isOwner()) return fencedOut(new FencedOut(partition, 'another'))
          frames.push(frame)
          position = frames.length
          events.push(...eventsOfFrame)
          done({ offset: frames.length, events: eventsOfFrame })
        })
      },
      trim() {},
      async *read(from): AsyncGenerator<LogFrame> {
        for (let at = Math.max(1, from); at <= position; at++) {
          await nextTurn()
          yield { offset: at, payload: frames[at - 1]! }
        }
      },
      async close() {
        await nextTurn()
      },
    }
  }
}

export class SharedMemorySnapshots implements SharedSnapshotStore {
  readonly #kept = new MemorySnapshots()

  write(partition: number, snapshot: Snapshot): Promise<void> {
    return this.#kept.write(partition, snapshot)
  }

  async newest(partition: number): Promise<Snapshot | undefined> {
    return this.#kept.newest(partition)
  }

  async trimOffset(partition: number): Promise<number> {
    return this.#kept.trimOffset(partition)
  }
}

/** How badly {@link SimulatedCalls} behave, as shares of messages. */
export interface Weather {
  readonly lost: number
  readonly doubled: number
  /** They arrive some turns of the event loop later, so that others overtake them. */
  readonly late: number
}

export const FAIR: Weather = { lost: 0, doubled: 0, late: 0 }

/** Calls within the process, with faults. Time passes in turns of the event loop. */
export class SimulatedCalls implements Calls {
  weather: Weather
  readonly #random: Random
  readonly #served = new Map<
    string,
    Set<(question: Uint8Array, answer: (answer: Uint8Array) => void) => void>
  >()

  constructor(random: Random, weather: Weather) {
    this.#random = random
    this.weather = weather
  }

  async ask(
    subject: string,
    question: Uint8Array,
    _timeoutMs: number,
    late?: LateAnswers,
  ): Promise<Uint8Array> {
    if (!this.#served.has(subject)) throw new NobodyListens(subject)
    return new Promise((resolve, reject) => {
      let isOpen = true
      let isOverdue = false
      this.#send(subject, question, (answer) => {
        if (!isOverdue) resolve(answer)
        else if (isOpen) late?.take(answer)
      })
      void this.#turns(30).then(() => {
        isOverdue = true
        late?.keep({ send() {}, end: () => (isOpen = false) })
        reject(new AnswerOverdue(subject))
      })
    })
  }

  askAll(subject: string, answered: (answer: Uint8Array) => void): OpenCall {
    let isOpen = true
    return {
      send: (question) => this.#send(subject, question, (answer) => isOpen && answered(answer)),
      end: () => void (isOpen = false),
    }
  }

  serve(
    subject: string,
    asked: (question: Uint8Array, answer: (answer: Uint8Array) => void) => void,
  ): Served {
    const served = this.#served.get(subject) ?? new Set()
    this.#served.set(subject, served.add(asked))
    return {
      stop: async () => {
        served.delete(asked)
        if (served.size === 0) this.#served.delete(subject)
        await nextTurn()
      },
    }
  }

  #send(subject: string, question: Uint8Array, answered: (answer: Uint8Array) => void): void {
    this.#deliver(() => {
      for (const asked of this.#served.get(subject) ?? []) {
        asked(Uint8Array.from(question), (answer) => {
          const bytes = Uint8Array.from(answer)
          this.#deliver(() => answered(bytes))
        })
      }
    })
  }

  #deliver(arrive: () => void): void {
    const random = this.#random
    const { lost, doubled, late } = this.weather
    if (random.chance(lost)) return
    for (let copies = random.chance(doubled) ? 2 : 1; copies > 0; copies--) {
      void this.#turns(random.chance(late) ? random.below(60) : 1).then(arrive)
    }
  }

  async #turns(count: number): Promise<void> {
    for (let i = 0; i < count; i++) await nextTurn()
  }
}

/** Either engine. */
export interface AnyEngine {
  readonly intake: Intake
  readonly users: Users
  readonly world: World
  readonly clock: ManualClock
}

export function gatewayOf(
  calls: Calls,
  world: World,
  options: {
    readonly mailboxBytes?: number
    readonly giveUpMs?: number
    readonly partitions?: number
    readonly pause?: (milliseconds: number) => Promise<unknown>
  } = {},
) {
  const { mailboxBytes = 64 * 1024 * 1024, ...rest } = options
  return new Gateway({
    calls,
    gateway: `g${++gateways}`,
    registry: world,
    mailbox: new ByteBound(mailboxBytes),
    partitions: PARTITIONS,
    salt: SALT,
    troubled: () => {},
    ...rest,
  })
}

let gateways = 0

export function serverOf(
  calls: Calls,
  { world, clock }: { readonly world: World; readonly clock: Clock },
  parts: Pick<PartitionServerParts, 'openLog' | 'snapshots'> & Partial<PartitionServerParts>,
): PartitionServer {
  const server = new PartitionServer({
    memory: new DeviceMemory(),
    calls,
    registry: world,
    salt: SALT,
    clock,
    senders: new Senders(),
    mailboxBytes: 16 * 1024 * 1024,
    createPartition: (number) => new Partition(number, SALT),
    openDispatcher: noTrips,
    isLive: () => true,
    lost: () => {},
    troubled: () => {},
    ...parts,
  })
  server.start()
  return server
}

/** A world without trips: there is nobody to tell. */
export function noTrips(): TripDispatcher {
  const delivery = { tell: () => Promise.resolve({ trip: null, events: [] }) }
  return new TripDispatcher({
    delivery,
    acknowledge: () => Promise.resolve(),
    seenBytes: 1000,
    troubled: () => {},
  })
}

/** Hosts that take partitions from each other, and the logs that they share. */
export class Hosts {
  readonly logs = new SharedLogs()
  /** How many partitions were handed over, and how many were taken by force. */
  given = 0
  taken = 0
  readonly #random: Random
  readonly #servers: readonly ReturnType<typeof serverOf>[]
  /** By partition. */
  readonly #owners: number[] = []
  /** Partitions that a host has lost without knowing it. */
  readonly #zombies = new Set<string>()

  constructor(
    random: Random,
    calls: SimulatedCalls,
    engine: { readonly world: World; readonly clock: Clock },
    parts: Partial<PartitionServerParts> = {},
  ) {
    this.#random = random
    const snapshots = new SharedMemorySnapshots()
    this.#servers = Array.from({ length: 3 }, (_, host) =>
      serverOf(calls, engine, {
        snapshots,
        openLog: async (n, fencedOut) => this.logs.open(n, fencedOut),
        lost: (n) => void this.#zombies.delete(`${host} ${n}`),
        ...parts,
      }),
    )
  }

  /** Each as its owner has it, in order. */
  get partitions(): readonly Partition[] {
    return this.#owners.flatMap((host, n) =>
      this.#servers[host]!.hosts.flatMap(({ partitions }) => partitions.filter(({ number }) => number === n)),
    )
  }

  /** The host of a partition that its owner has. */
  hostOf(partition: Partition): ActorHost {
    const hosts = this.#servers.flatMap((server) => server.hosts)
    return hosts.find(({ partitions }) => partitions.includes(partition))!
  }

  async start(): Promise<void> {
    for (let n = 0; n < PARTITIONS; n++) {
      this.#owners[n] = n % 3
      await this.#servers[n % 3]!.acquire(n)
    }
  }

  /** Moves some partitions to other hosts while updates are in flight. */
  async disturb(): Promise<void> {
    const random = this.#random
    const turns = random.below(20)
    const kinds = Array.from({ length: PARTITIONS }, () => random.next())
    const shift = 1 + random.below(2)
    const isDue = random.chance(0.3)
    for (let i = 0; i < turns; i++) await nextTurn()
    if (isDue) for (const server of this.#servers) server.checkpoint(0)
    await Promise.all(
      kinds.map(async (kind, n) => {
        if (kind > 0.6) return
        const from = this.#owners[n]!
        const to = (from + shift) % 3
        if (this.#zombies.has(`${to} ${n}`)) return
        this.#owners[n] = to
        if (kind < 0.3) {
          this.given++
          await this.#servers[from]!.release(n)
        } else {
          this.taken++
          this.#zombies.add(`${from} ${n}`)
        }
        await this.#servers[to]!.acquire(n)
      }),
    )
  }

  /** Hosts release the partitions that they have lost without knowing it. */
  async settle(): Promise<void> {
    for (const zombie of this.#zombies) {
      const [host, n] = zombie.split(' ').map(Number) as [number, number]
      await this.#servers[host]!.release(n)
    }
  }
}

/** A geofence about {@link HERE}, the same in every process. */
export function fixedWorld(): World {
  const world = new World(new ManualClock(NOON))
  world.put(aGeofence(1))
  return world
}

/** Removes ids, because the engines count rows and commits in different orders. */
export function plain(json: string): unknown {
  return JSON.parse(json, function (this: { deviceId?: string }, key, value) {
    return key === '_id' && (this.deviceId !== undefined || 'actualCreatedAt' in this) ? undefined : value
  })
}

/** Lists of events by device, in order. */
export function byDevice(events: readonly { readonly deviceId: string; readonly json: string }[]) {
  const lists = new Map<string, unknown[]>()
  for (const { deviceId, json } of events) {
    const list = lists.get(deviceId) ?? []
    lists.set(deviceId, list)
    list.push(plain(json))
  }
  return [...lists].toSorted(([a], [b]) => (a < b ? -1 : 1))
}

/** In any order. */
export async function allUsers(users: Users): Promise<unknown> {
  const answer = await users.ask({ scope: 0, ask: 'list', list: { limit: 1000 } })
  return answer.users.map(({ user }) => JSON.stringify(plain(user.join('')))).toSorted()
}
