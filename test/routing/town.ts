/**
 * Towns for routing, drawn as maps of characters and made into tiles. A character is 50 m wide and 100 m high.
 * Letters and digits are nodes; the rest is only for readers. Modelled on Valhalla's own tests (gurka).
 */
import type { OsmTags } from '../../src/geo/extract/osmPbfWriter.ts'
import { buildCityTiles, type CityTiles } from './cityTiles.ts'

const NORTH = -34.9
const WEST = -56.2
const METERS_PER_DEGREE = 111_195
const COLUMN_DEGREES = 50 / METERS_PER_DEGREE / Math.cos((NORTH * Math.PI) / 180)
const ROW_DEGREES = 100 / METERS_PER_DEGREE

export interface Town extends CityTiles {
  /** `latitude,longitude` of a node, or of the place some metres north and east of it. */
  at(node: string, northMeters?: number, eastMeters?: number): string
}

/**
 * Builds a town.
 * @param map rows of characters
 * @param ways tags of each way, by the nodes along it
 * @param nodes tags by node
 */
export async function buildTown(
  map: string,
  ways: Readonly<Record<string, OsmTags>>,
  nodes: Readonly<Record<string, OsmTags>> = {},
): Promise<Town> {
  const places = new Map<
    string,
    { readonly id: number; readonly latitude: number; readonly longitude: number }
  >()
  map.split('\n').forEach((line, row) => {
    ;[...line].forEach((character, column) => {
      if (!/\w/.test(character)) return
      if (places.has(character)) throw new Error(`${character} is on the map twice`)
      places.set(character, {
        id: places.size + 1,
        latitude: NORTH - row * ROW_DEGREES,
        longitude: WEST + column * COLUMN_DEGREES,
      })
    })
  })
  const placeOf = (node: string) => {
    const place = places.get(node)
    if (place === undefined) throw new Error(`${node} is not on the map`)
    return place
  }
  const city = await buildCityTiles({
    nodes: [...places].map(([node, place]) => ({ ...place, tags: nodes[node] ?? {} })),
    ways: Object.entries(ways).map(([along, tags], i) => ({
      id: i + 1,
      nodes: [...along].map((node) => placeOf(node).id),
      tags,
    })),
  })
  return {
    ...city,
    at(node, northMeters = 0, eastMeters = 0) {
      const { latitude, longitude } = placeOf(node)
      const east = eastMeters / METERS_PER_DEGREE / Math.cos((NORTH * Math.PI) / 180)
      return `${(latitude + northMeters / METERS_PER_DEGREE).toFixed(6)},${(longitude + east).toFixed(6)}`
    },
  }
}
