import type { Partition } from '../actor/partition.ts'
import { PAGE_CHARACTERS } from '../events/port.ts'
import type { ScopeId } from '../model/scope.ts'
import type { Destination, Trip } from '../model/trip.ts'
import type { ScopeView } from '../rules/port.ts'
import type { Clock } from '../runtime/clock.ts'
import { TopK } from '../users/topK.ts'
import { isBefore } from '../users/userQueries.ts'
import { concernedBy } from './tripErasure.ts'
import { delayOf } from './machine/delay.ts'
import { hears } from './machine/heard.ts'
import { TRIPS } from './tripActor.ts'
import { locationRecords, tripContext, userRecord } from './tripRecord.ts'
import type { TripTable } from './tripTable.ts'
import type { FoundTrip, TripAnswer, TripList, TripQuestion } from './port.ts'

/**
 * Answers to questions about trips, of some of the partitions, and one answer out of several.
 *
 * Lists are found by scanning columns; only trips that these let through are unpacked. To be called between batches
 * (`ActorHost.read`), in steps: between two there may be batches.
 *
 * Invariants
 * - TRIP-ANSWERS-1: However the partitions are distributed, the merged answers are the ones that a single host with all
 *   partitions would give.
 */

/** How many rows a scan examines in one step, and how many of them it unpacks. */
const ROWS_A_STEP = 1024
const UNPACKED_A_STEP = 64
const NAMES_A_STEP = 256

export interface TripAnswerParts {
  readonly registry: { scope(scope: ScopeId): ScopeView }
  readonly clock: Clock
}

/** A trip in its partition. */
interface Place {
  readonly partition: Partition
  readonly row: number
  /** A time that shows later whether the row still has this trip. */
  readonly createdAt: number
}

type OrderOf = (place: Place) => readonly number[]

/** Answers step by step. Each step must be taken between batches, and there may be batches between two steps. */
export function* tripAnswerSteps(
  partitions: readonly Partition[],
  question: TripQuestion,
  parts: TripAnswerParts,
): Generator<void, TripAnswer> {
  const { scope } = question
  const writer = new Writer(scope, parts)
  switch (question.ask) {
    case 'trip': {
      const found = partitions.flatMap((partition) =>
        placesOf(partition, [tableOf(partition).find(scope, question.id)]),
      )
      const { sortBy = 'createdAt', includeLocations } = question
      return {
        trips: found.map((place) => writer.write(place, orderBy(sortBy), includeLocations)),
        hasMore: false,
      }
    }
    case 'named': {
      const { externalId, includeLocations, heard } = question
      let best: Place | undefined
      for (const partition of partitions) {
        const rows = yield* collected(tableOf(partition).named(scope, externalId))
        for (const place of placesOf(partition, rows)) {
          if (heard !== undefined) {
            yield
            if (!isThere(place) || hears(tableOf(partition).get(place.row), heard)) continue
          }
          if (isThere(place) && (best === undefined || isBefore(activeFirst(place), activeFirst(best))))
            best = place
        }
      }
      return {
        trips:
          best === undefined || !isThere(best) ? [] : [writer.write(best, activeFirst, includeLocations)],
        hasMore: false,
      }
    }
    case 'ofRecords': {
      const trips = question.recordIds.flatMap((id) =>
        partitions.flatMap((partition) =>
          placesOf(partition, tableOf(partition).ofRecord(scope, id))
            .filter(({ row }) => isUnderWay(tableOf(partition), row))
            .map((place) => writer.write(place, orderBy('createdAt'), false)),
        ),
      )
      return { trips, hasMore: false }
    }
    case 'ofRecordEach': {
      const trips = partitions.flatMap((partition) => {
        const [row = -1] = concernedBy(tableOf(partition), scope, question)
        return placesOf(partition, [row]).map((place) => writer.write(place, orderBy('createdAt'), false))
      })
      return { trips, hasMore: false }
    }
    case 'list':
      return yield* listed(partitions, scope, question.list, parts, writer)
  }
}

/** Merges the answers of hosts with different partitions. */
export function mergeTripAnswers(question: TripQuestion, answers: readonly TripAnswer[]): TripAnswer {
  if (answers.length === 1) return answers[0]!
  const all = answers.flatMap(({ trips }) => trips)
  if (question.ask === 'ofRecords' || question.ask === 'ofRecordEach') return { trips: all, hasMore: false }
  all.sort((a, b) => (isBefore(a.order, b.order) ? -1 : 1))
  if (question.ask !== 'list') return { trips: all.slice(0, 1), hasMore: false }
  const trips = fitting(all.slice(0, question.list.limit))
  return { trips, hasMore: all.length > trips.length || answers.some(({ hasMore }) => hasMore) }
}

/** The order of lists: the newest first by a time. */
function orderBy(sortBy: TripList['sortBy']): OrderOf {
  return ({ partition, row }) => {
    const table = tableOf(partition)
    const time = sortBy === 'createdAt' ? table.createdAt(row) : table.updatedAt(row)
    return [-time, partition.number, row]
  }
}

/** The order for choosing one of several trips with the same name. */
const activeFirst: OrderOf = (place) => {
  const { partition, row } = place
  return [tableOf(partition).isActive(row) ? 0 : 1, ...orderBy('createdAt')(place)]
}

function* listed(
  partitions: readonly Partition[],
  scope: ScopeId,
  list: TripList,
  { registry, clock }: TripAnswerParts,
  writer: Writer,
): Generator<void, TripAnswer> {
  const { limit, sortBy, after = [-Infinity] } = list
  const { tripDelayThreshold } = registry.scope(scope).settings
  const now = clock.now()
  const order = orderBy(sortBy)
  const page = new TopK<Place>(limit + 1)
  for (const partition of partitions) {
    const table = tableOf(partition)
    let looked = 0
    let unpacked = 0
    for (const row of yield* rowsOf(table, scope, list)) {
      if (++looked % ROWS_A_STEP === 0 || unpacked >= UNPACKED_A_STEP) {
        yield
        unpacked = 0
      }
      if (!table.exists(row) || table.scope(row) !== scope || !isWithin(table, row, list)) continue
      const place = { partition, row, createdAt: table.createdAt(row) }
      const rank = order(place)
      if (!isBefore(after, rank) || !page.wants(rank[0]!)) continue
      if (needsTrip(list)) {
        unpacked++
        const trip = table.get(row)
        if (!matches(trip, list)) continue
        const isDelayed = delayOf(trip, now, tripDelayThreshold)?.delayed === true
        if (list.delayed !== undefined && isDelayed !== list.delayed) continue
      }
      page.offer(rank[0]!, place)
    }
  }
  const places = page.items()
  const trips: FoundTrip[] = []
  let characters = 0
  for (const place of places.slice(0, limit)) {
    if (characters >= PAGE_CHARACTERS) return { trips, hasMore: true }
    if (trips.length % UNPACKED_A_STEP === UNPACKED_A_STEP - 1 || list.includeLocations) yield
    if (!isThere(place)) continue
    const trip = writer.write(place, order, list.includeLocations, list.maxLocations)
    trips.push(trip)
    characters += tripLength(trip)
  }
  return { trips, hasMore: places.length > limit }
}

/** The rows among which the list is: all of them, or those that a look-up finds. */
function* rowsOf(
  table: TripTable,
  scope: ScopeId,
  { externalIds, userId, recordId }: TripList,
): Generator<void, Iterable<number>> {
  const found = new Set<number>()
  const add = function* (chain: Iterable<number>) {
    for (const row of yield* collected(chain)) found.add(row)
  }
  if (externalIds !== undefined)
    for (const [i, name] of externalIds.entries()) {
      // There may be thousands of names, and each partition is asked for all of them.
      if (i % NAMES_A_STEP === NAMES_A_STEP - 1) yield
      yield* add(table.named(scope, name))
    }
  else if (userId !== undefined) yield* add(table.ofUser(scope, userId))
  else if (recordId !== undefined) yield* add(table.ofRecord(scope, recordId))
  else return every(table)
  // They are sorted by row, because trips with equal times are in the order of rows.
  return Int32Array.from(found).sort()
}

/** The rows of a chain, which may be long. */
function* collected(chain: Iterable<number>): Generator<void, readonly number[]> {
  const rows: number[] = []
  for (const row of chain) {
    rows.push(row)
    if (rows.length % ROWS_A_STEP === 0) yield
  }
  return rows
}

function* every(table: TripTable): Generator<number> {
  for (let row = 0; row < table.length; row++) yield row
}

function isWithin(table: TripTable, row: number, list: TripList): boolean {
  const { createdBefore = Infinity, createdAfter = -Infinity } = list
  const { updatedBefore = Infinity, updatedAfter = -Infinity, statuses } = list
  const createdAt = table.createdAt(row)
  const updatedAt = table.updatedAt(row)
  return (
    createdAt < createdBefore &&
    createdAt > createdAfter &&
    updatedAt < updatedBefore &&
    updatedAt > updatedAfter &&
    (statuses === undefined || statuses.includes(table.status(row)))
  )
}

/** Whether the columns are not enough to decide. */
function needsTrip(list: TripList): boolean {
  return (
    list.destinationGeofenceTag !== undefined ||
    list.destinationGeofenceExternalId !== undefined ||
    list.delayed !== undefined ||
    list.userId !== undefined ||
    list.recordId !== undefined
  )
}

function matches(
  trip: Trip,
  { destinationGeofenceTag: tag, destinationGeofenceExternalId: name, userId, recordId }: TripList,
) {
  if (userId !== undefined && trip.userId !== userId) return false
  if (recordId !== undefined && trip.user?.id !== recordId) return false
  const isMeant = (to: Destination) =>
    (tag === undefined || to.tag === tag) && (name === undefined || to.externalId === name)
  if (tag === undefined && name === undefined) return true
  if (trip.legs !== undefined) return trip.legs.some(({ destination }) => isMeant(destination))
  return trip.destination !== undefined && isMeant(trip.destination)
}

function isUnderWay(table: TripTable, row: number): boolean {
  const status = table.status(row)
  return status === 'started' || status === 'approaching' || status === 'arrived'
}

function placesOf(partition: Partition, rows: Iterable<number>): Place[] {
  const table = tableOf(partition)
  return [...rows]
    .filter((row) => row >= 0)
    .map((row) => ({ partition, row, createdAt: table.createdAt(row) }))
}

function isThere({ partition, row, createdAt }: Place): boolean {
  const table = tableOf(partition)
  return table.exists(row) && table.createdAt(row) === createdAt
}

function tableOf(partition: Partition): TripTable {
  return partition.tableOf(TRIPS)
}

/** Writes trips in their state at the time of a question. */
class Writer {
  readonly #context: Parameters<typeof tripContext>[1]

  constructor(scope: ScopeId, { registry, clock }: TripAnswerParts) {
    this.#context = { now: clock.now(), settings: registry.scope(scope).settings }
  }

  write(place: Place, order: OrderOf, includeLocations: boolean, maxLocations?: number): FoundTrip {
    const { partition, row } = place
    const table = tableOf(partition)
    const trip = table.get(row)
    return {
      order: order(place),
      id: trip.id,
      externalId: trip.externalId,
      userId: trip.userId ?? null,
      status: trip.status,
      createdAt: trip.createdAt,
      startedAt: trip.startedAt ?? null,
      recordId: trip.user?.id ?? null,
      trip: JSON.stringify(tripContext(trip, this.#context)),
      user: trip.user === undefined ? null : JSON.stringify(userRecord(trip.user)),
      locations: includeLocations ? JSON.stringify(locationRecords(table.trail(row), maxLocations)) : '[]',
    }
  }
}

/** The characters of a trip in an answer. */
export function tripLength({ trip, locations }: FoundTrip): number {
  return trip.length + locations.length
}

/** As many trips as fit into one answer. */
function fitting(trips: readonly FoundTrip[]): FoundTrip[] {
  let characters = 0
  const end = trips.findIndex((trip) => {
    const isFull = characters >= PAGE_CHARACTERS
    characters += tripLength(trip)
    return isFull
  })
  return end < 0 ? [...trips] : trips.slice(0, end)
}
