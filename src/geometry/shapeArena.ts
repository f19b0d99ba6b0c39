import type { Outline, Shape } from '../model/geofence.ts'
import { discBounds, splitBounds } from './bounds.ts'
import type { Bounds } from './bounds.ts'
import { lensShare } from './discOverlap.ts'
import { surfaceDistance } from './distance.ts'
import { polygonCoverage } from './polygonCoverage.ts'
import { ON_BOUNDARY_METERS, polygonDistance } from './polygonDistance.ts'
import type { Probe } from './probe.ts'
import * as layout from './shapeLayout.ts'
import { isSameShape } from './shape.ts'
import { readCorners, outlineOf, prepareShape, shapeOf } from './shapePreparation.ts'

/** The first words of the first chunk: the format's name and version, so that readers can refuse other formats. */
const MAGIC = 0x52464e43
const VERSION = 3
const HEADER_WORDS = 1
/** The size of a chunk as a power of two: 1 MiB. The first one is smaller until it is full. */
const CHUNK_BITS = 17
const CHUNK_WORDS = 1 << CHUNK_BITS
const FIRST_WORDS = 1024

/** Where shapes lie in the memory that threads share. */
export interface ShapeOffsets {
  /** The chunks of an arena. */
  readonly chunks: readonly SharedArrayBuffer[]
  /** For each shape, the index of its chunk and its first word in that chunk. */
  readonly offsets: Uint32Array
}

/**
 * Prepared shapes, one after the other in chunks of shared memory, named by where they begin.
 *
 * Owns: the bytes. Does not own: which geofence a ref belongs to, and when to start anew.
 *
 * Invariants
 * - ARENA-1: The arena is append-only: what a ref names never changes or moves within its chunk, so other threads may
 *   read it.
 * - ARENA-2: Growing adds a chunk, so nothing is copied however many shapes there are. Only the first chunk is replaced
 *   by one of twice the size, until it has the full size. Readers of the old one keep a complete older state.
 * - ARENA-3: Removing a shape only counts it. The owner builds a new arena when this one is `wasteful`.
 */
export class ShapeArena {
  readonly #chunks: layout.ShapeWords[] = [chunkOf(FIRST_WORDS)]
  /** The end of the used words in the last chunk. */
  #end = HEADER_WORDS
  #wasted = 0

  constructor() {
    this.#chunks[0]!.ints.set([MAGIC, VERSION])
  }

  /** The current chunks; `add` may append one, or replace the first by a larger one. */
  get buffers(): SharedArrayBuffer[] {
    return this.#chunks.map(({ doubles }) => doubles.buffer as SharedArrayBuffer)
  }

  /** The bytes in use, including those of removed shapes. */
  get usedBytes(): number {
    return 8 * ((this.#chunks.length - 1) * CHUNK_WORDS + this.#end)
  }

  /** The bytes of removed shapes. */
  get wastedBytes(): number {
    return 8 * this.#wasted
  }

  /** Whether removed shapes take more than half of the bytes, so that building a new arena is worth it. */
  get wasteful(): boolean {
    return 2 * this.wastedBytes > this.usedBytes
  }

  /**
   * Prepares a shape and keeps it.
   * @param shape validated: radius > 0, a ring that `checkRing` accepts
   * @returns its ref, > 0, valid in this arena until `remove`
   * @throws RangeError for a radius that is not positive or an invalid ring
   */
  add(shape: Shape): number {
    const words = prepareShape(shape)
    return this.#append(words.doubles.subarray(0, layout.sizeOf(words, 0)))
  }

  /** Copies a shape that another arena has prepared, which is much cheaper than preparing it. Returns its ref here. */
  copy(other: ShapeArena, ref: number): number {
    const words = other.#chunk(ref)
    const at = ref & (CHUNK_WORDS - 1)
    return this.#append(words.doubles.subarray(at, at + layout.sizeOf(words, at)))
  }

  /** Removes a shape; its ref must not be used afterwards. */
  remove(ref: number): void {
    this.#wasted += layout.sizeOf(this.#chunk(ref), ref & (CHUNK_WORDS - 1))
  }

  /** The shape exactly as it was given, bit for bit. */
  shape(ref: number): Shape {
    return shapeOf(this.#chunk(ref), ref & (CHUNK_WORDS - 1))
  }

  /** See {@link readCorners}. */
  readCorners(ref: number, out: number[]): number {
    return readCorners(this.#chunk(ref), ref & (CHUNK_WORDS - 1), out)
  }

  /** Its centre, and the radius about it that contains the shape. */
  outline(ref: number): Outline {
    return outlineOf(this.#chunk(ref), ref & (CHUNK_WORDS - 1))
  }

  /** Whether the ref's shape was given with these numbers. */
  isSame(ref: number, shape: Shape): boolean {
    return isSameShape(this.shape(ref), shape)
  }

  /** The distance to a shape; see {@link shapeDistance}. */
  distance(ref: number, probe: Probe): number {
    return shapeDistance(this.#chunk(ref), ref & (CHUNK_WORDS - 1), probe)
  }

  /** The coverage by a shape; see {@link shapeCoverage}. */
  coverage(ref: number, probe: Probe, accuracyMeters: number): number {
    return shapeCoverage(this.#chunk(ref), ref & (CHUNK_WORDS - 1), probe, accuracyMeters)
  }

  /** The number of a polygon's corners; 0 for a circle. */
  corners(ref: number): number {
    const words = this.#chunk(ref)
    const at = ref & (CHUNK_WORDS - 1)
    return layout.isCircle(words, at) ? 0 : layout.edgesOf(words, at)
  }

  /** Where shapes lie, for other threads. What they read there does not change, whatever is added or removed here. */
  offsets(refs: readonly number[]): ShapeOffsets {
    const chunks: SharedArrayBuffer[] = []
    const numbers = new Map<number, number>()
    const offsets = new Uint32Array(2 * refs.length)
    for (let i = 0; i < refs.length; i++) {
      const ref = refs[i]!
      const chunk = ref >>> CHUNK_BITS
      let number = numbers.get(chunk)
      if (number === undefined) {
        number = chunks.push(this.#chunks[chunk]!.doubles.buffer as SharedArrayBuffer) - 1
        numbers.set(chunk, number)
      }
      offsets[2 * i] = number
      offsets[2 * i + 1] = ref & (CHUNK_WORDS - 1)
    }
    return { chunks, offsets }
  }

  /** Boxes that together contain the shape with its boundary: one, or two for a shape at the antimeridian. */
  bounds(ref: number): Bounds[] {
    const words = this.#chunk(ref)
    const at = ref & (CHUNK_WORDS - 1)
    const { doubles } = words
    if (layout.isCircle(words, at)) {
      const latitude = doubles[at + layout.CIRCLE_LATITUDE]!
      const longitude = doubles[at + layout.CIRCLE_LONGITUDE]!
      return discBounds(latitude, longitude, doubles[at + layout.CIRCLE_RADIUS]!)
    }
    const root = at + layout.POLYGON_BOX
    const flags = layout.flagsOf(words, at)
    const hasSouthPole = (flags & layout.FLAG_SOUTH_POLE) !== 0
    const hasNorthPole = (flags & layout.FLAG_NORTH_POLE) !== 0
    const south = hasSouthPole ? -90 : doubles[root + 1]!
    const north = hasNorthPole ? 90 : doubles[root + 3]!
    if (hasSouthPole || hasNorthPole) return splitBounds(-180, south, 180, north)
    return splitBounds(doubles[root]!, south, doubles[root + 2]!, north)
  }

  #chunk(ref: number): layout.ShapeWords {
    return this.#chunks[ref >>> CHUNK_BITS]!
  }

  #append(values: Float64Array): number {
    const size = values.length
    let last = this.#chunks.length - 1
    if (this.#end + size > this.#chunks[last]!.doubles.length) {
      if (last === 0 && this.#end + size <= CHUNK_WORDS) {
        this.#growFirst(this.#end + size)
      } else {
        if (last === 0) this.#growFirst(CHUNK_WORDS)
        this.#wasted += CHUNK_WORDS - this.#end
        this.#chunks.push(chunkOf(CHUNK_WORDS))
        this.#end = 0
        last++
      }
    }
    const at = this.#end
    this.#chunks[last]!.doubles.set(values, at)
    this.#end = at + size
    return last * CHUNK_WORDS + at
  }

  #growFirst(least: number): void {
    const before = this.#chunks[0]!.doubles
    let length = before.length
    while (length < least) length *= 2
    this.#chunks[0] = chunkOf(length)
    this.#chunks[0].doubles.set(before)
  }
}

function chunkOf(words: number): layout.ShapeWords {
  return layout.wordsIn(new SharedArrayBuffer(8 * words))
}

/**
 * Signed metres from the probe's point to the boundary of a shape, negative inside; 0 if it is closer than a
 * micrometre. Within 1 mm + 0.1 % of WGS84 geodesics up to 20 km, within 0.5 % anywhere on Earth.
 * @param words a chunk of an arena
 */
export function shapeDistance(words: layout.ShapeWords, at: number, probe: Probe): number {
  if (!layout.isCircle(words, at)) return polygonDistance(words, at, probe)
  const distance = centerDistance(words, at, probe) - words.doubles[at + layout.CIRCLE_RADIUS]!
  return distance < ON_BOUNDARY_METERS && distance > -ON_BOUNDARY_METERS ? 0 : distance
}

/**
 * The share of the disc about the probe's point that a shape covers, 0 to 1, within 0.001 for radii up to 50 km. A
 * disc of radius 0 is covered if its point is.
 * @param accuracyMeters radius of the disc, ≥ 0
 */
export function shapeCoverage(
  words: layout.ShapeWords,
  at: number,
  probe: Probe,
  accuracyMeters: number,
): number {
  if (!(accuracyMeters > 0)) return shapeDistance(words, at, probe) <= 0 ? 1 : 0
  if (!layout.isCircle(words, at)) return polygonCoverage(words, at, probe, accuracyMeters)
  const radius = words.doubles[at + layout.CIRCLE_RADIUS]!
  return lensShare(accuracyMeters, radius, centerDistance(words, at, probe))
}

function centerDistance({ doubles }: layout.ShapeWords, at: number, probe: Probe): number {
  const x = doubles[at + layout.CIRCLE_X]!
  const y = doubles[at + layout.CIRCLE_Y]!
  const z = doubles[at + layout.CIRCLE_Z]!
  return surfaceDistance(probe.x, probe.y, probe.z, x, y, z)
}
