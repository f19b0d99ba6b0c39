import type { CommandCommit } from '../actor/command.ts'
import type { Partition } from '../actor/partition.ts'
import { isEnded, type Trip } from '../model/trip.ts'
import type { ScopeView } from '../rules/port.ts'
import { endedBy } from './machine/change.ts'
import type { Confidence } from '../geometry/confidence.ts'
import type { GeofenceProperties } from '../model/geofence.ts'
import type { WrongGeofence } from './machine/move.ts'
import type { KnownGeofence, KnownGeofences } from './machine/places.ts'
import { expiresAt } from './machine/status.ts'
import type { Letter } from './machine/table.ts'
import { TRIPS } from './tripActor.ts'
import { tripEvent, type Cause, type TripHappening } from './tripEvents.ts'
import type { TrailChange } from './tripTable.ts'

/** What every command does with the result of a step: it makes the result durable, and gives its events their ids. */

/** The events of a step, in order. */
export interface Happened {
  readonly events: readonly Letter[]
  /** The confidence of an arrival. */
  readonly confidence?: Confidence | undefined
  /** For each W, in order. */
  readonly wrong?: readonly WrongGeofence[]
}

export interface StepOptions {
  /**
   * Whether the events are kept, so that they can be told again. If undefined, those of the step before stay.
   */
  readonly isTold?: boolean
  readonly trail?: TrailChange
}

/**
 * Stores the trip and adds the events to the commit.
 * @returns the events' JSON, in order
 */
export function commitStep(
  partition: Partition,
  { writer, registry }: CommandCommit,
  trip: Trip,
  { events, confidence, wrong = [] }: Happened,
  cause: Cause,
  { isTold, trail }: StepOptions = {},
): readonly string[] {
  const view = registry.scope(trip.scope)
  const texts: string[] = []
  const left = [...wrong]
  for (const letter of events) {
    const happening: TripHappening = {
      letter,
      ...(letter === 'R' && { confidence }),
      ...(letter === 'W' && wrongOf(left.shift()!, view)),
    }
    const id = partition.events.nextId()
    const event = tripEvent(id, happening, trip, cause, view.settings, partition.salt)
    partition.events.add(event)
    texts.push(event.json)
  }
  const told = isTold === undefined ? trip.told : isTold ? texts : NOTHING
  const isSame = told === trip.told || (told.length === 0 && trip.told.length === 0)
  partition.tableOf(TRIPS).put(writer, isSame ? trip : { ...trip, told }, trail)
  return texts
}

const NOTHING: Trip['told'] = []

function wrongOf({ geofence, confidence }: WrongGeofence, { index }: ScopeView) {
  return { confidence, wrong: { geofence, outline: index.outline(index.slotOf(geofence.id)) } }
}

/**
 * The trip at the time of the commit. If its time is up, it expires first.
 * @param now the server time, in epoch milliseconds
 */
export function tripAtCommit(partition: Partition, commit: CommandCommit, trip: Trip): Trip {
  const { settings } = commit.registry.scope(trip.scope)
  const deadline = expiresAt(trip, settings.tripExpirationMinutes)
  if (deadline > commit.time || isEnded(trip.status)) return trip
  const stepped = endedBy(trip, 'due', deadline, commit.time)
  commitStep(partition, commit, stepped.trip, stepped, causeOf(stepped.trip, commit.time))
  return stepped.trip
}

/** The cause of a step that no update made, with the user's last position and the present time. */
export function causeOf(trip: Trip, now: number, seen?: Pick<Cause, 'user' | 'place'>): Cause {
  const user = seen?.user ?? trip.user
  return { user, place: seen?.place ?? trip.place, time: now, receivedAt: now }
}

/**
 * The geofences of a scope, as trips see them now. One step looks at the same destination several times, so the last one
 * is remembered.
 */
export function knownGeofences(view: ScopeView): KnownGeofences {
  const known = (geofence: GeofenceProperties | undefined): KnownGeofence | undefined => {
    if (geofence === undefined) return undefined
    const slot = view.index.slotOf(geofence.id)
    if (slot < 0) return undefined
    const { center, radius } = view.index.outline(slot)
    return { geofence, center, radius }
  }
  let lastTag = ''
  let lastExternalId: string | undefined
  let last: KnownGeofence | undefined
  return {
    withId: (id) => known(view.geofence(id)),
    named(tag, externalId) {
      if (externalId !== lastExternalId || tag !== lastTag) {
        last = known(view.geofenceNamed(tag, externalId))
        lastTag = tag
        lastExternalId = externalId
      }
      return last
    },
  }
}
