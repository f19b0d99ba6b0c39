import type { FeedRow, FeedUpdate } from '../actor/feedTable.ts'
import type { Intake } from '../actor/port.ts'
import { locateTrip, tripId, type StoreSalt } from '../events/ids.ts'
import { deviceHash } from '../model/deviceHash.ts'
import type { ScopeId } from '../model/scope.ts'
import { isEnded, type TripOptions } from '../model/trip.ts'
import type { TripNames } from '../registry/trips/port.ts'
import type { TripEntry } from '../registry/trips/scopeTrips.ts'
import type { RegistryView } from '../rules/port.ts'
import type { Clock } from '../runtime/clock.ts'
import { ApiError } from '../runtime/errors.ts'
import type { FeedOutcome, ToldRow } from './feedOutcome.ts'
import type { KnownQuestions } from './knownQuestions.ts'
import type { EtaQuestion, MeasuredSection } from './machine/eta.ts'
import type { MeasuredWay } from './machine/move.ts'
import type { Trips } from './port.ts'
import { isLong, shortRow } from './shortRow.ts'
import { TRIP_ERASURE } from './tripErasure.ts'
import { TRIP_MOVE, type MovedTrip, type TripMoveCall, type TripMoveResult } from './tripMove.ts'

/** Measures ways on roads. */
export interface WayMeasurer {
  /**
   * Measures a way. It never rejects.
   * @returns a section for each stop; undefined if the roads do not tell, or not in time
   */
  measure(question: EtaQuestion): Promise<readonly MeasuredSection[] | undefined>
}

export interface DeliveryPorts {
  readonly intake: Pick<Intake, 'execute'>
  readonly trips: Trips
  readonly directory: TripNames
  readonly registry: Pick<RegistryView, 'scope'>
  readonly ways: WayMeasurer
  /** The ways that are known to be wanted before the trips are asked. */
  readonly questions?: Pick<KnownQuestions, 'of'>
  readonly store: { readonly partitions: number; readonly salt: StoreSalt }
  readonly clock: Clock
}

/** How often a trip is asked again because it was edited while its way was measured. */
const TRIES = 5

/** A row of a feed about an update. */
type UpdateRow = FeedRow & { readonly update: FeedUpdate }

/**
 * Tells one row of a feed to the trips that it concerns. Telling it again has no further effect, so it is repeated
 * until it has succeeded once.
 *
 * Owns: which trips a row concerns. Does not own: what it does to them (tripMove.ts), when it is told
 * (tripDispatcher.ts).
 */
export class TripDelivery {
  readonly #ports: DeliveryPorts

  constructor(ports: DeliveryPorts) {
    this.#ports = ports
  }

  /**
   * Tells a row.
   * @param isAgain whether some of its trips may have received it
   * @throws {ApiError} if it must be told again
   */
  async tell(row: FeedRow, isAgain: boolean): Promise<ToldRow> {
    if (row.update === undefined) return this.#erase(row)
    return this.#move({ row: { ...row, update: row.update }, isAgain, isInVain: false })
  }

  async #move(telling: Telling): Promise<ToldRow> {
    const { row, isAgain } = telling
    const { trips, options } = row.update
    const settled = await Promise.all(trips.map((id) => this.#moveOne(telling, id)))
    const moved = settled.filter((one) => one !== undefined)
    let shown = latestStarted(moved)
    if (options !== undefined) {
      const before = isAgain ? await this.#movedBefore(row, options) : undefined
      const id = before ?? this.#ports.directory.of(row.scope).named(options.externalId)?.id
      shown = moved.find((one) => one.id === id)
      if (shown === undefined) {
        const isKnown = before !== undefined
        shown = isKnown ? await this.#moveOne(telling, before) : await this.#moveNamed(telling, options)
        if (shown !== undefined) moved.push(shown)
        else telling.isInVain = true
      }
    }
    moved.sort((a, b) => a.result.createdAt - b.result.createdAt || (a.id < b.id ? -1 : 1))
    return {
      trip: shown !== undefined && isUnderWay(shown.result) ? shown.result.trip : null,
      events: moved.flatMap(({ result }) => result.events),
      isInVain: telling.isInVain,
    }
  }

  /**
   * The `_id` of the trip that the options named when the row was told before. By now, another trip may have the name.
   * @returns undefined if no trip has received it
   */
  async #movedBefore(row: UpdateRow, { externalId }: TripOptions): Promise<string | undefined> {
    const { scope, number, user, update } = row
    const { trips } = this.#ports
    const heard = { deviceId: user.deviceId, number, time: update.time }
    const found = await trips.ask({ scope, ask: 'named', externalId, includeLocations: false, heard })
    return found.trips[0]?.id
  }

  /** Moves the trip that the options name. It is created if there was none. */
  async #moveNamed(telling: Telling, options: TripOptions): Promise<MovedByRow | undefined> {
    const { scope } = telling.row
    const { externalId } = options
    let entry = await this.#entryOf(telling, externalId)
    for (let tried = 0; entry !== undefined && tried < TRIES; tried++) {
      const create = { externalId, revision: this.#ports.directory.revision }
      const told = await this.#moveOne(telling, entry.id, { isNamed: true, create })
      if (told === undefined || 'id' in told) return this.#assigned(scope, entry, told)
      // The name was taken back before the trip was created.
      entry = await this.#entryOf(telling, externalId)
    }
    if (entry === undefined) return undefined
    throw again()
  }

  /**
   * The entry of the trip of that name, which is reserved if there never was one. A row that is told again may have
   * moved a trip that was deleted since, and the deleted trip was the only one that knew this. Such a row does not move the
   * next trip of that name.
   */
  async #entryOf({ row, isAgain }: Telling, externalId: string): Promise<TripEntry | undefined> {
    const { scope, user, update } = row
    const { directory, trips, store, clock } = this.#ports
    const names = directory.of(scope)
    const known = names.named(externalId)
    const wasDeleted = names.deletedAt(externalId) !== undefined
    if (known !== undefined) return isAgain && wasDeleted && update.named !== known.id ? undefined : known
    if (wasDeleted) return undefined
    const { trips: found } = await trips.ask({ scope, ask: 'named', externalId, includeLocations: false })
    // An owner that has lost the device's partition without knowing it may tell the same row, and may just have
    // created the trip.
    const made = names.named(externalId)
    if (made !== undefined) return made
    const [last] = found
    if (last !== undefined) {
      const { id, userId, status } = last
      if (isEnded(status)) return undefined
      return { id, scope, externalId, userId: userId ?? undefined, changedAt: 0, isDeleted: false }
    }
    const draw = () => drawTripId(store, clock, externalId, user.userId)
    return this.#edit((writable) => writable.reserve(scope, externalId, user.userId, draw))
  }

  /**
   * Makes an edit.
   * @returns undefined if the directory refuses it, for instance because the user has too many trips
   */
  #edit<T>(work: (directory: TripNames) => T): Promise<T | undefined> {
    const { directory } = this.#ports
    return directory
      .edit(() => work(directory))
      .catch((error: unknown) => {
        if (error instanceof ApiError && error.code < 500) return undefined
        throw error
      })
  }

  /** Stores in the directory whose trip it is. */
  async #assigned(
    scope: ScopeId,
    entry: TripEntry,
    told: MovedByRow | undefined,
  ): Promise<MovedByRow | undefined> {
    const userId = told?.result.userId ?? undefined
    if (userId !== undefined && entry.userId !== userId)
      await this.#edit((directory) => directory.assign(scope, entry.id, userId))
    return told
  }

  /**
   * Moves one trip.
   * @returns undefined if the row does not move it
   */
  async #moveOne(telling: Telling, id: string): Promise<MovedByRow | undefined>
  async #moveOne(telling: Telling, id: string, named: Named): Promise<MovedByRow | Stale | undefined>
  async #moveOne(telling: Telling, id: string, named?: Named): Promise<MovedByRow | Stale | undefined> {
    const { intake, ways, questions } = this.#ports
    const { row } = telling
    const { scope } = row
    const measured = async (question: EtaQuestion): Promise<MeasuredWay> => ({
      question,
      sections: await ways.measure(question),
    })
    const wanted = questions?.of(row.update, id)
    let way = wanted && (await measured(wanted))
    for (let tried = 0; tried < TRIES; tried++) {
      const told = isLong(row.update) ? await this.#shortened(row, id) : row
      const call: TripMoveCall = { scope, id, row: told, isNamed: false, ...named, ...(way && { way }) }
      const result: TripMoveResult = await intake.execute(TRIP_MOVE, call, 0)
      switch (result.is) {
        case 'moved':
          telling.isInVain ||= !result.isHeard
          return { id, result }
        case 'absent':
          // The trip does not exist, and will not.
          return undefined
        case 'stale':
          return { isStale: true }
        case 'question':
          way = await measured(result.question)
          break
        default:
          telling.isInVain = true
          return undefined
      }
    }
    throw again()
  }

  async #shortened(row: UpdateRow, id: string): Promise<UpdateRow> {
    const { trips, registry } = this.#ports
    const { scope } = row
    const found = await trips.ask({ scope, ask: 'trip', id, includeLocations: false })
    return shortRow(row, found.trips[0]?.trip, registry.scope(scope))
  }

  /** Removes the record from all trips. */
  async #erase({ scope, user: { id: recordId, userId } }: FeedRow): Promise<FeedOutcome> {
    const { intake, directory, store, trips } = this.#ports
    // Most records have no trips, and a command costs more than a question.
    const found = await trips.ask({ scope, ask: 'ofRecordEach', recordId, userId })
    for (const trip of found.trips) {
      const partition = locateTrip(store.salt, trip.id)!
      for (let hasMore = true; hasMore;) {
        const erased = await intake.execute(TRIP_ERASURE, { partition, scope, recordId, userId }, 0)
        hasMore = erased.hasMore
        if (erased.canceled.length === 0) continue
        const names = directory.of(scope)
        await directory.edit(() => directory.remove(erased.canceled.flatMap((id) => names.seen(id) ?? [])))
      }
    }
    return { trip: null, events: [] }
  }
}

/** A row that is being told. */
interface Telling {
  readonly row: UpdateRow
  /** Whether some of its trips may have received it before. */
  readonly isAgain: boolean
  /** Whether telling it was in vain, as {@link ToldRow} describes. */
  isInVain: boolean
}

interface Named {
  readonly isNamed: true
  readonly create: NonNullable<TripMoveCall['create']>
}

/** Says that the name that was reserved for the trip is free again. */
interface Stale {
  readonly isStale: true
}

/** A trip that received a row. */
interface MovedByRow {
  readonly id: string
  readonly result: MovedTrip
}

function latestStarted(trips: readonly MovedByRow[]): MovedByRow | undefined {
  const underWay = trips.filter(({ result }) => isUnderWay(result))
  return underWay.sort((a, b) => (b.result.startedAt ?? 0) - (a.result.startedAt ?? 0))[0]
}

function isUnderWay({ status }: MovedTrip): boolean {
  return status === 'started' || status === 'approaching' || status === 'arrived'
}

/** Draws the `_id` of a trip in the partition that its user, or else its name, decides. */
export function drawTripId(
  { partitions, salt }: DeliveryPorts['store'],
  clock: Clock,
  externalId: string,
  userId: string | undefined,
): string {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2)) as unknown as [number, number]
  return tripId(salt, clock.now(), deviceHash(userId ?? externalId) % partitions, [high, low])
}

function again(): ApiError {
  return new ApiError(503, 'This trip is being changed by others. Try again.', { retryAfter: 1 })
}
