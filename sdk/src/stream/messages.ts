import type { Event, Update } from '../types.ts'

/** The messages of a stream, as far as this client sends and reads them. */

/** A point: degrees, longitude before latitude. */
export type Coordinates = readonly [longitude: number, latitude: number]

/** The area that may be watched. A `box` is west, south, east, north in degrees; a radius is in metres. */
export type WatchedArea =
  | { readonly type: 'circle'; readonly center: Coordinates; readonly radius: number }
  | { readonly type: 'box'; readonly box: readonly [number, number, number, number] }
  | { readonly type: 'polygon'; readonly coordinates: readonly (readonly Coordinates[])[] }
  | { readonly type: 'geofence'; readonly tag: string; readonly externalId: string }

/** Which events are wanted. For each list that is given, one entry must match. */
export interface EventFilter {
  readonly types?: readonly string[]
  /** The tags of the event's geofence or beacon. */
  readonly tags?: readonly string[]
  readonly externalIds?: readonly string[]
  readonly userIds?: readonly string[]
  readonly deviceIds?: readonly string[]
  /** The `_id`s of the event's place. */
  readonly placeIds?: readonly string[]
  /** The slugs of the place's chain. */
  readonly chains?: readonly string[]
  /** The slugs of the place's categories. */
  readonly categories?: readonly string[]
  /** The codes or `_id`s of the event's region. */
  readonly regions?: readonly string[]
  /** The reasons of `user.failed_fraud`. */
  readonly failureReasons?: readonly string[]
}

/** Which devices of a watched area are wanted. Each part that is given must match. */
export interface WatchFilter {
  /** The device is inside a geofence that has one of these tags. */
  readonly tags?: readonly string[]
  readonly userIds?: readonly string[]
  /** The metadata of the device's user has these members. */
  readonly metadata?: Readonly<Record<string, string | number | boolean>>
}

/** A device in a watched area. */
export interface Position {
  readonly change: 'enter' | 'move' | 'leave'
  readonly user: { readonly _id: string; readonly userId?: string; readonly deviceId: string }
  readonly location: { readonly type: 'Point'; readonly coordinates: Coordinates }
  /** In metres. */
  readonly locationAccuracy?: number
  /** In ISO 8601. */
  readonly updatedAt: string
}

/** A frame of updates. `sequence` is the number of the first update. */
export interface TrackMessage {
  readonly type: 'track'
  readonly id: number
  readonly stream: string
  readonly sequence: number
  readonly updates: readonly Update[]
}

export type ClientMessage =
  | TrackMessage
  | { readonly type: 'ping' }
  | {
      readonly type: 'subscribe'
      readonly id: string
      readonly filter: EventFilter
      readonly from: string
      readonly batch?: boolean
    }
  | { readonly type: 'unsubscribe'; readonly id: string }
  | {
      readonly type: 'watch'
      readonly id: string
      readonly area: WatchedArea
      readonly minIntervalMs?: number
      readonly filter?: WatchFilter
      readonly batch?: boolean
    }
  | { readonly type: 'unwatch'; readonly id: string }

export interface ErrorMessage {
  readonly type: 'error'
  readonly id?: number
  readonly index?: number
  readonly subscription?: string
  readonly watch?: string
  readonly code: number
  readonly param?: string
  readonly message: string
  readonly retryAfter?: number
}

export type ServerMessage =
  | { readonly type: 'ack'; readonly id: number }
  | { readonly type: 'busy'; readonly id: number; readonly retryAfter: number }
  | ErrorMessage
  | { readonly type: 'pong' }
  | { readonly type: 'subscribed'; readonly id: string; readonly from: string }
  | { readonly type: 'unsubscribed' | 'watching' | 'unwatched'; readonly id: string }
  | { readonly type: 'event'; readonly subscription: string; readonly event: Event }
  | { readonly type: 'events'; readonly subscription: string; readonly events: readonly Event[] }
  | (Position & { readonly type: 'position'; readonly watch: string })
  | { readonly type: 'positions'; readonly watch: string; readonly positions: readonly Position[] }
