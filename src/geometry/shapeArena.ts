import type { Shape } from '../model/geofence.ts'
import { discBounds, splitBounds } from './bounds.ts'
import type { Bounds } from './bounds.ts'
import { lensShare } from './discOverlap.ts'
import { surfaceDistance } from './distance.ts'
import { polygonCoverage } from './polygonCoverage.ts'
import { ON_BOUNDARY_METERS, polygonDistance } from './polygonDistance.ts'
import type { Probe } from './probe.ts'
import * as layout from './shapeLayout.ts'
import { prepareShape } from './shapePreparation.ts'

/** First value of every store: the format's name and version, so that a reader of the bytes can refuse others. */
const MAGIC = 0x52464e43
const VERSION = 1
const HEADER = 8
const INITIAL_VALUES = 1024

/**
 * Prepared shapes, one after the other in one growing shared buffer, named by where they begin.
 *
 * Owns: the bytes. Does not own: which geofence a ref belongs to, and when to start anew.
 * 1. Append-only: what a ref names never changes or moves within a buffer, so other threads may read it while it grows.
 * 2. Growing copies to a buffer of twice the size; readers of the old one keep a complete older state.
 * 3. Removing only counts; the owner builds a new arena when it is `wasteful`.
 */
export class ShapeArena {
  #buffer = new SharedArrayBuffer(8 * INITIAL_VALUES)
  #store = new Float64Array(this.#buffer)
  #end = HEADER
  #wasted = 0

  constructor() {
    this.#store[0] = MAGIC
    this.#store[1] = VERSION
  }

  /** The bytes as they are now; `add` may replace the buffer by a larger one. */
  get buffer(): SharedArrayBuffer {
    return this.#buffer
  }

  /** Bytes in use, removed shapes included. */
  get usedBytes(): number {
    return 8 * this.#end
  }

  /** Bytes of removed shapes. */
  get wastedBytes(): number {
    return 8 * this.#wasted
  }

  /** Whether more than half of the bytes are of removed shapes, so that a new arena is worth building. */
  get wasteful(): boolean {
    return 2 * this.#wasted > this.#end
  }

  /**
   * Prepares a shape and keeps it.
   * @param shape validated: radius > 0, a ring that `checkRing` accepts
   * @returns its ref, > 0, valid in this arena until `remove`
   * @throws RangeError for a radius that is not positive or a ring that is none
   */
  add(shape: Shape): number {
    return this.#append(prepareShape(shape))
  }

  /** Keeps a shape of another arena as it was prepared there: a fraction of the work. Returns its ref here. */
  copy(other: ShapeArena, ref: number): number {
    return this.#append(other.#store.subarray(ref, ref + other.#store[ref + layout.SIZE]!))
  }

  #append(values: Float64Array): number {
    const ref = this.#end
    if (ref + values.length > this.#store.length) this.#grow(ref + values.length)
    this.#store.set(values, ref)
    this.#end = ref + values.length
    return ref
  }

  /** Gives a shape up; its ref must not be used afterwards. */
  remove(ref: number): void {
    this.#wasted += this.#store[ref + layout.SIZE]!
  }

  /** See {@link shapeDistance}. */
  distance(ref: number, probe: Probe): number {
    return shapeDistance(this.#store, ref, probe)
  }

  /** See {@link shapeCoverage}. */
  coverage(ref: number, probe: Probe, accuracyMeters: number): number {
    return shapeCoverage(this.#store, ref, probe, accuracyMeters)
  }

  /** Boxes that together contain the shape with its boundary: one, or two for a shape at the antimeridian. */
  bounds(ref: number): Bounds[] {
    const store = this.#store
    if (store[ref + layout.KIND] === layout.CIRCLE) {
      const latitude = store[ref + layout.CIRCLE_LATITUDE]!
      const longitude = store[ref + layout.CIRCLE_LONGITUDE]!
      return discBounds(latitude, longitude, store[ref + layout.CIRCLE_RADIUS]!)
    }
    const root = ref + layout.POLYGON_NODES
    const pole = store[ref + layout.POLYGON_POLE]!
    const south = pole === -1 ? -90 : store[root + 1]!
    const north = pole === 1 ? 90 : store[root + 3]!
    if (pole !== 0) return splitBounds(-180, south, 180, north)
    return splitBounds(store[root]!, south, store[root + 2]!, north)
  }

  #grow(values: number): void {
    let length = this.#store.length
    while (length < values) length *= 2
    this.#buffer = new SharedArrayBuffer(8 * length)
    const store = new Float64Array(this.#buffer)
    store.set(this.#store.subarray(0, this.#end))
    this.#store = store
  }
}

/**
 * Signed metres from the probe's point to the boundary of a shape, negative inside; 0 when it is closer than a
 * micrometre. Within 1 mm + 0.1 % of WGS84 geodesics up to 20 km, within 0.5 % anywhere on Earth.
 * @param store the values of an arena's buffer
 */
function shapeDistance(store: Float64Array, ref: number, probe: Probe): number {
  if (store[ref + layout.KIND] !== layout.CIRCLE) return polygonDistance(store, ref, probe)
  const distance = centerDistance(store, ref, probe) - store[ref + layout.CIRCLE_RADIUS]!
  return distance < ON_BOUNDARY_METERS && distance > -ON_BOUNDARY_METERS ? 0 : distance
}

/**
 * Share of the disc about the probe's point that a shape covers, 0 to 1, within 0.001 for radii up to 50 km. A disc
 * without extent is covered when its point is.
 * @param accuracyMeters radius of the disc, ≥ 0
 */
function shapeCoverage(store: Float64Array, ref: number, probe: Probe, accuracyMeters: number): number {
  if (!(accuracyMeters > 0)) return shapeDistance(store, ref, probe) <= 0 ? 1 : 0
  if (store[ref + layout.KIND] !== layout.CIRCLE) return polygonCoverage(store, ref, probe, accuracyMeters)
  return lensShare(accuracyMeters, store[ref + layout.CIRCLE_RADIUS]!, centerDistance(store, ref, probe))
}

function centerDistance(store: Float64Array, ref: number, probe: Probe): number {
  const x = store[ref + layout.CIRCLE_X]!
  const y = store[ref + layout.CIRCLE_Y]!
  const z = store[ref + layout.CIRCLE_Z]!
  return surfaceDistance(probe.x, probe.y, probe.z, x, y, z)
}
