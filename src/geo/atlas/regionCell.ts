import { pointDistance, surfaceDistance } from '../../geometry/distance.ts'
import { Probe } from '../../geometry/probe.ts'
import { regionCodes, type RegionCodes } from '../../model/region.ts'
import type { RegionsHere } from '../../rules/atlas.ts'
import { areaAt, metersToEdges, nearestArea, type AreaEdges, type Degrees } from './areaEdges.ts'
import { nearestCode, type CodedPoints } from './codedPoints.ts'
import { degreeMeters, type CellBounds } from './grid.ts'

/**
 * What is known about the regions in one cell, and which regions a point of it lies in. Pure; regionCellMaker.ts reads
 * it.
 *
 * Invariants
 * - REGIONS-1: The answer for a point is that of a look at all borders, postal codes and addresses.
 * - REGIONS-2: Within the clearance of a point there is no point with other regions.
 */
export interface RegionCell {
  readonly bounds: CellBounds
  /** A point of the cell; see areaEdges.ts. */
  readonly reference: Degrees
  /** The countries by their alpha-2 code. */
  readonly countries: AreaEdges
  /** Undefined if no part of the cell is in the United States. */
  readonly unitedStates: UnitedStatesCell | undefined
  /** How far beyond the edges of the cell the data are complete, in metres. */
  readonly reachMeters: number
}

export interface UnitedStatesCell {
  /** The states by their postal abbreviation. */
  readonly states: AreaEdges
  /** The counties by their FIPS code; undefined if every postal code here knows its county. */
  readonly counties: AreaEdges | undefined
  /** The addresses that know their postal code. Each point's code is its postal code. */
  readonly addresses: CodedPoints
  /** Ranges of house numbers with their postal code, which is empty if a range has none. */
  readonly ranges: AreaEdges
  /** The centres of postal codes that may be the nearest of a point. */
  readonly zips: Centres
  /** The centres of all other postal codes are farther away from the reference than this, in metres. */
  readonly zipMeters: number
  /** FIPS codes of counties by postal code. */
  readonly countyOf: Readonly<Record<string, string>>
  /** Market areas by the FIPS code of a county. */
  readonly marketOf: Readonly<Record<string, string>>
}

/** Points with codes that all differ. */
export interface Centres {
  readonly codes: readonly string[]
  /** The coordinates x, y, z of each point from the centre of the Earth, in metres. */
  readonly points: Float64Array
}

/** A point may have the postal code of the nearest address or number range within this distance. */
export const NEIGHBOUR_METERS = 300
/** A point may have the nearest postal code whose centre is within this distance. */
export const ZIP_METERS = 25_000
/** A point off the coast may have the nearest state or county within this distance. */
export const COAST_METERS = 20_000
/** A larger clearance than this is not worth reading more borders. */
export const MOST_CLEARANCE_METERS = 5000
/**
 * How far to look for other postal codes than that of the nearest address. A larger clearance would not be worth it.
 */
const OTHER_CODE_METERS = 1000
/**
 * Distances are measured on a plane, with an error of at most 0.5 % at 80° north over {@link MOST_CLEARANCE_METERS}.
 */
const CERTAIN_SHARE = 0.99

const UNITED_STATES = 'US'

/** A code, and how far the point may move without a change of it. */
interface Found {
  readonly code: string | undefined
  readonly meters: number
}

interface Scale {
  readonly x: number
  readonly y: number
}

/**
 * The regions of a point.
 * @param latitude of a point in the cell, in degrees
 */
export function regionsIn(cell: RegionCell, latitude: number, longitude: number): RegionsHere {
  const { bounds, reference, countries, unitedStates, reachMeters } = cell
  const scale = degreeMeters(latitude)
  const place = areaAt(countries, reference, longitude, latitude)
  const country = place < 0 ? undefined : countries.codes[place]
  let meters = Math.min(
    reachMeters + metersToBounds(bounds, longitude, latitude, scale),
    metersToEdges(countries, longitude, latitude, scale),
    // No border is known beyond the ends of the map.
    (180 - Math.abs(longitude)) * scale.x,
  )
  if (country !== UNITED_STATES || unitedStates === undefined)
    return here([country, undefined, undefined, undefined], meters)
  const state = areaOrNearest(unitedStates.states, reference, longitude, latitude, scale)
  const postal = postalCodeAt(unitedStates, reference, longitude, latitude, scale)
  meters = Math.min(meters, state.meters, postal.meters)
  let county = postal.code === undefined ? undefined : unitedStates.countyOf[postal.code]
  if (county === undefined && unitedStates.counties !== undefined) {
    const around = areaOrNearest(unitedStates.counties, reference, longitude, latitude, scale)
    county = around.code
    meters = Math.min(meters, around.meters)
  }
  const market = county === undefined ? undefined : unitedStates.marketOf[county]
  return here([country, state.code, market, postal.code], meters)
}

/** The codes of the last answer, and their text. Most answers are about the same regions as the one before. */
const last: { codes: readonly (string | undefined)[]; text: RegionCodes } = { codes: [], text: '' }

function here(codes: readonly (string | undefined)[], meters: number): RegionsHere {
  if (codes.length !== last.codes.length || codes.some((code, i) => code !== last.codes[i])) {
    last.codes = codes
    last.text = regionCodes(codes)
  }
  return { codes: last.text, clearanceMeters: Math.max(0, meters * CERTAIN_SHARE) }
}

/** The distance in metres from a point in the cell to its edges. */
function metersToBounds(
  { west, south, east, north }: CellBounds,
  x: number,
  y: number,
  scale: Scale,
): number {
  return Math.min((x - west) * scale.x, (east - x) * scale.x, (y - south) * scale.y, (north - y) * scale.y)
}

/** The area that contains the point, or else the nearest one within {@link COAST_METERS}. */
function areaOrNearest(areas: AreaEdges, reference: Degrees, x: number, y: number, scale: Scale): Found {
  const place = areaAt(areas, reference, x, y)
  if (place >= 0) return { code: areas.codes[place], meters: metersToEdges(areas, x, y, scale) }
  const near = nearestArea(areas, x, y, scale)
  if (near === undefined) return { code: undefined, meters: Infinity }
  if (near.meters > COAST_METERS) return { code: undefined, meters: near.meters - COAST_METERS }
  return {
    code: areas.codes[near.place],
    meters: Math.min(COAST_METERS - near.meters, (near.otherMeters - near.meters) / 2),
  }
}

/**
 * The postal code of the nearest address that has one. If none is near, it is that of the nearest number range, and if
 * that has none, the one with the nearest centre.
 */
function postalCodeAt(
  { addresses, ranges, zips, zipMeters }: UnitedStatesCell,
  reference: Degrees,
  x: number,
  y: number,
  scale: Scale,
): Found {
  const address = nearestCode(addresses, x, y, scale, Infinity, OTHER_CODE_METERS)
  if (address !== undefined && address.meters <= NEIGHBOUR_METERS) return nearestOf(address, NEIGHBOUR_METERS)
  let meters = address === undefined ? Infinity : address.meters - NEIGHBOUR_METERS
  const range = nearestArea(ranges, x, y, scale)
  if (range !== undefined && range.meters <= NEIGHBOUR_METERS) {
    const found = nearestOf({ ...range, code: ranges.codes[range.place]! }, NEIGHBOUR_METERS)
    meters = Math.min(meters, found.meters)
    if (found.code !== '') return { code: found.code, meters }
  } else if (range !== undefined) meters = Math.min(meters, range.meters - NEIGHBOUR_METERS)
  const zip = nearestZip(zips, zipMeters, reference, x, y)
  return { code: zip.code, meters: Math.min(meters, zip.meters) }
}

/**
 * The nearest point.
 * @param maxMeters a point that is farther away from it has another code
 */
function nearestOf(
  {
    code,
    meters,
    otherMeters,
  }: { readonly code: string; readonly meters: number; readonly otherMeters: number },
  maxMeters: number,
): Found {
  return { code, meters: Math.min(maxMeters - meters, (otherMeters - meters) / 2) }
}

function nearestZip(zips: Centres, zipMeters: number, [rx, ry]: Degrees, x: number, y: number): Found {
  const { codes, points } = zips
  probe.set(y, x)
  let nearest = -1
  let least = Infinity
  let other = Infinity
  // A longer chord means a longer distance along the ground.
  for (let i = 0; i < codes.length; i++) {
    const dx = points[3 * i]! - probe.x
    const dy = points[3 * i + 1]! - probe.y
    const dz = points[3 * i + 2]! - probe.z
    const square = dx * dx + dy * dy + dz * dz
    if (square < least) {
      other = least
      least = square
      nearest = i
    } else if (square < other) other = square
  }
  const meters = arcOf(least)
  const otherMeters = Math.min(zipMeters - pointDistance(ry, rx, y, x), arcOf(other))
  if (nearest < 0 || meters > ZIP_METERS)
    return { code: undefined, meters: Math.min(meters, otherMeters) - ZIP_METERS }
  return nearestOf({ code: codes[nearest]!, meters, otherMeters }, ZIP_METERS)
}

const probe = new Probe()

/** The metres along the ground that belong to the square of a chord. */
function arcOf(square: number): number {
  return square === Infinity ? Infinity : surfaceDistance(Math.sqrt(square), 0, 0, 0, 0, 0)
}
