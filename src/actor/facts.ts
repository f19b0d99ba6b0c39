import type { Passage } from '../events/crossing.ts'
import { Probe } from '../geometry/probe.ts'
import type { Circumstances, Fact } from '../events/transitions.ts'
import type { Visit } from '../model/device.ts'
import type { Waypoint } from '../model/event.ts'
import type { GeofenceIndex } from '../spatial/port.ts'
import type { StepFacts } from './device.ts'
import { isMuch, type Measured, type Unmeasured } from './measured.ts'
import { PassageFinder } from './passages.ts'
import { staysIneligible } from './zone.ts'

/** What the step and the zone need to know of the world for one update. */
export interface Facts extends StepFacts {
  /** Metres that the device may move before a geofence that is not among the facts can matter. */
  readonly clearance: number
}

/**
 * Asks index and geometry; one finder is reused for every update of a partition: {@link look} and then the questions about
 * what lies there.
 */
export class FactFinder {
  private readonly probe = new Probe()
  private readonly passageFinder = new PassageFinder()
  private readonly slots: number[] = []
  /** Of those of {@link slots} that are out of reach, lower bounds of their distance. */
  private readonly leasts: number[] = []
  private index!: GeofenceIndex
  private now!: Circumstances
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
   * @param from where the device was before, if geofences on the way from there are to be found
   * @param everyCandidate also those that are out of reach, which `explain` shows; the step has no use for them
   * @param measured what was measured before
   */
  facts(visits: readonly Visit[], from?: Waypoint, everyCandidate = false, measured?: Measured): Facts {
    const { index, now, probe, reach, slots, leasts } = this
    let { clearance } = this
    const visitedSlots: number[] = []
    const visited: (Fact | undefined)[] = []
    for (const visit of visits) {
      const slot = index.slotOf(visit.geofenceId)
      visitedSlots.push(slot)
      visited.push(slot < 0 ? undefined : this.fact(slot, this.distance(slot, measured), measured))
    }
    // A crowd of stays is looked up in a set; the usual handful is quicker in an array.
    const seen = visitedSlots.length > 16 ? new Set(visitedSlots) : undefined
    const isVisited = (slot: number) => (seen === undefined ? visitedSlots.includes(slot) : seen.has(slot))

    const candidates: Fact[] = []
    let others = 0
    for (let i = 0; i < slots.length; i++) {
      const slot = slots[i]!
      if (isVisited(slot)) continue
      const least = everyCandidate ? -Infinity : index.distanceAtLeast(slot, probe)
      if (least > reach) {
        // Most are that far away. Now only the nearest of them has to be measured, mostly.
        slots[others] = slot
        leasts[others++] = least
        continue
      }
      const distance = this.distance(slot, measured)
      if (everyCandidate || distance <= reach) candidates.push(this.fact(slot, distance, measured))
      else if (distance - reach < clearance && mayConcern(index, slot, now)) clearance = distance - reach
    }
    const nearest = placeOfLeast(leasts, others)
    for (let i = -1; i < others; i++) {
      const at = i < 0 ? nearest : i
      if (at < 0 || i === nearest || leasts[at]! - reach >= clearance) continue
      const slot = slots[at]!
      if (!mayConcern(index, slot, now)) continue
      clearance = Math.min(clearance, index.distance(slot, probe) - reach)
    }
    let passages: readonly Passage[] = []
    if (from !== undefined) {
      const { latitude, longitude } = probe
      passages = this.passageFinder.find(index, from, { time: now.time, latitude, longitude }, isVisited)
    }
    return { visited, candidates, passages, clearance }
  }

  private distance(slot: number, measured: Measured | undefined): number {
    return measured?.distance(slot) ?? this.index.distance(slot, this.probe)
  }

  private fact(slot: number, distance: number, measured: Measured | undefined): Fact {
    const { index, now } = this
    const { accuracy } = now
    let coverage = distance <= 0 ? 1 : 0
    if (accuracy > Math.abs(distance))
      coverage = measured?.coverage(slot) ?? index.coverage(slot, this.probe, accuracy)
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
