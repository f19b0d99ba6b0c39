import { evaluatedAccuracy } from '../geometry/confidence.ts'
import { delayMilliseconds, type Circumstances } from './transitions.ts'
import type { Transition, Waypoint } from '../model/event.ts'
import type { Settings } from '../model/settings.ts'
import type { Update } from '../model/update.ts'
import type { DeviceRows, ScopeView } from './port.ts'
import { stepBeacons } from './beacons.ts'
import { step } from './device.ts'
import { FactFinder } from './facts.ts'
import type { Measured, Unmeasured } from './measured.ts'
import { NO_STATE, type DeviceState } from './deviceState.ts'
import { NO_ZONE, zoneAfter, type Zone } from './zone.ts'

/** Much is to be measured, elsewhere: see {@link Follower.unmeasured}; nothing was changed. */
export const UNMEASURED: unique symbol = Symbol('unmeasured')

/** What comes of an update. */
export interface Followed {
  readonly state: DeviceState
  readonly zone: Zone
  readonly transitions: readonly Transition[]
  /** Where the index has the stays, and more that means nothing; undefined: no geofence was looked at. */
  readonly staySlots: readonly number[] | undefined
}

/** Follows the devices of one partition: from where they were to where an update puts them. Changes nothing but what is {@link remember}ed. */
export class Follower {
  /** Geofences that were looked at for the last update. */
  meetings = 0
  /** What the last update needs that was {@link UNMEASURED}. */
  unmeasured: Unmeasured | undefined
  private readonly table: DeviceRows
  private readonly finder = new FactFinder()

  constructor(table: DeviceRows) {
    this.table = table
  }

  /** Where the update leads, what happens on the way, and how far the next may go without a look at the world. */
  follow(
    before: DeviceState,
    row: number,
    update: Update,
    view: ScopeView,
    time: number,
    measuring: Measured | 'elsewhere' | undefined,
  ): Followed | typeof UNMEASURED {
    const { visits, approaches } = before
    this.meetings = 0
    const now = circumstancesOf(update, time, view.settings)
    const among = stepBeacons(before.beacons, view.beacons, update, now)
    const beacons = among.visits
    if (isTooInaccurate(update, view.settings)) {
      const state = { visits, approaches, crossed: NO_STATE.crossed, beacons }
      return { state, zone: NO_ZONE, transitions: among.transitions, staySlots: undefined }
    }
    const from = before === NO_STATE ? undefined : this.wayFrom(row, now)
    const { finder, table } = this
    const { latitude, longitude } = update
    const isKnown = before !== NO_STATE && table.zoneRevision(row) === view.revision
    if (!isKnown || !finder.recall(table.neighbours, row, view.index, latitude, longitude, now))
      finder.look(view.index, latitude, longitude, now)
    let measured: Measured | undefined
    if (measuring === 'elsewhere') {
      this.unmeasured = finder.much(visits, view.revision)
      if (this.unmeasured !== undefined) return UNMEASURED
    } else if (measuring?.revision === view.revision) measured = measuring
    finder.measure(visits, isKnown ? { neighbours: table.neighbours, row } : undefined, measured)
    this.meetings = finder.meetings
    const mayBeStill = approaches.length === 0 && beacons.length === 0 && from === undefined
    const still = mayBeStill ? finder.stillZone(visits) : undefined
    if (still !== undefined) {
      const state = { visits, approaches, crossed: NO_STATE.crossed, beacons }
      return { state, zone: still, transitions: among.transitions, staySlots: finder.staySlots }
    }
    const facts = finder.facts(from)
    this.meetings += facts.passages.length
    const result = step(before, facts, now)
    return {
      state: { visits: result.visits, approaches: result.approaches, crossed: result.crossed, beacons },
      zone: beacons.length === 0 ? zoneAfter(result.visits, visits, facts, latitude, now) : NO_ZONE,
      transitions:
        among.transitions.length === 0 ? result.transitions : [...result.transitions, ...among.transitions],
      staySlots: finder.slotsOf(result.visits, visits, facts),
    }
  }

  /** Notes what the update that was {@link follow}ed last has found, for the next of that row. */
  remember(row: number, { state, staySlots }: Followed): void {
    const { neighbours } = this.table
    if (staySlots === undefined) return neighbours.forget(row)
    this.finder.remember(neighbours, row)
    neighbours.setStays(row, state.visits.length, staySlots)
  }

  /** The last update's place, where crossings since then are to be found. */
  private wayFrom(row: number, now: Circumstances): Waypoint | undefined {
    const { table } = this
    const { detectCrossings, maxGapSeconds } = now.settings
    if (!detectCrossings || table.isIgnored(row)) return undefined
    const time = table.updatedAt(row)
    if (now.time - time > delayMilliseconds(maxGapSeconds)) return undefined
    return { time, latitude: table.latitude(row), longitude: table.longitude(row) }
  }
}

/** What the update means for every geofence; the same on every evaluation of it. */
export function circumstancesOf(update: Update, time: number, settings: Settings): Circumstances {
  return {
    time,
    receivedAt: update.receivedAt,
    accuracy: evaluatedAccuracy(update.accuracy),
    accuracyKnown: update.accuracy !== undefined,
    userId: update.userId,
    ip: update.ip,
    stopped: update.stopped,
    foreground: update.foreground,
    settings,
  }
}

/** Whether the update moves the device but touches no geofence. */
export function isTooInaccurate(update: Update, settings: Settings): boolean {
  const { maxAccuracyMeters } = settings
  return maxAccuracyMeters !== null && update.accuracy !== undefined && update.accuracy > maxAccuracyMeters
}
