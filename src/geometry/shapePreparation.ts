import type { Shape } from '../model/geofence.ts'
import { RADIANS } from './distance.ts'
import { Probe } from './probe.ts'
import { normalizeRing } from './ring.ts'
import type { NormalizedRing } from './ring.ts'
import * as layout from './shapeLayout.ts'

const probe = new Probe()

/** A shape's values as {@link layout} describes them, ready to be copied into a store. */
export function prepareShape(shape: Shape): Float64Array {
  if (shape.kind === 'polygon') return preparePolygon(normalizeRing(shape.ring))
  if (!(shape.radius > 0)) throw new RangeError(`a circle's radius must be positive: ${shape.radius}`)
  const [longitude, latitude] = shape.center
  probe.set(latitude, longitude)
  const values = new Float64Array(layout.CIRCLE_SIZE)
  values[layout.KIND] = layout.CIRCLE
  values[layout.SIZE] = layout.CIRCLE_SIZE
  values[layout.CIRCLE_X] = probe.x
  values[layout.CIRCLE_Y] = probe.y
  values[layout.CIRCLE_Z] = probe.z
  values[layout.CIRCLE_RADIUS] = shape.radius
  values[layout.CIRCLE_LATITUDE] = latitude
  values[layout.CIRCLE_LONGITUDE] = longitude
  return values
}

function preparePolygon(ring: NormalizedRing): Float64Array {
  const { longitudes, latitudes, pole } = ring
  const edges = longitudes.length - 1
  const leaves = layout.leavesFor(edges)
  const vertices = layout.verticesOf(0, leaves)
  const values = new Float64Array(vertices + 2 * (edges + 1))
  values[layout.KIND] = layout.POLYGON
  values[layout.SIZE] = values.length
  values[layout.POLYGON_EDGES] = edges
  values[layout.POLYGON_LEAVES] = leaves
  values[layout.POLYGON_POLE] = pole
  for (let i = 0; i <= edges; i++) {
    values[vertices + 2 * i] = longitudes[i]!
    values[vertices + 2 * i + 1] = latitudes[i]!
  }
  for (let node = 2 * leaves - 2; node >= 0; node--) {
    const at = layout.POLYGON_NODES + layout.NODE_SIZE * node
    if (node >= leaves - 1) fillLeaf(values, at, ring, leaves, node - (leaves - 1))
    else fillParent(values, at, node)
  }
  const root = layout.POLYGON_NODES
  const width = values[root + 2]! - values[root]!
  let flags = 0
  if (pole !== 0 || width > 180) flags |= layout.FLAG_GLOBAL
  if (pole === 0 && width === 360 && seamIsPaired(ring, values[root]!)) flags |= layout.FLAG_SEAM
  values[layout.POLYGON_FLAGS] = flags
  return values
}

function fillLeaf(
  values: Float64Array,
  at: number,
  ring: NormalizedRing,
  leaves: number,
  leaf: number,
): void {
  const { longitudes, latitudes } = ring
  const edges = longitudes.length - 1
  const end = layout.leafStart(leaf + 1, leaves, edges)
  let west = Infinity
  let south = Infinity
  let east = -Infinity
  let north = -Infinity
  for (let i = layout.leafStart(leaf, leaves, edges); i <= end; i++) {
    west = Math.min(west, longitudes[i]!)
    east = Math.max(east, longitudes[i]!)
    south = Math.min(south, latitudes[i]!)
    north = Math.max(north, latitudes[i]!)
  }
  values[at] = west
  values[at + 1] = south
  values[at + 2] = east
  values[at + 3] = north
  values[at + 4] = Math.max(0, Math.cos(Math.max(Math.abs(south), Math.abs(north)) * RADIANS))
}

function fillParent(values: Float64Array, at: number, node: number): void {
  const left = layout.POLYGON_NODES + layout.NODE_SIZE * (2 * node + 1)
  const right = left + layout.NODE_SIZE
  values[at] = Math.min(values[left]!, values[right]!)
  values[at + 1] = Math.min(values[left + 1]!, values[right + 1]!)
  values[at + 2] = Math.max(values[left + 2]!, values[right + 2]!)
  values[at + 3] = Math.max(values[left + 3]!, values[right + 3]!)
  values[at + 4] = Math.min(values[left + 4]!, values[right + 4]!)
}

/** Whether every edge on the western end of a 360° wide ring lies on one at its eastern end, so that neither bounds. */
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
