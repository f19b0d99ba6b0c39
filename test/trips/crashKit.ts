/**
 * A process with trips that ends at a chosen moment and is started again on what it has left, and clients that
 * repeat what was not answered.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { FEED_ACK } from '../../src/actor/feedAck.ts'
import type { CommandKind } from '../../src/actor/command.ts'
import type { FeedDispatcher } from '../../src/actor/host.ts'
import { REMOVAL } from '../../src/actor/removal.ts'
import type { Intake } from '../../src/actor/port.ts'
import type { Partition } from '../../src/actor/partition.ts'
import type { Update } from '../../src/model/update.ts'
import type { Change, EditLog, KindReplica } from '../../src/registry/store/editLog.ts'
import type { RegistryReplica } from '../../src/registry/store/replica.ts'
import { TripDirectory } from '../../src/registry/trips/tripDirectory.ts'
import { ApiError } from '../../src/runtime/errors.ts'
import type { Clock } from '../../src/runtime/clock.ts'
import type { Job } from '../../src/jobs/port.ts'
import type { FeedOutcome } from '../../src/trips/feedOutcome.ts'
import { HostTrips } from '../../src/trips/hostTrips.ts'
import { asTheCrowFlies, type EtaQuestion } from '../../src/trips/machine/eta.ts'
import { KnownQuestions } from '../../src/trips/knownQuestions.ts'
import { TripDispatcher } from '../../src/trips/tripDispatcher.ts'
import { TripDelivery } from '../../src/trips/tripDelivery.ts'
import { TripService } from '../../src/trips/tripService.ts'
import { tripJobs } from '../../src/trips/tripJobs.ts'
import { UserTrips } from '../../src/trips/userTrips.ts'
import { HostUsers } from '../../src/users/hostUsers.ts'
import { applied, SALT, type Engine, type World } from '../actor/kit.ts'

const COMMANDS = [
  'update',
  'trip.move',
  'trip.call',
  'trip.removal',
  'trip.erasure',
  'trip.expiry',
  'feed.ack',
  'removal',
] as const

/** Where a process may end: with a commit in flight, after it was durable and before anybody was told, or between. */
export const CRASH_POINTS = [
  ...COMMANDS.flatMap((command) => [`${command} in flight`, `${command} durable`] as const),
  'row not sent',
  'way asked',
  'way measured',
  'directory not changed',
  'directory changed',
] as const
export type CrashPoint = (typeof CRASH_POINTS)[number]

/** The real directory, on rows that every life of the process finds again. */
export function directoryOf(world: World, clock: Clock): TripDirectory {
  let rows: KindReplica | undefined
  const image = {
    database: world,
    keep: (_kind: string, replica: KindReplica) => void (rows = replica),
  } as unknown as RegistryReplica
  const edits: EditLog = {
    edit: async (work) => {
      await nextTurn()
      return work()
    },
    commit(changes: readonly Change[]) {
      for (const { key, row, record } of changes) {
        if (row === undefined) rows!.remove(key, 0)
        else rows!.put((record ?? rows!.recordOf(row as never)) as never, 0)
      }
    },
    isShared: false,
    close() {},
    health: { ok: true, detail: '' },
  }
  return new TripDirectory(image, edits, clock, (scope) => world.scope(scope).trips)
}

/** West of this longitude there are no roads. */
const ROADS_FROM = -0.5

/** What a shortcut needs of a {@link Life}: it knows where there are no roads, and says what it wants to be measured. */
export const SHORTCUT_PARTS = {
  ways: { isHopeless: ({ longitude }: EtaQuestion) => longitude < ROADS_FROM, gaveUp() {} },
  questions: new KnownQuestions(),
}

/** Roads on which everything is half as far again, and which end in the west. */
function measured({ mode, latitude, longitude, stops }: EtaQuestion) {
  if (longitude < ROADS_FROM) return undefined
  let from = [longitude, latitude] as const
  return stops.map(({ location }, i) => {
    const meters = 150_000 * Math.hypot(location[0] - from[0], location[1] - from[1])
    const halfWay = [(from[0] + location[0]) / 2, (from[1] + location[1]) / 2] as const
    from = [location[0], location[1]]
    const ahead = i === 0 ? { ahead: { location: halfWay, share: 0.4 } } : {}
    return { ...asTheCrowFlies(mode, meters), ...ahead }
  })
}

/** One life of the process. */
export class Life {
  readonly engine: Engine
  readonly service: TripService
  /** Called for each command, with the name of its kind. */
  commanded: ((name: string) => void) | undefined
  /** Resolves when it has ended. */
  readonly ended: Promise<void>
  readonly #reached = new Map<CrashPoint, number>()
  readonly #directory: TripDirectory
  readonly #dispatcher: TripDispatcher
  readonly #userTrips: UserTrips
  readonly #users: HostUsers
  readonly #plan: ReadonlyMap<CrashPoint, number>
  readonly #ending: (point: CrashPoint) => void
  #jobs: readonly Job[] | undefined
  #hasEnded = false
  #end = (): void => {}

  /**
   * @param plan at which occurrence of a point it ends
   * @param ending called when it ends there
   */
  constructor(
    engine: Engine,
    directory: TripDirectory,
    plan: ReadonlyMap<CrashPoint, number>,
    ending: (point: CrashPoint) => void,
  ) {
    this.#ending = ending
    this.engine = engine
    this.#directory = directory
    this.#plan = plan
    this.ended = new Promise((resolve) => (this.#end = resolve))
    const { host, clock, world, partitions } = engine
    const intake: Pick<Intake, 'execute'> = {
      execute: (kind, args, bytes) => this.#command(kind.name, () => host.execute(kind, args, bytes)),
    }
    const trips = new HostTrips(() => [host], { registry: world, clock })
    this.#users = new HostUsers(() => [host], { salt: SALT, registry: world, clock })
    const store = { partitions: partitions.length, salt: SALT }
    const names = new Proxy(directory, {
      get: (of, name) => {
        if (name === 'edit') return (work: () => unknown) => this.#edit(work)
        const member = Reflect.get(of, name)
        return typeof member === 'function' ? member.bind(of) : member
      },
    })
    const ways = {
      measure: async (question: EtaQuestion) => {
        await this.#at('way asked')
        await nextTurn()
        await this.#at('way measured')
        return measured(question)
      },
    }
    const { questions } = SHORTCUT_PARTS
    this.#dispatcher = new TripDispatcher({
      delivery: new TripDelivery({
        intake,
        trips,
        directory: names,
        registry: world,
        ways,
        questions,
        store,
        clock,
      }),
      acknowledge: (partition, numbers) =>
        this.#command('feed.ack', () =>
          host.executeIn(partition, FEED_ACK, { partition: partition.number, numbers }, 0),
        ),
      seenBytes: 1e6,
      gatherMs: 1,
      troubled: (error) => {
        if (!(error instanceof ApiError)) throw error
      },
    })
    this.service = new TripService({
      intake,
      trips,
      users: this.#users,
      directory: names,
      finder: { positionOf: () => Promise.resolve(undefined) },
      store,
      clock,
    })
    this.#userTrips = new UserTrips(this.#dispatcher, trips)
  }

  /** Tells what is left of an earlier life. */
  start(): void {
    this.#dispatcher.committed(this.engine.partitions)
  }

  /** What the engine tells of commits. */
  committed(partitions: readonly Partition[]): void {
    if (this.#isHere('row not sent')) this.kill()
    else if (!this.#hasEnded) this.#dispatcher.committed(partitions)
  }

  /** What the engine tells of trips that moved with an update. */
  moved(...known: Parameters<FeedDispatcher['moved']>): void {
    if (!this.#hasEnded) this.#dispatcher.moved(...known)
  }

  get isCalm(): boolean {
    return this.#dispatcher.waiting === 0 && this.engine.partitions.every(({ feed }) => feed.size === 0)
  }

  /** An update as POST /v1/track answers it. */
  async track(update: Update): Promise<FeedOutcome & { readonly repeated: boolean }> {
    const told = applied(await this.#command('update', () => this.engine.track(update)))
    const { feed, repeated, trips } = told
    if (trips !== undefined) return { trip: trips.trip, events: trips.events, repeated }
    if (feed === undefined) return { trip: null, events: [], repeated }
    const outcome = await this.#alive(this.#userTrips.after(update, feed))
    return { ...outcome, repeated }
  }

  /** Removes the user's latest record. */
  async removeUser(userId: string): Promise<void> {
    const { users } = await this.#users.ask({ scope: 0, ask: 'user', id: userId })
    if (users.length === 0) return
    const args = { scope: 0, recordId: users[0]!.id }
    await this.#command('removal', () => this.engine.host.execute(REMOVAL, args, 0))
  }

  /** Runs one of the jobs of trips. */
  async job(name: 'trip-expiry' | 'trip-names'): Promise<void> {
    this.#jobs ??= this.#openJobs()
    const job = this.#jobs.find((one) => one.name === name)!
    await this.#alive(job.run(new AbortController().signal))
  }

  #openJobs(): readonly Job[] {
    const { engine } = this
    const { host } = engine
    const executeIn = <A, R>(partition: Partition, kind: CommandKind<A, R>, args: A, bytes: number) =>
      this.#command(kind.name, () => host.executeIn(partition, kind, args, bytes))
    return tripJobs({
      hosts: () => [{ partitions: engine.partitions, executeIn } as unknown as Engine['host']],
      registry: {
        revision: engine.world.revision,
        scope: (scope) => engine.world.scope(scope),
        trips: this.#directory,
        scopes: [0],
      },
      clock: engine.clock,
      tripsDays: 90,
      tripLocationsDays: 7,
    })
  }

  /** `kill -9`: nothing happens any more. */
  kill(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#dispatcher.stop()
    // What is in flight is lost.
    this.engine.log.holding = true
    this.#end()
  }

  async #edit<T>(work: () => T): Promise<T> {
    await this.#at('directory not changed')
    const done = await this.#alive(this.#directory.edit(work))
    await this.#at('directory changed')
    return done
  }

  async #command<R>(name: string, run: () => Promise<R>): Promise<R> {
    this.commanded?.(name)
    await this.#alive(Promise.resolve())
    if (this.#isHere(`${name} in flight` as CrashPoint)) {
      this.engine.log.holding = true
      void run().catch(() => {})
      // Until the frame is there, or is not needed.
      for (let i = 0; i < 5 && !this.engine.log.isFlushing; i++) await nextTurn()
      this.kill()
    }
    const result = await this.#alive(run())
    if (this.#isHere(`${name} durable` as CrashPoint)) this.kill()
    return this.#alive(Promise.resolve(result))
  }

  #at(point: CrashPoint): Promise<void> {
    if (this.#isHere(point)) this.kill()
    return this.#alive(Promise.resolve())
  }

  #isHere(point: CrashPoint): boolean {
    if (this.#hasEnded) return false
    const times = (this.#reached.get(point) ?? 0) + 1
    this.#reached.set(point, times)
    if (this.#plan.get(point) !== times) return false
    this.#ending(point)
    return true
  }

  /** Never settles if the process has ended. */
  #alive<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      work.then(
        (value) => {
          if (!this.#hasEnded) resolve(value)
        },
        (error: Error) => {
          if (!this.#hasEnded) reject(error)
        },
      )
    })
  }
}
