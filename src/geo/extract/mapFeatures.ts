/** The product `map` of an extract: the map file. */
import { join } from 'node:path'
import { MAP_FILE_VERSION } from '../mapFile/mapFile.ts'
import { MapWriter, writeMapFile } from '../mapFile/mapWriter.ts'
import { addLand } from './coast.ts'
import { MapCollector } from './mapCollector.ts'
import { mapIn } from './mapRegionFiles.ts'
import type { Product } from './shapeAssembler.ts'

/** The version of the map file, as the record of the build names it. Files of other versions cannot be read. */
export const MAP_ENGINE = `map ${MAP_FILE_VERSION}`

/**
 * The map of a build.
 * @param folder an empty folder
 */
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
