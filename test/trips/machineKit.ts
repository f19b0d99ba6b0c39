import type { GeofenceProperties, Position } from '../../src/model/geofence.ts'
import { DEFAULT_SETTINGS, type Settings } from '../../src/model/settings.ts'
import type { Trip, TripStatus } from '../../src/model/trip.ts'
import { ApiError } from '../../src/runtime/errors.ts'
import { changed, created, endedBy, type Stepped, type TripChange } from '../../src/trips/machine/change.ts'
import type { EtaQuestion, MeasuredSection } from '../../src/trips/machine/eta.ts'
import { moved, type Moved, type MoveSurroundings, type TripMove } from '../../src/trips/machine/move.ts'
import type { KnownGeofences } from '../../src/trips/machine/places.ts'
import { aGeofence, NOON } from '../actor/kit.ts'

/** Trips by hand, without actors. */

export const HOME: Position = [0, 0]
export const NEXT_DOOR: Position = [0.05, 0]
/** Some 111 km from {@link HOME}. */
export const FAR: Position = [1, 0]

/** Geofences that can be edited. */
export class Fences implements KnownGeofences {
  readonly all = new Map<string, { geofence: GeofenceProperties; center: Position; radius: number }>()

  put(externalId: string, center: Position, change: Partial<GeofenceProperties> = {}, radius = 100): this {
    const id = `${this.all.size + 1}`.padStart(24, '0')
    const before = this.all.get(externalId)
    const { shape: _, ...geofence } = aGeofence(before?.geofence.id ?? id, {
      tag: 'store',
      externalId,
      ...change,
    })
    this.all.set(externalId, { geofence, center, radius })
    return this
  }

  named(tag: string, externalId: string) {
    const found = this.all.get(externalId)
    return found?.geofence.tag === tag ? found : undefined
  }

  withId(id: string) {
    return [...this.all.values()].find(({ geofence }) => geofence.id === id)
  }

  id(externalId: string): string {
    return this.all.get(externalId)!.geofence.id
  }
}

/** One trip, and what is around it. */
export class TripDriver {
  trip: Trip
  now = NOON
  readonly fences = new Fences().put('home', HOME).put('other', NEXT_DOOR)
  settings: Settings = { ...DEFAULT_SETTINGS, tripUpdateSeconds: 0, tripWrongDestinationEvents: true }
  /** Minutes of each section of a way, from the point on; undefined: as the crow flies. */
  roads: readonly number[] | undefined = [60]
  /** The point ahead on the first section. */
  ahead: MeasuredSection['ahead']
  readonly asked: EtaQuestion[] = []
  number = 0

  constructor(change: TripChange = { destination: { tag: 'store', externalId: 'home' } }) {
    this.trip = created(
      { id: 'f'.repeat(24), scope: 0, externalId: 'order', userId: 'u' },
      undefined,
      this.now,
    )
    this.call(change)
  }

  get surroundings(): MoveSurroundings {
    return {
      geofences: this.fences,
      now: this.now,
      settings: this.settings,
      confidenceIn: () => 2,
    }
  }

  /** The events' letters; an error is thrown. */
  call(change: TripChange): string {
    return this.take(changed(this.trip, change, this.surroundings))
  }

  take(stepped: Stepped | ApiError): string {
    if (stepped instanceof ApiError) throw stepped
    this.trip = stepped.trip
    return stepped.events.join('')
  }

  end(cause: 'due' | 'userRemoved'): string {
    return this.take(endedBy(this.trip, cause, this.now, this.now))
  }

  /** An update some seconds later. */
  move(at: Position, given: Partial<TripMove> = {}, seconds = 40): Moved | undefined {
    this.now += seconds * 1000
    const move: TripMove = {
      deviceId: 'd',
      number: ++this.number,
      user: { id: 'a'.repeat(24), userId: 'u', deviceId: 'd' },
      time: this.now,
      receivedAt: this.now,
      longitude: at[0],
      latitude: at[1],
      accuracy: 5,
      foreground: false,
      stopped: false,
      isInaccurate: false,
      inside: [],
      entered: [],
      ...given,
    }
    let result = moved(this.trip, move, this.surroundings, undefined)
    if (result !== undefined && 'stops' in result) {
      this.asked.push(result)
      const sections = result.stops.map((_, i): MeasuredSection => ({
        minutes: this.roads?.[i] ?? 60,
        meters: 1000,
        ...(i === 0 && this.ahead && { ahead: this.ahead }),
      }))
      const way = { question: result, sections: this.roads && sections }
      result = moved(this.trip, move, this.surroundings, way)
    }
    if (result !== undefined && 'stops' in result) throw new Error('asked twice')
    if (result !== undefined) this.trip = result.trip
    return result
  }

  /** The events of an update. */
  events(at: Position, given: Partial<TripMove> = {}, seconds = 40): string {
    return this.move(at, given, seconds)?.events.join('') ?? '-'
  }

  /** The update of a device that is, or has just come, into a geofence. */
  in(externalId: string, entered = true): Partial<TripMove> {
    const id = this.fences.id(externalId)
    return { inside: [id], entered: entered ? [{ id, confidence: 3 }] : [] }
  }
}

/** A trip in that status, without its destination having been reached before. */
export function inStatus(status: TripStatus): TripDriver {
  const driver = new TripDriver()
  if (status === 'expired') driver.end('due')
  else if (status !== 'pending') driver.call({ status })
  driver.now += 60_000
  return driver
}
