/** What tests of maps have in common. */
import { VectorTile, type VectorTileFeature } from '@mapbox/vector-tile'
import { PbfReader } from 'pbf'
import type { Position } from '../../src/model/geofence.ts'
import type { TileAddress } from '../../src/geo/mapFile/grid.ts'

/** A feature of a tile as its readers see it. */
export interface TileFeature {
  readonly layer: string
  /** 1 points, 2 lines, 3 areas. */
  readonly type: number
  readonly properties: VectorTileFeature['properties']
  /** Parts of points, x and y by turns; rings are closed. */
  readonly parts: readonly (readonly number[])[]
}

/** The features of a tile, read by the library that maps read them with. @param bytes not compressed */
export function featuresOf(bytes: Uint8Array): TileFeature[] {
  const { layers } = new VectorTile(new PbfReader(bytes))
  return Object.values(layers).flatMap((layer) =>
    Array.from({ length: layer.length }, (_, i) => {
      const feature = layer.feature(i)
      const scale = 4096 / layer.extent
      const parts = feature.loadGeometry().map((part) => part.flatMap(({ x, y }) => [x * scale, y * scale]))
      return { layer: layer.name, type: feature.type, properties: feature.properties, parts }
    }),
  )
}

/** The tile that a position is in, by the formula of https://wiki.openstreetmap.org/wiki/Slippy_map_tilenames. */
export function tileAt([longitude, latitude]: Position, z: number): TileAddress {
  const angle = (latitude * Math.PI) / 180
  const x = Math.floor(((longitude + 180) / 360) * 2 ** z)
  const y = Math.floor(((1 - Math.asinh(Math.tan(angle)) / Math.PI) / 2) * 2 ** z)
  return { z, x, y }
}

/** Whether a point is in an odd number of rings, x and y by turns, closed or not. */
export function isInRings(rings: readonly ArrayLike<number>[], x: number, y: number): boolean {
  let inside = false
  for (const ring of rings) {
    for (let i = 0, j = ring.length - 2; i < ring.length; j = i, i += 2) {
      const [ax, ay, bx, by] = [ring[j]!, ring[j + 1]!, ring[i]!, ring[i + 1]!]
      if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) inside = !inside
    }
  }
  return inside
}
