import type { ScopeId } from '../model/scope.ts'

/** Stands for the user's record id if a conversion came from a device without a record. */
export const NO_RECORD = ''

/** Whose events: those of one scope, or those of all scopes in the order of the log. */
export type Scopes = ScopeId | 'all'

/** What filters look at in events of places, regions and fraud. */
export interface EventTraits {
  /** `_id` of the place. */
  readonly placeId?: string | undefined
  /** Slug of the place's chain. */
  readonly chain?: string | undefined
  /** Slugs of the place. */
  readonly categories?: readonly string[] | undefined
  /** The code and the `_id` of the region. */
  readonly regions?: readonly string[] | undefined
  /** Why the user failed. */
  readonly failureReasons?: readonly string[] | undefined
}

/** An event as the log stores it: its public JSON and the fields by which it is looked up. */
export interface StoredEvent {
  readonly scope: ScopeId
  /** 24 hex. */
  readonly id: string
  readonly type: string
  /** Empty for an event of a trip that no device has moved yet. */
  readonly deviceId: string
  readonly userId?: string | undefined
  /** Record id of the user, or {@link NO_RECORD}. */
  readonly userRecordId: string
  /** Epoch milliseconds: the time t of the update. */
  readonly createdAt: number
  /** Epoch milliseconds: the server's clock. */
  readonly actualCreatedAt: number
  /** The tag of the event's geofence or beacon, or of its trip's destination. */
  readonly tag?: string | undefined
  readonly externalId?: string | undefined
  /** What it says about a place, a region or fraud; absent if nothing. */
  readonly traits?: EventTraits | undefined
  /** The record as the API returns it. */
  readonly json: string
}

/**
 * An event with its offset in the log. Offsets are whole numbers from 1, over all scopes. Each event has its own, and
 * it never changes.
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
 * A stretch, or a page of a list, ends when its JSON has this many characters, even if it has few events: one event
 * may have 130,000, and what slow readers were handed waits in memory.
 */
export const READ_CHARACTERS = 256 * 1024
export const PAGE_CHARACTERS = 2_000_000

/** Conditions on what is in an event; those that are present must all hold. */
export interface EventContent {
  readonly types?: readonly string[] | undefined
  /** The tag of its geofence or beacon, or of its trip's destination. */
  readonly tag?: string | undefined
  readonly externalId?: string | undefined
  readonly placeId?: string | undefined
  readonly chain?: string | undefined
  readonly category?: string | undefined
  /** Its code or `_id`. */
  readonly region?: string | undefined
  readonly failureReason?: string | undefined
  /** In what people call its user, device, geofence, beacon, trip or place, in upper or lower case. */
  readonly text?: string | undefined
  readonly minimumConfidence?: number | undefined
}

/** Which events to count, in which intervals; epoch milliseconds. */
export interface CountQuery extends EventContent {
  /** Those at this time or later. */
  readonly from: number
  /** Only events before this time. */
  readonly to: number
  readonly stepMs: number
}

/** A page of a list. */
export interface EventList {
  /** Each as its JSON. */
  readonly events: string[]
  readonly hasMore: boolean
  /** The `before` of the next page, if it is not the page's last event: the page was ended for lack of time. */
  readonly next?: string
}

/** The events of one interval, by type. */
export type IntervalCounts = Readonly<Record<string, number>>

/** There are more events in the time of a count than are counted in one call. */
export class TooManyEvents extends Error {
  override readonly name = 'TooManyEvents'
}

/** Filter and page of an event list; bounds are exclusive, epoch milliseconds. */
export interface EventQuery extends EventContent {
  /** The event after which the page begins; if there is none with that id, the page is empty. */
  readonly before?: string | undefined
  readonly userId?: string | undefined
  readonly deviceId?: string | undefined
  readonly type?: string | undefined
  readonly createdBefore?: number | undefined
  readonly createdAfter?: number | undefined
  readonly updatedBefore?: number | undefined
  readonly updatedAfter?: number | undefined
  readonly limit: number
}

/** A client's judgement of an event. */
export interface Verification {
  /** 1: it happened, −1: it did not, 0: back to unknown. */
  readonly verification: 1 | 0 | -1
  /** The place where the user was instead, or where the user really was. */
  readonly verifiedPlaceId?: string | undefined
}

export interface CopyOptions {
  /**
   * Milliseconds that the index pauses after each 256 KB; events that are added in the meantime wait. With 4 the copy
   * takes at most 60 MB a second, which leaves the disk to the commit log. 0 if nothing else is running.
   */
  readonly pauseMs: number
  /** Called every few megabytes with the progress of the copy, in bytes. */
  readonly progress: (copied: number, total: number) => void
  /** Ends the copy early: it rejects, and leaves the unfinished file. */
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
 * The query index over the event log: outside the acknowledgement path, rebuilt from its cursor after a crash. A
 * query sees everything that was passed to `add` before it.
 */
export interface EventIndex {
  /** The log offset up to which the index is durable; the log must not be trimmed beyond it. */
  readonly durableLogOffset: number
  /** Estimated bytes of events that were added but are not stored yet: how far the index is behind. */
  readonly pendingBytes: number
  /** The offset of the last event that was added; 0 before the first. */
  readonly lastOffset: number
  /**
   * Adds the events of the frame at `logOffset`; log offsets ascend, and one that was seen before is ignored.
   * @param offset of the first of them, beyond all others; by default the next
   */
  add(logOffset: number, events: readonly StoredEvent[], offset?: number): void
  /**
   * Events in the order of the log, after an offset; deleted events are left out. At most `limit`, or as many as
   * reach {@link READ_CHARACTERS}.
   */
  read(scopes: Scopes, after: number, limit: number): Promise<EventPage>
  /** The offset of an event; undefined if there is none with that id. */
  offsetOf(scope: ScopeId, id: string): Promise<number | undefined>
  /**
   * Newest first by createdAt; of events with the same time, the later in the log first. Each item is the event's
   * JSON. A page also ends with the event that reaches {@link PAGE_CHARACTERS}.
   */
  list(scope: ScopeId, query: EventQuery): Promise<EventList>
  /**
   * The events of each interval, the earliest first.
   * @throws {TooManyEvents}
   */
  count(scope: ScopeId, query: CountQuery): Promise<IntervalCounts[]>
  get(scope: ScopeId, id: string): Promise<string | undefined>
  /**
   * Stores a verdict in the event's JSON, replacing the previous one, and resolves to that JSON once it is durable;
   * undefined if there is no such event. The log keeps the event as it was made.
   */
  verify(scope: ScopeId, id: string, verdict: Verification): Promise<string | undefined>
  /** Whether it existed. */
  delete(scope: ScopeId, id: string): Promise<boolean>
  /**
   * Removes some of the events that the server created before that time (epoch milliseconds), so that other calls wait
   * only milliseconds; resolves to their number, which is 0 when none are left.
   */
  prune(before: number): Promise<number>
  close(): Promise<void>
}

/** What clients can do with events. */
export type EventQueries = Pick<EventIndex, 'list' | 'count' | 'get' | 'offsetOf' | 'verify' | 'delete'>

/** A client's change to an event: a deletion or a verdict. */
export interface EventChange {
  readonly scope: ScopeId
  readonly id: string
  /** Absent for a deletion. */
  readonly verdict?: Verification
}

/** A message of {@link SharedEvents}; neither an event nor a change if it cannot be read. */
export interface SharedMessage {
  /** Ascends, but not always by one. */
  readonly sequence: number
  /** How many further messages exist by now. */
  readonly behind: number
  readonly event?: { readonly scope: ScopeId; readonly json: string }
  readonly change?: EventChange
}

/**
 * The stream of all events, and of clients' changes to them, that the processes of the distributed engine share. The
 * events of each device are in order, and a change comes after its event. Every promise may reject if the stream is
 * out of reach. Technology: src/cluster/journal/jetStreamEventReader.ts.
 */
export interface SharedEvents {
  /** The sequence of the last message in the stream. */
  lastSequence(): Promise<number>
  /** Of the newest event in the stream; 0 if there is none. */
  newestEvent(): Promise<number>
  /** All messages after a sequence, including those yet to come, until the signal; throws if it is cut off. */
  follow(after: number, signal: AbortSignal): Promise<AsyncIterable<SharedMessage>>
  /** Stores a change; resolves to its sequence. */
  append(change: EventChange): Promise<number>
}
