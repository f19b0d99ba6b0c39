import { readdirSync } from 'node:fs'
import { TILE_CACHE_BYTES } from './importNeeds.ts'
import { tilesIn } from './mapRegionFiles.ts'
import { runTool, ToolFailed, ToolKilled } from './valhallaTools.ts'

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

/** The builder has read the extract and found nothing to make tiles of. */
export class NoRoads extends ToolFailed {
  override readonly name = 'NoRoads'
}

/**
 * The last message of the builder if it has no tiles to validate. It reads uninitialised memory, so in one of twenty
 * runs it says nothing at all.
 */
const VALIDATING = 'Validating, finishing and binning tiles'
const NO_TILES = /GraphId level exceeds|GraphId with invalid tile id/

/**
 * Runs Valhalla's builder of tiles.
 * @param parts.folder receives the tiles and its other files
 * @param parts.borders the database of countries and time zones
 * @param parts.end the last stage; all stages if absent
 * @throws {NoRoads} {@link ToolFailed} and other errors of runTool
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
  let isValidating = false
  const hear = (line: string): void => {
    isValidating ||= line.includes(VALIDATING)
    onLine(line)
  }
  try {
    await runTool('valhalla_build_tiles', args, { folder, signal, onLine: hear })
  } catch (error) {
    if (!(error instanceof ToolFailed) || error instanceof ToolKilled) throw error
    const hasNoRoads = NO_TILES.test(error.message) || (isValidating && !hasTiles(tilesIn(folder)))
    throw hasNoRoads ? new NoRoads(error.message, { cause: error }) : error
  }
}

function hasTiles(folder: string): boolean {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).some((name) => name.endsWith('.gph'))
}
