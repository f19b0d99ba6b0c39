import { surfaceDistance } from '../../geometry/distance.ts'
import { Probe } from '../../geometry/probe.ts'

/** The nearest point of a ring. */
const edge = new Probe()

/**
 * The distance from a point to the edge of an area in metres, negative inside. It is that of `nearestOnLine` and `isInside` of
 * records/areas.ts, in one loop that makes no objects. The code is pure.
 * @param rings closed ones, each as the longitudes and latitudes of its corners in degrees
 */
export function metersToRings(
  { latitude: y, longitude: x, x: px, y: py, z: pz }: Probe,
  rings: readonly Float64Array[],
): number {
  const scale = Math.cos((y * Math.PI) / 180)
  let inside = false
  let meters = Infinity
  for (const ring of rings) {
    let ax = ring[0]!
    let ay = ring[1]!
    let bestX = ax
    let bestY = ay
    let least = Infinity
    for (let i = 2; i < ring.length; i += 2) {
      const bx = ring[i]!
      const by = ring[i + 1]!
      if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) inside = !inside
      const ux = (bx - ax) * scale
      const uy = by - ay
      const length = ux * ux + uy * uy
      const share = length === 0 ? 0 : ((x - ax) * scale * ux + (y - ay) * uy) / length
      const along = Math.min(1, Math.max(0, share))
      const atX = ax + (bx - ax) * along
      const atY = ay + uy * along
      const dx = (atX - x) * scale
      const dy = atY - y
      const square = dx * dx + dy * dy
      if (square < least) {
        least = square
        bestX = atX
        bestY = atY
      }
      ax = bx
      ay = by
    }
    edge.set(bestY, bestX)
    meters = Math.min(meters, surfaceDistance(px, py, pz, edge.x, edge.y, edge.z))
  }
  return inside ? -meters : meters
}
