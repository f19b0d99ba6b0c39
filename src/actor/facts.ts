import type { Passage } from '../events/crossing.ts'
import { Probe } from '../geometry/probe.ts'
import type { Circumstances, Fact } from '../events/transitions.ts'
import type { Visit } from '../model/device.ts'
import type { Waypoint } from '../model/event.ts'
import type { GeofenceIndex } from '../spatial/port.ts'
import type { StepFacts } from './device.ts'
import { PassageFinder } from './passages.ts'
import { staysIneligible } from './zone.ts'

/** What the step and the zone need to know of the world for one update. */
export interface Facts extends StepFacts {
  /** Metres that the device may move before a geofence that is not among the facts can matter. */
  readonly clearance: number
}

/** Asks index and geometry; one finder is reused for every update of a partition. */
export class FactFinder {
  private readonly probe = new Probe()
  private readonly passageFinder = new PassageFinder()
  private readonly slots: number[] = []
  /** Of those of {@link slots} that are out of reach, lower bounds of their distance. */
  private readonly leasts: number[] = []

  /**
   * @param from where the device was before, if geofences on the way from there are to be found
   * @param everyCandidate also those that are out of reach, which `explain` shows; the step has no use for them
   */
  find(
    index: GeofenceIndex,
    latitude: number,
    longitude: number,
    visits: readonly Visit[],
    now: Circumstances,
    from?: Waypoint,
    everyCandidate = false,
  ): Facts {
    const { probe, slots, leasts } = this
    probe.set(latitude, longitude)
    const visitedSlots: number[] = []
    const visited: (Fact | undefined)[] = []
    for (const visit of visits) {
      const slot = index.slotOf(visit.geofenceId)
      visitedSlots.push(slot)
      visited.push(slot < 0 ? undefined : this.fact(index, slot, index.distance(slot, probe), now))
    }
    // A crowd of stays is looked up in a set; the usual handful is quicker in an array.
    const seen = visitedSlots.length > 16 ? new Set(visitedSlots) : undefined
    const isVisited = (slot: number) => (seen === undefined ? visitedSlots.includes(slot) : seen.has(slot))

    const reach = now.settings.bufferEntries ? now.accuracy : 0
    const candidates: Fact[] = []
    slots.length = 0
    let clearance = index.candidates(probe, reach, slots)
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
      const distance = index.distance(slot, probe)
      if (everyCandidate || distance <= reach) candidates.push(this.fact(index, slot, distance, now))
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
      const to = { time: now.time, latitude, longitude }
      passages = this.passageFinder.find(index, from, to, isVisited)
    }
    return { visited, candidates, passages, clearance }
  }

  private fact(index: GeofenceIndex, slot: number, distance: number, now: Circumstances): Fact {
    const { accuracy } = now
    let coverage = distance <= 0 ? 1 : 0
    if (accuracy > Math.abs(distance)) coverage = index.coverage(slot, this.probe, accuracy)
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
