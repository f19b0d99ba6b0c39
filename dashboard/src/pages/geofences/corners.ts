import { ringCrossing } from '../../../../src/geometry/ringCrossing.ts'
import type { LngLat } from '../../map/geometry.ts'

/** Corners of a polygon as people type them: a line each, latitude before longitude as on most maps. */

/**
 * Writes the corners.
 * @param ring closed, or empty
 */
export function cornersText(ring: readonly LngLat[]): string {
  return ring
    .slice(0, -1)
    .map(([longitude, latitude]) => `${latitude}, ${longitude}`)
    .join('\n')
}

/** The closed ring of lines with two numbers; other lines are left out, as they may not be finished. */
export function cornersOf(text: string): LngLat[] {
  const corners = text.split('\n').flatMap((line): LngLat[] => {
    const numbers = line
      .split(/[,;\s]+/)
      .filter((part) => part !== '')
      .map(Number)
    const [latitude, longitude] = numbers
    return numbers.length === 2 && numbers.every(Number.isFinite) ? [[longitude!, latitude!]] : []
  })
  return corners.length === 0 ? [] : [...corners, corners[0]!]
}

/** Whether two rings have the same corners. */
export function isSameRing(a: readonly LngLat[], b: readonly LngLat[]): boolean {
  return a.length === b.length && a.every(([x, y], i) => x === b[i]![0] && y === b[i]![1])
}

/** Why the server will refuse the ring, while it is drawn; undefined if nothing is seen. The server looks at everything. */
export function ringTrouble(ring: readonly LngLat[]): string | undefined {
  if (ring.length < 4) return undefined
  const x: number[] = []
  const y: number[] = []
  for (const [longitude, latitude] of ring) {
    // Continuous, also across the antimeridian.
    const near = x.length === 0 ? longitude : longitude - 360 * Math.round((longitude - x.at(-1)!) / 360)
    if (near !== x.at(-1) || latitude !== y.at(-1)) {
      x.push(near)
      y.push(latitude)
    }
  }
  // Around a pole, only the server knows.
  if (x.length < 4 || x[0] !== x.at(-1)) return undefined
  const crossing = ringCrossing(Float64Array.from(x), Float64Array.from(y), false)
  if (crossing === undefined) return undefined
  const [longitude, latitude] = crossing
  return `The boundary crosses or overlaps itself near ${latitude.toFixed(5)}, ${longitude.toFixed(5)}.`
}
