import { setTimeout as sleep } from 'node:timers/promises'
import type { Probe } from '../geometry/probe.ts'
import type { ShapePlaces } from '../geometry/shapeArena.ts'
import type { Geofence, GeofenceProperties, Outline, Shape } from '../model/geofence.ts'
import { CELL_DEGREES, edgeMeters, PAD_METERS, widen, type Box } from '../spatial/cellGrid.ts'
import type { GeofenceIndex, Nearest } from '../spatial/port.ts'

/** The level of the cells that are queried: 1.2 km of latitude, padded by 300 m. */
const LEVEL = 15
const COLUMNS = 1 << LEVEL
const SIZE = CELL_DEGREES[LEVEL]!
const PAD = PAD_METERS[LEVEL]!
/** The geometry kernel's distances are accurate to 0.5 % and 10 mm everywhere. */
const KERNEL_ERROR = 0.006
const KERNEL_ERROR_METERS = 0.01
/** Changes that are added to the answer of a cell; with more changes since, the cell is not used. */
const MOST_CHANGES = 64
/** Ids in all stored cells, about 50 bytes each. */
const MOST_IDS = 1_000_000
/** How long a batch of updates waits for cells; cells that come later are there for the next. */
const PREPARE_MS = 250

/** A position in degrees. */
export interface Point {
  readonly latitude: number
  readonly longitude: number
}

/** The geofences around some cells, as they were at one time. */
export interface CellAnswers {
  /** Of the registry: the answers include every change up to it. */
  readonly revision: number
  /** By cell, in the order of the question. */
  readonly ids: readonly (readonly string[])[]
}

/** Another source that knows which geofences are where. */
export interface CellSource {
  /** Of the registry now. */
  readonly revision: number
  /** Called for each change once it is in the index. */
  changed(index: Tile38Cells, id: string, geofence: Geofence | undefined): void
  /**
   * The ids of all geofences whose bounds meet each box, and perhaps more. Undefined if that is not available now, or
   * is ahead of the registry here. Never rejects.
   */
  ask(index: Tile38Cells, boxes: readonly Readonly<Box>[]): Promise<CellAnswers | undefined>
}

/**
 * The geofences of one scope, with candidates asked elsewhere: cell by cell, before a batch is evaluated.
 *
 * Evaluation is synchronous, an answer over the network is not; so {@link prepare} fetches the cells of a batch, and
 * {@link candidates} takes what is there. Where a cell is not there the index in memory answers: so nothing waits for
 * another server longer than it chooses to, and nothing is wrong when that server is gone, slow or behind.
 *
 * Owns: cells and the changes since. Does not own: shapes and distances (the index in memory).
 *
 * Invariants
 * - CELLS-1: Candidates are a superset (G6): if a geofence exists, its last change is either newer than the cell's
 *   revision, and then it is among the changes, or not, and then it was in the answer.
 */
export class Tile38Cells implements GeofenceIndex {
  /** Look-ups that a cell answered, and those that memory answered. */
  readonly looks = { cells: 0, memory: 0 }
  readonly #memory: GeofenceIndex
  readonly #source: CellSource
  readonly #cells = new Map<number, { readonly ids: readonly string[]; readonly revision: number }>()
  #ids = 0
  /** Cells that are being queried. */
  readonly #asked = new Map<number, Promise<void>>()
  /** An answer is overdue: until it comes, nothing waits for another. */
  #isLate = false
  /** By id: the revision of the last change, oldest first. */
  readonly #changes = new Map<string, number>()
  /** Changes up to this revision are not known. */
  #knownFrom = 0

  constructor(memory: GeofenceIndex, source: CellSource) {
    this.#memory = memory
    this.#source = source
  }

  /** Everything that was put until now belongs to revisions up to this one; the exact ones are not known. */
  knowFrom(revision: number): void {
    this.#changes.clear()
    this.#knownFrom = revision
  }

  get size(): number {
    return this.#memory.size
  }

  expect(count: number): void {
    this.#memory.expect(count)
  }

  put(geofence: Geofence): number {
    const slot = this.#memory.put(geofence)
    this.#changed(geofence.id, geofence)
    return slot
  }

  remove(id: string): void {
    this.#memory.remove(id)
    this.#changed(id, undefined)
  }

  candidates(probe: Probe, reachMeters: number, out: number[]): number {
    const reach = reachMeters * (1 + KERNEL_ERROR) + KERNEL_ERROR_METERS
    const row = rowOf(probe.latitude)
    const column = columnOf(probe.longitude)
    const cell = reach > PAD ? undefined : this.#cells.get(row * COLUMNS + column)
    if (cell === undefined || cell.revision < this.#knownFrom) {
      this.looks.memory++
      return this.#memory.candidates(probe, reachMeters, out)
    }
    this.looks.cells++
    const from = out.length
    for (const id of cell.ids) {
      const slot = this.#memory.slotOf(id)
      if (slot >= 0) out.push(slot)
    }
    let known: Set<number> | undefined
    for (const [id, revision] of this.#changes) {
      if (revision <= cell.revision) continue
      const slot = this.#memory.slotOf(id)
      known ??= new Set(out.slice(from))
      if (slot >= 0 && !known.has(slot)) out.push(slot)
    }
    const { latitude, longitude, cosLatitude } = probe
    const edge = edgeMeters(latitude, longitude, cosLatitude, LEVEL, row, 1, column, 1)
    return Math.max(0, (edge + PAD - reach) * (1 - KERNEL_ERROR))
  }

  /**
   * Resolves once the candidates around these positions are available, or cannot be had now; then memory answers.
   * Never rejects.
   */
  async prepare(places: Iterable<Point>): Promise<void> {
    if (this.#isLate) return
    const missing = new Map<number, Box>()
    const waits = new Set<Promise<void>>()
    for (const { latitude, longitude } of places) {
      const row = rowOf(latitude)
      const column = columnOf(longitude)
      const cell = row * COLUMNS + column
      const known = this.#cells.get(cell)
      if (known !== undefined && known.revision >= this.#knownFrom) continue
      const asked = this.#asked.get(cell)
      if (asked === undefined) missing.set(cell, boxOf(row, column))
      else waits.add(asked)
    }
    if (missing.size > 0) waits.add(this.#fetch(missing))
    if (waits.size === 0) return
    const answered = Promise.all(waits).then(() => void (this.#isLate = false))
    const inTime = new AbortController()
    const late = sleep(PREPARE_MS, undefined, { signal: inTime.signal, ref: false }).then(
      () => void (this.#isLate = true),
      () => {},
    )
    await Promise.race([answered, late])
    inTime.abort()
  }

  async #fetch(missing: ReadonlyMap<number, Box>): Promise<void> {
    const asked = this.#source.ask(this, [...missing.values()]).then((answers) => {
      let i = 0
      for (const cell of missing.keys()) {
        this.#asked.delete(cell)
        if (answers !== undefined) this.#keep(cell, answers.ids[i++]!, answers.revision)
      }
    })
    for (const cell of missing.keys()) this.#asked.set(cell, asked)
    return asked
  }

  slotOf(id: string): number {
    return this.#memory.slotOf(id)
  }

  geofence(slot: number): GeofenceProperties {
    return this.#memory.geofence(slot)
  }

  outline(slot: number): Outline {
    return this.#memory.outline(slot)
  }

  shape(slot: number): Shape {
    return this.#memory.shape(slot)
  }

  distance(slot: number, probe: Probe): number {
    return this.#memory.distance(slot, probe)
  }

  distanceAtLeast(slot: number, probe: Probe): number {
    return this.#memory.distanceAtLeast(slot, probe)
  }

  coverage(slot: number, probe: Probe, accuracyMeters: number): number {
    return this.#memory.coverage(slot, probe, accuracyMeters)
  }

  corners(slot: number): number {
    return this.#memory.corners(slot)
  }

  places(slots: readonly number[]): ShapePlaces {
    return this.#memory.places(slots)
  }

  nearest(
    probe: Probe,
    limit: number,
    radiusMeters: number | undefined,
    accept: (geofence: GeofenceProperties) => boolean,
    mostLookedAt?: number,
  ): Nearest<GeofenceProperties> {
    return this.#memory.nearest(probe, limit, radiusMeters, accept, mostLookedAt)
  }

  nearestSteps(
    probe: Probe,
    limit: number,
    radiusMeters: number | undefined,
    accept: (geofence: GeofenceProperties) => boolean,
    mostLookedAt?: number,
  ): Generator<void, Nearest<GeofenceProperties>> {
    return this.#memory.nearestSteps(probe, limit, radiusMeters, accept, mostLookedAt)
  }

  isUnrestricted(slot: number): boolean {
    return this.#memory.isUnrestricted(slot)
  }

  isPlain(slot: number): boolean {
    return this.#memory.isPlain(slot)
  }

  createdAt(slot: number): number {
    return this.#memory.createdAt(slot)
  }

  updatedAt(slot: number): number {
    return this.#memory.updatedAt(slot)
  }

  hasTag(slot: number, tag: string): boolean {
    return this.#memory.hasTag(slot, tag)
  }

  hasExternalId(slot: number, externalId: string): boolean {
    return this.#memory.hasExternalId(slot, externalId)
  }

  #changed(id: string, geofence: Geofence | undefined): void {
    const { revision } = this.#source
    this.#changes.delete(id)
    if (geofence !== undefined) this.#changes.set(id, revision)
    if (this.#changes.size > MOST_CHANGES) {
      const oldest = this.#changes.keys().next().value!
      this.#knownFrom = Math.max(this.#knownFrom, this.#changes.get(oldest)!)
      this.#changes.delete(oldest)
    }
    this.#source.changed(this, id, geofence)
  }

  #keep(cell: number, ids: readonly string[], revision: number): void {
    this.#drop(cell)
    this.#cells.set(cell, { ids, revision })
    this.#ids += ids.length
    for (const oldest of this.#cells.keys()) {
      if (this.#ids + this.#cells.size <= MOST_IDS || oldest === cell) return
      this.#drop(oldest)
    }
  }

  #drop(cell: number): void {
    this.#ids -= this.#cells.get(cell)?.ids.length ?? 0
    this.#cells.delete(cell)
  }
}

function rowOf(latitude: number): number {
  return Math.min(Math.floor((latitude + 90) / SIZE), (COLUMNS >> 1) - 1)
}

function columnOf(longitude: number): number {
  return Math.min(Math.floor((longitude + 180) / SIZE), COLUMNS - 1)
}

/** The cell and its padding. */
function boxOf(row: number, column: number): Box {
  const west = column * SIZE - 180
  const south = row * SIZE - 90
  const box = { west, south, east: west + SIZE, north: south + SIZE }
  widen(box, PAD)
  return box
}
