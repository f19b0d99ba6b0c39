import { pointDistance } from '../../geometry/distance.ts'
import { Probe } from '../../geometry/probe.ts'
import type { Position } from '../../model/geofence.ts'
import type { PlaceRecords } from '../placeDatabase/port.ts'
import { isInside } from '../records/areas.ts'
import type { UsArea, World } from '../world/port.ts'
import { STATE_CODES } from '../world/usNames.ts'
import type { AreaEdges } from './areaEdges.ts'
import { sortPoints } from './codedPoints.ts'
import { countryEdges } from './countryEdges.ts'
import { boundsOfCell, degreeMeters, widened, type CellBounds } from './grid.ts'
import {
  COAST_METERS,
  MOST_CLEARANCE_METERS,
  NEIGHBOUR_METERS,
  ZIP_METERS,
  type RegionCell,
  type UnitedStatesCell,
} from './regionCell.ts'

/** The data from which a cell is made. */
export interface CellSources {
  /** All map regions in service. */
  readonly regions: readonly CellRegion[]
  /** The data of the world. Undefined if its packages are not installed; then only countries are known. */
  readonly world: World | undefined
}

export interface CellRegion {
  /** Opens the records if they are not open. */
  readonly records: () => PlaceRecords
  /** West, south, east and north. */
  readonly bounds: readonly [number, number, number, number]
}

/**
 * How far around a cell addresses are read for points outside of it, so that clearances do not end at the cell's edge.
 */
const SPARE_METERS = 200
/** How many postal codes are always kept. Clearances also depend on those that are not the nearest of any point. */
const MOST_SPARE_ZIPS = 12

/**
 * The reference lies near the middle, where no corner of a border is likely to have exactly its longitude or latitude.
 */
const REFERENCE_SHARE = 0.4812345678

/** Reads one cell. It takes some milliseconds where there are many addresses. */
export function makeRegionCell(cell: number, { regions, world }: CellSources): RegionCell {
  const bounds = boundsOfCell(cell)
  const { west, south, east, north } = bounds
  const reference: Position = [
    west + (east - west) * REFERENCE_SHARE,
    south + (north - south) * REFERENCE_SHARE,
  ]
  const around = widened(bounds, MOST_CLEARANCE_METERS)
  const countries = countryEdges(around, reference)
  const isAmerican = countries.codes.includes('US')
  const reachMeters = isAmerican ? metersToData(bounds, regions) : MOST_CLEARANCE_METERS
  const unitedStates =
    isAmerican && world !== undefined ? makeUnitedStates(bounds, reference, regions, world) : undefined
  return { bounds, reference, countries, unitedStates, reachMeters }
}

function makeUnitedStates(
  bounds: CellBounds,
  reference: Position,
  regions: readonly CellRegion[],
  world: World,
): UnitedStatesCell {
  const near = widened(bounds, NEIGHBOUR_METERS + SPARE_METERS)
  const postalCodes = regions
    .filter(
      ({ bounds: [w, s, e, n] }) => w <= near.east && e >= near.west && s <= near.north && n >= near.south,
    )
    .map(({ records }) => records().postalCodes)
  const points = postalCodes
    .flatMap((codes) => codes.points(near))
    .flatMap(({ x, y, code }) => zipOf(code).map((zip) => ({ x, y, code: zip })))
  const addresses = sortPoints(points, near)
  const lines = postalCodes.flatMap((codes) => codes.lines(near))
  const ranges = linesWithCodes(lines.map(({ line, code }) => ({ line, code: zipOf(code ?? '')[0] ?? '' })))
  const { zips, zipMeters, isNear } = zipsAround(bounds, reference, world)
  const codes = new Set([...addresses.codes, ...ranges.codes, ...zips.codes])
  const countyOf: Record<string, string> = {}
  for (const code of codes) {
    const county = world.postalArea('US', code)?.countyFips
    if (county !== undefined) countyOf[code] = county
  }
  const isKnown = isNear && [...codes].every((code) => code === '' || countyOf[code] !== undefined)
  const counties = isKnown ? undefined : areasAround('county', bounds, reference, world)
  const marketOf: Record<string, string> = {}
  for (const county of new Set([...Object.values(countyOf), ...(counties?.codes ?? [])])) {
    const market = world.marketAreas.ofCounty(county)?.code
    if (market !== undefined) marketOf[county] = market
  }
  const states = areasAround('state', bounds, reference, world)
  return {
    states: { ...states, codes: states.codes.map((fips) => STATE_CODES[fips]!) },
    counties,
    addresses,
    ranges,
    zips,
    zipMeters,
    countyOf,
    marketOf,
  }
}

/** The first five digits of a postal code; empty for a text that is not one. */
function zipOf(code: string): string[] {
  return /^\d{5}(?!\d)/.test(code) ? [code.slice(0, 5)] : []
}

/**
 * The areas around a cell. If the whole cell is in one area, only borders nearby matter; otherwise also those of areas
 * across the water.
 */
function areasAround(
  kind: 'state' | 'county',
  bounds: CellBounds,
  reference: Position,
  world: World,
): AreaEdges {
  const around = widened(bounds, MOST_CLEARANCE_METERS)
  const near = areaEdges(world.usAreasIn(kind, around), around, reference)
  if (near.references.length > 0 && near.edges.length === 0) return near
  const wide = widened(bounds, COAST_METERS + MOST_CLEARANCE_METERS)
  return areaEdges(world.usAreasIn(kind, wide), wide, reference)
}

/** The edges of areas that meet a box. */
function areaEdges(areas: readonly UsArea[], box: CellBounds, reference: Position): AreaEdges {
  const codes: string[] = []
  const edges: number[] = []
  const places: number[] = []
  let known = -1
  for (const { fips, rings } of areas) {
    const contains = isInside(rings, reference)
    const before = edges.length
    for (const ring of rings) addEdges(edges, ring, box)
    if (edges.length === before && !contains) continue
    const place = codes.push(fips) - 1
    if (contains && known < 0) known = place
    for (let i = before; i < edges.length; i += 4) places.push(place)
  }
  return {
    codes,
    references: known < 0 ? [] : [known],
    edges: Float64Array.from(edges),
    areas: Uint16Array.from(places),
  }
}

function addEdges(
  edges: number[],
  line: readonly Position[],
  { west, south, east, north }: CellBounds,
): void {
  for (let i = 1; i < line.length; i++) {
    const [ax, ay] = line[i - 1]!
    const [bx, by] = line[i]!
    if ((ax < west && bx < west) || (ax > east && bx > east)) continue
    if ((ay < south && by < south) || (ay > north && by > north)) continue
    edges.push(ax, ay, bx, by)
  }
}

function linesWithCodes(
  lines: readonly { readonly line: readonly Position[]; readonly code: string }[],
): AreaEdges {
  const codes = [...new Set(lines.map(({ code }) => code))]
  const edges: number[] = []
  const areas: number[] = []
  for (const { line, code } of lines) {
    const before = edges.length
    addEdges(edges, line, { west: -180, south: -90, east: 180, north: 90 })
    const place = codes.indexOf(code)
    for (let i = before; i < edges.length; i += 4) areas.push(place)
  }
  return { codes, references: [], edges: Float64Array.from(edges), areas: Uint16Array.from(areas) }
}

/** The postal codes whose centre may be the nearest of a point of the cell. `isNear` says that every point has one. */
function zipsAround(bounds: CellBounds, [rx, ry]: Position, world: World) {
  const radius = Math.max(
    pointDistance(ry, rx, bounds.south, bounds.west),
    pointDistance(ry, rx, bounds.north, bounds.east),
    pointDistance(ry, rx, bounds.north, bounds.west),
    pointDistance(ry, rx, bounds.south, bounds.east),
  )
  const furthest = ZIP_METERS + radius + MOST_CLEARANCE_METERS
  const all = world.zipsIn(widened({ west: rx, south: ry, east: rx, north: ry }, furthest)).map((zip) => {
    const [x, y] = zip.position
    return { code: zip.code, x, y, meters: pointDistance(ry, rx, y, x) }
  })
  all.sort((a, b) => a.meters - b.meters)
  const least = all[0]?.meters ?? Infinity
  const zipMeters = Math.min(furthest, Math.max(least + 2 * radius, all[MOST_SPARE_ZIPS]?.meters ?? Infinity))
  const kept = all.filter(({ meters }) => meters <= zipMeters)
  const probe = new Probe()
  const points = kept.flatMap((zip) => {
    const { x, y, z } = probe.set(zip.y, zip.x)
    return [x, y, z]
  })
  const zips = { codes: kept.map(({ code }) => code), points: Float64Array.from(points) }
  return { zips, zipMeters, isNear: least + radius <= ZIP_METERS }
}

/** How far beyond the cell no map region has addresses that were not read, at most {@link MOST_CLEARANCE_METERS}. */
function metersToData({ west, south, east, north }: CellBounds, regions: readonly CellRegion[]): number {
  let least = MOST_CLEARANCE_METERS
  for (const { bounds } of regions) {
    const x = Math.max(0, bounds[0] - east, west - bounds[2])
    const y = Math.max(0, bounds[1] - north, south - bounds[3])
    const scale = degreeMeters(Math.max(Math.abs(south), Math.abs(north)))
    least = Math.min(least, Math.max(SPARE_METERS, Math.hypot(x * scale.x, y * scale.y) - NEIGHBOUR_METERS))
  }
  return least
}
