import type { ScopeId } from '../model/scope.ts'
import type { EventFeed } from './feed.ts'
import { ConcurrencyLimit } from '../runtime/concurrencyLimit.ts'
import { nameHash } from '../runtime/nameHash.ts'
import { FILTER_LISTS, isSameFilter, LISTS, wants, type EventFilter } from './filter.ts'
import type { LoggedEvent, StoredEvent, EventPage } from './port.ts'

/**
 * The readers of one scope's events that have caught up, and get new events as they happen.
 *
 * The obvious way gives each reader its own cursor, which every event wakes, and which filters and encodes the event:
 * with ten thousand readers, all of this is done ten thousand times, mostly with the same result. Here, one cursor
 * follows the log for all. Readers with the same filter and format form a group, for which an event is filtered and
 * encoded once. Groups are indexed by their filters, so ten thousand readers of one device each cost nothing for the
 * events of other devices.
 *
 * Owns: the cursor, groups. Does not own: readers that are behind (eventReader.ts): they leave and come back.
 *
 * Invariants
 * - FANOUT-1: A member gets the wanted events after its offset, in the order of the log, each once.
 * - FANOUT-2: Nobody waits for a member: one that cannot take a part at once is removed.
 * - FANOUT-3: What a group gathers is sent after a moment ({@link GATHER_MS}), or once it fills a part, so it never holds more.
 */

/** How many events are read at a time. */
const READ_EVENTS = 200
/**
 * How many parts of the log are read in one turn of the event loop for readers that are behind. Each takes a millisecond or
 * two. One client may have thousands of such readers, and after a restart all of them come back at the same time.
 */
const READS_PER_TURN = 2
/** Approximate bytes that are sent to one connection at a time. */
export const PART_BYTES = 64 * 1024
/** To how many connections events are sent in one turn of the event loop. */
const SENDS_PER_TURN = 1000
/** How many groups, and items of their filters, are examined in one turn. */
const LOOKS_PER_TURN = 100_000
/** How long events wait for readers that want them gathered, in milliseconds. */
const GATHER_MS = 100

/** Successive events as one group gets them. */
export interface EventBatch {
  /** The events' offsets, ascending. */
  readonly offsets: readonly number[]
  /** Each event, as the outlet encodes it. */
  readonly items: readonly Encoded[]
  /** What is sent for all of them: the items, or one message that has them. */
  readonly messages: readonly Encoded[]
}

/** An event as it is sent; encoded once, it may go to many readers. */
export type Encoded = string | Uint8Array

/** The destination of one reader's events. */
export interface Outlet {
  /** Outlets with the same format encode every event to the same bytes. */
  readonly format: string
  /**
   * Makes one message of several encoded events. If there is such a message, events may wait for a moment, so that many are
   * sent at once: each message costs more than an event in it. Outlets with the same format make the same.
   */
  readonly gather?: ((items: readonly Encoded[]) => Encoded) | undefined
  encode(event: StoredEvent): Encoded
  /** Whether the client has not read yet what was sent. Nothing may be sent until it has. */
  readonly isBehind: boolean
  send(messages: readonly Encoded[]): void
  /** Called when the log cannot be read. Nothing follows. */
  fail(error: unknown): void
}

/** A reader, as seen by its group. */
export interface Member {
  readonly filter: EventFilter
  readonly outlet: Outlet
  /** The offset of the last event that it has received, or does not need. */
  readonly offset: number
  /** Sends the part of the batch that comes after the reader's offset. The reader may leave during the call. */
  take(part: EventBatch): void
  /** Called when the log cannot be read. */
  fail(error: unknown): void
}

class ScopeFanout {
  /**
   * All members have received everything up to this offset, or are receiving it. A new member must have received it
   * already.
   */
  offset: number
  readonly #ended = new AbortController()
  /**
   * The groups by {@link hashOf}, so that senders of filters cannot choose which ones collide. If the text of the
   * whole filter were the key, it would be stored twice.
   */
  readonly #groups = new Map<number, Group[]>()
  /**
   * For each kind of list, groups by the items of their filter's first list: an event with the item may concern them.
   */
  readonly #listed = LISTS.map(() => new Map<string, Set<Group>>())
  /** Groups whose filters have none of these lists. */
  readonly #unlisted = new Set<Group>()
  /** Groups that gather, and have something to send. */
  readonly #gathering = new Set<Group>()
  #timer: NodeJS.Timeout | undefined
  /** Ends with the last sending, because the parts of a group are sent one after the other. */
  #sending: Promise<void> = Promise.resolve()

  readonly #gatherMs: number

  /**
   * A fan-out without members.
   * @param feed followed from its end on while there are members
   */
  constructor(feed: Pick<EventFeed, 'follow' | 'lastOffset'>, scope: ScopeId, gatherMs: number) {
    this.#gatherMs = gatherMs
    this.offset = feed.lastOffset
    this.#follow(feed.follow(scope, this.offset, READ_EVENTS, this.#ended.signal)).catch(this.#fail)
  }

  readonly #fail = (error: unknown): void => {
    if (this.#ended.signal.aborted) return
    const groups = [...this.#groups.values()].flat()
    for (const { members } of groups) for (const member of members) member.fail(error)
  }

  get isEmpty(): boolean {
    return this.#groups.size === 0
  }

  /**
   * Adds a member.
   * @param member its offset is that of the fan-out, or ahead of it
   * @returns the argument for {@link remove}
   */
  add(member: Member): Group {
    const hash = hashOf(member)
    const alike = this.#groups.get(hash) ?? []
    let group = alike.find((other) => other.suits(member))
    if (group === undefined) {
      group = new Group(member, hash)
      if (alike.push(group) === 1) this.#groups.set(hash, alike)
      for (const groups of this.#homes(group)) groups.add(group)
    }
    group.members.add(member)
    return group
  }

  remove(member: Member, group: Group): void {
    if (!group.members.delete(member) || group.members.size > 0) return
    const alike = this.#groups.get(group.hash)!.filter((other) => other !== group)
    if (alike.length === 0) this.#groups.delete(group.hash)
    else this.#groups.set(group.hash, alike)
    const at = homeOf(group.filter)
    if (at < 0) this.#unlisted.delete(group)
    else {
      const listed = this.#listed[at]!
      for (const item of group.filter[LISTS[at]![0]]!) {
        const groups = listed.get(item)
        if (groups?.delete(group) && groups.size === 0) listed.delete(item)
      }
    }
  }

  /** Stops following. */
  end(): void {
    clearTimeout(this.#timer)
    this.#ended.abort()
  }

  async #follow(parts: ReturnType<EventFeed['follow']>): Promise<void> {
    for await (const { events, offset } of parts) {
      this.offset = offset
      await this.#deliver(events)
    }
  }

  async #deliver(events: readonly LoggedEvent[]): Promise<void> {
    const concerned = new Set<Group>()
    let looks = 0
    for (const placed of events) {
      for (const groups of this.#groupsOf(placed.event)) {
        for (const group of groups) {
          // Members that leave in the meantime get nothing; new members have this event already.
          if ((looks += group.looks) >= LOOKS_PER_TURN) {
            looks = 0
            await turn()
          }
          if (!wants(group.filter, placed.event)) continue
          group.collect(placed)
          concerned.add(group)
        }
      }
    }
    for (const group of concerned) {
      if (!group.mayWait) continue
      this.#gathering.add(group)
      concerned.delete(group)
      this.#timer ??= setTimeout(() => this.#sendGathered(), this.#gatherMs)
    }
    await this.#send(concerned)
  }

  #sendGathered(): void {
    this.#timer = undefined
    const groups = new Set(this.#gathering)
    this.#gathering.clear()
    this.#send(groups).catch(this.#fail)
  }

  #send(groups: ReadonlySet<Group>): Promise<void> {
    if (groups.size === 0) return Promise.resolve()
    return (this.#sending = this.#sending.then(() => sendParts(groups)))
  }

  /** Sets of groups that together contain all groups that may want the event. No group is in two of them. */
  *#groupsOf(event: StoredEvent): Generator<ReadonlySet<Group>> {
    yield this.#unlisted
    for (let i = 0; i < LISTS.length; i++) {
      const listed = this.#listed[i]!
      const value = listed.size === 0 ? undefined : event[LISTS[i]![1]]
      const groups = value === undefined ? undefined : listed.get(value)
      if (groups !== undefined) yield groups
    }
  }

  #homes(group: Group): Set<Group>[] {
    const at = homeOf(group.filter)
    if (at < 0) return [this.#unlisted]
    const listed = this.#listed[at]!
    return group.filter[LISTS[at]![0]]!.map((item) => {
      let groups = listed.get(item)
      if (groups === undefined) listed.set(item, (groups = new Set()))
      return groups
    })
  }
}

/** Sends to all members what their groups have collected. */
async function sendParts(groups: ReadonlySet<Group>): Promise<void> {
  let sends = 0
  for (const group of groups) {
    for (const part of group.takeParts()) {
      for (const member of group.members) {
        member.take(part)
        if (++sends % SENDS_PER_TURN === 0) await turn()
      }
    }
  }
}

/** A member's seat in its group. */
export interface Seat {
  readonly fanout: ScopeFanout
  readonly group: Group
}

/** The fan-outs of all scopes that have members. */
export class FanoutGroups {
  readonly #feed: EventFeed
  readonly #gatherMs: number
  readonly #scopes = new Map<ScopeId, ScopeFanout>()
  readonly #reads = new ConcurrencyLimit(READS_PER_TURN)

  /**
   * Starts without members.
   * @param gatherMs how long events wait for readers that want them gathered, in milliseconds
   */
  constructor(feed: EventFeed, gatherMs = GATHER_MS) {
    this.#feed = feed
    this.#gatherMs = gatherMs
  }

  /**
   * Reads events of a scope after an offset, from memory or disk, when it is the reader's turn.
   * @param signal of a reader that may end while it waits; nothing is read for it then
   */
  read(scope: ScopeId, offset: number, signal: AbortSignal): Promise<EventPage> {
    return this.#reads.run(async () => {
      if (signal.aborted) return { events: [], offset }
      const page = await this.#feed.read(scope, offset, READ_EVENTS, signal)
      await turn()
      return page
    })
  }

  /** Makes the reader a member. Returns undefined while it is behind. */
  join(scope: ScopeId, member: Member): Seat | undefined {
    let fanout = this.#scopes.get(scope)
    if (member.offset < (fanout?.offset ?? this.#feed.lastOffset)) return undefined
    if (fanout === undefined) {
      fanout = new ScopeFanout(this.#feed, scope, this.#gatherMs)
      this.#scopes.set(scope, fanout)
    }
    return { fanout, group: fanout.add(member) }
  }

  leave(scope: ScopeId, member: Member, { fanout, group }: Seat): void {
    fanout.remove(member, group)
    if (!fanout.isEmpty) return
    fanout.end()
    this.#scopes.delete(scope)
  }
}

/** What an outlet sends for these items. */
export function messagesOf(
  { gather }: Pick<Outlet, 'gather'>,
  items: readonly Encoded[],
): readonly Encoded[] {
  return gather === undefined ? items : [gather(items)]
}

function isGathered({ gather }: Pick<Outlet, 'gather'>): boolean {
  return gather !== undefined
}

/** Members for which every event is encoded to the same bytes. */
class Group {
  readonly filter: EventFilter
  readonly hash: number
  /**
   * The largest cost of checking whether the group wants an event: one for itself, and one for each item of its
   * filter.
   */
  readonly looks: number
  readonly members = new Set<Member>()
  readonly #format: string
  readonly #outlet: Pick<Outlet, 'gather' | 'encode'>
  #parts: { readonly offsets: number[]; readonly items: Encoded[] }[] = []
  #bytes = 0

  constructor({ filter, outlet }: Member, hash: number) {
    this.filter = filter
    this.hash = hash
    this.looks = FILTER_LISTS.reduce((sum, list) => sum + (filter[list]?.length ?? 0), 1)
    this.#format = outlet.format
    this.#outlet = outlet
  }

  /** Whether the member gets exactly the bytes that this group gets, at the same times. */
  suits({ filter, outlet }: Member): boolean {
    return (
      outlet.format === this.#format &&
      isGathered(outlet) === isGathered(this.#outlet) &&
      isSameFilter(filter, this.filter)
    )
  }

  /** Whether what it has collected can wait for more. */
  get mayWait(): boolean {
    return isGathered(this.#outlet) && this.#parts.length === 1 && this.#bytes <= PART_BYTES
  }

  collect({ offset, event }: LoggedEvent): void {
    if (this.#parts.length === 0 || this.#bytes > PART_BYTES) {
      this.#parts.push({ offsets: [], items: [] })
      this.#bytes = 0
    }
    const part = this.#parts.at(-1)!
    part.offsets.push(offset)
    part.items.push(this.#outlet.encode(event))
    this.#bytes += event.json.length
  }

  takeParts(): readonly EventBatch[] {
    const parts = this.#parts
    this.#parts = []
    this.#bytes = 0
    return parts.map(({ offsets, items }) => ({ offsets, items, messages: this.#shared(items) }))
  }

  /** The messages of a part. If there are several members, a text would be converted to bytes for each of them. */
  #shared(items: readonly Encoded[]): readonly Encoded[] {
    const messages = messagesOf(this.#outlet, items)
    if (this.members.size <= 1) return messages
    return messages.map((message) => (typeof message === 'string' ? Buffer.from(message) : message))
  }
}

/** Resolves after everything else has had a turn. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** A hash of the properties that define a group. It is keyed, so that nobody can choose filters with the same hash. */
function hashOf({ filter, outlet }: Member): number {
  let hash = nameHash(0, outlet.format)
  for (const list of FILTER_LISTS) {
    hash = nameHash(hash, list)
    for (const item of filter[list] ?? []) hash = nameHash(hash, item)
  }
  return hash
}

/** The number of a filter's first list; −1 if it has none. */
function homeOf(filter: EventFilter): number {
  return LISTS.findIndex(([list]) => filter[list] !== undefined)
}
