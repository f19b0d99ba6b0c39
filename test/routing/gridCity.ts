/**
 * A city of straight streets for routing, made into tiles: 21 streets from west to east and 21 from south to north,
 * 200 m apart. In the sea east of it there is an island with one road, west of it a road that only leads into the
 * city, and far away in the ocean another road.
 */
import type { OsmNode, OsmWay } from '../../src/geo/extract/osmPbfWriter.ts'
import { buildCityTiles, type CityTiles } from './cityTiles.ts'

const STREETS = 21
const SPACING_METERS = 200
const METERS_PER_DEGREE = 111_195
const SOUTH = -34.9
const WEST = -56.2
const STEP_LATITUDE = SPACING_METERS / METERS_PER_DEGREE
const STEP_LONGITUDE = STEP_LATITUDE / Math.cos((SOUTH * Math.PI) / 180)

/**
 * Where two streets cross: the `column`-th from the west and the `row`-th from the south, counted from 0. Fractions
 * lie in between.
 */
export function crossing(column: number, row: number): { lat: number; lon: number } {
  return { lat: SOUTH + row * STEP_LATITUDE, lon: WEST + column * STEP_LONGITUDE }
}

/** Two places on the island. */
export const ISLAND = [crossing(41, 10), crossing(46, 10)] as const

/** A place that no road reaches and no tile covers. */
export const OCEAN = crossing(2001, 10)
/** A place from which a road only leads away. */
export const DEAD_END = crossing(-2, 10)

/**
 * Builds the city's tiles.
 * @param speedKilometers limit on all streets, in which builds differ
 * @returns the folder of tiles, and a function that removes it
 */
export function buildGridCity(speedKilometers = 50): Promise<CityTiles> {
  return buildCityTiles({ nodes: nodes(), ways: ways(speedKilometers) })
}

function* nodes(): Generator<OsmNode> {
  for (let row = 0; row < STREETS; row++) {
    for (let column = 0; column < STREETS; column++) {
      const { lat: latitude, lon: longitude } = crossing(column, row)
      yield { id: nodeId(column, row), latitude, longitude, tags: {} }
    }
  }
  for (const [i, column] of [40, 43, 47, 50].entries()) {
    const { lat: latitude, lon: longitude } = crossing(column, 10)
    yield { id: 1000 + i, latitude, longitude, tags: {} }
  }
  for (const [i, column] of [2000, 2010].entries()) {
    const { lat: latitude, lon: longitude } = crossing(column, 10)
    yield { id: 1010 + i, latitude, longitude, tags: {} }
  }
  yield { id: 1020, latitude: crossing(0, 10).lat, longitude: crossing(-3, 10).lon, tags: {} }
}

function* ways(speedKilometers: number): Generator<OsmWay> {
  const range = Array.from({ length: STREETS }, (_, i) => i)
  const tags = { highway: 'residential', maxspeed: String(speedKilometers) }
  for (const row of range) {
    const nodeIds = range.map((column) => nodeId(column, row))
    yield { id: 1 + row, nodes: nodeIds, tags: { ...tags, name: `Row ${row}` } }
  }
  for (const column of range) {
    const nodeIds = range.map((row) => nodeId(column, row))
    yield { id: 101 + column, nodes: nodeIds, tags: { ...tags, name: `Column ${column}` } }
  }
  yield { id: 201, nodes: [1000, 1001, 1002, 1003], tags: { ...tags, name: 'Island Road' } }
  yield { id: 202, nodes: [1020, nodeId(0, 10)], tags: { ...tags, name: 'Way In', oneway: 'yes' } }
  yield { id: 203, nodes: [1010, 1011], tags: { ...tags, name: 'Ocean Road' } }
}

function nodeId(column: number, row: number): number {
  return 1 + row * STREETS + column
}
