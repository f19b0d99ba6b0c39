/** What the layers of a map file take on the disk. */
import Database from 'better-sqlite3'
import { statSync } from 'node:fs'
import { zstdDecompressSync } from 'node:zlib'
import { BlockReader, writeBlock, type MapFeature } from '../../src/geo/mapFile/block.ts'
import { kindOf } from '../../src/geo/mapFile/kinds.ts'
import { packBlock } from '../../src/geo/mapFile/mapFile.ts'

const CELL_BITS = 14
const NO_STATES = new Uint8Array()

export interface MapDisk {
  readonly fileBytes: number
  /** The bytes of packed blocks, by the zoom of their level. */
  readonly levels: Readonly<Record<string, number>>
  /** Bytes that a layer takes when it is packed by itself: together a little more than the blocks. */
  readonly layers: Readonly<Record<string, number>>
}

/**
 * Measures a map file.
 * @param file the path of a region's map file
 */
export function mapDisk(file: string): MapDisk {
  const levels: Record<string, number> = {}
  const layers: Record<string, number> = {}
  const database = new Database(file, { readonly: true })
  const rows = database.prepare('SELECT id, bytes FROM block').all() as { id: number; bytes: Buffer }[]
  database.close()
  for (const { id, bytes } of rows) {
    const zoom = `${Math.floor(id / 2 ** (2 * CELL_BITS))}`
    levels[zoom] = (levels[zoom] ?? 0) + bytes.length
    const byLayer = new Map<string, MapFeature[]>()
    for (const feature of featuresOf(zstdDecompressSync(bytes))) {
      const { layer } = kindOf(feature.kind)
      const known = byLayer.get(layer)
      if (known === undefined) byLayer.set(layer, [feature])
      else known.push(feature)
    }
    for (const [layer, features] of byLayer)
      layers[layer] = (layers[layer] ?? 0) + packBlock(writeBlock(features, NO_STATES)).length
  }
  return { fileBytes: statSync(file).size, levels, layers }
}

function featuresOf(bytes: Uint8Array): MapFeature[] {
  const reader = new BlockReader(bytes)
  const features: MapFeature[] = []
  while (reader.next()) {
    const { kind, flags, name, names, ref, population, numbers, ends } = reader
    const parts = ends.map((end, i) => numbers.slice(ends[i - 1] ?? 0, end))
    features.push({ kind, flags, name, names, ref, population, parts })
  }
  return features
}
