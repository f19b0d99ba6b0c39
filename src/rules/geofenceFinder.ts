import type { CrossedGeofence } from './crossing.ts'
import { Probe } from '../geometry/probe.ts'
import type { Fact } from './geofenceRules.ts'
import type { Circumstances } from './circumstances.ts'
import type { Visit } from '../model/device.ts'
import type { Waypoint } from '../model/event.ts'
import type { GeofenceIndex } from '../spatial/port.ts'
import { SlotMarks } from '../spatial/slotMarks.ts'
import type { StepFacts } from './geofenceStep.ts'
import { FEW, isMuch, Unmeasured, type Measured } from './measured.ts'
import { MOST_STAYS, CachedCandidates, type CandidateCache } from './candidateCache.ts'
import { CrossingFinder } from './crossingFinder.ts'
import { CROWD, Crowded } from './crowded.ts'
import { FEW_TO_READ, unreadOf, type Unread } from './unread.ts'
import { unchangedLimits } from './fastPath.ts'
import type { DeviceState } from './deviceState.ts'
import type { Situation } from './evaluator.ts'
import { staysIneligible, type ZoneLimits } from './safeZone.ts'

/** What the step and the safe zone need to know of the geofences around one update. */
export interface GeofenceFacts extends StepFacts {
  /** How many metres the device may move before a geofence that is not among the facts can matter. */
  readonly clearance: number
}

/** So few stays are searched in an array, which is faster than marking them. */
const FEW_STAYS = 16
/** The slots of many stays. All finders use the same marks, because each is done with them before another begins. */
const stayMarks = new SlotMarks()

/** A cached distance is not measured again if its error is at most this share of it. */
const WORTH = 1 / 2

/**
 * Finds and measures the geofences that an update may concern. One finder is reused for every update of a partition,
 * so its buffers hold the last one.
 *
 * Cached candidates (candidateCache.ts) are as good as a new query: a superset of what matters, with bounds on the
 * distances. If a bound is not enough to decide, or would make the safe zone small, the distance is measured.
 */
export class GeofenceFinder {
  readonly #probe = new Probe()
  readonly #crossingFinder = new CrossingFinder()
  readonly #cached = new CachedCandidates()
  /** Whether the candidates come from the cache, and not from the index. */
  #isRecalled = false
  /** The slots of candidates. `candidates` of them are in use. */
  readonly #slots: number[] = []
  #candidates = 0
  /** The slots of the candidates out of reach, with lower bounds of their distances. `others` of them are in use. */
  readonly #otherSlots: number[] = []
  readonly #otherMeters: number[] = []
  /** Whether each of these bounds is good enough, so that it need not be measured. */
  readonly #otherIsGood: boolean[] = []
  #others = 0
  /**
   * The slots of the stays, index by index; −1 if one is gone from the registry. `stays` of them and of their
   * distances are in use.
   */
  readonly staySlots: number[] = []
  readonly #stayMeters: number[] = []
  #stays = 0
  /** Whether all of these distances are measured. Otherwise some are upper bounds below 0. */
  #areMeasured = true
  /** The slots and distances of the other geofences within reach. `nears` of them are in use. */
  readonly #nearSlots: number[] = []
  readonly #nearMeters: number[] = []
  #nears = 0
  #index!: GeofenceIndex
  #now!: Circumstances
  #measured: Measured | undefined
  #reach = 0
  #clearance = 0
  /** How far the last query reached, for the cache. */
  #lookedFar = 0

  /** How many geofences the last update was compared with. */
  meetings = 0
  /** The stays before the last update, for which {@link find} had a result; undefined if there is none to cache. */
  #visits: readonly Visit[] | undefined
  /** That result; undefined if nothing has changed. */
  #found: GeofenceFacts | undefined

  /**
   * Finds what the update may touch.
   * @param from the device's previous position, if crossings since then are wanted
   * @returns limits alone if nothing changes for any geofence; see fastPath.ts
   */
  find(
    before: DeviceState,
    { update, view, now, rows, row = -1, measuring, reading, mayWait }: Situation,
    from?: Waypoint,
  ): GeofenceFacts | ZoneLimits | Crowded | Unmeasured | Unread {
    const { latitude, longitude } = update
    const { visits } = before
    this.#visits = undefined
    const known =
      rows !== undefined && rows.zoneRevision(row) === view.revision ? rows.candidateCache : undefined
    if (known === undefined || !this.#recall(known, row, view.index, latitude, longitude, now))
      this.#look(view.index, latitude, longitude, now)
    if (mayWait === true && Math.max(this.#candidates, visits.length) >= CROWD) {
      this.meetings = 0
      return new Crowded()
    }
    if (measuring === 'elsewhere') {
      const unmeasured = this.#expensive(visits, view.revision)
      this.meetings = 0
      if (unmeasured !== undefined) return unmeasured
      this.#measured = undefined
    } else this.#measured = measuring?.revision === view.revision ? measuring : undefined
    this.#measureStays(visits, known, row)
    this.#measureOthers(false)
    const mayChange = before.approaches.length > 0 || from !== undefined
    const limits = mayChange ? undefined : this.unchangedLimits(visits)
    const unread = limits === undefined && reading === 'before' ? this.#unread() : undefined
    if (unread !== undefined) {
      this.meetings = 0
      return unread
    }
    const facts = limits === undefined ? this.#facts(from) : undefined
    this.meetings = this.#stays + this.#candidates + (facts?.crossed.length ?? 0)
    this.#visits = visits
    this.#found = facts
    return facts ?? limits!
  }

  /** Must be called if the update touches no geofence, so that nothing is searched. */
  skip(): void {
    this.meetings = 0
    this.#visits = undefined
  }

  /** Finds every candidate, including those out of reach. `explain` shows them, but the step does not need them. */
  findAll(visits: readonly Visit[], { update, view, now }: Situation): GeofenceFacts {
    this.#visits = undefined
    this.#look(view.index, update.latitude, update.longitude, now)
    this.#measured = undefined
    this.#measureStays(visits, undefined, -1)
    this.#measureOthers(true)
    return this.#facts()
  }

  #look(index: GeofenceIndex, latitude: number, longitude: number, now: Circumstances): void {
    this.#begin(index, now)
    this.#isRecalled = false
    this.#slots.length = 0
    this.#clearance = index.candidates(this.#probe.set(latitude, longitude), this.#reach, this.#slots)
    this.#candidates = this.#slots.length
    this.#lookedFar = this.#clearance + this.#reach
  }

  /**
   * Looks like {@link look}, but in the cache, if that is enough.
   * @param row the row of the device
   */
  #recall(
    candidateCache: CandidateCache,
    row: number,
    index: GeofenceIndex,
    latitude: number,
    longitude: number,
    now: Circumstances,
  ): boolean {
    this.#begin(index, now)
    this.#clearance = candidateCache.recall(row, latitude, longitude, this.#reach, this.#cached)
    this.#isRecalled = this.#clearance >= 0
    if (!this.#isRecalled) return false
    this.#probe.set(latitude, longitude)
    const { count, slots } = this.#cached
    for (let i = 0; i < count; i++) this.#slots[i] = slots[i]!
    this.#candidates = count
    return true
  }

  #begin(index: GeofenceIndex, now: Circumstances): void {
    this.#index = index
    this.#now = now
    this.#reach = now.settings.bufferEntries ? now.accuracy : 0
  }

  /**
   * The geofences that {@link find} would have to measure, if there are many; otherwise undefined.
   * @param revision that of the scope
   */
  #expensive(visits: readonly Visit[], revision: number): Unmeasured | undefined {
    const index = this.#index
    const probe = this.#probe
    const reach = this.#reach
    const candidates = this.#candidates
    const accuracyMeters = this.#now.accuracy
    // The geofences of the stays are nearly always among the candidates.
    const isAway = visits.length > candidates
    if (!isAway && candidates < FEW) return undefined
    const slots = this.#slots.slice(0, candidates)
    if (!isAway && !isMuch(index, slots, accuracyMeters)) return undefined
    const visited = visits.map(({ geofenceId }) => index.slotOf(geofenceId)).filter((slot) => slot >= 0)
    if (isAway && !isMuch(index, visited, accuracyMeters)) return undefined
    const seen = new Set(visited)
    const near = slots.filter((slot) => !seen.has(slot) && index.distanceAtLeast(slot, probe) <= reach)
    const all = [...visited, ...near]
    const { latitude, longitude } = probe
    const point = { latitude, longitude, accuracyMeters, reachMeters: reach }
    return new Unmeasured(revision, all, { ...point, ...index.offsets(all), whole: visited.length })
  }

  /**
   * Measures the stays.
   * @param known the cache with the slots of the first stays, in the device's row
   */
  #measureStays(visits: readonly Visit[], known: CandidateCache | undefined, row: number): void {
    const { staySlots } = this
    const index = this.#index
    const stayMeters = this.#stayMeters
    this.#stays = visits.length
    this.#areMeasured = true
    for (let i = 0; i < visits.length; i++) {
      let slot = known === undefined ? -1 : known.stay(row, i)
      if (slot < 0) slot = index.slotOf(visits[i]!.geofenceId)
      staySlots[i] = slot
      const most = slot < 0 ? NaN : this.#surelyInside(slot)
      stayMeters[i] = Number.isNaN(most) && slot >= 0 ? this.#distance(slot) : most
    }
  }

  /** An upper bound of the signed distance in metres, if it is well below 0; otherwise NaN. */
  #surelyInside(slot: number): number {
    if (!this.#isRecalled) return NaN
    const { count, slots, meters, error } = this.#cached
    for (let i = 0; i < count; i++) {
      if (slots[i] !== slot) continue
      if (error[i]! > -meters[i]! * WORTH) return NaN
      this.#areMeasured = false
      return meters[i]! + error[i]!
    }
    return NaN
  }

  /**
   * Measures the other candidates.
   * @param everyCandidate whether those out of reach are included
   */
  #measureOthers(everyCandidate: boolean): void {
    const index = this.#index
    const probe = this.#probe
    const reach = this.#reach
    const slots = this.#slots
    const candidates = this.#candidates
    const nearSlots = this.#nearSlots
    const nearMeters = this.#nearMeters
    const hasManyStays = this.#stays > FEW_STAYS
    if (hasManyStays) this.#markStays()
    this.#nears = 0
    this.#others = 0
    for (let i = 0; i < candidates; i++) {
      const slot = slots[i]!
      // Each candidate is there once, so what is marked already is a stay.
      if (hasManyStays ? !stayMarks.mark(slot) : this.#isStay(slot)) continue
      let least = -Infinity
      let isGood = false
      if (this.#isRecalled) {
        const { meters, error } = this.#cached
        least = meters[i]! - error[i]!
        isGood = error[i]! <= meters[i]! * WORTH
      }
      if (!isGood && !everyCandidate) least = Math.max(least, index.distanceAtLeast(slot, probe))
      if (least <= reach) {
        least = this.#distance(slot)
        isGood = true
      }
      if (everyCandidate || least <= reach) {
        nearSlots[this.#nears] = slot
        nearMeters[this.#nears++] = least
      } else this.#addOther(slot, least, isGood)
    }
    // Most candidates are out of reach, and usually only the nearest of them must be measured.
    const nearest = this.#nearestOther()
    if (nearest >= 0) this.#measureOther(nearest)
    for (let i = 0; i < this.#others; i++) this.#measureOther(i)
  }

  #markStays(): void {
    stayMarks.clear(this.#index.end)
    for (let i = 0; i < this.#stays; i++) if (this.staySlots[i]! >= 0) stayMarks.mark(this.staySlots[i]!)
  }

  #isStay(slot: number): boolean {
    for (let i = 0; i < this.#stays; i++) if (this.staySlots[i] === slot) return true
    return false
  }

  /** @param isGood whether the distance is good enough without measuring */
  #addOther(slot: number, meters: number, isGood: boolean): void {
    this.#otherSlots[this.#others] = slot
    this.#otherMeters[this.#others] = meters
    this.#otherIsGood[this.#others++] = isGood
    if (isGood) this.#clear(slot, meters)
  }

  /** The index of the smallest distance that is not good enough yet; −1 if there is none. */
  #nearestOther(): number {
    const others = this.#others
    const otherMeters = this.#otherMeters
    const otherIsGood = this.#otherIsGood
    let place = -1
    for (let i = 0; i < others; i++) {
      if (!otherIsGood[i] && (place < 0 || otherMeters[i]! < otherMeters[place]!)) place = i
    }
    return place
  }

  #measureOther(place: number): void {
    const meters = this.#otherMeters
    if (this.#otherIsGood[place] || meters[place]! - this.#reach >= this.#clearance) return
    const slot = this.#otherSlots[place]!
    if (!mayConcern(this.#index, slot, this.#now)) return
    meters[place] = this.#index.distance(slot, this.#probe)
    this.#otherIsGood[place] = true
    this.#clear(slot, meters[place])
  }

  /** Limits the clearance by a geofence at this distance. */
  #clear(slot: number, meters: number): void {
    const clearance = meters - this.#reach
    if (clearance < this.#clearance && mayConcern(this.#index, slot, this.#now)) this.#clearance = clearance
  }

  /**
   * Caches the last result of {@link find} for later updates of the device, or clears the entry if there was none.
   * @param stays after that update
   */
  remember(candidateCache: CandidateCache, row: number, stays: readonly Visit[]): void {
    if (this.#visits === undefined) return candidateCache.forget(row)
    if (!this.#isRecalled) this.#rememberCandidates(candidateCache, row)
    candidateCache.setStays(row, stays.length, this.#slotsOf(stays, this.#visits, this.#found))
  }

  #rememberCandidates(candidateCache: CandidateCache, row: number): void {
    const { staySlots } = this
    const otherSlots = this.#otherSlots
    const otherMeters = this.#otherMeters
    const nearSlots = this.#nearSlots
    const nearMeters = this.#nearMeters
    let count = this.#others
    for (let i = 0; i < this.#nears; i++) {
      otherSlots[count] = nearSlots[i]!
      otherMeters[count++] = nearMeters[i]!
    }
    for (let i = 0; i < this.#stays; i++) {
      if (staySlots[i]! < 0) continue
      otherSlots[count] = staySlots[i]!
      otherMeters[count++] = this.#stayMeters[i]!
    }
    const { latitude, longitude } = this.#probe
    candidateCache.remember(row, latitude, longitude, this.#lookedFar, count, otherSlots, otherMeters)
  }

  /** The limits if nothing changes (see fastPath.ts); undefined if the step must decide. */
  unchangedLimits(visits: readonly Visit[]): ZoneLimits | undefined {
    if (this.#nears > 0) return undefined
    return unchangedLimits(visits, this.staySlots, this.#stayMeters, this.#index, this.#clearance, this.#now)
  }

  /** The geofences of the facts that should be read before, if there are many. */
  #unread(): Unread | undefined {
    const stays = this.#stays
    const nears = this.#nears
    if (stays + nears <= FEW_TO_READ) return undefined
    return unreadOf(this.#index, [...this.staySlots.slice(0, stays), ...this.#nearSlots.slice(0, nears)])
  }

  #facts(from?: Waypoint): GeofenceFacts {
    const { staySlots } = this
    const nearSlots = this.#nearSlots
    const nearMeters = this.#nearMeters
    const visited: (Fact | undefined)[] = []
    for (let i = 0; i < this.#stays; i++) {
      const slot = staySlots[i]!
      const distance = this.#areMeasured || slot < 0 ? this.#stayMeters[i]! : this.#distance(slot)
      visited.push(slot < 0 ? undefined : this.#fact(slot, distance))
    }
    const candidates: Fact[] = []
    for (let i = 0; i < this.#nears; i++) candidates.push(this.#fact(nearSlots[i]!, nearMeters[i]!))
    let crossed: readonly CrossedGeofence[] = []
    if (from !== undefined) {
      const { latitude, longitude } = this.#probe
      const to = { time: this.#now.time, latitude, longitude }
      const stays = new Set(staySlots.slice(0, this.#stays))
      const isVisited = (slot: number) => stays.has(slot)
      crossed = this.#crossingFinder.find(this.#index, from, to, isVisited)
    }
    return { visited, candidates, crossed, clearance: this.#clearance }
  }

  /**
   * The slots of the first {@link MOST_STAYS} stays; entries beyond those have no meaning.
   * @param stays after the update
   * @param visits the stays that were measured
   * @param facts made from the measurements; absent if nothing has changed
   */
  #slotsOf(
    stays: readonly Visit[],
    visits: readonly Visit[],
    facts: GeofenceFacts | undefined,
  ): readonly number[] {
    if (stays === visits || facts === undefined) return this.staySlots
    // There are only as many as the cache keeps, because each is searched among all facts, and thousands may be
    // entered at once.
    return stays.slice(0, MOST_STAYS).map(({ geofenceId }) => {
      const before = visits.findIndex((visit) => visit.geofenceId === geofenceId)
      if (before >= 0) return this.staySlots[before]!
      return this.#nearSlots[facts.candidates.findIndex(({ geofence }) => geofence.id === geofenceId)]!
    })
  }

  #distance(slot: number): number {
    return this.#measured?.distance(slot) ?? this.#index.distance(slot, this.#probe)
  }

  #fact(slot: number, distance: number): Fact {
    const index = this.#index
    const { accuracy } = this.#now
    let coverage = distance <= 0 ? 1 : 0
    if (accuracy > Math.abs(distance))
      coverage = this.#measured?.coverage(slot) ?? index.coverage(slot, this.#probe, accuracy)
    return { geofence: index.geofence(slot), distance, coverage }
  }
}

/** Whether the geofence could concern the device. Most are open to everybody, which is known without reading them. */
function mayConcern(index: GeofenceIndex, slot: number, now: Circumstances): boolean {
  return index.isUnrestricted(slot) || !staysIneligible(index.geofence(slot), now)
}
