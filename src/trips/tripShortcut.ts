import type { CommandCommit } from '../actor/command.ts'
import type { FeedShortcut, ShortcutOutcome } from '../actor/feedShortcut.ts'
import type { FeedRow, FeedUpdate } from '../actor/feedTable.ts'
import type { Partition } from '../actor/partition.ts'
import { locateTrip, type StoreSalt } from '../events/ids.ts'
import type { StoredEvent } from '../events/port.ts'
import { isEnded, type Trip } from '../model/trip.ts'
import type { Profile } from '../model/device.ts'
import type { Transition } from '../model/event.ts'
import type { Update } from '../model/update.ts'
import type { RegistryView, ScopeView } from '../rules/port.ts'
import type { KnownQuestions } from './knownQuestions.ts'
import { isOutdated, type EtaQuestion } from './machine/eta.ts'
import { moved, type Moved } from './machine/move.ts'
import { expiresAt } from './machine/status.ts'
import { PlainMoves } from './plainMoves.ts'
import { commitStep } from './step.ts'
import { TRIPS } from './tripActor.ts'
import { causeOfRow, isTheirs, moveOf, moveSurroundings } from './tripMove.ts'
import { tripJson } from './tripRecord.ts'

/** Tells which ways need not be asked for. */
export interface WayOutlook {
  /** Whether it is already clear that nobody would know the way, or not in time. */
  isHopeless(question: EtaQuestion): boolean
  /** Called for each way that was not measured for this reason. */
  gaveUp(): void
}

export interface ShortcutParts {
  /** If absent, each way that an update wants is measured. */
  readonly ways?: WayOutlook | undefined
  /** Remembers the ways that the feed will want. */
  readonly questions?: Pick<KnownQuestions, 'put'> | undefined
  /** How many updates that are not plain come before those of others in a frame; by default {@link MOST_FIRST}. */
  readonly mostFirst?: number
}

/**
 * Moves trips in the frame of the update that moves them.
 *
 * The obvious way sends every update through the feed: two more commits, a text of the update and a timer, for a trip
 * that is often in the same process. Here an update whose trips are all in partitions of the same host moves them at
 * once. Both are in one frame, so none is durable without the other, and nothing needs to be told again. Whatever is
 * not usual goes through the feed: a way that can be measured, a trip that is to be created, bound or expired, a
 * second update of the same trip in the frame. The distributed engine does without it, because the partition of a
 * device and that of its trip are seldom the same.
 *
 * Owns: which updates can do without the feed. Does not own: what they do to trips (machine/move.ts), what the feed
 * does (tripDelivery.ts); both do the same to a trip.
 *
 * Invariants
 * - SHORTCUT-1: A trip does not change between {@link take} and {@link commit}.
 * - SHORTCUT-2: What it keeps is bounded: no more than {@link MOST_MOVES} trips a frame. So is what it works out.
 */
export class TripShortcut implements FeedShortcut {
  readonly #partitions: ReadonlyMap<number, Partition>
  readonly #salt: StoreSalt
  readonly #parts: ShortcutParts
  readonly #plain: PlainMoves
  readonly #taken: Taken[] = []
  /** The `_id`s of the trips that were taken. */
  readonly #ids = new Set<string>()
  #time = 0
  #registry: RegistryView | undefined
  /** How many trips of the frame got an ETA by the straight line instead of a way. */
  #straight = 0
  /** How many updates of the frame were not plain, so far. */
  #unusual = 0

  /** Moves the trips of a host's partitions. */
  constructor(partitions: readonly Partition[], salt: StoreSalt, parts: ShortcutParts = {}) {
    this.#partitions = new Map(partitions.map((partition) => [partition.number, partition]))
    this.#salt = salt
    this.#parts = parts
    this.#plain = new PlainMoves(salt)
  }

  begin(time: number, registry: RegistryView): void {
    this.#time = time
    this.#registry = registry
    this.#straight = 0
    this.#unusual = 0
  }

  letsOthersFirst(update: Update): boolean {
    const { mostFirst = MOST_FIRST } = this.#parts
    if (this.#unusual < mostFirst) return false
    const { scope, userId, latitude, longitude, receivedAt, updatedAt = receivedAt } = update
    const { trips, settings } = this.#registry!.scope(scope)
    if (userId === undefined || !trips.hasUser(userId)) return false
    const ids = trips.idsOfUser(userId)
    const partition = this.#partitions.get(locateTrip(this.#salt, ids[0]!) ?? NOWHERE)
    if (ids.length > 1 || partition === undefined) return true
    const table = partition.tableOf(TRIPS)
    const row = table.find(scope, ids[0]!)
    const trip = row < 0 ? undefined : table.unpacked(row)
    // It must be unpacked, or its way was never measured.
    if (trip?.estimate === undefined || trip.isEstimateStale) return true
    const at = { time: updatedAt, latitude, longitude }
    return isOutdated(trip.estimate, at, settings.tripEtaSeconds, Infinity, undefined)
  }

  takePlain(
    update: Update,
    profile: Profile,
    view: ScopeView,
    number: number,
    time: number,
    transitions: readonly Transition[],
  ): ShortcutOutcome | undefined {
    const { tripOptions } = update
    const { userId } = profile
    if (userId === undefined || this.#ids.size >= MOST_MOVES) return undefined
    const ids = view.trips.idsOfUser(userId)
    const id = ids[0]
    if (id === undefined || ids.length > 1 || this.#ids.has(id)) return undefined
    if (tripOptions !== undefined && view.trips.idNamed(tripOptions.externalId) !== id) return undefined
    const partition = this.#partitions.get(locateTrip(this.#salt, id) ?? NOWHERE)
    if (partition === undefined) return undefined
    const request = { update, profile, number, time, hasTransitions: transitions.length > 0 }
    const outcome = this.#plain.take(request, partition, id, view, this.#time)
    if (outcome !== undefined) this.#ids.add(id)
    return outcome
  }

  take(row: UpdateRow): ShortcutOutcome | undefined {
    const { scope, update } = row
    const { trips, options, named } = update
    this.#unusual++
    if (options !== undefined && named === undefined) return undefined
    const isOther = named !== undefined && !trips.includes(named)
    const count = trips.length + (isOther ? 1 : 0)
    if (count === 0 || this.#ids.size + count > MOST_MOVES) return undefined
    const view = this.#registry!.scope(scope)
    const moves: Move[] = []
    for (const id of trips) {
      const move = this.#moveOf(row, id, false, view)
      if (move === undefined) return undefined
      moves.push(move)
    }
    if (isOther) {
      const move = this.#moveOf(row, named, true, view)
      if (move === undefined) return undefined
      moves.push(move)
    }
    if (moves.length > 1) moves.sort(byCreation)
    for (const { moved: to } of moves) this.#ids.add(to.trip.id)
    const outcome: TakenOutcome = { trip: null, events: [] }
    this.#taken.push({ row, moves, outcome })
    return outcome
  }

  commit(commit: CommandCommit, events: StoredEvent[]): void {
    if (this.#ids.size === 0) return
    this.#ids.clear()
    this.#plain.commit(commit, events)
    const { writer, time, registry } = commit
    let current: Partition | undefined
    for (const { row, moves, outcome } of this.#taken) {
      const { time: at, latitude, longitude, isInaccurate } = row.update
      const trail = { added: isInaccurate ? undefined : { time: at, latitude, longitude } }
      const cause = causeOfRow(row)
      for (const { partition, moved: to, isWayUnknown } of moves) {
        if (isWayUnknown) this.#parts.ways!.gaveUp()
        if (partition !== current) {
          current?.end(writer, events)
          partition.begin(writer, time, registry.revision)
          current = partition
        }
        // Nobody asks for them again, because the row is not told again.
        const texts = commitStep(partition, commit, to.trip, to, cause, { isTold: false, trail })
        outcome.events = moves.length === 1 ? texts : [...outcome.events, ...texts]
      }
      const shown = shownOf(row.update, moves)
      const { settings } = registry.scope(row.scope)
      if (shown !== undefined) outcome.trip = tripJson(shown, settings)
    }
    current?.end(writer, events)
    this.#taken.length = 0
  }

  /** @returns undefined if the row must be told by the feed */
  #moveOf(row: UpdateRow, id: string, isNamed: boolean, view: ScopeView): Move | undefined {
    const partition = this.#partitions.get(locateTrip(this.#salt, id) ?? NOWHERE)
    if (partition === undefined || this.#ids.has(id)) return undefined
    const table = partition.tableOf(TRIPS)
    const at = table.find(row.scope, id)
    if (at < 0) return undefined
    let trip = table.get(at)
    const { user } = row
    const isDue = expiresAt(trip, view.settings.tripExpirationMinutes) <= this.#time
    if (isDue || isEnded(trip.status) || !isTheirs(trip, { row, isNamed })) return undefined
    if (isNamed) {
      // The directory must learn whose trip it is.
      if (trip.userId === undefined && user.userId !== undefined) return undefined
      trip = { ...trip, deviceId: user.deviceId }
    }
    const { ways, questions } = this.#parts
    const move = moveOf(row)
    const surroundings = moveSurroundings(view, this.#time)
    const to = moved(trip, move, surroundings, undefined)
    if (to === undefined) return undefined
    if (!('stops' in to)) return { partition, moved: to, isWayUnknown: false }
    if (ways !== undefined && this.#straight < MOST_STRAIGHT && ways.isHopeless(to)) {
      this.#straight++
      const straight = moved(trip, move, surroundings, { question: to, sections: undefined })
      return { partition, moved: straight as Moved, isWayUnknown: true }
    }
    questions?.put(row.update, id, to)
    return undefined
  }
}

/** How many trips move in a frame at most. Reading and writing this many takes milliseconds. */
const MOST_MOVES = 1000
/**
 * How many trips of a frame get another ETA by the straight line. If a thousand want one at once, the updates of others would
 * wait behind them, so the feed moves the rest in turns.
 */
const MOST_STRAIGHT = 64
/**
 * After this number of updates of a frame that were not plain, further updates that want another ETA wait for the updates of
 * others. Each takes about a tenth of a millisecond, most of it for the row of the feed or the trip that is written whole.
 */
const MOST_FIRST = 16
/** The number of no partition. */
const NOWHERE = -1

type UpdateRow = FeedRow & { readonly update: FeedUpdate }

interface Move {
  readonly partition: Partition
  readonly moved: Moved
  /** Whether it wanted a way that nobody knows, so that it goes by the straight line. */
  readonly isWayUnknown: boolean
}

/** An update whose trips move with it. */
interface Taken {
  readonly row: UpdateRow
  /** One for each trip, the one that was created first comes first. */
  readonly moves: readonly Move[]
  readonly outcome: TakenOutcome
}

/** What becomes known when it is committed. */
type TakenOutcome = { -readonly [Member in keyof ShortcutOutcome]: ShortcutOutcome[Member] }

function byCreation({ moved: { trip: a } }: Move, { moved: { trip: b } }: Move): number {
  return a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1)
}

/** The trip that the answer shows. */
function shownOf({ options, named }: FeedUpdate, moves: readonly Move[]): Trip | undefined {
  let shown: Trip | undefined
  for (const {
    moved: { trip },
  } of moves) {
    if (!isUnderWay(trip)) continue
    if (options !== undefined) {
      if (trip.id === named) return trip
    } else if (shown === undefined || (trip.startedAt ?? 0) > (shown.startedAt ?? 0)) shown = trip
  }
  return shown
}

function isUnderWay({ status }: Trip): boolean {
  return status === 'started' || status === 'approaching' || status === 'arrived'
}
