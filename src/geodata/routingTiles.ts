import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { buildBorders } from './borders.ts'
import type { ZoneAt } from './boundaries.ts'
import type { Coverage } from './coverage.ts'
import { TILE_CACHE_BYTES } from './importNeeds.ts'
import { ExtractRefused } from './osmPbfBlobs.ts'
import type { Bounds } from './port.ts'
import { tilesIn } from './regionFiles.ts'
import { runTool, ToolFailed } from './valhallaTools.ts'

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

/** What the builder says before it gives up on a time zone; upgraded, it may no longer know a name that timeZones.ts gives. */
const UNKNOWN_ZONE = /: (\S+) can't be resolved to a non-deprecated time zone/

/** How the builder ends on extracts that it cannot use, and what that means. */
const REFUSALS: readonly (readonly [cause: RegExp, meaning: string])[] = [
  [/unsorted input data/, 'is not sorted by type and id. `osmium sort` sorts it.'],
  [/overlong string/, 'has a key or a value of more than 1,024 bytes, which OpenStreetMap does not allow.'],
  [
    /GraphId level exceeds|GraphId with invalid tile id/,
    'has no roads that the routing engine can use, or not their nodes.',
  ],
  [/exceeded maximum edge length/, 'has a road with a stretch that is too long for the routing engine.'],
]

/**
 * Builds Valhalla's routing tiles of an extract, by its own executables in child processes.
 * @param parts.folder is made anew; the tiles are then in the folder `tiles` in it
 * @param parts.threads of the builder: with each it takes more memory
 * @param parts.onProgress told which share is done, 0 to 1
 * @param parts.onNote told, in a sentence, what the builder refused and the tiles are without
 * @throws {ExtractRefused} {@link ValhallaMissing}, {@link ToolFailed} and the system's errors
 */
export async function buildTiles(parts: {
  readonly extract: string
  readonly facts: { readonly bounds: Bounds; readonly coverage: Coverage; readonly zoneAt: ZoneAt }
  readonly folder: string
  readonly threads: number
  readonly signal: AbortSignal
  readonly onProgress: (share: number) => void
  readonly onNote: (sentence: string) => void
}): Promise<void> {
  const refused = new Set<string>()
  const zoneAt: ZoneAt = (longitude, latitude) => {
    const zone = parts.facts.zoneAt(longitude, latitude)
    return zone === undefined || refused.has(zone) ? undefined : zone
  }
  for (;;) {
    try {
      await buildOnce({ ...parts, facts: { ...parts.facts, zoneAt } })
      return
    } catch (error) {
      if (!(error instanceof ToolFailed)) throw error
      const refusal = REFUSALS.find(([cause]) => cause.test(error.message))
      if (refusal !== undefined) throw new ExtractRefused(`${parts.extract} ${refusal[1]}`, { cause: error })
      const zone = UNKNOWN_ZONE.exec(error.message)?.[1]
      if (zone === undefined || refused.has(zone)) throw error
      refused.add(zone)
      parts.onNote(`The routing engine does not know the time zone ${zone}; roads there have none.`)
    }
  }
}

async function buildOnce(parts: Parameters<typeof buildTiles>[0]): Promise<void> {
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
