import { TILE_CACHE_BYTES } from './importNeeds.ts'
import { tilesIn } from './mapRegionFiles.ts'
import { runTool } from './valhallaTools.ts'

/**
 * Stages of Valhalla's builder that read the extract, in order, with its message at the beginning of each; everything
 * after them is one stage.
 */
export const BUILDER_STAGES = [
  ['parseways', 'Parsing ways...'],
  ['parserelations', 'Parsing relations...'],
  ['parsenodes', 'Parsing nodes...'],
  ['cleanup', 'Creating graph edges'],
] as const

export type BuilderStage = 'initialize' | (typeof BUILDER_STAGES)[number][0]

/**
 * Runs Valhalla's builder of tiles.
 * @param parts.folder gets the tiles and its other files
 * @param parts.borders database of countries and time zones
 * @param parts.end last stage; all if absent
 * @throws {ToolFailed} and other errors of runTool
 */
export async function runBuilder(parts: {
  readonly extract: string
  readonly folder: string
  readonly threads: number
  readonly signal: AbortSignal
  readonly onLine: (line: string) => void
  readonly borders?: string
  readonly end?: BuilderStage
}): Promise<void> {
  const { extract, folder, threads, signal, onLine, borders, end = 'cleanup' } = parts
  const config = {
    mjolnir: {
      tile_dir: tilesIn(folder),
      ...(borders === undefined ? {} : { admin: borders, timezone: borders }),
      concurrency: threads,
      max_cache_size: TILE_CACHE_BYTES,
      logging: { type: 'std_out', color: false },
    },
  }
  const args = ['--inline-config', JSON.stringify(config), '--end', end, extract]
  await runTool('valhalla_build_tiles', args, { folder, signal, onLine })
}
