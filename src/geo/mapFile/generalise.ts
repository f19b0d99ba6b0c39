/**
 * Shapes as a level shows them: in its units, with fewer points, and without those that are too small. The code is
 * pure.
 */
import type { Part } from './block.ts'
import { doubleArea } from './clip.ts'
import { LARGEST_ZOOM, type Level } from './grid.ts'
import type { MapShape } from './kinds.ts'
import { simplifyLine, simplifyRing } from './simplify.ts'
import { simplifyPolygon } from './simplifyPolygon.ts'

/**
 * How far lines may be off, in units of a tile: half a pixel, which has eight units. Clients enlarge tiles of the
 * largest zoom, so those are more exact.
 */
const TOLERANCE = 4
const LARGEST_ZOOM_TOLERANCE = 1.5
/** Areas that are smaller than this many square units, a pixel and a half, are not shown. */
const LEAST_AREA = 96

/**
 * The shape in the units of the level.
 * @param parts in units of the grid, not rounded; the rings of an area, each outer one before its holes
 * @returns empty if nothing of it is seen there
 */
export function generalise(shape: MapShape, parts: readonly Part[], level: Level): Part[] {
  const tolerance = level.until === LARGEST_ZOOM ? LARGEST_ZOOM_TOLERANCE : TOLERANCE
  return thinned(shape, scaled(parts, level), tolerance, LEAST_AREA)
}

/**
 * A polygon in the units of the level, whose edges do not cross. It takes longer than {@link generalise}.
 * @param rings in units of the grid, not rounded; the outer one before its holes
 * @returns empty if nothing of it is seen there
 */
export function generaliseOutline(rings: readonly Part[], level: Level): Part[] {
  return simplifyPolygon(scaled(rings, level), TOLERANCE, LEAST_AREA)
}

function scaled(parts: readonly Part[], { shift }: Level): number[][] {
  const scale = 2 ** -shift
  return parts.map((part) => Array.from(part, (value) => Math.round(value * scale)))
}

/**
 * Parts with fewer points.
 * @param tolerance how far lines and rings may be off
 * @param leastArea the least area of a ring, in square units
 */
export function thinned(
  shape: MapShape,
  parts: readonly ArrayLike<number>[],
  tolerance: number,
  leastArea: number,
): Part[] {
  if (shape === 'point') return parts.map((part) => Array.from(part))
  if (shape === 'line')
    return parts.map((part) => simplifyLine(part, tolerance)).filter((part) => part.length >= 4)
  const rings: Part[] = []
  let isShown = false
  for (const part of parts) {
    if (part.length < 6) continue
    const size = doubleArea(part) / 2
    // Holes belong to the outer ring before them.
    if (size >= 0) isShown = size >= leastArea
    if (!isShown || Math.abs(size) < leastArea) continue
    const ring = simplifyRing(part, tolerance)
    if (ring.length > 0) rings.push(ring)
    else if (size >= 0) isShown = false
  }
  return rings
}
