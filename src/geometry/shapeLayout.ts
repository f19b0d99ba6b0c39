import { RADIANS, gridLongitude } from './distance.ts'

/**
 * How a prepared shape lies in a chunk of memory, counted in words of 8 bytes from `at`, its first word.
 *
 * Every shape: word 0 has kind and flags (ints), size in words. Circle, 7 words: radius, latitude and longitude of
 * the centre as given, the centre x, y, z (Earth-centred). Polygon: word 1, edges n and leaves L (ints); words 2 to
 * 5, west, south, east, north of all; words 6 to 8, longitude and latitude of the centre, radius of the outline; 2L −
 * 2 boxes of a word; n + 1 vertices in ring order, the inside to the left of every edge.
 *
 * Vertices are kept as they were given, so that the given ring need not be kept too. If all numbers are whole
 * ten-millionths of a degree (maps usually have seven decimals, a centimetre), a vertex takes one word, otherwise two
 * doubles. Rings that had to be unwrapped, or that repeat a position, are the exception: for them the given ring
 * follows the vertices.
 *
 * The chain of edges is cut into L (a power of two) runs of at most {@link LEAF_EDGES} edges; above the runs is a
 * complete binary tree of their boxes. Node i has the children 2i + 1 and 2i + 2, so neither pointers nor sorting are
 * needed. Boxes are fractions of the root's box, rounded outwards: a bound that is too low by a five-thousandth of a
 * percent of the polygon still finds the same edges.
 */
export interface ShapeWords {
  /** The words as doubles. Word `at` is at index `at`. */
  readonly doubles: Float64Array
  /** The same bytes as 32-bit integers. Word `at` begins at index 2·at. */
  readonly ints: Int32Array
  /** The same bytes as 16-bit integers. Word `at` begins at index 4·at. */
  readonly shorts: Uint16Array
}

/** The words of a chunk. */
export function wordsIn(chunk: SharedArrayBuffer): ShapeWords {
  return { doubles: new Float64Array(chunk), ints: new Int32Array(chunk), shorts: new Uint16Array(chunk) }
}

export const CIRCLE = 1
export const POLYGON = 2
const KIND_MASK = 3

/** The shape is too wide for one local frame, or goes around a pole, so every measurement uses the spherical code. */
export const FLAG_GLOBAL = 4
/** The shape spans exactly 360°. Its two ends coincide and are not a boundary. */
export const FLAG_SEAM = 8
export const FLAG_NORTH_POLE = 16
export const FLAG_SOUTH_POLE = 32
/** The vertices are whole ten-millionths of degrees. */
export const FLAG_DECIMAL = 64
/** The ring was given in the opposite direction. */
export const FLAG_REVERSED = 128
/** The given ring follows the vertices: its number of positions, then two doubles for each. */
export const FLAG_GIVEN = 256

export const CIRCLE_RADIUS = 1
export const CIRCLE_LATITUDE = 2
export const CIRCLE_LONGITUDE = 3
export const CIRCLE_X = 4
export const CIRCLE_Y = 5
export const CIRCLE_Z = 6
export const CIRCLE_WORDS = 7

export const POLYGON_BOX = 2
export const POLYGON_OUTLINE = 6
/** Node i, from 1 on, is in word i after this one. */
export const POLYGON_NODES = 8

/** Decimal vertices are counted in this fraction of a degree. */
export const DECIMALS = 1e7
/**
 * One less than the largest fraction, so that the largest lies beyond the root's box however the product is rounded.
 */
export const BOX_PARTS = 65_534

/** The most edges of a leaf of the tree. The number of leaves is the next power of two. */
const LEAF_EDGES = 8

/** The flags of a shape, including its kind. */
export function flagsOf({ ints }: ShapeWords, at: number): number {
  return ints[2 * at]!
}

export function isCircle({ ints }: ShapeWords, at: number): boolean {
  return (ints[2 * at]! & KIND_MASK) === CIRCLE
}

/** How many words a shape takes. */
export function sizeOf({ ints }: ShapeWords, at: number): number {
  return ints[2 * at + 1]!
}

export function edgesOf({ ints }: ShapeWords, at: number): number {
  return ints[2 * at + 2]!
}

export function leavesOf({ ints }: ShapeWords, at: number): number {
  return ints[2 * at + 3]!
}

/** The number of leaves for that many edges: a power of two. */
export function leavesFor(edges: number): number {
  let leaves = 1
  while (leaves * LEAF_EDGES < edges) leaves *= 2
  return leaves
}

/** The first edge of a leaf. `leaf` may be L, for the end of the last leaf. */
export function leafStart(leaf: number, leaves: number, edges: number): number {
  return Math.floor((leaf * edges) / leaves)
}

/** How many leaves are under a node. The first of them is (node + 1) · count − L. */
export function leavesUnder(node: number, leaves: number): number {
  return leaves >> (31 - Math.clz32(node + 1))
}

/** The word of a polygon's first vertex. */
export function verticesOf(at: number, leaves: number): number {
  return at + POLYGON_NODES + 2 * leaves - 1
}

/** The vertices of one run as {@link loadRun} set them: longitude and latitude in degrees, alternating. */
export const run = new Float64Array(2 * (LEAF_EDGES + 1))

/**
 * Sets {@link run} to the vertices of a leaf.
 * @returns how many edges the leaf has
 */
export function loadRun(words: ShapeWords, at: number, leaf: number): number {
  const { doubles, ints } = words
  const edges = ints[2 * at + 2]!
  const leaves = ints[2 * at + 3]!
  const first = leafStart(leaf, leaves, edges)
  const count = leafStart(leaf + 1, leaves, edges) - first
  const vertices = verticesOf(at, leaves)
  if ((ints[2 * at]! & FLAG_DECIMAL) !== 0) {
    const from = 2 * (vertices + first)
    for (let i = 0; i <= 2 * count; i += 2) {
      run[i] = ints[from + i]! / DECIMALS
      run[i + 1] = ints[from + i + 1]! / DECIMALS
    }
  } else {
    const from = vertices + 2 * first
    for (let i = 0; i <= 2 * count; i += 2) {
      run[i] = doubles[from + i]!
      run[i + 1] = doubles[from + i + 1]!
    }
  }
  return count
}

/** The longitude of a vertex in degrees; see {@link gridLongitude}. */
export function vertexLongitude({ doubles, ints }: ShapeWords, at: number, vertex: number): number {
  const vertices = verticesOf(at, ints[2 * at + 3]!)
  return gridLongitude(
    (ints[2 * at]! & FLAG_DECIMAL) !== 0
      ? ints[2 * (vertices + vertex)]! / DECIMALS
      : doubles[vertices + 2 * vertex]!,
  )
}

/** West, south, east and north of a node in degrees, as {@link loadNode} set them. */
export const nodeBox = new Float64Array(4)

/** Sets {@link nodeBox} to bounds of a node: those of the root are exact, others slightly wide. */
export function loadNode({ doubles, shorts }: ShapeWords, at: number, node: number): void {
  const root = at + POLYGON_BOX
  const west = doubles[root]!
  const south = doubles[root + 1]!
  const east = doubles[root + 2]!
  const north = doubles[root + 3]!
  if (node === 0) {
    nodeBox[0] = west
    nodeBox[1] = south
    nodeBox[2] = east
    nodeBox[3] = north
    return
  }
  const stepX = (east - west) / BOX_PARTS
  const stepY = (north - south) / BOX_PARTS
  const from = 4 * (at + POLYGON_NODES + node)
  nodeBox[0] = west + shorts[from]! * stepX
  nodeBox[1] = south + shorts[from + 1]! * stepY
  nodeBox[2] = west + shorts[from + 2]! * stepX
  nodeBox[3] = south + shorts[from + 3]! * stepY
}

/**
 * A lower bound, within a thousandth, of the cosine of all latitudes between the two, 0 to 1: the series of the
 * cosine, cut off after a subtracted term.
 */
export function leastCosine(south: number, north: number): number {
  const x = Math.max(-south, north) * RADIANS
  const square = x * x
  return Math.max(0, 1 - square * (1 / 2 - square * (1 / 24 - square / 720)))
}
