import type { Passage } from './crossing.ts'
import { Probe } from '../geometry/probe.ts'
import type { Circumstances, Fact } from './transitions.ts'
import type { Visit } from '../model/device.ts'
import type { Waypoint } from '../model/event.ts'
import type { GeofenceIndex } from '../spatial/port.ts'
import type { StepFacts } from './device.ts'
import { FEW, isMuch, type Measured, type Unmeasured } from './measured.ts'
import { MOST_STAYS, Surroundings, type Neighbours } from './neighbours.ts'
import { PassageFinder } from './passages.ts'
import { stillZone } from './still.ts'
import { staysIneligible, type Zone } from './zone.ts'

/** What the step and the zone need to know of the world for one update. */
export interface Facts extends StepFacts {
  /** Metres that the device may move before a geofence that is not among the facts can matter. */
  readonly clearance: number
}

/** A remembered distance need not be measured again while it is off by no more than this share of it. */
const WORTH = 1 / 2

/**
 * Asks index and geometry; one finder is reused for every update of a partition: {@link look} or {@link recall},
 * {@link measure} and then the questions about what lies there.
 *
 * What is remembered of an earlier look (neighbours.ts) is as good as a new one: a superset of what matters, with bounds
 * of distances; where a bound does not decide, or would leave a small zone, it is measured.
 */
export class FactFinder {
  private readonly probe = new Probe()
  private readonly passageFinder = new PassageFinder()
  private readonly surroundings = new Surroundings()
  /** What is there is remembered, not looked up. */
  private isRecalled = false
  /** Slots of candidates, as many as `candidates`. */
  private readonly slots: number[] = []
  private candidates = 0
  /** Slots of those that are out of reach, and lower bounds of their distance: as many as `others`. */
  private readonly otherSlots: number[] = []
  private readonly otherMeters: number[] = []
  /** Whether those need not be measured better. */
  private readonly otherIsGood: boolean[] = []
  private others = 0
  /** Slots of the stays, index by index; −1: gone from the registry. Beside them distances, as many as `stays`. */
  readonly staySlots: number[] = []
  private readonly stayMeters: number[] = []
  private stays = 0
  /** Whether each of those distances is measured; else some are upper bounds below 0. */
  private areMeasured = true
  /** Slots of the other geofences within reach, and their distances, as many as `nears`. */
  private readonly nearSlots: number[] = []
  private readonly nearMeters: number[] = []
  private nears = 0
  private index!: GeofenceIndex
  private now!: Circumstances
  private measured: Measured | undefined
  private reach = 0
  private clearance = 0
  /** Of the look, for who remembers it. */
  private lookedFar = 0

  /** Geofences that were looked at for the update. */
  get meetings(): number {
    return this.stays + this.candidates
  }

  /** Where the device is now. */
  look(index: GeofenceIndex, latitude: number, longitude: number, now: Circumstances): this {
    this.begin(index, now)
    this.isRecalled = false
    this.slots.length = 0
    this.clearance = index.candidates(this.probe.set(latitude, longitude), this.reach, this.slots)
    this.candidates = this.slots.length
    this.lookedFar = this.clearance + this.reach
    return this
  }

  /** As {@link look}, but for what is remembered, if that is enough. @param row of the device */
  recall(
    neighbours: Neighbours,
    row: number,
    index: GeofenceIndex,
    latitude: number,
    longitude: number,
    now: Circumstances,
  ): boolean {
    this.begin(index, now)
    this.clearance = neighbours.recall(row, latitude, longitude, this.reach, this.surroundings)
    this.isRecalled = this.clearance >= 0
    if (!this.isRecalled) return false
    this.probe.set(latitude, longitude)
    const { count, slots } = this.surroundings
    for (let i = 0; i < count; i++) this.slots[i] = slots[i]!
    this.candidates = count
    return true
  }

  private begin(index: GeofenceIndex, now: Circumstances): void {
    this.index = index
    this.now = now
    this.reach = now.settings.bufferEntries ? now.accuracy : 0
  }

  /**
   * What {@link facts} would measure, where that is much; else undefined.
   * @param revision of the scope
   */
  much(visits: readonly Visit[], revision: number): Unmeasured | undefined {
    const { index, probe, reach, candidates } = this
    const accuracyMeters = this.now.accuracy
    // Where the device stays is nearly always among the candidates.
    const isAway = visits.length > candidates
    if (!isAway && candidates < FEW) return undefined
    const slots = this.slots.slice(0, candidates)
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
   * @param known where slots of the first stays are remembered, in the device's row
   * @param measured what was measured before
   * @param everyCandidate also those that are out of reach, which `explain` shows; the step has no use for them
   */
  measure(
    visits: readonly Visit[],
    known?: { readonly neighbours: Neighbours; readonly row: number },
    measured?: Measured,
    everyCandidate = false,
  ): this {
    this.measured = measured
    this.measureStays(visits, known)
    this.measureOthers(everyCandidate)
    return this
  }

  private measureStays(
    visits: readonly Visit[],
    known: { readonly neighbours: Neighbours; readonly row: number } | undefined,
  ): void {
    const { index, staySlots, stayMeters } = this
    this.stays = visits.length
    this.areMeasured = true
    for (let i = 0; i < visits.length; i++) {
      let slot = known === undefined ? -1 : known.neighbours.stay(known.row, i)
      if (slot < 0) slot = index.slotOf(visits[i]!.geofenceId)
      staySlots[i] = slot
      const most = slot < 0 ? NaN : this.surelyInside(slot)
      stayMeters[i] = Number.isNaN(most) && slot >= 0 ? this.distance(slot) : most
    }
  }

  /** Signed metres, no less than the distance, where that is known to be well below 0; else NaN. */
  private surelyInside(slot: number): number {
    if (!this.isRecalled) return NaN
    const { count, slots, meters, error } = this.surroundings
    for (let i = 0; i < count; i++) {
      if (slots[i] !== slot) continue
      if (error[i]! > -meters[i]! * WORTH) return NaN
      this.areMeasured = false
      return meters[i]! + error[i]!
    }
    return NaN
  }

  private measureOthers(everyCandidate: boolean): void {
    const { index, probe, reach, slots, candidates, nearSlots, nearMeters } = this
    // A crowd of stays is looked up in a set; the usual handful is quicker in an array.
    const seen = this.stays > 16 ? new Set(this.staySlots.slice(0, this.stays)) : undefined
    this.nears = 0
    this.others = 0
    for (let i = 0; i < candidates; i++) {
      const slot = slots[i]!
      if (seen === undefined ? this.isStay(slot) : seen.has(slot)) continue
      let least = -Infinity
      let isGood = false
      if (this.isRecalled) {
        const { meters, error } = this.surroundings
        least = meters[i]! - error[i]!
        isGood = error[i]! <= meters[i]! * WORTH
      }
      if (!isGood && !everyCandidate) least = Math.max(least, index.distanceAtLeast(slot, probe))
      if (least <= reach) {
        least = this.distance(slot)
        isGood = true
      }
      if (everyCandidate || least <= reach) {
        nearSlots[this.nears] = slot
        nearMeters[this.nears++] = least
      } else this.addOther(slot, least, isGood)
    }
    // Most are that far away, and only the nearest of them has to be measured, mostly.
    const nearest = this.nearestOther()
    if (nearest >= 0) this.measureOther(nearest)
    for (let i = 0; i < this.others; i++) this.measureOther(i)
  }

  private isStay(slot: number): boolean {
    for (let i = 0; i < this.stays; i++) if (this.staySlots[i] === slot) return true
    return false
  }

  /** @param isGood whether the distance need not be measured better */
  private addOther(slot: number, meters: number, isGood: boolean): void {
    this.otherSlots[this.others] = slot
    this.otherMeters[this.others] = meters
    this.otherIsGood[this.others++] = isGood
    if (isGood) this.clear(slot, meters)
  }

  /** The place of the least distance of those that are to be measured better; −1: there is none. */
  private nearestOther(): number {
    const { others, otherMeters, otherIsGood } = this
    let place = -1
    for (let i = 0; i < others; i++) {
      if (!otherIsGood[i] && (place < 0 || otherMeters[i]! < otherMeters[place]!)) place = i
    }
    return place
  }

  private measureOther(place: number): void {
    const { index, otherSlots, otherMeters, otherIsGood } = this
    if (otherIsGood[place] || otherMeters[place]! - this.reach >= this.clearance) return
    const slot = otherSlots[place]!
    if (!mayConcern(index, slot, this.now)) return
    otherMeters[place] = index.distance(slot, this.probe)
    otherIsGood[place] = true
    this.clear(slot, otherMeters[place])
  }

  /** Another geofence is so far away. */
  private clear(slot: number, meters: number): void {
    const { index, reach, now } = this
    if (meters - reach < this.clearance && mayConcern(index, slot, now)) this.clearance = meters - reach
  }

  /** Notes what was found, for later updates of the device. @param row where its stays are known already */
  remember(neighbours: Neighbours, row: number): void {
    if (this.isRecalled) return
    const { otherSlots, otherMeters, nearSlots, nearMeters, staySlots, stayMeters, probe } = this
    let count = this.others
    for (let i = 0; i < this.nears; i++) {
      otherSlots[count] = nearSlots[i]!
      otherMeters[count++] = nearMeters[i]!
    }
    for (let i = 0; i < this.stays; i++) {
      if (staySlots[i]! < 0) continue
      otherSlots[count] = staySlots[i]!
      otherMeters[count++] = stayMeters[i]!
    }
    const { latitude, longitude } = probe
    neighbours.remember(row, latitude, longitude, this.lookedFar, count, otherSlots, otherMeters)
  }

  /** The zone after an update that changes nothing, see {@link stillZone}; undefined: the step has to say what it does. */
  stillZone(visits: readonly Visit[]): Zone | undefined {
    if (this.nears > 0) return undefined
    const { index, staySlots, stayMeters, clearance, probe, now } = this
    return stillZone(visits, staySlots, stayMeters, index, clearance, probe.latitude, now)
  }

  /** @param from where the device was before, if geofences on the way from there are to be found */
  facts(from?: Waypoint): Facts {
    const { index, now, probe, staySlots, stayMeters, nearSlots, nearMeters, clearance } = this
    const visited: (Fact | undefined)[] = []
    for (let i = 0; i < this.stays; i++) {
      const slot = staySlots[i]!
      const distance = this.areMeasured || slot < 0 ? stayMeters[i]! : this.distance(slot)
      visited.push(slot < 0 ? undefined : this.fact(slot, distance))
    }
    const candidates: Fact[] = []
    for (let i = 0; i < this.nears; i++) candidates.push(this.fact(nearSlots[i]!, nearMeters[i]!))
    let passages: readonly Passage[] = []
    if (from !== undefined) {
      const { latitude, longitude } = probe
      const stays = new Set(staySlots.slice(0, this.stays))
      const isVisited = (slot: number) => stays.has(slot)
      passages = this.passageFinder.find(index, from, { time: now.time, latitude, longitude }, isVisited)
    }
    return { visited, candidates, passages, clearance }
  }

  /**
   * @param stays after the update
   * @param visits those that were measured
   * @param facts made of what was measured
   * @returns the slots of the first {@link MOST_STAYS} stays, and more that mean nothing
   */
  slotsOf(stays: readonly Visit[], visits: readonly Visit[], facts: Facts): readonly number[] {
    if (stays === visits) return this.staySlots
    // No more than are remembered: each is looked for among all, and thousands may be entered at once.
    return stays.slice(0, MOST_STAYS).map(({ geofenceId }) => {
      const before = visits.findIndex((visit) => visit.geofenceId === geofenceId)
      if (before >= 0) return this.staySlots[before]!
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
