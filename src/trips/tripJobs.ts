import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ActorHost } from '../actor/host.ts'
import type { Partition } from '../actor/partition.ts'
import { locateTrip } from '../events/ids.ts'
import { every, type Job } from '../jobs/port.ts'
import type { ScopeId } from '../model/scope.ts'
import { isEnded } from '../model/trip.ts'
import type { TripEntry } from '../registry/trips/scopeTrips.ts'
import type { TripNames } from '../registry/trips/port.ts'
import type { RegistryView } from '../rules/port.ts'
import type { Clock } from '../runtime/clock.ts'
import { TRIPS } from './tripActor.ts'
import { TRIP_EXPIRY } from './tripExpiry.ts'
import { TRIP_REMOVAL } from './tripRemoval.ts'
import type { TripTable } from './tripTable.ts'
import { TRIP_THINNING } from './tripThinning.ts'

/** What happens to trips without a call or an update: they expire, their names are freed, and old ones are removed. */

const EXPIRE_EVERY_MS = 1000
const SWEEP_EVERY_MS = 60_000
const RETENTION_EVERY_MS = 3_600_000
const DAY_MS = 86_400_000
/** An entry of the directory that has been wrong for less time than this may belong to a running call. */
const SETTLED_MS = 600_000
const AT_ONCE = 1000
/** Comparing so many entries with their trips, which are unpacked for it, takes a millisecond. */
const ENTRIES_A_TURN = 256
const FORGET_EVERY_MS = 10_000
/** A trip that has not moved for this long, or up to twice as long, is packed. */
const PACK_EVERY_MS = 30_000
/** Much longer than anybody waits for the events of an update (T2). */
const TOLD_MS = 60_000

export interface TripJobParts {
  /** The present hosts. */
  readonly hosts: () => readonly ActorHost[]
  readonly registry: RegistryView & { readonly trips: TripNames; readonly scopes: Iterable<ScopeId> }
  readonly clock: Clock
  /** How many days after its last change a trip that has ended is removed. */
  readonly tripsDays: number
  /** How many days after its last change the locations of a trip are removed. */
  readonly tripLocationsDays: number
}

/** The jobs of each process with partitions, for its own trips. */
export function tripJobs(parts: TripJobParts): Job[] {
  const own = { isShared: false } as const
  const wrong: WrongEntries = new Map()
  return [
    { ...own, name: 'trip-expiry', dueAt: every(EXPIRE_EVERY_MS), run: (signal) => expire(parts, signal) },
    { ...own, name: 'trip-answers', dueAt: every(FORGET_EVERY_MS), run: (signal) => forget(parts, signal) },
    { ...own, name: 'trip-packing', dueAt: every(PACK_EVERY_MS), run: async () => packResting(parts) },
    {
      ...own,
      name: 'trip-names',
      dueAt: every(SWEEP_EVERY_MS),
      run: (signal) => sweep(parts, signal, wrong),
    },
    {
      ...own,
      name: 'trip-retention',
      dueAt: every(RETENTION_EVERY_MS),
      run: (signal) => retain(parts, signal),
    },
  ]
}

/** Lets trips expire whose time is up, and frees their names. */
async function expire({ hosts, registry, clock }: TripJobParts, signal: AbortSignal): Promise<void> {
  for (const { host, partition, table } of tablesOf(hosts())) {
    if (signal.aborted) return
    if (table.active === 0) continue
    const now = clock.now()
    const dueBefore = (scope: ScopeId) => {
      const { tripExpirationMinutes } = registry.scope(scope).settings
      return tripExpirationMinutes === null ? -Infinity : now - tripExpirationMinutes * 60_000
    }
    const due = table.due(dueBefore, AT_ONCE)
    if (due.length === 0) continue
    const trips = due.map((row) => table.get(row))
    await Promise.all(
      trips.map(async ({ scope, id }) => {
        const names = registry.trips.of(scope)
        const held = names.hasName(id) ? names.versionOf(id) : undefined
        if ((await host.executeIn(partition, TRIP_EXPIRY, { scope, id }, 0)) && held !== undefined)
          await registry.trips.edit(() => registry.trips.release(scope, id, held))
      }),
    )
    await nextTurn()
  }
}

/** Frees the memory of events that nobody wants to be told again. */
async function forget({ hosts, clock }: TripJobParts, signal: AbortSignal): Promise<void> {
  const before = clock.now() - TOLD_MS
  for (const { table } of tablesOf(hosts()))
    for (const _ of table.forgetTold(before)) {
      if (signal.aborted) return
      await nextTurn()
    }
}

/** Frees the memory of the objects of trips that have not moved for a while. */
function packResting({ hosts }: TripJobParts): void {
  for (const { table } of tablesOf(hosts())) table.packResting()
}

/**
 * Entries of the directory that are wrong, by the `_id` of the trip, and the time since which this process has seen that, by
 * its own clock. An entry that is written again counts as another one. (The time in an entry is that of the process that wrote it. With
 * a machine whose clock is ahead, a name would be free again before its trip is created.)
 */
type WrongEntries = Map<string, { readonly version: number; readonly since: number }>

/**
 * Corrects what remains if a process ended between two steps: names of trips that have ended or were never created are
 * freed, trips that should be deleted are, and users are corrected to those of the trips.
 */
async function sweep(parts: TripJobParts, signal: AbortSignal, wrong: WrongEntries): Promise<void> {
  const directory = parts.registry.trips
  const mine = new Map(tablesOf(parts.hosts()).map((one) => [one.partition.number, one]))
  const known = new Map(wrong)
  wrong.clear()
  let looked = 0
  for (const scope of parts.registry.scopes) {
    for (const entry of directory.of(scope).all()) {
      const own = mine.get(numberOf(mine, entry.id))
      if (own !== undefined) await correct(parts, entry, own, known, wrong)
      if (signal.aborted) return
      // Nothing may come between the entry and looking at it, so others have their turn before the next one is read.
      if (++looked % ENTRIES_A_TURN === 0) await nextTurn()
    }
    await nextTurn()
  }
  await directory.edit(() => directory.sweep(parts.registry.scopes))
}

/** Corrects an entry, if it has been wrong for long. */
async function correct(
  { registry, clock }: TripJobParts,
  { id, scope, userId, isDeleted }: TripEntry,
  { host, partition, table }: OwnTable,
  known: WrongEntries,
  wrong: WrongEntries,
): Promise<void> {
  const directory = registry.trips
  const names = directory.of(scope)
  const row = table.find(scope, id)
  const isActive = row >= 0 && table.isActive(row)
  const isWrong = isDeleted ? row >= 0 : !isActive || table.get(row).userId !== userId
  if (!isWrong) return
  const version = names.versionOf(id)!
  const before = known.get(id)
  const since = before?.version === version ? before.since : clock.now()
  wrong.set(id, { version, since })
  if (clock.now() - since < SETTLED_MS) return
  if (isDeleted) await host.executeIn(partition, TRIP_REMOVAL, { scope, id }, 0)
  else if (!isActive) await directory.edit(() => directory.release(scope, id, version))
  else {
    const actual = table.get(row).userId
    await directory.edit(() => names.versionOf(id) === version && directory.assign(scope, id, actual))
  }
}

function numberOf(mine: ReadonlyMap<number, { readonly partition: Partition }>, id: string): number {
  const [any] = mine.values()
  return any === undefined ? -1 : (locateTrip(any.partition.salt, id) ?? -1)
}

async function retain(parts: TripJobParts, signal: AbortSignal): Promise<void> {
  const { hosts, clock, tripsDays, tripLocationsDays } = parts
  const now = clock.now()
  const tripsBefore = now - tripsDays * DAY_MS
  const locationsBefore = now - tripLocationsDays * DAY_MS
  for (const { host, partition, table } of tablesOf(hosts())) {
    let work: Promise<boolean>[] = []
    for (let row = 0; row < table.length && !signal.aborted; row++) {
      if (!table.exists(row)) continue
      const updatedAt = table.updatedAt(row)
      const isOld = updatedAt < tripsBefore && isEnded(table.status(row))
      if (!isOld && (updatedAt >= locationsBefore || !table.hasTrail(row))) continue
      const { scope, id } = table.get(row)
      work.push(host.executeIn(partition, isOld ? TRIP_REMOVAL : TRIP_THINNING, { scope, id }, 0))
      if (work.length < AT_ONCE) continue
      await Promise.all(work)
      work = []
    }
    await Promise.all(work)
  }
}

interface OwnTable {
  readonly host: ActorHost
  readonly partition: Partition
  readonly table: TripTable
}

function tablesOf(hosts: readonly ActorHost[]): OwnTable[] {
  return hosts.flatMap((host) =>
    host.partitions.map((partition) => ({ host, partition, table: partition.tableOf(TRIPS) })),
  )
}
