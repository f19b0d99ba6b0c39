import type { StoredEvent } from '../events/port.ts'
import type { Profile } from '../model/device.ts'
import type { Transition } from '../model/event.ts'
import type { Update } from '../model/update.ts'
import type { RegistryView, ScopeView } from '../rules/port.ts'
import type { CommandCommit } from './command.ts'
import type { FeedRow, FeedUpdate } from './feedTable.ts'

/**
 * Moves trips in the frame of the update that moves them, so that no row of a feed has to wait (feedTable.ts). That is
 * possible where the trips are in partitions of the same host, because a frame is durable as a whole or not at all.
 *
 * trips/tripShortcut.ts implements it.
 */
export interface FeedShortcut {
  /**
   * Begins a frame.
   * @param time the server's time
   */
  begin(time: number, registry: RegistryView): void
  /**
   * Whether an update waits until those of others have had their turn: it wants another ETA, as far as that can be told
   * at a glance, and so did as many of the frame as may come before others.
   */
  letsOthersFirst(update: Update): boolean
  /**
   * The same as {@link take} for the most frequent updates, of which no row need be made: those of a device under way.
   * @param number that a row would have
   * @param time t of the update
   * @param transitions those that it caused
   * @returns undefined if the update is another one
   */
  takePlain(
    update: Update,
    profile: Profile,
    view: ScopeView,
    number: number,
    time: number,
    transitions: readonly Transition[],
  ): ShortcutOutcome | undefined
  /**
   * Finds out what an update does to its trips, and keeps that until {@link commit}.
   * @returns undefined if its trips must be told by the feed. Otherwise the outcome, which {@link commit} completes
   */
  take(row: FeedRow & { readonly update: FeedUpdate }): ShortcutOutcome | undefined
  /** Writes the commits of the trips that were taken, after those of their updates. */
  commit(commit: CommandCommit, events: StoredEvent[]): void
}

/** What an update has done to its trips. Its texts are finished JSON. */
export interface ShortcutOutcome {
  /** The trip that the user is on; null if there is none. */
  readonly trip: string | null
  /** The events of its trips, in order. */
  readonly events: readonly string[]
  /** The same trip for who writes bytes; absent if there is only the text. */
  readonly moving?: MovingTrip | undefined
}

/** The JSON of a trip under way, in texts around what an update changes. */
export interface MovingTrip {
  readonly texts: MovingTexts
  /** In epoch milliseconds. */
  readonly updatedAt: number
  /** The ETA. */
  readonly minutes: number
  readonly meters: number
}

/** The distance of the ETA follows its duration, as `,"distance":`. */
export interface MovingTexts {
  readonly beforeDate: string
  readonly beforeDuration: string
  readonly end: string
}
