import type { ScopeId } from '../model/scope.ts'
import { HashSet } from '../runtime/hashSet.ts'
import { nameHash } from '../runtime/nameHash.ts'
import { OUTCOME_MS, type FeedOutcome } from './feedOutcome.ts'

/**
 * What devices saw of their trips: the last outcome of each device, and for a short time the events of the rows before
 * it.
 *
 * The obvious way keeps the last outcome only. But in the distributed engine the question about a row takes a while to
 * arrive. When a replay has several rows, or the machine is busy, the next row may be told by then, and the answer would
 * lack the events of the first one.
 *
 * Owns: what is remembered, and for how long. Does not own: when rows are told (tripDispatcher.ts).
 *
 * Invariants
 * - SEEN-1: It keeps no more than the given bytes, and a 32nd of them for the devices whose trips moved with their updates.
 *   The device that was seen the longest time ago is forgotten first.
 * - SEEN-2: The events of a row that is not its device's last are there for {@link OUTCOME_MS}, unless those of the device
 *   take more than a quarter of the bytes. Then the oldest are forgotten.
 */
export class SeenOutcomes {
  readonly #mostBytes: number
  readonly #keptMs: number
  /** By device. The one that was seen the longest time ago comes first. */
  readonly #devices = new Map<string, Seen>()
  #bytes = 0
  /** The devices whose trips moved with an update, by hash. */
  readonly #moved: HashSet

  constructor(mostBytes: number, keptMs: number = OUTCOME_MS) {
    this.#mostBytes = mostBytes
    this.#keptMs = keptMs
    this.#moved = new HashSet(mostBytes / MOVED_BYTES / MOVED_SHARE)
  }

  /**
   * Whether the device has ever seen what an update did to its trips. For a few devices among billions this may be wrong;
   * they then see their present trip.
   */
  hasSeen(scope: ScopeId, deviceId: string): boolean {
    return this.#devices.has(deviceIn(scope, deviceId)) || this.#moved.has(nameHash(scope, deviceId))
  }

  /** The number of the last row that was told of the device, if its trips have not moved otherwise since. */
  lastOf(device: string): number | undefined {
    return this.#devices.get(device)?.number
  }

  /**
   * The trip as the device saw it last, and the events of a row.
   * @param number the row; undefined if its events are not wanted
   * @returns undefined if nobody remembers the device, or if what it saw is the present trip
   */
  get(device: string, number?: number): FeedOutcome | undefined {
    const seen = this.#devices.get(device)
    if (seen === undefined) return undefined
    const { trip } = seen
    if (number === undefined) return { trip, events: NO_EVENTS }
    const events = number === seen.number ? seen.events : seen.earlier?.get(number)?.events
    return { trip, events: events ?? NO_EVENTS }
  }

  /**
   * Remembers the outcome of a row.
   * @param isAsked whether somebody may still ask about the rows before it
   */
  put(device: string, number: number, { trip, events }: FeedOutcome, isAsked: boolean): void {
    const before = this.#devices.get(device)
    if (before !== undefined) this.#forget(device, before)
    const earlier = before !== undefined && isAsked ? this.#earlierOf(before) : undefined
    const bytes = SEEN_BYTES + 2 * (trip?.length ?? 0) + bytesOf(events)
    this.#set(device, {
      number,
      trip,
      events,
      bytes,
      earlier: earlier?.rows,
      earlierBytes: earlier?.bytes ?? 0,
    })
  }

  /**
   * Remembers that the device's trips moved together with an update. What it saw is not kept, because its trips are in the
   * same process and can be asked. The texts of all devices on trips would be a third of the memory that an update leaves.
   */
  moved(scope: ScopeId, deviceId: string): void {
    this.#moved.add(nameHash(scope, deviceId))
    if (this.#devices.size === 0) return
    const device = deviceIn(scope, deviceId)
    const before = this.#devices.get(device)
    if (before !== undefined) this.#forget(device, before)
  }

  #set(device: string, seen: Seen): void {
    this.#devices.set(device, seen)
    this.#bytes += seen.bytes + seen.earlierBytes
    if (this.#bytes <= this.#mostBytes) return
    for (const [oldest, one] of this.#devices) {
      if (this.#bytes <= this.#mostBytes) break
      this.#forget(oldest, one)
    }
  }

  /** The events of the rows up to the last one, without those that are too old or too many. */
  #earlierOf({ number, events, earlier, earlierBytes }: Seen): {
    readonly rows: Map<number, Earlier>
    readonly bytes: number
  } {
    const now = performance.now()
    const rows = earlier ?? new Map<number, Earlier>()
    let bytes = earlierBytes
    if (events.length > 0) {
      rows.set(number, { events, until: now + this.#keptMs })
      bytes += bytesOf(events)
    }
    for (const [oldest, one] of rows) {
      if (one.until > now && bytes <= this.#mostBytes / 4) break
      rows.delete(oldest)
      bytes -= bytesOf(one.events)
    }
    return { rows, bytes }
  }

  #forget(device: string, { bytes, earlierBytes }: Seen): void {
    this.#devices.delete(device)
    this.#bytes -= bytes + earlierBytes
  }
}

/** The bytes of the last outcome of a device, and of the events of a row, besides texts. */
const SEEN_BYTES = 200
const EVENTS_BYTES = 100
/** The most bytes of a device whose trips moved with an update, and the share of all bytes that is for such devices. */
const MOVED_BYTES = 11
const MOVED_SHARE = 32
const NO_EVENTS: readonly string[] = []

/** The last outcome of a device. */
interface Seen {
  readonly number: number
  readonly trip: string | null
  readonly events: readonly string[]
  readonly bytes: number
  /** The events of the rows before, by number, which ascends. */
  readonly earlier: Map<number, Earlier> | undefined
  readonly earlierBytes: number
}

interface Earlier {
  readonly events: readonly string[]
  /** A time of `performance.now()`. */
  readonly until: number
}

/** A name for a device that is unique over all scopes. */
export function deviceIn(scope: ScopeId, deviceId: string): string {
  return `${scope} ${deviceId}`
}

function bytesOf(events: readonly string[]): number {
  return events.length === 0 ? 0 : EVENTS_BYTES + 2 * events.reduce((sum, event) => sum + event.length, 0)
}
