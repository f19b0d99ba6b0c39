/** The product `map` of an extract: the map file. */
import { join } from 'node:path'
import { MAP_FILE_VERSION } from '../mapFile/mapFile.ts'
import { MapWriter, writeMapFile } from '../mapFile/mapWriter.ts'
import { addLand } from './coast.ts'
import { MapCollector } from './mapCollector.ts'
import { mapIn } from './mapRegionFiles.ts'
import type { Product } from './shapeAssembler.ts'

/** What made it, as the record of the build says; another one cannot be read. */
export const MAP_ENGINE = `map ${MAP_FILE_VERSION}`

/** @param folder an empty one */
export function mapProduct(folder: string): Product {
  const writer = new MapWriter(join(folder, 'staging.db'))
  const sink = new MapCollector(writer)
  return {
    sink,
    finish() {
      addLand(sink.coastlines, writer)
      writeMapFile(mapIn(folder), writer.blocks())
    },
    abandon: () => writer.abandon(),
  }
}
