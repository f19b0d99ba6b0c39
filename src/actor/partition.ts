import type { Transition } from '../model/event.ts'
import type { Settings } from '../model/settings.ts'
import type { Update } from '../model/update.ts'
import { userRecordId, type StoreSalt } from '../events/ids.ts'
import type { StoredEvent } from '../events/port.ts'
import { circumstancesOf } from '../rules/circumstances.ts'
import { NO_STATE } from '../rules/deviceState.ts'
import { EvaluatorSet } from '../rules/evaluatorSet.ts'
import { createEvaluators, evaluate } from '../rules/evaluators.ts'
import type { Measured } from '../rules/measured.ts'
import { EVALUATE } from '../rules/places.ts'
import type { ScopeView } from '../rules/port.ts'
import { hasOnlyPassing, ZONE, zoneCosine, type ZonesLeft } from '../rules/safeZone.ts'
import { Unready } from '../rules/unready.ts'
import { NO_EVENTS, type Applied } from './applied.ts'
import type { ActorTable, ActorType } from './actorType.ts'
import { ACTOR_TYPES, DEVICES } from './actorTypes.ts'
import type { FrameWriter } from './commitCodec.ts'
import { CommitEvents } from './commitEvents.ts'
import type { DeviceMemory } from './deviceMemory.ts'
import { fitsFirst, writeFirst, writeMoved, writeWhole } from './deviceRows.ts'
import { FLAG_SETTLED, updateFlags } from './deviceFlags.ts'
import type { DeviceTable } from './deviceTable.ts'
import { feedUpdateOf, movesTrips } from './feeding.ts'
import type { FeedShortcut, ShortcutOutcome } from './feedShortcut.ts'
import { FEEDS, type FeedTable } from './feedTable.ts'
import { identify, timeOf } from './identity.ts'
import { nextProfile, withOwnPlaces } from './nextProfile.ts'
import { firstAfter, passedFirst } from './passing.ts'
import { doneBefore, NOTHING_BEFORE, type Prepared } from './prepared.ts'
import { profileAfter, profileChange, saysNothingNew, stateNow, textLength } from './profile.ts'
import { packProfile } from './profileCodec.ts'
import {
  FEED_FULL,
  MAX_RECORDS,
  NO_ROOM_FOR_RECORD,
  NO_ROOM_FOR_TEXT,
  RATE_LIMITED,
  refusalOf,
  TOO_MANY_EVENTS,
  TOO_MANY_RECORDS,
  type Refusal,
} from './refusal.ts'
import { resultOf } from './updateResult.ts'
import { isWithinZone, mayBeSuspect, zonesLeft } from './withinZone.ts'

/**
 * The device actors of one partition: applies updates one at a time, in two tiers.
 *
 * First tier: within the device's zone, an update only changes position, times and flags. Second tier: identity,
 * time, facts and the pure step.
 *
 * Owns: device states, the sequence of commits, the contents of a commit. Does not own: when a commit is made
 * durable, who gets the results (host.ts).
 */

/** Clocks of phones are imprecise: an update may come this much early, as long as the average rate is kept. */
const EARLY_MS = 100

/** When there is no room for more data, known users may still change data of up to this many characters. */
const MAX_FULL_TEXT = 1024

const NO_TRANSITIONS: readonly Transition[] = []

/**
 * The evaluators of all partitions. A batch has few updates for each of them, so evaluators of its own, with their buffers, would not
 * be in the processor's cache.
 */
const EVALUATORS = new EvaluatorSet(createEvaluators())

export class Partition {
  readonly number: number
  /** The salt from which the store's ids are derived. */
  readonly salt: StoreSalt
  readonly types: readonly ActorType[]
  /** The devices. */
  readonly table: DeviceTable
  /** What the devices must report to trips. */
  readonly feed: FeedTable
  /** The sequence of the last commit. */
  sequence = 0
  /** How many updates the first tier has handled; for metrics. */
  zoneHits = 0
  /** How many updates did nothing but go past places. */
  passes = 0

  /** The partition's tables, by the number of their actor type. */
  readonly #tables: ReadonlyMap<number, ActorTable>
  readonly #intervalMs: number
  readonly #earlyMs: number
  evaluators = EVALUATORS
  /** The events of the current commit. */
  readonly events: CommitEvents
  /** Moves trips at once, where that is possible. */
  shortcut: FeedShortcut | undefined
  /** The transitions of the last update. */
  #transitions = NO_TRANSITIONS

  /**
   * Creates an empty partition.
   * @param maxUnpackedBytes the approximate limit for the objects of its actors; further ones are packed
   * @param updatesPerSecond the rate that is admitted from a device, with a bucket of one second's worth; Infinity
   * admits all
   */
  constructor(
    number: number,
    salt: StoreSalt,
    updatesPerSecond = 1,
    types: readonly ActorType[] = ACTOR_TYPES,
    maxUnpackedBytes = Infinity,
  ) {
    this.number = number
    this.salt = salt
    this.events = new CommitEvents(number, salt)
    this.types = types
    this.#tables = new Map(types.map((type) => [type.number, type.createTable()]))
    this.table = this.tableOf(DEVICES)
    this.feed = this.tableOf(FEEDS)
    for (const table of this.#tables.values()) table.limitUnpacked?.(maxUnpackedBytes)
    this.#intervalMs = 1000 / updatesPerSecond
    this.#earlyMs = EARLY_MS + 1000 - this.#intervalMs
  }

  /**
   * Geofences and beacons for which the last update was evaluated, or of which its trips were told. 0 if the first tier
   * handled it and it moves no trips.
   */
  meetings = 0
  /** The row of the record of the last update that was applied. */
  row = -1

  /** The actors of one of the partition's types. */
  tableOf<T extends ActorTable>({ number }: Pick<ActorType<T>, 'number' | 'createTable'>): T {
    return this.#tables.get(number) as T
  }

  /** The actors of the type with that number; undefined if the partition has no such type. */
  tableOfNumber(type: number): ActorTable | undefined {
    return this.#tables.get(type)
  }

  /** Reserves room for the rows of a snapshot. */
  expect(rows: number): void {
    for (const table of this.#tables.values()) table.expect?.(rows)
  }

  /** Writes the rows that turn an empty partition into this one. */
  writeAll(writer: FrameWriter): void {
    for (const table of this.#tables.values()) table.writeAll(writer)
  }

  /**
   * Called when all rows have been read.
   * @param now the server's time
   */
  recovered(now: number): void {
    for (const table of this.#tables.values()) table.recovered?.(now)
  }

  /** From now on, the memory of its actors is counted here, and no longer in the object before. */
  countIn(memory: DeviceMemory): void {
    for (const table of this.#tables.values()) table.countIn?.(memory)
  }

  /**
   * Starts a commit.
   * @param time the server's time
   */
  begin(writer: FrameWriter, time: number, revision: number): void {
    this.events.begin(time, this.sequence + 1)
    writer.beginCommit(this.number, this.sequence + 1, revision)
  }

  /** Ends the commit and appends its events to `events`. Returns whether there is a commit. */
  end(writer: FrameWriter, events: StoredEvent[]): boolean {
    while (this.events.write(writer, events));
    const stands = writer.endCommit()
    if (stands) this.sequence++
    return stands
  }

  /**
   * Applies one update: changes the state and writes the row that makes the change durable.
   * @param limited whether the device's rate limit applies
   * @param wantsUser whether the user's JSON is made
   * @param measuring what was measured for its geofences; with `elsewhere`, nothing was measured yet, and the update
   * is refused if much must be measured
   * @param prepared what was done for the update before. If it is given, the update is refused if reading its geofences
   * takes long, or writing their texts, and that was not done
   */
  apply(
    update: Update,
    view: ScopeView,
    writer: FrameWriter,
    limited: boolean,
    wantsUser = true,
    measuring?: Measured | 'elsewhere',
    prepared = NOTHING_BEFORE,
  ): Applied | Refusal {
    const { table } = this
    this.meetings = 0
    const known = table.rowOf(update.sender, update.stream, update.sequence)
    // The only record of a device, from which most updates come, needs no object of its own.
    const other = known < 0 ? identify(table, update) : undefined
    const row = other === undefined ? known : other.row
    const first = other === undefined ? known : other.first
    const latestTime = other === undefined ? table.updatedAt(known) : other.latestTime
    const records = other === undefined ? 1 : other.records
    const repeatOf = other === undefined ? -1 : other.repeatOf
    const isTold = movesTrips(update, view.trips)
    if (repeatOf >= 0) {
      const own = row >= 0 ? row : repeatOf
      this.row = own
      const number = isTold ? 0 - this.feed.last : undefined
      return resultOf(table, own, view, update, wantsUser, NO_EVENTS, true, number)
    }
    if (isTold && this.feed.isFull(update.scope, update.deviceId)) return FEED_FULL
    if (row < 0 && records >= MAX_RECORDS) return TOO_MANY_RECORDS
    const allowedAt = first >= 0 ? this.#allowedAt(first, update.receivedAt) : 0
    if (limited && update.receivedAt < allowedAt - this.#earlyMs) return RATE_LIMITED

    if (!table.hasRoom(update.scope)) {
      if (row < 0) return NO_ROOM_FOR_RECORD
      if (textLength(update) > MAX_FULL_TEXT && !saysNothingNew(table.peek(row), update))
        return NO_ROOM_FOR_TEXT
    }
    const time = timeOf(update, latestTime)
    let events = NO_EVENTS
    let at = row
    this.#transitions = NO_TRANSITIONS
    const repeats = known >= 0
    if (row >= 0 && isWithinZone(table, row, update, view, time, repeats)) {
      this.zoneHits++
      this.#move(row, update, view.settings, time, true)
      writeMoved(writer, table, row, update.sequence)
    } else if (row < 0 || !this.#pass(row, update, view, time, repeats, writer)) {
      if (row < 0) at = table.allocate(update.receivedAt)
      const left = row < 0 ? undefined : zonesLeft(table, row, update, view, time, repeats)
      const made = this.#evaluate(at, update, view, time, writer, left, measuring, prepared)
      if (typeof made === 'symbol' || made instanceof Unready) {
        if (row < 0) table.giveBack(at, update.receivedAt)
        return made
      }
      events = made
    }
    const isOnly = records === (row < 0 ? 0 : 1)
    if (known < 0) table.remember(at, isOnly ? update.sender : undefined, update.stream)
    // A replay does not use up the rate, because live updates after it must not wait for each of its updates.
    const next = limited ? Math.max(allowedAt, update.receivedAt) + this.#intervalMs : allowedAt
    // A new record becomes the head of its device's chain.
    table.setNextAllowedAt(row < 0 ? at : first, next)
    this.row = at
    if (!isTold) return resultOf(table, at, view, update, wantsUser, events, false, undefined)
    const { number, trips } = this.#tell(at, update, view, time, writer)
    return resultOf(table, at, view, update, wantsUser, events, false, number, trips)
  }

  /** Reports the update to the trips of the device, at once or by a row of the feed, in the same commit. */
  #tell(
    row: number,
    update: Update,
    view: ScopeView,
    time: number,
    writer: FrameWriter,
  ): { readonly number: number; readonly trips?: ShortcutOutcome } {
    // Trips know nothing of places and marks, which need not be written into the profile for them.
    const profile = this.table.activeProfile(row)
    // Each stay is looked up for it, even where the first tier has handled the update.
    this.meetings += profile.visits.length
    const { feed, shortcut } = this
    const { scope } = update
    const { id, userId, deviceId } = profile
    // A row of the device that waits comes first.
    const isShort = shortcut !== undefined && !feed.hasRowsOf(scope, deviceId)
    if (isShort) {
      const trips = shortcut.takePlain(update, profile, view, feed.last + 1, time, this.#transitions)
      if (trips !== undefined) return { number: feed.skip(writer), trips }
    }
    const told = {
      scope,
      user: { id, userId, deviceId },
      update: feedUpdateOf(update, profile, view, time, this.#transitions),
    }
    if (isShort) {
      const trips = shortcut.take({ number: feed.last + 1, ...told })
      if (trips !== undefined) return { number: feed.skip(writer), trips }
    }
    return { number: feed.put(writer, told) }
  }

  /**
   * The server time from which the device's next update may come. A clock that was set back must not lock devices out.
   */
  #allowedAt(first: number, now: number): number {
    const allowedAt = this.table.nextAllowedAt(first)
    return allowedAt > now + this.#earlyMs + this.#intervalMs ? 0 : allowedAt
  }

  /**
   * Applies an update that goes past places.
   * @param repeats see {@link isWithinZone}
   * @returns false if it must be evaluated; then nothing was changed
   */
  #pass(
    row: number,
    update: Update,
    view: ScopeView,
    time: number,
    repeats: boolean,
    writer: FrameWriter,
  ): boolean {
    const { table } = this
    const first = passedFirst(table, row, update, view, time, repeats)
    if (first === EVALUATE || mayBeSuspect(table, row, update, view)) return false
    const isSame = first?.id === table.firstIdOf(row)
    if (!isSame && !fitsFirst(first)) return false
    this.passes++
    this.#move(row, update, view.settings, time, isSame)
    table.endZoneOfPlaces(row)
    if (isSame) writeMoved(writer, table, row, update.sequence)
    else {
      table.passFirst(row, first?.id, time)
      writeFirst(writer, table, row, first && { id: first.id, since: time }, update.sequence)
    }
    return true
  }

  /**
   * Stores the new position, and the number of the newest mark.
   * @param settled whether the profile stays unchanged
   */
  #move(row: number, update: Update, settings: Settings, time: number, settled: boolean): void {
    const { table } = this
    const flags = updateFlags(update, settings) | (settled ? FLAG_SETTLED : 0)
    table.move(row, update.latitude, update.longitude, update.accuracy ?? NaN, time, update.receivedAt, flags)
    if (update.sequence !== undefined) table.setSequence(row, update.sequence)
  }

  /** The events, or why there are none; then nothing was changed. */
  #evaluate(
    row: number,
    update: Update,
    view: ScopeView,
    time: number,
    writer: FrameWriter,
    left: ZonesLeft | undefined,
    measuring: Measured | 'elsewhere' | undefined,
    prepared: Prepared,
  ): readonly string[] | Exclude<Refusal, typeof RATE_LIMITED> {
    const { table } = this
    const before = table.exists(row) ? table.activeProfile(row) : undefined
    const now = circumstancesOf(update, time, view)
    const rows = before === undefined ? undefined : table
    const metadata = update.metadata ?? before?.metadata
    const reading = doneBefore(prepared.isRead)
    const mayWait = prepared.hasWaited !== true
    const passed = hasOnlyPassing(left) ? firstAfter(table, row, update, view, time) : undefined
    if (passed === EVALUATE) left = left!.with(ZONE.places, undefined)
    // Then at most another place comes first among the candidates, which needs no objects.
    const areKept = left?.[ZONE.places] !== undefined
    const state =
      before === undefined
        ? NO_STATE
        : stateNow(before, areKept ? table.olderPlacesOf(row) : table.placesOf(row))
    const situation = { update, view, now, metadata, rows, row, measuring, reading, mayWait, left }
    const evaluated = evaluate(this.evaluators.neededFor(state, view.settings), state, situation)
    this.meetings += this.evaluators.meetings(left)
    if (evaluated instanceof Unready) return refusalOf(evaluated)
    const { zone, limits, transitions, state: after } = evaluated
    this.#transitions = transitions
    const passedTo = passed === EVALUATE ? undefined : passed
    const isPassed = areKept && hasOnlyPassing(left) && passedTo?.id !== table.firstIdOf(row)
    let change = before === undefined ? 'more' : profileChange(before, state.places, update, after)
    if (isPassed && change === 'nothing') change = 'first'
    const first = isPassed ? passedTo && { id: passedTo.id, since: time } : after.places.first
    if (change === 'first' && !fitsFirst(first)) change = 'more'
    let profile = before!
    if (before === undefined)
      profile = profileAfter(
        before,
        update,
        after,
        userRecordId(this.salt, update.receivedAt, this.number, row),
      )
    else if (change === 'more') {
      const whole = areKept ? withOwnPlaces(table, row, after, isPassed, first) : after
      profile = nextProfile(table, row, before, update, whole)
    }
    const events =
      transitions.length === 0
        ? NO_EVENTS
        : this.events.emit(transitions, profile, update, view, time, prepared)
    if (events === TOO_MANY_EVENTS || events instanceof Unready) return events
    if (change === 'more') table.setProfile(row, update.scope, profile)
    this.#move(row, update, view.settings, time, change === 'nothing')
    const { latitude, longitude } = update
    table.setZone(row, latitude, longitude, zoneCosine(latitude), zone, view.revision)
    table.setKindZones(row, limits, time)
    this.evaluators.remember(table, row, after, left)
    if (change === 'nothing') writeMoved(writer, table, row, update.sequence)
    else if (change === 'first') {
      if (isPassed) table.passFirst(row, first?.id, time)
      else table.setFirst(row, after.places)
      writeFirst(writer, table, row, first, update.sequence)
    } else writeWhole(writer, table, row, packProfile(profile))
    return events
  }
}
