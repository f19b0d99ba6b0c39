import type { CommandCommit } from '../actor/command.ts'
import type { MovingTexts, MovingTrip, ShortcutOutcome } from '../actor/feedShortcut.ts'
import type { Partition } from '../actor/partition.ts'
import type { StoreSalt } from '../events/ids.ts'
import type { StoredEvent } from '../events/port.ts'
import type { Profile } from '../model/device.ts'
import { dueAt } from '../model/geofence.ts'
import type { Trip } from '../model/trip.ts'
import type { Update } from '../model/update.ts'
import { isTooInaccurate } from '../rules/circumstances.ts'
import type { ScopeView } from '../rules/port.ts'
import { plainMove } from './machine/plainMove.ts'
import { seen } from './machine/places.ts'
import { expiresAt } from './machine/status.ts'
import type { KeptTrip } from './movedTrips.ts'
import { knownGeofences } from './step.ts'
import { TRIPS } from './tripActor.ts'
import type { Course } from './tripCourses.ts'
import { tripEventWith } from './tripEvents.ts'
import { movingJson, movingTexts } from './tripRecord.ts'

/**
 * The plain moves of a frame (machine/plainMove.ts), which change nothing but the course of a trip.
 *
 * Owns: which updates are taken, how they are written. Does not own: which trips an update may move, that a trip is
 * moved once in a frame (tripShortcut.ts).
 */
export class PlainMoves {
  readonly #salt: StoreSalt
  readonly #taken: Taken[] = []

  constructor(salt: StoreSalt) {
    this.#salt = salt
  }

  /**
   * Finds out whether an update moves a trip plainly, and keeps that until {@link commit}.
   * @param now the server's time
   * @returns undefined if it does not
   */
  take(
    request: PlainRequest,
    partition: Partition,
    id: string,
    view: ScopeView,
    now: number,
  ): PlainOutcome | undefined {
    const { update, profile, number, time, hasTransitions } = request
    const { scope, deviceId } = update
    const table = partition.tableOf(TRIPS)
    const row = table.find(scope, id)
    const kept = row < 0 ? undefined : table.moving(row)
    if (kept === undefined) return undefined
    const { trip } = kept
    const { settings } = view
    if (trip.userId === undefined || trip.userId !== profile.userId) return undefined
    if (expiresAt(trip, settings.tripExpirationMinutes) <= now) return undefined
    const geofence = presentGeofence(kept, view)
    if (geofence === undefined) return undefined
    // JSON has no −0, so it is not used here either. The trip is then the same, whichever code has moved it.
    const latitude = update.latitude + 0
    const longitude = update.longitude + 0
    const move = {
      deviceId,
      number,
      time,
      receivedAt: update.receivedAt,
      latitude,
      longitude,
      user: profile,
      isInaccurate: isTooInaccurate(update, settings),
      hasTransitions,
      visits: profile.visits,
    }
    const before = table.courseBefore(row) ?? {
      movedAt: trip.movedAt,
      number: trip.heard[0]?.number ?? Infinity,
      toldAt: trip.toldAt,
    }
    const plain = plainMove(trip, before, move, geofence, settings)
    if (plain === undefined) return undefined
    const { minutes, meters, isTold } = plain
    const course = {
      updatedAt: now,
      movedAt: time,
      latitude,
      longitude,
      accuracy: update.accuracy === undefined ? NaN : update.accuracy + 0,
      minutes,
      meters,
      number,
      toldAt: isTold ? time : (before.toldAt ?? NaN),
    }
    const outcome = new PlainOutcome((kept.texts ??= movingTexts(trip)), course)
    const { metadata } = profile
    this.#taken.push({ partition, row, kept, course, isTold, update, metadata, outcome })
    return outcome
  }

  /** Writes the moves that were taken. */
  commit({ writer, time, registry }: CommandCommit, events: StoredEvent[]): void {
    for (const { partition, row, kept, course, isTold, update, metadata, outcome } of this.#taken) {
      const { trip } = kept
      partition.begin(writer, time, registry.revision)
      partition.tableOf(TRIPS).putCourse(writer, row, kept, course)
      if (isTold) {
        const id = partition.events.nextId()
        const event = tripEventWith(
          id,
          { letter: 'U' },
          trip,
          outcome.trip,
          causeOf(trip, update, course, metadata),
          this.#salt,
        )
        partition.events.add(event)
        outcome.events = [event.json]
      }
      partition.end(writer, events)
    }
    this.#taken.length = 0
  }
}

const NO_EVENTS: readonly string[] = []

/** An update, and what it has left of its device. */
export interface PlainRequest {
  readonly update: Update
  readonly profile: Profile
  /** The number that its row in the feed would have. */
  readonly number: number
  /** Time t of the update. */
  readonly time: number
  readonly hasTransitions: boolean
}

interface Taken {
  readonly partition: Partition
  readonly row: number
  readonly kept: KeptTrip
  readonly course: Course
  readonly isTold: boolean
  readonly update: Update
  readonly metadata: Profile['metadata']
  readonly outcome: PlainOutcome
}

/** The outcome of a plain move. Its text is only made if it is needed, because most answers are written as bytes. */
class PlainOutcome implements ShortcutOutcome, MovingTrip {
  events = NO_EVENTS
  readonly texts: MovingTexts
  readonly updatedAt: number
  readonly minutes: number
  readonly meters: number

  constructor(texts: MovingTexts, { updatedAt, minutes, meters }: Course) {
    this.texts = texts
    this.updatedAt = updatedAt
    this.minutes = minutes
    this.meters = meters
  }

  get trip(): string {
    return movingJson(this.texts, this)
  }

  get moving(): MovingTrip {
    return this
  }
}

/** The geofence of the trip's destination, if there is one and it is as it was when the trip last moved. */
function presentGeofence(kept: KeptTrip, view: ScopeView) {
  const { destination } = kept.trip
  if (destination?.tag === undefined || destination.externalId === undefined) return undefined
  // Without an edit it is the same, unless its time is up.
  if (kept.revision === view.revision && kept.geofence !== undefined && dueAt(kept.geofence) === undefined)
    return kept.geofence
  const geofence = view.geofenceNamed(destination.tag, destination.externalId)
  if (geofence === undefined) return undefined
  // An edit makes another object, so if the object is the same, its shape is the same, too.
  if (geofence !== kept.geofence) {
    if (seen(destination, knownGeofences(view)) !== destination) return undefined
    kept.geofence = geofence
  }
  kept.revision = view.revision
  return geofence
}

/** The update as the cause of an event, as causeOfRow (tripMove.ts) has it. */
function causeOf(
  { user }: Trip,
  { receivedAt, replayed, foreground, stopped, accuracy }: Update,
  { movedAt, latitude, longitude }: Course,
  metadata: Profile['metadata'],
) {
  return {
    user: user && { ...user, metadata },
    place: { latitude, longitude, accuracy: accuracy === undefined ? undefined : accuracy + 0 },
    time: movedAt,
    receivedAt,
    flags: { replayed, foreground, stopped },
  }
}
