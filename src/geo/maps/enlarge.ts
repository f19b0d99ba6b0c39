/** Makes tiles beyond the largest zoom of a file: a part of one of its tiles, enlarged. The code is pure. */
import { VectorTile as TileReader } from '@mapbox/vector-tile'
import { PbfReader } from 'pbf'
import { clipLine, clipRing, squareBox } from '../mapFile/clip.ts'
import { TILE_MARGIN, TILE_UNITS, type TileAddress } from '../mapFile/grid.ts'
import type { MapShape } from '../mapFile/kinds.ts'
import { VectorTile } from '../mapFile/vectorTile.ts'

const SHAPES: Readonly<Record<number, MapShape>> = { 1: 'point', 2: 'line', 3: 'area' }
const TILE_BOX = squareBox(TILE_UNITS, TILE_MARGIN)

/**
 * Enlarges a part of a tile.
 * @param bytes the tile of the zoom `from` that contains the wanted one, not packed
 * @param address the address of the wanted tile
 * @throws Error if the bytes are not a vector tile
 */
export function enlarged(bytes: Uint8Array, from: number, { z, x, y }: TileAddress): Uint8Array {
  const factor = 2 ** (z - from)
  const [left, top] = [(x % factor) * TILE_UNITS, (y % factor) * TILE_UNITS]
  const tile = new VectorTile()
  for (const [name, layer] of Object.entries(new TileReader(new PbfReader(bytes)).layers)) {
    const scale = (factor * TILE_UNITS) / layer.extent
    for (let i = 0; i < layer.length; i++) {
      const feature = layer.feature(i)
      const shape = SHAPES[feature.type]
      if (shape === undefined) continue
      const lines = feature
        .loadGeometry()
        .map((line) =>
          line.flatMap((point) => [Math.round(point.x * scale) - left, Math.round(point.y * scale) - top]),
        )
      for (const parts of shape === 'point' ? pointsIn(lines) : [partsIn(shape, lines)])
        if (parts.length > 0) tile.add(name, shape, feature.properties, parts)
    }
  }
  return tile.bytes()
}

/** The points in the tile, without those in its margin, because a label belongs to one tile. */
function pointsIn(lines: readonly (readonly number[])[]): number[][][] {
  return lines.flatMap((line) => {
    const points: number[][][] = []
    for (let i = 0; i < line.length; i += 2) {
      const [px, py] = [line[i]!, line[i + 1]!]
      if (px >= 0 && py >= 0 && px < TILE_UNITS && py < TILE_UNITS) points.push([[px, py]])
    }
    return points
  })
}

function partsIn(shape: 'line' | 'area', lines: readonly (readonly number[])[]): ArrayLike<number>[] {
  if (shape === 'line')
    return lines.flatMap((line) => clipLine(line, TILE_BOX)).filter(({ length }) => length >= 4)
  // Rings are closed when they are read, and open when they are written.
  return lines.map((line) => clipRing(line.slice(0, -2), TILE_BOX)).filter(({ length }) => length >= 6)
}
