import type { Probe } from '../geometry/probe.ts'
import { ShapeArena } from '../geometry/shapeArena.ts'
import type { ShapeOffsets } from '../geometry/shapeArena.ts'
import type { Outline, Shape } from '../model/geofence.ts'
import { BoundsTree } from './boundsTree.ts'
import { CELL_DEGREES, cellsOf, edgeMeters, FINEST_LEVEL, fitCells, PAD_METERS, widen } from './cellGrid.ts'
import type { Box, CellRange } from './cellGrid.ts'
import { CellTable } from './cellTable.ts'
import { insertNear } from './nearFirst.ts'
import type { NearGeofence } from './nearFirst.ts'
import type { Named, Nearest, ShapeIndex } from './port.ts'
import { ObjectSlotStore } from './slotStore.ts'
import type { SlotStore } from './slotStore.ts'
import { SlotMarks } from './slotMarks.ts'

/** For an empty cell, its region of 8 by 8 cells answers, if that is empty, too. */
const REGION_SHIFT = 3
/** A wide reach looks up at most this many cells of a level. For more, the tree is cheaper. */
const MOST_CELLS_LOOKED_UP = 64
/** The geometry kernel's distances are within 0.1 % up to 20 km, within 0.5 % anywhere. */
const KERNEL_ERROR = 0.006
const KERNEL_ERROR_METERS = 0.01
/** The first radius of a nearest search in metres. It is doubled from there. */
const FIRST_RADIUS_METERS = 250
/** From this radius, in metres, a nearest search uses the R-tree. */
const WIDE_RADIUS_METERS = 2000
/**
 * How many geofences one step of a search examines. It takes microseconds, but milliseconds if they must be unpacked
 * and have much metadata.
 */
const LOOKS_A_STEP = 16
/**
 * A step of a nearest search may examine this many geofences, or four times as many as the step before if that is
 * more.
 */
const CROWD = 1000
/** The accuracy, in metres, to which a crowd's edge is searched. */
const CROWD_EDGE_METERS = 10
/** Metres, more than the largest distance on Earth. */
const HALF_GLOBE_METERS = 20_100_000

/** An empty index of other things that have a shape. */
export function createShapeIndex<T extends Named>(): ShapeIndex<T> {
  return new CellIndex<T>(new ObjectSlotStore())
}

/**
 * The naive way, an R-tree search per update, walks a dozen nodes and usually finds nothing, and a change has to
 * rebuild or rebalance the tree. Instead, when a geofence is put, it is written into the few cells of the level that
 * fits its size, with padding. So an update reads the list of one cell per level in use. The list stays valid until
 * the point leaves the cell; that distance is the clearance.
 *
 * Searches wider than the padding use several cells, and even wider ones an R-tree of the bounds.
 */
export class CellIndex<T extends Named, S extends SlotStore<T> = SlotStore<T>> implements ShapeIndex<T> {
  protected readonly slotStore: S
  /** The reference into the arena, by slot. */
  #shapes = new Int32Array(64)
  #arena = new ShapeArena()
  readonly #tree = new BoundsTree()
  readonly #table = new CellTable()
  /** How many geofences each level has. */
  readonly #counts = new Int32Array(FINEST_LEVEL + 1)
  /** The levels with geofences, the finest first. */
  #levels: number[] = []

  // These objects are reused, one for each purpose, so that calls allocate nothing.
  readonly #box: Box = { west: 0, south: 0, east: 0, north: 0 }
  readonly #range: CellRange = { level: 0, row: 0, rows: 0, column: 0, columns: 0 }
  readonly #ranges: CellRange[] = []
  readonly #marks = new SlotMarks()

  constructor(slotStore: S) {
    this.slotStore = slotStore
  }

  get size(): number {
    return this.slotStore.size
  }

  expect(count: number): void {
    this.slotStore.expect(count)
    this.#tree.expect(count)
    if (count > this.#shapes.length) this.#resize(count)
  }

  slotOf(id: string): number {
    return this.slotStore.slotOf(id)
  }

  get end(): number {
    return this.slotStore.end
  }

  has(slot: number): boolean {
    return this.slotStore.has(slot)
  }

  geofence(slot: number): T {
    return this.slotStore.get(slot)
  }

  glimpse(slot: number): T {
    return this.slotStore.glimpse(slot)
  }

  shape(slot: number): Shape {
    return this.#arena.shape(this.#shapes[slot]!)
  }

  readCorners(slot: number, out: number[]): number {
    return this.#arena.readCorners(this.#shapes[slot]!, out)
  }

  outline(slot: number): Outline {
    return this.#arena.outline(this.#shapes[slot]!)
  }

  meeting(box: Readonly<Box>, out: number[]): void {
    this.#tree.search(box, out)
  }

  bounds(slot: number, out: Box): void {
    this.#tree.bounds(slot, out)
  }

  distance(slot: number, probe: Probe): number {
    return this.#arena.distance(this.#shapes[slot]!, probe)
  }

  distanceAtLeast(slot: number, probe: Probe): number {
    return this.#tree.gapMeters(slot, probe) * (1 - KERNEL_ERROR) - KERNEL_ERROR_METERS
  }

  coverage(slot: number, probe: Probe, accuracyMeters: number): number {
    return this.#arena.coverage(this.#shapes[slot]!, probe, accuracyMeters)
  }

  corners(slot: number): number {
    return this.#arena.corners(this.#shapes[slot]!)
  }

  offsets(slots: readonly number[]): ShapeOffsets {
    return this.#arena.offsets(slots.map((slot) => this.#shapes[slot]!))
  }

  put(geofence: T & { readonly shape: Shape }): number {
    const known = this.slotStore.slotOf(geofence.id)
    if (known >= 0 && this.#arena.isSame(this.#shapes[known]!, geofence.shape))
      return this.slotStore.put(geofence)
    // This is done first, because it throws for an invalid shape.
    const shape = this.#arena.add(geofence.shape)
    if (known >= 0) this.#takeOut(known)
    const slot = this.slotStore.put(geofence)
    if (slot >= this.#shapes.length) this.#resize(Math.max(slot + 1, 2 * this.#shapes.length))
    this.#shapes[slot] = shape
    const box = this.#box
    join(this.#arena.bounds(shape), box)
    this.#tree.set(slot, box)
    this.#fillCells(slot, box)
    this.#repackWhenHalfIsWaste()
    return slot
  }

  remove(id: string): void {
    const slot = this.slotStore.slotOf(id)
    if (slot < 0) return
    this.#takeOut(slot)
    this.slotStore.remove(slot)
    this.#repackWhenHalfIsWaste()
  }

  candidates(probe: Probe, reachMeters: number, out: number[]): number {
    const levels = this.#levels
    const finest = levels[0]
    if (finest === undefined) return Infinity
    const reach = reachMeters * (1 + KERNEL_ERROR) + KERNEL_ERROR_METERS
    if (reach > PAD_METERS[finest]!) return this.#wideCandidates(probe, reach, out)

    const table = this.#table
    const latitude = probe.latitude
    const longitude = probe.longitude
    const cosLatitude = probe.cosLatitude
    let clearance = Infinity
    for (let i = 0; i < levels.length; i++) {
      let level = levels[i]!
      const pad = PAD_METERS[level]!
      const size = CELL_DEGREES[level]!
      const columns = 1 << level
      let row = Math.floor((latitude + 90) / size)
      if (row === columns >> 1) row--
      let column = Math.floor((longitude + 180) / size)
      if (column === columns) column--
      if (
        !table.append(level, row, column, out) &&
        level > REGION_SHIFT &&
        !table.hasRegion(level, row >> REGION_SHIFT, column >> REGION_SHIFT)
      ) {
        level -= REGION_SHIFT
        row >>= REGION_SHIFT
        column >>= REGION_SHIFT
      }
      const free = edgeMeters(latitude, longitude, cosLatitude, level, row, 1, column, 1) + pad - reach
      if (free < clearance) clearance = free
    }
    return Math.max(0, clearance * (1 - KERNEL_ERROR))
  }

  nearest(
    probe: Probe,
    limit: number,
    radiusMeters: number | undefined,
    accept: (geofence: T) => boolean,
    mostLookedAt?: number,
  ): Nearest<T> {
    const steps = this.nearestSteps(probe, limit, radiusMeters, accept, mostLookedAt)
    for (;;) {
      const step = steps.next()
      if (step.done) return step.value
    }
  }

  *nearestSteps(
    probe: Probe,
    limit: number,
    radiusMeters: number | undefined,
    accept: (geofence: T) => boolean,
    mostLookedAt = Infinity,
  ): Generator<void, Nearest<T>> {
    const last = Math.min(radiusMeters ?? Infinity, HALF_GLOBE_METERS)
    const found: number[] = []
    let radius = Math.min(last, FIRST_RADIUS_METERS)
    let lookedAt = 0
    for (;;) {
      yield
      const results: NearGeofence<T>[] = []
      found.length = 0
      if (radius < WIDE_RADIUS_METERS) this.candidates(probe, radius, found)
      else this.#tree.search(this.#boxAround(probe, radius), found)
      // If an eighth of all was not enough, or the whole globe is searched, one scan is cheaper than more searches.
      const all = radius === HALF_GLOBE_METERS || (last === HALF_GLOBE_METERS && found.length * 8 > this.size)
      const count = all ? this.slotStore.end : found.length
      if (all) radius = last
      for (let i = 0; i < count; i++) {
        if (i % LOOKS_A_STEP === LOOKS_A_STEP - 1) yield
        const slot = all ? i : found[i]!
        if (!this.slotStore.has(slot)) continue
        const geofence = this.slotStore.get(slot)
        if (!accept(geofence)) continue
        const distance = Math.max(0, this.distance(slot, probe))
        // Beyond the radius, nearer geofences may be missing from the results.
        if (distance <= radius) insertNear(results, limit, { geofence, slot, distance })
      }
      lookedAt += count
      if (results.length === limit || radius === last || lookedAt >= mostLookedAt)
        return { found: results, radiusMeters: radius }
      radius = this.#nextRadius(probe, radius, last, Math.max(CROWD, 4 * found.length))
    }
  }

  /**
   * Twice the radius, if at most `crowd` geofences lie within that; otherwise about the radius that contains that
   * many. So a search that starts far from a city examines the city's outskirts, not all of it.
   */
  #nextRadius(probe: Probe, radius: number, last: number, crowd: number): number {
    let low = radius
    let high = Math.min(last, 2 * radius)
    if (high < WIDE_RADIUS_METERS || !this.#tree.isCrowded(this.#boxAround(probe, high), crowd)) return high
    while (high - low > CROWD_EDGE_METERS) {
      const middle = (low + high) / 2
      if (this.#tree.isCrowded(this.#boxAround(probe, middle), crowd)) high = middle
      else low = middle
    }
    return high
  }

  /** The scratch box, set to contain everything within the radius. */
  #boxAround(probe: Probe, radius: number): Box {
    const box = this.#box
    setPoint(box, probe)
    widen(box, radius * (1 + KERNEL_ERROR) + KERNEL_ERROR_METERS)
    return box
  }

  /** Does the same as `candidates`, for a `reach` beyond the padding of some level. */
  #wideCandidates(probe: Probe, reach: number, out: number[]): number {
    const levels = this.#levels
    const box = this.#box
    while (this.#ranges.length < levels.length) this.#ranges.push({ ...this.#range })
    for (let i = 0; i < levels.length; i++) {
      const level = levels[i]!
      const range = this.#ranges[i]!
      setPoint(box, probe)
      const beyond = reach - PAD_METERS[level]!
      if (beyond > 0) widen(box, beyond)
      cellsOf(box, level, range)
      if (range.rows * range.columns > MOST_CELLS_LOOKED_UP) return this.#searchTree(probe, reach, out)
    }

    const marks = this.#marks
    marks.clear(this.slotStore.end)
    let clearance = Infinity
    for (let i = 0; i < levels.length; i++) {
      const { level, row, rows, column, columns } = this.#ranges[i]!
      const wrap = (1 << level) - 1
      for (let y = row; y < row + rows; y++) {
        for (let x = column; x < column + columns; x++) {
          let end = out.length
          if (!this.#table.append(level, y, x & wrap, out)) continue
          for (let from = end; from < out.length; from++) {
            if (marks.mark(out[from]!)) out[end++] = out[from]!
          }
          out.length = end
        }
      }
      const { latitude, longitude, cosLatitude } = probe
      const edge = edgeMeters(latitude, longitude, cosLatitude, level, row, rows, column, columns)
      clearance = Math.min(clearance, edge + PAD_METERS[level]! - reach)
    }
    return Math.max(0, clearance * (1 - KERNEL_ERROR))
  }

  #searchTree(probe: Probe, reach: number, out: number[]): number {
    const clearance = reach / 4
    const box = this.#box
    setPoint(box, probe)
    widen(box, reach + clearance)
    this.#tree.search(box, out)
    return clearance * (1 - KERNEL_ERROR)
  }

  /** Removes the shape of a slot from everything but the slot store. */
  #takeOut(slot: number): void {
    this.#arena.remove(this.#shapes[slot]!)
    this.#tree.clear(slot, this.#box)
    this.#emptyCells(slot, this.#box)
  }

  #resize(slots: number): void {
    const shapes = new Int32Array(slots)
    shapes.set(this.#shapes)
    this.#shapes = shapes
  }

  #fillCells(slot: number, box: Box): void {
    const range = this.#range
    fitCells(box, range)
    const { level, row, rows, column, columns } = range
    const wrap = (1 << level) - 1
    for (let y = row; y < row + rows; y++) {
      for (let x = column; x < column + columns; x++) {
        this.#table.addToCell(level, y, x & wrap, slot)
        this.#table.addToRegion(level, y >> REGION_SHIFT, (x & wrap) >> REGION_SHIFT)
      }
    }
    if (this.#counts[level]!++ === 0) this.#listLevels()
  }

  /** The inverse of {@link #fillCells}, for the same bounds. */
  #emptyCells(slot: number, box: Box): void {
    const range = this.#range
    fitCells(box, range)
    const { level, row, rows, column, columns } = range
    const wrap = (1 << level) - 1
    for (let y = row; y < row + rows; y++) {
      for (let x = column; x < column + columns; x++) {
        this.#table.removeFromCell(level, y, x & wrap, slot)
        this.#table.removeFromRegion(level, y >> REGION_SHIFT, (x & wrap) >> REGION_SHIFT)
      }
    }
    if (--this.#counts[level]! === 0) this.#listLevels()
  }

  #listLevels(): void {
    this.#levels = []
    for (let level = FINEST_LEVEL; level >= 0; level--) if (this.#counts[level]! > 0) this.#levels.push(level)
  }

  #repackWhenHalfIsWaste(): void {
    if (!this.#arena.wasteful) return
    const arena = new ShapeArena()
    for (let slot = 0; slot < this.slotStore.end; slot++) {
      if (this.slotStore.has(slot)) this.#shapes[slot] = arena.copy(this.#arena, this.#shapes[slot]!)
    }
    this.#arena = arena
  }
}

function setPoint(box: Box, probe: Probe): void {
  box.west = box.east = probe.longitude
  box.south = box.north = probe.latitude
}

/** Sets `box` to one box, past 180 across the antimeridian, that contains a shape's bounds, which are split there. */
function join(parts: readonly Readonly<Box>[], box: Box): void {
  box.west = Infinity
  box.east = -Infinity
  box.south = 90
  box.north = -90
  // The first part begins west of the antimeridian and ends there. The others continue it.
  const crossing = parts.length > 1 ? parts.find(({ west, east }) => west > -180 && east === 180) : undefined
  for (const part of parts) {
    const turn = crossing !== undefined && part.west < crossing.west ? 360 : 0
    box.west = Math.min(box.west, part.west + turn)
    box.east = Math.max(box.east, part.east + turn)
    box.south = Math.min(box.south, part.south)
    box.north = Math.max(box.north, part.north)
  }
  if (box.east - box.west < 360) return
  box.west = -180
  box.east = 180
}
