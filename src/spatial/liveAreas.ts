import { Probe } from '../geometry/probe.ts'
import { checkRing } from '../geometry/ring.ts'
import { ShapeArena } from '../geometry/shapeArena.ts'
import type { Bounds } from '../geometry/bounds.ts'
import type { Position, Shape } from '../model/geofence.ts'
import { createShapeIndex } from './cellIndex.ts'

/**
 * Watched areas by position. They answer which areas contain a point.
 *
 * The naive way checks every area for every position: thousands of areas times a hundred thousand positions a second.
 * Here areas lie in cells, as geofences do, so a position costs one query and the exact geometry of the few areas
 * around it.
 *
 * Owns: areas and their keys. Does not own: which devices are in them.
 */

/**
 * A box in degrees, from west to east, so west > east means that it crosses the antimeridian. Edges belong to the box.
 */
export interface AreaBox {
  readonly kind: 'box'
  readonly west: number
  readonly south: number
  readonly east: number
  readonly north: number
}

/** A circle of any radius, a polygon, or a box. */
export type LiveArea = Shape | AreaBox

/** The approximate memory of an area: the watch and its index entries, and each corner of its outline. */
const AREA_BYTES = 4096
const CORNER_BYTES = 64

/** The approximate bytes that an area takes in memory while it is watched. */
export function areaBytes(area: LiveArea): number {
  return AREA_BYTES + CORNER_BYTES * (area.kind === 'polygon' ? area.ring.length : 0)
}

/** The area is too small, or not a valid shape. */
export class AreaError extends Error {
  override name = 'AreaError'
}

/**
 * Up to this many areas are each compared with a point, which takes 20 ns for most of them; a query of the cells takes
 * ten times as long.
 */
const FEW_AREAS = 4
/** Up to this many boxes are each compared as well, which takes 5 ns each. Viewports of maps are boxes. */
const FEW_BOXES = 32

/** The widest piece of a box in degrees of longitude. From 180 on, the direction of a ring's edge is ambiguous. */
const MAX_PIECE_DEGREES = 90

interface Entry<K> {
  readonly key: K
  /** If it is defined, the box decides, and the shapes only serve to find it. */
  readonly box: AreaBox | undefined
  readonly pieces: readonly Piece<K>[]
  /** Boxes that contain the whole area. */
  readonly bounds: readonly Bounds[]
  /** The number of the last search that returned it. */
  foundBy: number
}

interface Piece<K> {
  readonly id: string
  readonly entry: Entry<K>
}

export class LiveAreas<K> {
  readonly #index = createShapeIndex<Piece<K>>()
  readonly #entries = new Map<K, Entry<K>>()
  readonly #boxes = new Set<Entry<K>>()
  /** The entries that are compared with each point: all, or the boxes, if they are few; otherwise none. */
  #compared: readonly Entry<K>[] = []
  readonly #probe = new Probe()
  readonly #found: number[] = []
  #pieces = 0
  #searches = 0

  get size(): number {
    return this.#entries.size
  }

  /**
   * Adds an area, or replaces the one with the same key.
   * @throws AreaError with a sentence; nothing has changed then
   */
  put(key: K, area: LiveArea): void {
    const box = area.kind === 'box' ? area : undefined
    const shapes = area.kind === 'box' ? piecesOf(area) : [area]
    const pieces: (Piece<K> & { readonly shape: Shape })[] = []
    const entry: Entry<K> = { key, box, pieces, bounds: boundsOf(shapes), foundBy: 0 }
    for (const shape of shapes) pieces.push({ id: String(this.#pieces++), shape, entry })
    this.remove(key)
    this.#entries.set(key, entry)
    if (box !== undefined) this.#boxes.add(entry)
    for (const piece of pieces) this.#index.put(piece)
    this.#compareFew()
  }

  /** Removes the area with the key; unknown keys are ignored. */
  remove(key: K): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    for (const { id } of entry.pieces) this.#index.remove(id)
    this.#entries.delete(key)
    this.#boxes.delete(entry)
    this.#compareFew()
  }

  #compareFew(): void {
    if (this.#entries.size <= FEW_AREAS) this.#compared = [...this.#entries.values()]
    else this.#compared = this.#boxes.size <= FEW_BOXES ? [...this.#boxes] : []
  }

  /**
   * Appends to `out` the keys of the areas that contain the point, including their boundary, each once, in no
   * particular order.
   */
  holding(latitude: number, longitude: number, out: K[]): void {
    const compared = this.#compared
    for (let i = 0; i < compared.length; i++)
      if (this.#holds(compared[i]!, latitude, longitude)) out.push(compared[i]!.key)
    if (compared.length === this.#entries.size) return
    const probe = this.#probe.set(latitude, longitude)
    const found = this.#found
    const search = ++this.#searches
    found.length = 0
    this.#index.candidates(probe, 0, found)
    for (let i = 0; i < found.length; i++) {
      const slot = found[i]!
      const { entry } = this.#index.geofence(slot)
      const { key, box } = entry
      // The pieces of a box share their edges.
      if (entry.foundBy === search || (box !== undefined && compared.length > 0)) continue
      if (box === undefined ? this.#index.distance(slot, probe) > 0 : !isInBox(box, latitude, longitude))
        continue
      entry.foundBy = search
      out.push(key)
    }
  }

  /** The distance from a point to the boundary of an area in metres, negative inside. */
  distance(key: K, latitude: number, longitude: number): number {
    const probe = this.#probe.set(latitude, longitude)
    let nearest = Infinity
    for (const { id } of this.#entries.get(key)!.pieces)
      nearest = Math.min(nearest, this.#index.distance(this.#index.slotOf(id), probe))
    return nearest
  }

  /** Boxes that together contain all of an area. */
  bounds(key: K): readonly Bounds[] {
    return this.#entries.get(key)!.bounds
  }

  /**
   * Returns a function that tells whether the area contains a point, which is fast for distant points. It is valid
   * until the area changes.
   */
  tester(key: K): (latitude: number, longitude: number) => boolean {
    const entry = this.#entries.get(key)!
    return (latitude, longitude) => this.#holds(entry, latitude, longitude)
  }

  #holds({ box, bounds, pieces }: Entry<K>, latitude: number, longitude: number): boolean {
    if (box !== undefined) return isInBox(box, latitude, longitude)
    for (const { west, south, east, north } of bounds) {
      if (latitude < south || latitude > north || longitude < west || longitude > east) continue
      const slot = this.#index.slotOf(pieces[0]!.id)
      return this.#index.distance(slot, this.#probe.set(latitude, longitude)) <= 0
    }
    return false
  }
}

function isInBox({ west, south, east, north }: AreaBox, latitude: number, longitude: number): boolean {
  if (latitude < south || latitude > north) return false
  if (isBetween(west, east, longitude)) return true
  // ±180 is the same meridian.
  return Math.abs(longitude) === 180 && isBetween(west, east, -longitude)
}

function isBetween(west: number, east: number, longitude: number): boolean {
  return west <= east ? longitude >= west && longitude <= east : longitude >= west || longitude <= east
}

/** Rings that together make up the box. */
function piecesOf({ west, south, east, north }: AreaBox): Shape[] {
  const width = east > west ? east - west : east - west + 360
  if (west === east || width === 0) throw new AreaError('The box has no width.')
  const count = Math.ceil(width / MAX_PIECE_DEGREES)
  return Array.from({ length: count }, (_, i): Shape => {
    const from = west + (width * i) / count
    const to = west + (width * (i + 1)) / count
    const ring: Position[] = [
      [from, south],
      [to, south],
      [to, north],
      [from, north],
      [from, south],
    ]
    const sentence = checkRing(ring)
    if (sentence !== undefined) throw new AreaError(sentence)
    return { kind: 'polygon', ring }
  })
}

function boundsOf(shapes: readonly Shape[]): Bounds[] {
  const arena = new ShapeArena()
  return shapes.flatMap((shape) => arena.bounds(arena.add(shape)))
}
