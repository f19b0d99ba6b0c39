import type { EventFilter } from '../events/filter.ts'
import type { Area } from '../model/area.ts'
import type { Metadata } from '../model/metadata.ts'

/**
 * The messages of a stream, as the encodings exchange them with their handlers. All encodings have the same messages;
 * docs/guides/stream.md shows each as JSON.
 *
 * The handler of a client's message checks it against a schema; before that, only its type is known.
 */

/** A client's message after decoding: `type` is a text, everything else is unchecked. */
export interface RawMessage {
  readonly type: string
  readonly [field: string]: unknown
}

/** A point in GeoJSON: longitude before latitude, in degrees. */
export type Coordinates = readonly [longitude: number, latitude: number]

/** Areas that can be watched. */
export type WatchedArea =
  | Area
  | { readonly type: 'geofence'; readonly tag: string; readonly externalId: string }

export interface SubscribeMessage {
  readonly type: 'subscribe'
  /** A name that the client chooses. */
  readonly id: string
  readonly filter?: EventFilter
  /** Where to begin: `now`, the `_id` of an event to resume after, or the `from` of a {@link SubscribedMessage}. */
  readonly from?: string
  /** Whether events may wait for a moment, and come as {@link EventsMessage}. */
  readonly batch?: boolean
}

export interface WatchMessage {
  readonly type: 'watch'
  /** A name that the client chooses. */
  readonly id: string
  readonly area: WatchedArea
  readonly minIntervalMs?: number
  readonly filter?: WatchFilter
  /** Whether positions come as {@link PositionsMessage}. */
  readonly batch?: boolean
}

/** Which devices of the area are wanted. Each part that is present must match. */
export interface WatchFilter {
  /** The device is inside a geofence with one of these tags. */
  readonly tags?: readonly string[]
  readonly userIds?: readonly string[]
  /** Its user's metadata has these members. */
  readonly metadata?: Metadata
}

/** All frames up to `id` are durable or refused. `events` are those of the frame `id`, each as serialized JSON. */
export interface AckMessage {
  readonly type: 'ack'
  readonly id: number
  readonly events?: readonly string[] | undefined
  /** How many events were left out of `events` because there were too many. */
  readonly omittedEvents?: number | undefined
}

/**
 * Reports that something was refused: an update of a frame (`id`, `index`), a frame (`id`), a subscription, a watch,
 * or a message.
 */
export interface ErrorMessage {
  readonly type: 'error'
  readonly id?: number | undefined
  /** The index in the frame's `updates`. */
  readonly index?: number | undefined
  readonly subscription?: string | undefined
  readonly watch?: string | undefined
  /** A code like the status of an HTTP response. */
  readonly code: number
  readonly param?: string | undefined
  readonly message: string
  /** In seconds. */
  readonly retryAfter?: number | undefined
}

/**
 * Reports that the frame `id` was not accepted. It and all frames after it must be sent again `retryAfter` seconds
 * later.
 */
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
  /**
   * The position at which it starts. Without it, a client that reconnects before its first event would miss the events
   * in between.
   */
  readonly from: string
}

export interface UnsubscribedMessage {
  readonly type: 'unsubscribed'
  readonly id: string
}

export interface EventMessage {
  readonly type: 'event'
  readonly subscription: string
  /** The event's record as serialized JSON. */
  readonly event: string
}

/** Successive events of a subscription that asked for batches. */
export interface EventsMessage {
  readonly type: 'events'
  readonly subscription: string
  /** The events' records, each as serialized JSON. */
  readonly events: readonly string[]
}

export interface WatchingMessage {
  readonly type: 'watching'
  readonly id: string
}

export interface UnwatchedMessage {
  readonly type: 'unwatched'
  readonly id: string
}

/**
 * What codecs have made of a position, without its `change`. Several watches may have the same position, and most of
 * the cost of a position is writing its numbers.
 */
export interface WrittenPosition {
  json: string | undefined
}

/** A device as codecs write it into a batch, without an object for each position. */
export interface ShownDevice {
  readonly deviceId: string
  readonly recordId: string
  readonly userId: string | undefined
  /** In degrees. */
  readonly latitude: number
  readonly longitude: number
  /** In metres; NaN if it is unknown. */
  readonly accuracy: number
  /** The time t, in epoch milliseconds. */
  readonly updatedAt: number
  /** What a codec has made of `recordId`, `userId` and `deviceId`; undefined if these have changed. */
  head: string | Uint8Array | undefined
  /**
   * The round of a codec in which it has written the device as it is, and the first and the last byte of that in the
   * codec's buffer; undefined or 0 if it has not, or if the device has changed.
   */
  writtenRound?: number | undefined
  writtenFrom?: number | undefined
  writtenTo?: number | undefined
}

/** A device in a watched area. */
export interface WatchedPosition {
  readonly change: 'enter' | 'move' | 'leave'
  readonly user: {
    readonly _id: string
    readonly userId?: string | undefined
    readonly deviceId: string
  }
  readonly location: { readonly type: 'Point'; readonly coordinates: Coordinates }
  /** In metres. */
  readonly locationAccuracy?: number | undefined
  /** In ISO 8601. */
  readonly updatedAt: string
  /** A part that is not sent. All watches share it until the device moves. */
  readonly written?: WrittenPosition | undefined
}

export interface PositionMessage extends WatchedPosition {
  readonly type: 'position'
  readonly watch: string
}

/** The positions that were due since the last such message of the watch. */
export interface PositionsMessage {
  readonly type: 'positions'
  readonly watch: string
  readonly positions: readonly WatchedPosition[]
}

export type ServerMessage =
  | AckMessage
  | ErrorMessage
  | BusyMessage
  | PongMessage
  | SubscribedMessage
  | UnsubscribedMessage
  | EventMessage
  | EventsMessage
  | WatchingMessage
  | UnwatchedMessage
  | PositionMessage
  | PositionsMessage
