import type { ScopeId } from '../model/scope.ts'

/** The value that stands for the user's record id if a conversion came from a device without a record. */
export const NO_RECORD = ''

/** Whose events: those of one scope, or those of all scopes in the order of the log. */
export type Scopes = ScopeId | 'all'

/** What filters look at in events of places, regions and fraud. */
export interface EventTraits {
  /** The `_id` of the place. */
  readonly placeId?: string | undefined
  /** The slug of the place's chain. */
  readonly chain?: string | undefined
  /** The slugs of the place's categories. */
  readonly categories?: readonly string[] | undefined
  /** The code and the `_id` of the region. */
  readonly regions?: readonly string[] | undefined
  /** Why the user failed. */
  readonly failureReasons?: readonly string[] | undefined
}

/** An event as the log stores it: its public JSON and the fields by which it is looked up. */
export interface StoredEvent {
  readonly scope: ScopeId
  /** 24 hex digits. */
  readonly id: string
  readonly type: string
  /** Empty for an event of a trip that no device has moved yet. */
  readonly deviceId: string
  readonly userId?: string | undefined
  /** The record id of the user, or {@link NO_RECORD}. */
  readonly userRecordId: string
  /** The time t of the update, in epoch milliseconds. */
  readonly createdAt: number
  /** The server's time, in epoch milliseconds. */
  readonly actualCreatedAt: number
  /** The tag of the event's geofence or beacon, or of its trip's destination. */
  readonly tag?: string | undefined
  readonly externalId?: string | undefined
  /** What the event says about a place, a region or fraud. It is absent if it says nothing about them. */
  readonly traits?: EventTraits | undefined
  /** The event's JSON as the API returns it. */
  readonly json: string
}

/**
 * An event with its offset in the log. Offsets are whole numbers from 1, over all scopes. Each event has a different
 * one, which never changes.
 */
export interface LoggedEvent {
  readonly offset: number
  readonly event: StoredEvent
}

/** Some events, and the offset up to which there are no others. */
export interface EventPage {
  readonly events: readonly LoggedEvent[]
  readonly offset: number
}

/**
 * A part of the log that is read, or a page of a list, ends when its JSON has this many characters, even if it has few events. One event
 * may have 130,000, and what was sent to slow readers waits in memory.
 */
export const READ_CHARACTERS = 256 * 1024
export const PAGE_CHARACTERS = 2_000_000

/** Conditions on the contents of an event. All that are present must hold. */
export interface EventContent {
  readonly types?: readonly string[] | undefined
  /** The tag of the event's geofence or beacon, or of its trip's destination. */
  readonly tag?: string | undefined
  readonly externalId?: string | undefined
  readonly placeId?: string | undefined
  readonly chain?: string | undefined
  readonly category?: string | undefined
  /** The code or `_id` of the event's region. */
  readonly region?: string | undefined
  readonly failureReason?: string | undefined
  /** A text in people's names for its user, device, geofence, beacon, trip or place, in upper or lower case. */
  readonly text?: string | undefined
  readonly minimumConfidence?: number | undefined
}

/** Which events to count, and in which intervals. Times are in epoch milliseconds. */
export interface CountQuery extends EventContent {
  /** Only events at this time or later. */
  readonly from: number
  /** Only events before this time. */
  readonly to: number
  readonly stepMs: number
}

/** A page of a list. */
export interface EventList {
  /** The JSON of each event. */
  readonly events: string[]
  readonly hasMore: boolean
  /**
   * The `before` of the next page. It is present if it differs from the page's last event, because the page ended for
   * lack of time.
   */
  readonly next?: string
}

/** How many events of each type an interval has. */
export type IntervalCounts = Readonly<Record<string, number>>

/** The time range of a count has more events than one call counts. */
export class TooManyEvents extends Error {
  override readonly name = 'TooManyEvents'
}

/** Which events a list has; bounds are exclusive, epoch milliseconds. */
export interface EventFilters extends EventContent {
  readonly userId?: string | undefined
  readonly deviceId?: string | undefined
  readonly type?: string | undefined
  readonly createdBefore?: number | undefined
  readonly createdAfter?: number | undefined
  readonly updatedBefore?: number | undefined
  readonly updatedAfter?: number | undefined
}

/** Filter and page of an event list. */
export interface EventQuery extends EventFilters {
  /** The event after which the page begins; if there is none with that id, the page is empty. */
  readonly before?: string | undefined
  /** Oldest first. */
  readonly isAscending?: boolean | undefined
  readonly limit: number
}

/** A client's judgement of an event. */
export interface Verification {
  /** 1 means that it happened, −1 that it did not, and 0 makes it unknown again. */
  readonly verification: 1 | 0 | -1
  /** The place where the user really was. */
  readonly verifiedPlaceId?: string | undefined
}

export interface CopyOptions {
  /**
   * How long the index pauses after each 256 KB, in milliseconds. Events that are added in the meantime wait. With 4,
   * the copy takes at most 60 MB a second, which leaves the disk to the commit log. It is 0 if nothing else is
   * running.
   */
  readonly pauseMs: number
  /** Called every few megabytes with the progress of the copy, in bytes. */
  readonly progress: (copied: number, total: number) => void
  /** Aborted to end the copy early. The copy then rejects, and leaves the unfinished file. */
  readonly signal: AbortSignal
}

/** An event index that can be copied while events are added. */
export interface CopyableEventIndex {
  /**
   * Copies the index into a new file in small steps, while it continues to work. Once the copy is durable, resolves
   * to the log offset up to which it has every event.
   */
  copy(file: string, options: CopyOptions): Promise<number>
}

/**
 * The query index over the event log. No acknowledgement waits for it, and after a crash it is completed from its
 * offset. A query sees everything that was passed to `add` before it.
 */
export interface EventIndex {
  /** The log offset up to which the index is durable. The log must not be trimmed beyond it. */
  readonly durableLogOffset: number
  /** Estimated bytes of events that were added but are not stored yet. They say how far the index is behind. */
  readonly pendingBytes: number
  /** The offset of the last event that was added; 0 before the first. */
  readonly lastOffset: number
  /**
   * Adds the events of the frame at `logOffset`. Log offsets ascend, and one that was seen before is ignored.
   * @param offset the offset of the first of them, beyond all others; by default the next one
   */
  add(logOffset: number, events: readonly StoredEvent[], offset?: number): void
  /**
   * Reads events in the order of the log, after an offset, without deleted ones: at most `limit`, or as many as reach
   * {@link READ_CHARACTERS}.
   */
  read(scopes: Scopes, after: number, limit: number): Promise<EventPage>
  /** The offset of an event; undefined if there is none with that id. */
  offsetOf(scope: ScopeId, id: string): Promise<number | undefined>
  /**
   * Newest first by createdAt; of events with the same time, the later in the log first; or the reverse. Each item is
   * the event's JSON. A page also ends with the event that reaches {@link PAGE_CHARACTERS}.
   */
  list(scope: ScopeId, query: EventQuery): Promise<EventList>
  /**
   * How many events a list has on all its pages.
   * @throws {TooManyEvents}
   */
  total(scope: ScopeId, filters: EventFilters): Promise<number>
  /**
   * The events of each interval, the earliest first.
   * @throws {TooManyEvents}
   */
  count(scope: ScopeId, query: CountQuery): Promise<IntervalCounts[]>
  get(scope: ScopeId, id: string): Promise<string | undefined>
  /**
   * Stores a verdict in the event's JSON, in place of the previous one. Resolves to that JSON once it is durable, and
   * to undefined if there is no such event. The log keeps the event as it was made.
   */
  verify(scope: ScopeId, id: string, verdict: Verification): Promise<string | undefined>
  /** Deletes an event. Resolves to whether it existed. */
  delete(scope: ScopeId, id: string): Promise<boolean>
  /**
   * Removes some of the events that the server created before that time (epoch milliseconds), so few that other calls
   * wait only milliseconds. Resolves to their number, which is 0 if none are left.
   */
  prune(before: number): Promise<number>
  close(): Promise<void>
}

/** What clients can do with events. */
export type EventQueries = Pick<
  EventIndex,
  'list' | 'total' | 'count' | 'get' | 'offsetOf' | 'verify' | 'delete'
>

/** A client's change to an event: a deletion or a verdict. */
export interface EventChange {
  readonly scope: ScopeId
  readonly id: string
  /** The verdict; absent for a deletion. */
  readonly verdict?: Verification
}

/** A message of {@link SharedEvents}. If it cannot be read, it has neither an event nor a change. */
export interface SharedMessage {
  /** The message's number in the stream. Numbers ascend, but not always by one. */
  readonly sequence: number
  /** How many further messages there are by now. */
  readonly behind: number
  readonly event?: { readonly scope: ScopeId; readonly json: string }
  readonly change?: EventChange
}

/**
 * The stream of all events, and of clients' changes to them, that the processes of the distributed engine share. The
 * events of each device are in order, and a change comes after its event. Every promise may reject if the stream
 * cannot be reached. src/cluster/journal/jetStreamEventReader.ts implements it.
 */
export interface SharedEvents {
  /** The sequence of the last message in the stream. */
  lastSequence(): Promise<number>
  /** The sequence of the newest event in the stream; 0 if there is none. */
  newestEvent(): Promise<number>
  /**
   * All messages after a sequence, including those yet to come, until the signal is aborted. Throws if the connection
   * is lost.
   */
  follow(after: number, signal: AbortSignal): Promise<AsyncIterable<SharedMessage>>
  /** Stores a change. Resolves to its sequence. */
  append(change: EventChange): Promise<number>
}
