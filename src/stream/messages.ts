import type { EventFilter } from '../events/filter.ts'

/**
 * The messages of a stream, as they are between the encodings and what handles them. Every encoding carries the same
 * ones; docs/guides/stream.md shows each as JSON.
 *
 * What a client sends is checked against a schema by whoever handles it: until then its type is all that is known.
 */

/** A message of a client as an encoding gives it: `type` is a text, everything else is still unchecked. */
export interface RawMessage {
  readonly type: string
  readonly [field: string]: unknown
}

/** A point as GeoJSON has it: longitude before latitude, degrees. */
export type Coordinates = readonly [longitude: number, latitude: number]

/** What may be watched: `box` is west, south, east, north in degrees; radii are metres. */
export type WatchedArea =
  | { readonly type: 'circle'; readonly center: Coordinates; readonly radius: number }
  | { readonly type: 'box'; readonly box: readonly [number, number, number, number] }
  | { readonly type: 'polygon'; readonly coordinates: readonly (readonly Coordinates[])[] }
  | { readonly type: 'geofence'; readonly tag: string; readonly externalId: string }

export interface SubscribeMessage {
  readonly type: 'subscribe'
  /** Chosen by the client. */
  readonly id: string
  readonly filter?: EventFilter
  /** `now`, the `_id` of an event to go on after, or the `from` of a {@link SubscribedMessage}. */
  readonly from?: string
}

export interface WatchMessage {
  readonly type: 'watch'
  /** Chosen by the client. */
  readonly id: string
  readonly area: WatchedArea
  readonly minIntervalMs?: number
}

/** All frames up to `id` are durable or refused. With `events`: those of the frame `id`, each finished JSON text. */
export interface AckMessage {
  readonly type: 'ack'
  readonly id: number
  readonly events?: readonly string[] | undefined
  /** How many events are left out of `events`, as too many. */
  readonly omittedEvents?: number | undefined
}

/** Something was refused: an update of a frame (`id`, `index`), a frame (`id`), a subscription, a watch, or a message. */
export interface ErrorMessage {
  readonly type: 'error'
  readonly id?: number | undefined
  /** Of the update in the frame's `updates`. */
  readonly index?: number | undefined
  readonly subscription?: string | undefined
  readonly watch?: string | undefined
  /** As the status of an HTTP answer. */
  readonly code: number
  readonly param?: string | undefined
  readonly message: string
  /** Seconds. */
  readonly retryAfter?: number | undefined
}

/** The frame `id` was not taken; send it and all after it again, `retryAfter` seconds later. */
export interface BusyMessage {
  readonly type: 'busy'
  readonly id: number
  readonly retryAfter: number
}

export interface PongMessage {
  readonly type: 'pong'
}

export interface SubscribedMessage {
  readonly type: 'subscribed'
  readonly id: string
  /** Where it begins, for who comes back before an event has come: else what happened meanwhile would be missed. */
  readonly from: string
}

export interface UnsubscribedMessage {
  readonly type: 'unsubscribed'
  readonly id: string
}

export interface EventMessage {
  readonly type: 'event'
  readonly subscription: string
  /** The event's record: finished JSON text. */
  readonly event: string
}

export interface WatchingMessage {
  readonly type: 'watching'
  readonly id: string
}

export interface UnwatchedMessage {
  readonly type: 'unwatched'
  readonly id: string
}

export interface PositionMessage {
  readonly type: 'position'
  readonly watch: string
  readonly change: 'enter' | 'move' | 'leave'
  readonly user: {
    readonly _id: string
    readonly userId?: string | undefined
    readonly deviceId: string
  }
  readonly location: { readonly type: 'Point'; readonly coordinates: Coordinates }
  /** Metres. */
  readonly locationAccuracy?: number | undefined
  /** ISO 8601. */
  readonly updatedAt: string
}

export type ServerMessage =
  | AckMessage
  | ErrorMessage
  | BusyMessage
  | PongMessage
  | SubscribedMessage
  | UnsubscribedMessage
  | EventMessage
  | WatchingMessage
  | UnwatchedMessage
  | PositionMessage
