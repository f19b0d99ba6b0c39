import type { Passage } from '../events/crossing.ts'
import { Probe } from '../geometry/probe.ts'
import type { Circumstances, Fact } from '../events/transitions.ts'
import type { Visit } from '../model/device.ts'
import type { Waypoint } from '../model/event.ts'
import type { GeofenceIndex } from '../spatial/port.ts'
import type { StepFacts } from './device.ts'
import { isMuch, type Measured, type Unmeasured } from './measured.ts'
import { PassageFinder } from './passages.ts'
import { stillZone } from './still.ts'
import { staysIneligible, type Zone } from './zone.ts'

/** What the step and the zone need to know of the world for one update. */
export interface Facts extends StepFacts {
  /** Metres that the device may move before a geofence that is not among the facts can matter. */
  readonly clearance: number
}

const NONE_KNOWN: readonly number[] = []

/**
 * Asks index and geometry; one finder is reused for every update of a partition: {@link look}, {@link measure} and then
 * the questions about what lies there.
 */
export class FactFinder {
  private readonly probe = new Probe()
  private readonly passageFinder = new PassageFinder()
  private readonly slots: number[] = []
  /** Of those of {@link slots} that are out of reach, lower bounds of their distance. */
  private readonly leasts: number[] = []
  /** Slots of the stays, index by index; −1: gone from the registry. Beside them their distances. */
  readonly visitedSlots: number[] = []
  private readonly visitedMeters: number[] = []
  /** Slots of the other geofences within reach, and their distances. */
  private readonly nearSlots: number[] = []
  private readonly nearMeters: number[] = []
  private index!: GeofenceIndex
  private now!: Circumstances
  private measured: Measured | undefined
  private reach = 0
  private clearance = 0

  /** Where the device is now. */
  look(index: GeofenceIndex, latitude: number, longitude: number, now: Circumstances): this {
    this.index = index
    this.now = now
    this.reach = now.settings.bufferEntries ? now.accuracy : 0
    this.slots.length = 0
    this.clearance = index.candidates(this.probe.set(latitude, longitude), this.reach, this.slots)
    return this
  }

  /**
   * What {@link facts} would measure, where that is much; else undefined.
   * @param revision of the scope
   */
  much(visits: readonly Visit[], revision: number): Unmeasured | undefined {
    const { index, slots, probe, reach } = this
    const accuracyMeters = this.now.accuracy
    // Where the device stays is nearly always among the candidates.
    const isAway = visits.length > slots.length
    if (!isAway && !isMuch(index, slots, accuracyMeters)) return undefined
    const visited = visits.map(({ geofenceId }) => index.slotOf(geofenceId)).filter((slot) => slot >= 0)
    if (isAway && !isMuch(index, visited, accuracyMeters)) return undefined
    const seen = new Set(visited)
    const near = slots.filter((slot) => !seen.has(slot) && index.distanceAtLeast(slot, probe) <= reach)
    const all = [...visited, ...near]
    const { latitude, longitude } = probe
    const point = { latitude, longitude, accuracyMeters, reachMeters: reach }
    return { revision, slots: all, batch: { ...point, ...index.places(all), whole: visited.length } }
  }

  /**
   * Measures what the update may touch.
   * @param known slots of the first stays, as far as they are known; −1: this one is not
   * @param measured what was measured before
   * @param everyCandidate also those that are out of reach, which `explain` shows; the step has no use for them
   */
  measure(
    visits: readonly Visit[],
    known: readonly number[] = NONE_KNOWN,
    measured?: Measured,
    everyCandidate = false,
  ): this {
    this.measured = measured
    this.measureStays(visits, known)
    this.measureOthers(everyCandidate)
    return this
  }

  private measureStays(visits: readonly Visit[], known: readonly number[]): void {
    const { index, visitedSlots, visitedMeters } = this
    visitedSlots.length = 0
    visitedMeters.length = 0
    for (let i = 0; i < visits.length; i++) {
      let slot = i < known.length ? known[i]! : -1
      if (slot < 0) slot = index.slotOf(visits[i]!.geofenceId)
      visitedSlots.push(slot)
      visitedMeters.push(slot < 0 ? NaN : this.distance(slot))
    }
  }

  private measureOthers(everyCandidate: boolean): void {
    const { index, now, probe, reach, slots, leasts, visitedSlots, nearSlots, nearMeters } = this
    // A crowd of stays is looked up in a set; the usual handful is quicker in an array.
    const seen = visitedSlots.length > 16 ? new Set(visitedSlots) : undefined
    nearSlots.length = 0
    nearMeters.length = 0
    let others = 0
    for (let i = 0; i < slots.length; i++) {
      const slot = slots[i]!
      if (seen === undefined ? visitedSlots.includes(slot) : seen.has(slot)) continue
      const least = everyCandidate ? -Infinity : index.distanceAtLeast(slot, probe)
      if (least > reach) {
        // Most are that far away. Now only the nearest of them has to be measured, mostly.
        slots[others] = slot
        leasts[others++] = least
        continue
      }
      const distance = this.distance(slot)
      if (everyCandidate || distance <= reach) {
        nearSlots.push(slot)
        nearMeters.push(distance)
      } else if (distance - reach < this.clearance && mayConcern(index, slot, now))
        this.clearance = distance - reach
    }
    const nearest = placeOfLeast(leasts, others)
    for (let i = -1; i < others; i++) {
      const at = i < 0 ? nearest : i
      if (at < 0 || i === nearest || leasts[at]! - reach >= this.clearance) continue
      const slot = slots[at]!
      if (!mayConcern(index, slot, now)) continue
      this.clearance = Math.min(this.clearance, index.distance(slot, probe) - reach)
    }
  }

  /** The zone after an update that changes nothing, see {@link stillZone}; undefined: the step has to say what it does. */
  stillZone(visits: readonly Visit[]): Zone | undefined {
    const { index, visitedSlots, visitedMeters, clearance, probe, now } = this
    if (this.nearSlots.length > 0) return undefined
    return stillZone(visits, visitedSlots, visitedMeters, index, clearance, probe.latitude, now)
  }

  /** @param from where the device was before, if geofences on the way from there are to be found */
  facts(from?: Waypoint): Facts {
    const { index, now, probe, visitedSlots, visitedMeters, nearSlots, nearMeters, clearance } = this
    const visited: (Fact | undefined)[] = []
    for (let i = 0; i < visitedSlots.length; i++) {
      const slot = visitedSlots[i]!
      visited.push(slot < 0 ? undefined : this.fact(slot, visitedMeters[i]!))
    }
    const candidates: Fact[] = []
    for (let i = 0; i < nearSlots.length; i++) candidates.push(this.fact(nearSlots[i]!, nearMeters[i]!))
    let passages: readonly Passage[] = []
    if (from !== undefined) {
      const { latitude, longitude } = probe
      const stays = new Set(visitedSlots)
      const isVisited = (slot: number) => stays.has(slot)
      passages = this.passageFinder.find(index, from, { time: now.time, latitude, longitude }, isVisited)
    }
    return { visited, candidates, passages, clearance }
  }

  /**
   * @param stays after the update
   * @param visits those that were measured
   * @param facts made of what was measured
   * @returns the slots of the stays
   */
  slotsOf(stays: readonly Visit[], visits: readonly Visit[], facts: Facts): readonly number[] {
    if (stays === visits) return this.visitedSlots
    return stays.map(({ geofenceId }) => {
      const before = visits.findIndex((visit) => visit.geofenceId === geofenceId)
      if (before >= 0) return this.visitedSlots[before]!
      return this.nearSlots[facts.candidates.findIndex(({ geofence }) => geofence.id === geofenceId)]!
    })
  }

  private distance(slot: number): number {
    return this.measured?.distance(slot) ?? this.index.distance(slot, this.probe)
  }

  private fact(slot: number, distance: number): Fact {
    const { index, now } = this
    const { accuracy } = now
    let coverage = distance <= 0 ? 1 : 0
    if (accuracy > Math.abs(distance))
      coverage = this.measured?.coverage(slot) ?? index.coverage(slot, this.probe, accuracy)
    return { geofence: index.geofence(slot), distance, coverage }
  }
}

/** Whether the geofence could touch the device: most concern everybody, and are not looked at for it. */
function mayConcern(index: GeofenceIndex, slot: number, now: Circumstances): boolean {
  return index.isUnrestricted(slot) || !staysIneligible(index.geofence(slot), now)
}

/** −1: there is none. */
function placeOfLeast(values: readonly number[], count: number): number {
  let place = -1
  for (let i = 0; i < count; i++) if (place < 0 || values[i]! < values[place]!) place = i
  return place
}
