import type { Intake, Users } from '../actor/port.ts'
import { locateTrip, type StoreSalt } from '../events/ids.ts'
import type { Position } from '../model/geofence.ts'
import { isRecordId } from '../model/recordId.ts'
import type { ScopeId } from '../model/scope.ts'
import { isEnded, type Destination, type Trip } from '../model/trip.ts'
import type { AreaFinder } from '../registry/geofences/areaFinder.ts'
import type { TripEntry } from '../registry/trips/scopeTrips.ts'
import type { TripNames } from '../registry/trips/port.ts'
import type { Clock } from '../runtime/clock.ts'
import { ApiError, badParam, notFound } from '../runtime/errors.ts'
import { newId } from '../runtime/newId.ts'
import { ownTurn } from '../runtime/slices.ts'
import type { TripChange } from './machine/change.ts'
import type { LegDraft } from './machine/legs.ts'
import type { WantedStatus } from './machine/table.ts'
import type { FoundTrip, Trips } from './port.ts'
import { TRIP_CALL, type TripCall, type TripCallResult, type Whereabouts } from './tripCall.ts'
import type { LegFields, TripFields } from './tripFields.ts'
import { drawTripId } from './tripDelivery.ts'
import { TRIP_REMOVAL } from './tripRemoval.ts'

/**
 * Makes the calls of the API on trips: it finds the trip that is meant, gives it its name in the directory before it
 * is active, and takes the name back after it has ended. Anything may happen between two steps, including the end of
 * this process. What remains then is corrected by the next call, or by the sweep (tripJobs.ts).
 */
export interface TripServiceParts {
  readonly intake: Pick<Intake, 'execute'>
  readonly trips: Trips
  readonly users: Users
  readonly directory: TripNames
  readonly finder: Pick<AreaFinder, 'positionOf'>
  readonly store: { readonly partitions: number; readonly salt: StoreSalt }
  readonly clock: Clock
}

/** What a caller wants, besides the trip. */
export interface Wanted {
  readonly fields: TripFields
  readonly status?: WantedStatus | undefined
  readonly wantsLocations: boolean
}

/** Other processes may take a name, or end a trip, between two steps. The steps are then repeated, this often. */
const TRIES = 5

export class TripService {
  readonly #parts: TripServiceParts

  constructor(parts: TripServiceParts) {
    this.#parts = parts
  }

  /** Creates a trip, or changes the active one of that name. */
  async post(scope: ScopeId, externalId: string, wanted: Wanted, isPost = true): Promise<TripCallResult> {
    const { directory, store, clock } = this.#parts
    const { userId } = wanted.fields
    for (let tried = 0; tried < TRIES; tried++) {
      const known = directory.of(scope).named(externalId)
      const isNew = known === undefined
      const draw = () => drawTripId(store, clock, externalId, userId)
      let entry = known ?? (await directory.edit(() => directory.reserve(scope, externalId, userId, draw)))
      if (!isNew && userId !== undefined && entry.userId === undefined)
        await directory.edit(() => directory.assign(scope, entry.id, userId))
      const existing = isNew ? undefined : await this.#withId(scope, entry.id)
      if (!isNew && existing === undefined) {
        // The process that reserved the name has not created the trip.
        const renewed = await directory.edit(() => directory.renew(scope, entry.id))
        if (renewed === undefined) continue
        entry = renewed
      }
      const change = await this.#changeOf(wanted, existing)
      const held = directory.of(scope).versionOf(entry.id)
      try {
        const result = await this.#call({
          scope,
          id: entry.id,
          create: { externalId, userId: entry.userId ?? userId, revision: directory.revision },
          isPost,
          change,
          wantsLocations: wanted.wantsLocations,
          seen: await this.whereabouts(scope, existing, userId),
        })
        if (!result.isOver) return result
      } catch (error) {
        // Nothing was done, so the directory is restored.
        if (error instanceof ApiError && error.code < 500) await this.#undo(entry, isNew)
        throw error
      }
      // The trip has ended in the meantime, or before its name was taken back.
      await this.#release(scope, entry.id, held)
    }
    throw tryAgain()
  }

  /**
   * Changes a trip.
   * @param mayCreate whether a trip of that name is created if there is none
   * @throws {ApiError} 404 if there is none
   */
  async patch(scope: ScopeId, name: string, wanted: Wanted, mayCreate: boolean): Promise<TripCallResult> {
    const { directory } = this.#parts
    const { userId } = wanted.fields
    for (let tried = 0; tried < TRIES; tried++) {
      const found = await this.find(scope, name)
      if (found === undefined) {
        if (!mayCreate) throw notFound('Trip')
        return this.post(scope, name, wanted, false)
      }
      const { id, externalId } = found
      const before = directory.of(scope).get(id)
      const isOver = isEnded(found.status)
      const mayRestart = isOver && isActive(wanted.status)
      if (mayRestart) await this.#hold(found, scope, userId)
      else if (!isOver && userId !== undefined && found.userId === null)
        await directory.edit(() => directory.assign(scope, id, userId))
      const change = await this.#changeOf(wanted, found)
      const held = directory.of(scope).versionOf(id)
      try {
        const seen = await this.whereabouts(scope, found, userId)
        const result = await this.#call({
          scope,
          id,
          mayRestart,
          change,
          wantsLocations: wanted.wantsLocations,
          seen,
        })
        if (!result.isOver) {
          if (result.hasEnded) await this.#release(scope, id, held)
          return result
        }
      } catch (error) {
        if (error instanceof ApiError && error.code < 500)
          await this.#undo(
            before ?? { id, scope, externalId, changedAt: 0, isDeleted: false },
            before === undefined,
          )
        throw error
      }
    }
    throw tryAgain()
  }

  /** Changes the legs of a trip: the status of one, or their order. */
  async legs(
    scope: ScopeId,
    name: string,
    what: Pick<TripCall, 'leg' | 'order' | 'wantsLocations'>,
  ): Promise<TripCallResult> {
    const found = await this.find(scope, name)
    if (found === undefined) throw notFound('Trip')
    const seen = await this.whereabouts(scope, found, undefined)
    const held = this.#parts.directory.of(scope).versionOf(found.id)
    const result = await this.#call({ scope, id: found.id, ...what, seen })
    if (result.hasEnded) await this.#release(scope, found.id, held)
    return result
  }

  /** Deletes a trip without an event. For a day, tripOptions with its name create no trip. */
  async remove(scope: ScopeId, name: string): Promise<void> {
    const { directory, intake } = this.#parts
    const found = await this.find(scope, name)
    if (found === undefined) throw notFound('Trip')
    const { id, externalId } = found
    // This happens before the trip is removed. In the other order, an update in between would create it again.
    await directory.edit(() => directory.bury(scope, id, externalId))
    if (!(await intake.execute(TRIP_REMOVAL, { scope, id }, 0))) throw notFound('Trip')
  }

  /** Finds a trip by `_id`, or else by externalId: the active one, or else the one that was created last. */
  async find(scope: ScopeId, name: string, includeLocations = false): Promise<FoundTrip | undefined> {
    const { trips, directory, store } = this.#parts
    if (isRecordId(name) && locateTrip(store.salt, name) !== undefined) {
      const [found] = (await trips.ask({ scope, ask: 'trip', id: name, includeLocations })).trips
      if (found !== undefined) return found
    }
    const entry = directory.of(scope).named(name)
    if (entry !== undefined) {
      const [found] = (await trips.ask({ scope, ask: 'trip', id: entry.id, includeLocations })).trips
      if (found !== undefined) return found
    }
    return (await trips.ask({ scope, ask: 'named', externalId: name, includeLocations })).trips[0]
  }

  /** A trip with the data that its way depends on. */
  async driven(scope: ScopeId, name: string) {
    // Five thousand locations take milliseconds to write and to read.
    await ownTurn()
    const found = await this.find(scope, name, true)
    if (found === undefined) return undefined
    const locations = JSON.parse(found.locations) as readonly KnownLocation[]
    return {
      hasEnded: isEnded(found.status),
      mode: (JSON.parse(found.trip) as Pick<Trip, 'mode'>).mode,
      path: locations.map(({ coordinates: [lon, lat], updatedAt }) => ({
        lat,
        lon,
        time: Date.parse(updatedAt) / 1000,
      })),
    }
  }

  /**
   * The last record and position of the user of a trip: of the record that moved it last, or else of the user's latest
   * record.
   */
  async whereabouts(
    scope: ScopeId,
    trip: Pick<FoundTrip, 'recordId' | 'userId'> | undefined,
    userId: string | undefined,
  ): Promise<Whereabouts | undefined> {
    const { users } = this.#parts
    const ofUser = trip?.userId ?? userId
    const { users: records } = trip?.recordId
      ? await users.ask({ scope, ask: 'record', id: trip.recordId })
      : ofUser === undefined
        ? { users: [] }
        : await users.ask({ scope, ask: 'lastDevice', userId: ofUser })
    const [record] = records
    if (record === undefined) return undefined
    const {
      _id,
      userId: named,
      deviceId,
      metadata,
      location,
      locationAccuracy,
    } = JSON.parse(record.user.join(''))
    const [longitude, latitude] = location.coordinates as Position
    return {
      user: { id: _id, userId: named, deviceId, metadata },
      place: { latitude, longitude, accuracy: locationAccuracy },
    }
  }

  async #withId(scope: ScopeId, id: string): Promise<FoundTrip | undefined> {
    return (await this.#parts.trips.ask({ scope, ask: 'trip', id, includeLocations: false })).trips[0]
  }

  #call(call: TripCall): Promise<TripCallResult> {
    const sent = { ...call, callId: drawCallId() }
    return this.#parts.intake.execute(TRIP_CALL, sent, JSON.stringify(call.change ?? {}).length)
  }

  /**
   * Gives a trip that has ended its name again.
   * @throws {ApiError} 400 if another active trip has it
   */
  async #hold(
    { id, externalId, userId: known }: FoundTrip,
    scope: ScopeId,
    userId: string | undefined,
  ): Promise<void> {
    const { directory } = this.#parts
    const hold = () => directory.edit(() => directory.hold(scope, id, externalId, known ?? userId))
    const holder = directory.of(scope).named(externalId)
    const version = holder && directory.of(scope).versionOf(holder.id)
    if (holder !== undefined && holder.id !== id) {
      const other = await this.#withId(scope, holder.id)
      // The name of the other trip was not taken back when it ended.
      if (other !== undefined && !ACTIVE.has(other.status)) await this.#release(scope, holder.id, version)
    }
    await hold()
  }

  /** Restores the directory after a call that has changed nothing. */
  async #undo({ id, scope, userId }: TripEntry, wasAbsent: boolean): Promise<void> {
    const { directory } = this.#parts
    const now = directory.of(scope).get(id)
    if (now === undefined) return
    if (wasAbsent) await this.#release(scope, id, directory.of(scope).versionOf(id))
    else if (now.userId !== userId) await directory.edit(() => directory.assign(scope, id, userId))
  }

  /**
   * Takes a name back, unless the trip has got it again in the meantime.
   * @param held the version of its entry that is over; undefined if there was none
   */
  async #release(scope: ScopeId, id: string, held: number | undefined): Promise<void> {
    if (held === undefined) return
    const { directory } = this.#parts
    await directory
      .edit(() => directory.release(scope, id, held))
      .catch((error: unknown) => {
        // The call has succeeded. The sweep takes the name back.
        if (!(error instanceof ApiError)) throw error
      })
  }

  /**
   * Makes the change.
   * @param trip the present trip, for the legs that it has
   */
  async #changeOf({ fields, status }: Wanted, trip: FoundTrip | undefined): Promise<TripChange> {
    const { legs, ...rest } = fields
    if (legs === undefined) return { ...rest, status }
    if (rest.destination !== undefined && trip === undefined)
      throw badParam('legs', 'A trip has either a destination or legs.')
    const known = trip === undefined ? [] : ((JSON.parse(trip.trip).legs ?? []) as KnownLeg[])
    return { ...rest, status, legs: await Promise.all(legs.map((leg, i) => this.#draftOf(leg, i, known))) }
  }

  async #draftOf(leg: LegFields, index: number, known: readonly KnownLeg[]): Promise<LegDraft> {
    const { id, stopDuration, metadata } = leg
    const before = id === undefined ? undefined : known.find(({ _id }) => _id === id)
    const newOne = newId(this.#parts.clock.now())
    return {
      id,
      newId: newOne,
      stopDuration,
      metadata,
      destination: await this.#destinationOf(leg, index, before),
    }
  }

  async #destinationOf(
    { target, radius }: LegFields,
    index: number,
    before: KnownLeg | undefined,
  ): Promise<Destination | undefined> {
    const point = before?.destination
    if (target === undefined) {
      // A leg that the trip has keeps its position, perhaps with another radius.
      if (radius === undefined || point?.location === undefined || point.type === 'geofence') return undefined
      return { type: point.type, address: before?.address, location: point.location.coordinates, radius }
    }
    switch (target.form) {
      case 'pair':
        return { type: 'geofence', tag: target.tag, externalId: target.externalId }
      case 'geofence':
        return { type: 'geofence', geofenceId: target.id }
      case 'coordinates':
        return { type: 'coordinates', location: target.position, radius: target.radius }
      case 'address': {
        const { address } = target
        const isKnown = point?.type === 'address' && before?.address === address
        const location = isKnown ? point.location?.coordinates : await this.#parts.finder.positionOf(address)
        if (location === undefined)
          throw badParam(
            `legs.${index}.destination.address`,
            'It was not found. Write it in full, or use coordinates.',
          )
        return { type: 'address', address, location, radius: target.radius }
      }
    }
  }
}

/** What a call needs from a leg's record. */
interface KnownLeg {
  readonly _id: string
  readonly address?: string
  readonly destination: {
    readonly type: Destination['type']
    readonly location?: { readonly coordinates: Position }
  }
}

/** The fields of a location's record from which the way of a trip is made. */
interface KnownLocation {
  readonly coordinates: Position
  readonly updatedAt: string
}

const ACTIVE: ReadonlySet<string> = new Set(['pending', 'started', 'approaching', 'arrived'])

function isActive(status: WantedStatus | undefined): boolean {
  return status !== undefined && ACTIVE.has(status)
}

/** A number of 53 bits. */
function drawCallId(): number {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2)) as unknown as [number, number]
  return (high >>> 11) * 2 ** 32 + low
}

function tryAgain(): ApiError {
  return new ApiError(503, 'This trip is being changed by others. Try again.', { retryAfter: 1 })
}
