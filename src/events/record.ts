import type { Transition } from '../model/event.ts'
import type { Geofence } from '../model/geofence.ts'
import { isoDate } from '../model/isoDate.ts'
import type { Profile } from '../model/device.ts'

/**
 * The public JSON of an event. Its text is what the commit log, the query index and every delivery carry: written
 * once, never again taken apart to be answered.
 */

/** What an event says of its update and its user, the same for all events of one update. */
export interface EventContext {
  readonly live: boolean
  readonly user: Pick<Profile, 'id' | 'userId' | 'deviceId' | 'metadata'>
  readonly latitude: number
  readonly longitude: number
  /** Metres as sent. */
  readonly accuracy: number | undefined
  readonly foreground: boolean
  readonly stopped: boolean
  readonly replayed: boolean
  /** Time t of the update, epoch milliseconds. */
  readonly time: number
  /** The server's clock, epoch milliseconds. */
  readonly receivedAt: number
}

/** The event record of one transition as JSON text. */
export function eventJson(id: string, transition: Transition, context: EventContext): string {
  return JSON.stringify({
    _id: id,
    type: transition.type,
    createdAt: isoDate(context.time),
    actualCreatedAt: isoDate(context.receivedAt),
    live: context.live,
    user: {
      _id: context.user.id,
      userId: context.user.userId,
      deviceId: context.user.deviceId,
      metadata: context.user.metadata,
    },
    geofence: geofenceContext(transition.geofence),
    location: { type: 'Point', coordinates: [context.longitude, context.latitude] },
    locationAccuracy: context.accuracy,
    confidence: transition.confidence,
    currentlyOperating: transition.currentlyOperating,
    duration: transition.duration,
    replayed: context.replayed,
    foreground: context.foreground,
    stopped: context.stopped,
  })
}

/** A geofence as it appears in user context and in events. */
export function geofenceContext(geofence: Geofence) {
  return {
    _id: geofence.id,
    tag: geofence.tag,
    externalId: geofence.externalId,
    description: geofence.description,
    metadata: geofence.metadata,
  }
}
