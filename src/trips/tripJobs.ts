import type { ActorHost } from '../actor/host.ts'
import type { Partition } from '../actor/partition.ts'
import { locateTrip } from '../events/ids.ts'
import { every, type Job } from '../jobs/port.ts'
import type { ScopeId } from '../model/scope.ts'
import type { SeenEntry, TripEntry } from '../registry/trips/scopeTrips.ts'
import type { TripNames } from '../registry/trips/port.ts'
import type { RegistryView } from '../rules/port.ts'
import type { Clock } from '../runtime/clock.ts'
import { Slice } from '../runtime/slices.ts'
import { TRIPS } from './tripActor.ts'
import { TRIP_EXPIRY } from './tripExpiry.ts'
import type { TripRef } from './tripRef.ts'
import { TRIP_REMOVAL } from './tripRemoval.ts'
import { TRIP_RETENTION, whatIsOld, type OldTrip } from './tripRetention.ts'
import type { TripTable } from './tripTable.ts'

/**
 * What happens to trips without a call or an update: they expire, their names are freed, and old ones are removed. All of
 * this works in slices, because each job looks at all trips, and updates must not wait for that.
 */

const EXPIRE_EVERY_MS = 1000
const SWEEP_EVERY_MS = 60_000
const RETENTION_EVERY_MS = 3_600_000
const DAY_MS = 86_400_000
/** An entry of the directory that has been wrong for less time than this may belong to a running call. */
const SETTLED_MS = 600_000
/** How long the name of a deleted trip is remembered. */
const DELETED_MS = DAY_MS
/** How many trips of a partition expire in one run at most. */
const MOST_DUE = 1000
/** How many trips or entries are changed together: one change takes up to a tenth of a millisecond. */
const AT_ONCE = 100
/** How many rows are looked at in columns at a time. This takes a microsecond or two. */
const ROWS_A_LOOK = 256
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
async function expire(parts: TripJobParts, signal: AbortSignal): Promise<void> {
  const { hosts, registry, clock } = parts
  const slice = new Slice()
  for (const own of tablesOf(hosts())) {
    if (slice.isOver) await slice.next()
    const { table } = own
    if (table.active === 0) continue
    const now = clock.now()
    const dueBefore = (scope: ScopeId) => {
      const { tripExpirationMinutes } = registry.scope(scope).settings
      return tripExpirationMinutes === null ? -Infinity : now - tripExpirationMinutes * 60_000
    }
    const due = table.due(dueBefore, MOST_DUE).map((row) => table.ref(row))
    for (let at = 0; at < due.length; at += AT_ONCE) {
      if (signal.aborted) return
      await expireSome(parts, own, due.slice(at, at + AT_ONCE))
    }
  }
}

async function expireSome(
  { registry: { trips: directory } }: TripJobParts,
  { host, partition }: OwnTable,
  trips: readonly TripRef[],
): Promise<void> {
  const seen = trips.map(({ scope, id }) => directory.of(scope).seen(id))
  const ended = await Promise.all(trips.map((trip) => host.executeIn(partition, TRIP_EXPIRY, trip, 0)))
  const free = seen.flatMap((entry, i) => (entry !== undefined && ended[i] ? [entry] : []))
  if (free.length > 0) await directory.edit(() => directory.remove(free))
}

/** Frees the memory of events that nobody wants to be told again. */
async function forget({ hosts, clock }: TripJobParts, signal: AbortSignal): Promise<void> {
  const before = clock.now() - TOLD_MS
  const slice = new Slice()
  for (const { table } of tablesOf(hosts()))
    for (const _ of table.forgetTold(before)) {
      if (signal.aborted) return
      if (slice.isOver) await slice.next()
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
 * freed, trips that should be deleted are, and users are corrected to those of the trips. Names of trips that were deleted
 * long ago are forgotten.
 */
async function sweep(parts: TripJobParts, signal: AbortSignal, wrong: WrongEntries): Promise<void> {
  const { hosts, registry, clock } = parts
  const directory = registry.trips
  const mine = new Map(tablesOf(hosts()).map((one) => [one.partition.number, one]))
  const known = new Map(wrong)
  wrong.clear()
  const deletedBefore = clock.now() - DELETED_MS
  const old: SeenEntry[] = []
  const forgetOld = async (): Promise<void> => {
    const some = old.splice(0)
    await directory.edit(() => directory.remove(some))
  }
  const slice = new Slice()
  for (const scope of registry.scopes) {
    const names = directory.of(scope)
    for (const entry of names.all()) {
      const { id } = entry
      if (entry.isDeleted && entry.changedAt <= deletedBefore)
        old.push({ scope, id, version: names.versionOf(id)! })
      const own = mine.get(numberOf(mine, id))
      if (own !== undefined && isWrong(entry, own)) await correct(parts, entry, own, known, wrong)
      if (old.length === AT_ONCE) await forgetOld()
      if (signal.aborted) return
      // Nothing may come between the entry and looking at it, so others have their turn before the next one is read.
      if (slice.isOver) await slice.next()
    }
    if (slice.isOver) await slice.next()
  }
  if (old.length > 0) await forgetOld()
}

/** Whether the entry of a trip says something else than the trip. It is asked for each trip, and unpacks none. */
function isWrong({ id, scope, userId, isDeleted }: TripEntry, { table }: OwnTable): boolean {
  const row = table.find(scope, id)
  if (isDeleted) return row >= 0
  return row < 0 || !table.isActive(row) || !table.isOfUser(row, userId)
}

/** Corrects a wrong entry, if it has been wrong for long. */
async function correct(
  { registry, clock }: TripJobParts,
  { id, scope, isDeleted }: TripEntry,
  { host, partition, table }: OwnTable,
  known: WrongEntries,
  wrong: WrongEntries,
): Promise<void> {
  const directory = registry.trips
  const names = directory.of(scope)
  const version = names.versionOf(id)!
  const before = known.get(id)
  const since = before?.version === version ? before.since : clock.now()
  wrong.set(id, { version, since })
  if (clock.now() - since < SETTLED_MS) return
  if (isDeleted) {
    await host.executeIn(partition, TRIP_REMOVAL, { scope, id }, 0)
    return
  }
  const row = table.find(scope, id)
  if (row < 0 || !table.isActive(row)) return directory.edit(() => directory.release(scope, id, version))
  const { userId } = table.get(row)
  await directory.edit(() => names.versionOf(id) === version && directory.assign(scope, id, userId))
}

function numberOf(mine: ReadonlyMap<number, { readonly partition: Partition }>, id: string): number {
  const [any] = mine.values()
  return any === undefined ? -1 : (locateTrip(any.partition.salt, id) ?? -1)
}

async function retain(parts: TripJobParts, signal: AbortSignal): Promise<void> {
  const { hosts, clock, tripsDays, tripLocationsDays } = parts
  const now = clock.now()
  const times = { tripsBefore: now - tripsDays * DAY_MS, locationsBefore: now - tripLocationsDays * DAY_MS }
  const slice = new Slice()
  for (const { host, partition, table } of tablesOf(hosts())) {
    const found: OldTrip[] = []
    const remove = async (): Promise<void> => {
      await Promise.all(found.splice(0).map((old) => host.executeIn(partition, TRIP_RETENTION, old, 0)))
    }
    for (let row = 0; row < table.length && !signal.aborted; row++) {
      if (row % ROWS_A_LOOK === 0 && slice.isOver) await slice.next()
      if (!table.exists(row) || whatIsOld(table, row, times) === undefined) continue
      if (found.push({ ...table.ref(row), ...times }) === AT_ONCE) await remove()
    }
    await remove()
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
