import { evaluatedAccuracy } from '../geometry/confidence.ts'
import type { Circumstances } from '../events/transitions.ts'
import type { Transition, Waypoint } from '../model/event.ts'
import type { Settings } from '../model/settings.ts'
import type { Update } from '../model/update.ts'
import type { ScopeView } from '../registry/port.ts'
import { stepBeacons } from './beacons.ts'
import { step } from './device.ts'
import { FLAG_IGNORED, type DeviceTable } from './deviceTable.ts'
import { FactFinder } from './facts.ts'
import type { Measured, Unmeasured } from './measured.ts'
import { NOWHERE, type Place } from './profile.ts'
import { NO_ZONE, zoneAfter, type Zone } from './zone.ts'

/** Much is to be measured, elsewhere: see {@link Follower.unmeasured}; nothing was changed. */
export const UNMEASURED: unique symbol = Symbol('unmeasured')

/** What comes of an update. */
export interface Followed {
  readonly place: Place
  readonly zone: Zone
  readonly transitions: readonly Transition[]
  /** Of the first stays, in the index; −1 for what is not known. */
  readonly staySlots: readonly number[]
}

const NONE_KNOWN: readonly number[] = []

/** Follows the devices of one partition: from where they were to where an update puts them. Changes nothing. */
export class Follower {
  /** What the last update needs that was {@link UNMEASURED}. */
  unmeasured: Unmeasured | undefined
  private readonly table: DeviceTable
  private readonly finder = new FactFinder()
  /** Slots of a device's first stays. */
  private readonly staySlots: number[] = []

  constructor(table: DeviceTable) {
    this.table = table
  }

  /** Where the update leads, what happens on the way, and how far the next may go without a look at the world. */
  follow(
    before: Place,
    row: number,
    update: Update,
    view: ScopeView,
    time: number,
    measuring: Measured | 'elsewhere' | undefined,
  ): Followed | typeof UNMEASURED {
    const { visits, approaches } = before
    const now = circumstancesOf(update, time, view.settings)
    const among = stepBeacons(before.beacons, view.beacons, update, now)
    const beacons = among.visits
    if (isTooInaccurate(update, view.settings)) {
      const place = { visits, approaches, crossed: NOWHERE.crossed, beacons }
      return { place, zone: NO_ZONE, transitions: among.transitions, staySlots: NONE_KNOWN }
    }
    const from = before === NOWHERE ? undefined : this.wayFrom(row, now)
    const finder = this.finder.look(view.index, update.latitude, update.longitude, now)
    let measured: Measured | undefined
    if (measuring === 'elsewhere') {
      this.unmeasured = finder.much(visits, view.revision)
      if (this.unmeasured !== undefined) return UNMEASURED
    } else if (measuring?.revision === view.revision) measured = measuring
    this.table.loadStaySlots(row, view.revision, this.staySlots)
    finder.measure(visits, this.staySlots, measured)
    const mayBeStill = approaches.length === 0 && beacons.length === 0 && from === undefined
    const still = mayBeStill ? finder.stillZone(visits) : undefined
    if (still !== undefined) {
      const place = { visits, approaches, crossed: NOWHERE.crossed, beacons }
      return { place, zone: still, transitions: among.transitions, staySlots: finder.visitedSlots }
    }
    const facts = finder.facts(from)
    const result = step(before, facts, now)
    return {
      place: { visits: result.visits, approaches: result.approaches, crossed: result.crossed, beacons },
      zone: beacons.length === 0 ? zoneAfter(result.visits, visits, facts, update.latitude, now) : NO_ZONE,
      transitions:
        among.transitions.length === 0 ? result.transitions : [...result.transitions, ...among.transitions],
      staySlots: finder.slotsOf(result.visits, visits, facts),
    }
  }

  /** The last update's place, where crossings since then are to be found. */
  private wayFrom(row: number, now: Circumstances): Waypoint | undefined {
    const { table } = this
    const { detectCrossings, maxGapSeconds } = now.settings
    if (!detectCrossings || (table.flags(row) & FLAG_IGNORED) !== 0) return undefined
    const time = table.updatedAt(row)
    if (now.time - time > maxGapSeconds * 1000) return undefined
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
