import type { ScopeId } from '../model/scope.ts'

/** Stands for the record id of the user where a conversion came from a device that has none. */
export const NO_RECORD = ''

/** Whose events: those of one scope, or of all together in the one order that the log has. */
export type Scopes = ScopeId | 'all'

/** An event as the log holds it: its public JSON and what it is looked up by. */
export interface StoredEvent {
  readonly scope: ScopeId
  /** 24 hex. */
  readonly id: string
  readonly type: string
  readonly deviceId: string
  readonly userId?: string | undefined
  /** Record id of the user, or {@link NO_RECORD}. */
  readonly userRecordId: string
  /** Epoch milliseconds: the time t of the update. */
  readonly createdAt: number
  /** Epoch milliseconds: the server's clock. */
  readonly actualCreatedAt: number
  /** Of its geofence or beacon. */
  readonly tag?: string | undefined
  readonly externalId?: string | undefined
  /** The record as the API answers it. */
  readonly json: string
}

/**
 * An event at its place in the order of the log. Places are whole numbers from 1, over all scopes; each event has
 * another, and keeps it.
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
 * Characters of JSON with which a stretch ends, and a page of a list, however few events they are: one event may be of 130,000,
 * and what readers who are slow have been handed waits in memory.
 */
export const STRETCH_CHARACTERS = 256 * 1024
export const PAGE_CHARACTERS = 2_000_000

/** Filter and page of an event list; bounds are exclusive, epoch milliseconds. */
export interface EventQuery {
  /** The event after which the page begins; where there is none with that id, the page is empty. */
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

/** What a client says of an event that it has looked at. */
export interface Verdict {
  /** 1: it happened, −1: it did not, 0: back to unknown. */
  readonly verification: 1 | 0 | -1
  /** The place where the user was instead, or indeed. */
  readonly verifiedPlaceId?: string | undefined
}

export interface CopyOptions {
  /**
   * Milliseconds that the index rests after each 256 KB, and what was added waits. 4 leave the disk to the commit log: 60 MB
   * a second at most. 0 where nobody else is at work.
   */
  readonly pause: number
  /** Told every few megabytes how far the copy is, in bytes. */
  readonly progress: (copied: number, total: number) => void
  /** Ends the copy early: it rejects, and what is there of the file is left. */
  readonly signal: AbortSignal
}

/** An event index that can be copied while it is added to. */
export interface CopyableEventIndex {
  /**
   * Copies the index into a new file, in small steps between which it goes on as ever. Resolves, once the copy is
   * durable, to the log position up to which every event is in it.
   */
  copy(file: string, options: CopyOptions): Promise<number>
}

/**
 * The query index over the event log: off the acknowledgement path, rebuilt from its cursor after a crash.
 * What was passed to `add` before a query is seen by it.
 */
export interface EventIndex {
  /** Log position up to which the index is durable; the log must not be trimmed beyond it. */
  readonly durablePosition: number
  /** Estimated bytes of events that were added and are not stored yet: how far the index is behind. */
  readonly pendingBytes: number
  /** The offset of the last event that was added; 0 before the first. */
  readonly lastOffset: number
  /**
   * Adds the events of the frame at `position`; positions ascend, one seen before is ignored.
   * @param offset of the first of them, beyond all others; by default the next
   */
  add(position: number, events: readonly StoredEvent[], offset?: number): void
  /**
   * Events in the order of the log, from after an offset on; those that were deleted are left out. At most `limit`, or as
   * many as reach {@link STRETCH_CHARACTERS}.
   */
  read(scopes: Scopes, after: number, limit: number): Promise<EventPage>
  /** The offset of an event; undefined where there is none with that id. */
  offsetOf(scope: ScopeId, id: string): Promise<number | undefined>
  /**
   * Newest first by createdAt, of one time the later in the log first. Each item is the event's JSON. A page ends with the
   * event that reaches {@link PAGE_CHARACTERS}, too.
   */
  list(scope: ScopeId, query: EventQuery): Promise<{ readonly events: string[]; readonly hasMore: boolean }>
  get(scope: ScopeId, id: string): Promise<string | undefined>
  /**
   * Notes a verdict in the event's JSON, in place of the one before, and resolves to that JSON once it is durable;
   * undefined where there is no such event. The log keeps the event as it was made.
   */
  verify(scope: ScopeId, id: string, verdict: Verdict): Promise<string | undefined>
  /** Whether it was there. */
  delete(scope: ScopeId, id: string): Promise<boolean>
  /** Removes events that the server created before that time (epoch milliseconds); resolves to how many. */
  prune(before: number): Promise<number>
  close(): Promise<void>
}

/** What clients ask of events. */
export type EventQueries = Pick<EventIndex, 'list' | 'get' | 'offsetOf' | 'verify' | 'delete'>

/** What a client has done to an event: deleted it, or said what it thinks of it. */
export interface EventChange {
  readonly scope: ScopeId
  readonly id: string
  /** Absent: deleted. */
  readonly verdict?: Verdict
}

/** A message of {@link SharedEvents}; neither an event nor a change where nobody can read it. */
export interface SharedMessage {
  /** Ascends, not always by one. */
  readonly sequence: number
  /** How many more there are by now. */
  readonly behind: number
  readonly event?: { readonly scope: ScopeId; readonly json: string }
  readonly change?: EventChange
}

/**
 * The stream of all events, and of what clients did to them, that the processes of the distributed engine share: of each device in
 * the order of its events, a change behind its event. Every promise may reject where it cannot be reached.
 * Technology: src/cluster/journal/jetStreamEventReader.ts.
 */
export interface SharedEvents {
  /** Of the last message that it was given. */
  lastSequence(): Promise<number>
  /** Whether there is any message behind a sequence. */
  hasMore(after: number): Promise<boolean>
  /** All messages behind a sequence, those yet to come included, until the signal; throws where it is cut off. */
  follow(after: number, signal: AbortSignal): Promise<AsyncIterable<SharedMessage>>
  /** Stores a change; resolves to its sequence. */
  append(change: EventChange): Promise<number>
}
