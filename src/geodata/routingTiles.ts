import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { buildBorders } from './borders.ts'
import type { Coverage } from './coverage.ts'
import { TILE_CACHE_BYTES } from './importNeeds.ts'
import type { Bounds } from './port.ts'
import { tilesIn } from './regionFiles.ts'
import { runTool } from './valhallaTools.ts'

/** What the builder writes when a part is done, and how much of the whole is done then, as measured with extracts of cities. */
const MILESTONES: readonly (readonly [line: string, share: number])[] = [
  ['pbfgraphparser.cc::ParseWays', 0.15],
  ['pbfgraphparser.cc::ParseRelations', 0.2],
  ['pbfgraphparser.cc::ParseNodes', 0.3],
  ['graphbuilder.cc::BuildEdges', 0.35],
  ['graphbuilder.cc::Build took', 0.5],
  ['graphenhancer.cc::Enhance', 0.65],
  ['hierarchybuilder.cc::Build', 0.7],
  ['shortcutbuilder.cc::Build', 0.85],
  ['restrictionbuilder.cc::Build', 0.9],
  ['graphvalidator.cc::Validate', 0.98],
]

/**
 * Builds Valhalla's routing tiles of an extract, by its own executables in child processes.
 * @param parts.folder is made anew; the tiles are then in the folder `tiles` in it
 * @param parts.threads of the builder: with each it takes more memory
 * @param parts.onProgress told which share is done, 0 to 1
 * @throws {ValhallaMissing} {@link ToolFailed} and the system's errors
 */
export async function buildTiles(parts: {
  readonly extract: string
  readonly facts: { readonly bounds: Bounds; readonly coverage: Coverage }
  readonly folder: string
  readonly threads: number
  readonly signal: AbortSignal
  readonly onProgress: (share: number) => void
}): Promise<void> {
  const { extract, facts, folder, threads, signal, onProgress } = parts
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const borders = join(folder, 'borders.sqlite')
  await buildBorders(facts, borders, folder, signal)
  onProgress(0.05)
  const config = {
    mjolnir: {
      tile_dir: tilesIn(folder),
      admin: borders,
      timezone: borders,
      concurrency: threads,
      max_cache_size: TILE_CACHE_BYTES,
      logging: { type: 'std_out', color: false },
    },
  }
  const args = ['--inline-config', JSON.stringify(config), extract]
  const onLine = (line: string): void => {
    if (!line.startsWith('[TIMING]')) return
    const reached = MILESTONES.find(([milestone]) => line.includes(milestone))
    if (reached !== undefined) onProgress(reached[1])
  }
  await runTool('valhalla_build_tiles', args, { folder, signal, onLine })
  for (const left of [borders, join(folder, 'duplicateways.txt')]) rmSync(left, { force: true })
}
