/**
 * Polygons of the sphere on the square of the map. Those of the outlines go on beyond 180° of longitude, and around
 * the pole. On the map, an edge from 179° to -179° would otherwise run through the whole world.
 */
import type { Position } from '../../model/geofence.ts'
import { clipRing, doubleArea } from '../mapFile/clip.ts'
import { project, TILE_MARGIN, TILE_UNITS, WORLD_BITS } from '../mapFile/grid.ts'

/** The world's side in units of the grid. */
const WORLD = 2 ** WORLD_BITS
/** How far the map goes on beyond its edges: the margin of a tile of zoom 0, which is the widest one. */
const BEYOND = (WORLD * TILE_MARGIN) / TILE_UNITS
const MAP = { west: -BEYOND, east: WORLD + BEYOND, north: -WORLD, south: 2 * WORLD }

/**
 * What the map shows of a polygon, as one polygon for each time that it meets the map.
 * @param rings closed rings in degrees, the outer one first. No edge is longer than half of the way around the Earth
 * @returns rings in units of the grid, not closed; outer ones run clockwise on the map, holes anticlockwise
 */
export function flatPolygons(rings: readonly (readonly Position[])[]): number[][][] {
  const [outer, ...holes] = rings.filter((ring) => !isBeyond(ring)).map(unrolled)
  if (outer === undefined) return []
  const { west, east } = extentOf(outer)
  const placed = holes.map((hole) => {
    const { west: start, east: end } = extentOf(hole)
    // Both began at a place of their own on the way around the Earth.
    const windings = Math.round(((west + east) / 2 - (start + end) / 2) / WORLD)
    const isInside = (winding: number): boolean =>
      start + winding * WORLD >= west && end + winding * WORLD <= east
    return moved(hole, [windings, windings - 1, windings + 1].find(isInside) ?? windings)
  })
  const oriented = [outer, ...placed].map((ring, i) =>
    doubleArea(ring) >= 0 === i > 0 ? reversed(ring) : ring,
  )
  const polygons: number[][][] = []
  for (let winding = Math.ceil((MAP.west - east) / WORLD); west + winding * WORLD <= MAP.east; winding++) {
    const parts = oriented.map((ring) => Array.from(clipRing(moved(ring, winding), MAP)))
    if (parts[0]!.length > 0) polygons.push(parts.filter((part) => part.length > 0))
  }
  return polygons
}

/** Whether the map does not reach so far north or south: one of the outlines has a hole of a few metres at the pole. */
function isBeyond(ring: readonly Position[]): boolean {
  return ring.every(([, latitude]) => Math.abs(latitude) > 89)
}

/** A ring in units of the grid, whose x goes on where the longitude begins anew. */
function unrolled(ring: readonly Position[]): number[] {
  const points = ring.slice(0, -1).map(project)
  const start = points.findIndex(([x], i) => Math.abs(x - points.at(i - 1)![0]) > WORLD / 2)
  if (start === -1) return points.flat()
  const flat: number[] = []
  let windings = 0
  let before: number | undefined
  for (const [x, y] of [...points.slice(start), ...points.slice(0, start)]) {
    if (before !== undefined) windings -= Math.round((x - before) / WORLD)
    before = x
    flat.push(x + windings * WORLD, y)
  }
  // It has gone around a pole if it ends a whole way around from its start. It is closed beyond the edge of the map.
  const [x, y] = [flat[0]!, flat[1]!]
  const around = Math.round((flat.at(-2)! - x) / WORLD) * WORLD
  if (around === 0) return flat
  const pole = y > WORLD / 2 ? WORLD + BEYOND : -BEYOND
  return [...flat, x + around, y, x + around, pole, x, pole]
}

function moved(ring: readonly number[], windings: number): number[] {
  return windings === 0 ? [...ring] : ring.map((value, i) => (i % 2 === 0 ? value + windings * WORLD : value))
}

function extentOf(ring: readonly number[]): { west: number; east: number } {
  let [west, east] = [Infinity, -Infinity]
  for (let i = 0; i < ring.length; i += 2) {
    west = Math.min(west, ring[i]!)
    east = Math.max(east, ring[i]!)
  }
  return { west, east }
}

function reversed(ring: readonly number[]): number[] {
  return ring.flatMap((_, i) => (i % 2 === 0 ? [ring.at(-2 - i)!, ring.at(-1 - i)!] : []))
}
