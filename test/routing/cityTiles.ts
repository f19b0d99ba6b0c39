import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readExtract } from '../../src/geo/extract/extractReader.ts'
import { timeZoneAt } from '../../src/geo/extract/timeZones.ts'
import { writeOsmPbf } from '../../src/geo/extract/osmPbfWriter.ts'
import { tilesIn } from '../../src/geo/extract/mapRegionFiles.ts'
import { buildTiles } from '../../src/geo/extract/routingTiles.ts'

/** Tiles of an invented city. */
export interface CityTiles {
  /** Their folder. */
  readonly tiles: string
  remove(): void
}

/** Builds the tiles of an extract without relations, in a temporary folder. */
export async function buildCityTiles(
  city: Pick<Parameters<typeof writeOsmPbf>[1], 'nodes' | 'ways'>,
): Promise<CityTiles> {
  const folder = mkdtempSync(join(tmpdir(), 'ringfence-routing-'))
  const extract = join(folder, 'city.osm.pbf')
  writeOsmPbf(extract, { ...city, relations: [] })
  const build = join(folder, 'build')
  mkdirSync(build)
  await buildTiles({
    extract,
    facts: { ...(await readExtract(extract, () => {})), zoneAt: timeZoneAt },
    folder: build,
    threads: 1,
    signal: new AbortController().signal,
    onProgress() {},
    onNote() {},
  })
  return { tiles: tilesIn(build), remove: () => rmSync(folder, { recursive: true }) }
}
