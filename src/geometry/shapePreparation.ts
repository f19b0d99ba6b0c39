import type { Outline, Position, Shape } from '../model/geofence.ts'
import { gridLongitude, wrapLongitude } from './distance.ts'
import { Probe } from './probe.ts'
import { normalizeRing } from './ring.ts'
import type { NormalizedRing } from './ring.ts'
import { shapeOutline } from './shape.ts'
import * as layout from './shapeLayout.ts'

const probe = new Probe()
/**
 * The memory for the result of {@link prepareShape}. It is reused, because allocating it takes longer than filling it.
 */
let scratch = wordsOf(1024)
/** West, south, east and north of each node of a tree. */
let boxes = new Float64Array(1024)

/** A shape's words as {@link layout} describes them, to be copied into a chunk before the next call. */
export function prepareShape(shape: Shape): layout.ShapeWords {
  if (shape.kind === 'polygon') return preparePolygon(shape)
  if (!(shape.radius > 0)) throw new RangeError(`a circle's radius must be positive: ${shape.radius}`)
  const [longitude, latitude] = shape.center
  probe.set(latitude, longitude)
  const words = scratchOf(layout.CIRCLE_WORDS)
  words.ints[0] = layout.CIRCLE
  words.ints[1] = layout.CIRCLE_WORDS
  words.doubles[layout.CIRCLE_RADIUS] = shape.radius
  words.doubles[layout.CIRCLE_LATITUDE] = latitude
  words.doubles[layout.CIRCLE_LONGITUDE] = longitude
  words.doubles[layout.CIRCLE_X] = probe.x
  words.doubles[layout.CIRCLE_Y] = probe.y
  words.doubles[layout.CIRCLE_Z] = probe.z
  return words
}

/** The shape as it was given, bit for bit: the inverse of {@link prepareShape}. */
export function shapeOf(words: layout.ShapeWords, at: number): Shape {
  const { doubles, ints } = words
  if (layout.isCircle(words, at)) {
    const center = [doubles[at + layout.CIRCLE_LONGITUDE]!, doubles[at + layout.CIRCLE_LATITUDE]!] as const
    return { kind: 'circle', center, radius: doubles[at + layout.CIRCLE_RADIUS]! }
  }
  const flags = layout.flagsOf(words, at)
  let from = layout.verticesOf(at, layout.leavesOf(words, at))
  let positions = layout.edgesOf(words, at) + 1
  const ring: Position[] = []
  if ((flags & layout.FLAG_DECIMAL) !== 0) {
    for (let i = 2 * from; i < 2 * (from + positions); i += 2) {
      ring.push([ints[i]! / layout.DECIMALS, ints[i + 1]! / layout.DECIMALS])
    }
  } else {
    if ((flags & layout.FLAG_GIVEN) !== 0) {
      from += 2 * positions + 1
      positions = ints[2 * from - 2]!
    }
    for (let i = from; i < from + 2 * positions; i += 2) ring.push([doubles[i]!, doubles[i + 1]!])
  }
  if ((flags & layout.FLAG_REVERSED) !== 0) ring.reverse()
  return { kind: 'polygon', ring }
}

/**
 * Writes the corners of a polygon to the beginning of `out`: longitude and latitude by turns, in either direction, and
 * not closed. For readers of many polygons: {@link shapeOf} makes an object for each corner.
 * @returns how many corners; 0 for a circle
 */
export function readCorners(words: layout.ShapeWords, at: number, out: number[]): number {
  if (layout.isCircle(words, at)) return 0
  const { doubles, ints } = words
  const from = layout.verticesOf(at, layout.leavesOf(words, at))
  const numbers = 2 * layout.edgesOf(words, at)
  if ((layout.flagsOf(words, at) & layout.FLAG_DECIMAL) !== 0) {
    for (let i = 0; i < numbers; i++) out[i] = ints[2 * from + i]! / layout.DECIMALS
  } else {
    for (let i = 0; i < numbers; i++) out[i] = doubles[from + i]!
  }
  return numbers / 2
}

/** Same as `shapeOutline`, but without walking along the ring. */
export function outlineOf(words: layout.ShapeWords, at: number): Outline {
  const { doubles } = words
  if (layout.isCircle(words, at)) {
    const longitude = wrapLongitude(doubles[at + layout.CIRCLE_LONGITUDE]!)
    const center = [longitude, doubles[at + layout.CIRCLE_LATITUDE]!] as const
    return { center, radius: doubles[at + layout.CIRCLE_RADIUS]! }
  }
  const from = at + layout.POLYGON_OUTLINE
  return { center: [doubles[from]!, doubles[from + 1]!], radius: doubles[from + 2]! }
}

/** The memory for the result, which is enlarged if it is too small. */
function scratchOf(size: number): layout.ShapeWords {
  if (scratch.doubles.length < size) scratch = wordsOf(2 * size)
  return scratch
}

function wordsOf(size: number): layout.ShapeWords {
  const doubles = new Float64Array(size)
  return { doubles, ints: new Int32Array(doubles.buffer), shorts: new Uint16Array(doubles.buffer) }
}

function preparePolygon(shape: Shape & { readonly kind: 'polygon' }): layout.ShapeWords {
  const given = shape.ring
  const ring = normalizeRing(given)
  const edges = ring.longitudes.length - 1
  const leaves = layout.leavesFor(edges)
  const vertices = layout.verticesOf(0, leaves)
  let flags = layout.POLYGON | vertexFlags(given, ring)
  let size = vertices + (edges + 1) * ((flags & layout.FLAG_DECIMAL) !== 0 ? 1 : 2)
  if ((flags & layout.FLAG_GIVEN) !== 0) size += 1 + 2 * given.length
  const words = scratchOf(size)
  const { doubles, ints, shorts } = words
  writeVertices(words, vertices, flags, given, ring)
  fillBoxes(ring, leaves)
  const box = [boxes[0]!, boxes[1]!, boxes[2]!, boxes[3]!] as const
  for (let i = 0; i < 4; i++) doubles[layout.POLYGON_BOX + i] = box[i]!
  const { center, radius } = shapeOutline(shape)
  doubles[layout.POLYGON_OUTLINE] = center[0]
  doubles[layout.POLYGON_OUTLINE + 1] = center[1]
  doubles[layout.POLYGON_OUTLINE + 2] = radius
  for (let node = 1; node <= 2 * leaves - 2; node++) {
    const to = 4 * (layout.POLYGON_NODES + node)
    shorts[to] = partBelow(box[0], box[2], boxes[4 * node]!)
    shorts[to + 1] = partBelow(box[1], box[3], boxes[4 * node + 1]!)
    shorts[to + 2] = partAbove(box[0], box[2], boxes[4 * node + 2]!)
    shorts[to + 3] = partAbove(box[1], box[3], boxes[4 * node + 3]!)
  }
  const width = box[2] - box[0]
  if (ring.pole !== 0 || width > 180) flags |= layout.FLAG_GLOBAL
  if (ring.pole === 1) flags |= layout.FLAG_NORTH_POLE
  if (ring.pole === -1) flags |= layout.FLAG_SOUTH_POLE
  if (ring.pole === 0 && width === 360 && seamIsPaired(ring, box[0])) flags |= layout.FLAG_SEAM
  ints[0] = flags
  ints[1] = size
  ints[2] = edges
  ints[3] = leaves
  return words
}

/** How the vertices are stored; see {@link layout}. */
function vertexFlags(given: readonly Position[], ring: NormalizedRing): number {
  const reversed = !isAsGiven(given, ring, false)
  if (reversed && !isAsGiven(given, ring, true)) return layout.FLAG_GIVEN
  const flags = reversed ? layout.FLAG_REVERSED : 0
  for (let i = 0; i < given.length; i++) {
    const position = given[i]!
    if (!isDecimal(position[0]) || !isDecimal(position[1])) return flags
  }
  return flags | layout.FLAG_DECIMAL
}

/** Whether the vertices are the positions as given, forwards or backwards. */
function isAsGiven(given: readonly Position[], ring: NormalizedRing, reversed: boolean): boolean {
  const { longitudes, latitudes } = ring
  const count = given.length
  if (longitudes.length !== count) return false
  for (let i = 0; i < count; i++) {
    const position = given[reversed ? count - 1 - i : i]!
    if (longitudes[i] !== gridLongitude(position[0]) || latitudes[i] !== position[1]) return false
  }
  return true
}

/** Whether a number is a whole count of ten-millionths that fits an Int32. */
function isDecimal(degrees: number): boolean {
  const parts = Math.round(degrees * layout.DECIMALS)
  return (parts | 0) === parts && Object.is(parts / layout.DECIMALS, degrees) && !Object.is(parts, -0)
}

function writeVertices(
  { doubles, ints }: layout.ShapeWords,
  at: number,
  flags: number,
  given: readonly Position[],
  ring: NormalizedRing,
): void {
  if ((flags & layout.FLAG_GIVEN) === 0) {
    const reversed = (flags & layout.FLAG_REVERSED) !== 0
    const isInDecimals = (flags & layout.FLAG_DECIMAL) !== 0
    for (let i = 0; i < given.length; i++) {
      const [lon, lat] = given[reversed ? given.length - 1 - i : i]!
      if (isInDecimals) {
        ints[2 * (at + i)] = Math.round(lon * layout.DECIMALS)
        ints[2 * (at + i) + 1] = Math.round(lat * layout.DECIMALS)
      } else {
        doubles[at + 2 * i] = lon
        doubles[at + 2 * i + 1] = lat
      }
    }
    return
  }
  let to = at
  for (let i = 0; i < ring.longitudes.length; i++) {
    doubles[to++] = ring.longitudes[i]!
    doubles[to++] = ring.latitudes[i]!
  }
  ints[2 * to] = given.length
  to++
  for (const [lon, lat] of given) {
    doubles[to++] = lon
    doubles[to++] = lat
  }
}

function fillBoxes({ longitudes, latitudes }: NormalizedRing, leaves: number): void {
  const edges = longitudes.length - 1
  const size = 4 * (2 * leaves - 1)
  if (boxes.length < size) boxes = new Float64Array(2 * size)
  for (let node = 2 * leaves - 2; node >= 0; node--) {
    let west = Infinity
    let south = Infinity
    let east = -Infinity
    let north = -Infinity
    if (node >= leaves - 1) {
      const leaf = node - (leaves - 1)
      const end = layout.leafStart(leaf + 1, leaves, edges)
      for (let i = layout.leafStart(leaf, leaves, edges); i <= end; i++) {
        west = Math.min(west, longitudes[i]!)
        south = Math.min(south, latitudes[i]!)
        east = Math.max(east, longitudes[i]!)
        north = Math.max(north, latitudes[i]!)
      }
    } else {
      const left = 4 * (2 * node + 1)
      west = Math.min(boxes[left]!, boxes[left + 4]!)
      south = Math.min(boxes[left + 1]!, boxes[left + 5]!)
      east = Math.max(boxes[left + 2]!, boxes[left + 6]!)
      north = Math.max(boxes[left + 3]!, boxes[left + 7]!)
    }
    boxes[4 * node] = west
    boxes[4 * node + 1] = south
    boxes[4 * node + 2] = east
    boxes[4 * node + 3] = north
  }
}

/** The largest fraction of the way from `low` to `high` that is read back as no more than `value`. */
function partBelow(low: number, high: number, value: number): number {
  const step = (high - low) / layout.BOX_PARTS
  if (step === 0) return 0
  let part = Math.min(layout.BOX_PARTS, Math.floor((value - low) / step))
  while (part > 0 && low + part * step > value) part--
  return part
}

/** The smallest fraction of the way from `low` to `high` that is read back as no less than `value`. */
function partAbove(low: number, high: number, value: number): number {
  const step = (high - low) / layout.BOX_PARTS
  if (step === 0) return 0
  let part = Math.max(0, Math.ceil((value - low) / step))
  while (part <= layout.BOX_PARTS && low + part * step < value) part++
  return part
}

/**
 * Whether every edge on the western end of a 360° wide ring coincides with one at its eastern end, so that neither is
 * a boundary.
 */
function seamIsPaired(ring: NormalizedRing, west: number): boolean {
  const { longitudes, latitudes } = ring
  const spans: [string[], string[]] = [[], []]
  for (let i = 0; i + 1 < longitudes.length; i++) {
    const lon = longitudes[i]!
    if (lon !== longitudes[i + 1]! || (lon !== west && lon !== west + 360)) continue
    const ends = [latitudes[i]!, latitudes[i + 1]!].sort((a, b) => a - b)
    spans[lon === west ? 0 : 1].push(ends.join(' '))
  }
  return spans[0].length > 0 && spans[0].sort().join() === spans[1].sort().join()
}
