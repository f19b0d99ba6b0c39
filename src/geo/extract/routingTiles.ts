import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { buildBorders } from './borders.ts'
import type { ZoneAt } from './boundaries.ts'
import type { Coverage } from './coverage.ts'
import { isFull } from './importNeeds.ts'
import { ExtractRefused } from './osmPbfBlobs.ts'
import type { BoundingBox } from './port.ts'
import { BUILDER_STAGES, NoRoads, runBuilder, type BuilderStage } from './tileBuilder.ts'
import { ReadableExtract } from './readableExtract.ts'
import { ToolFailed, ToolKilled } from './valhallaTools.ts'

/**
 * The builder's messages at the end of a part, with the share of the whole that is done then. They were measured with
 * extracts of cities.
 */
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
 * The builder's message before it gives up on a time zone. After an upgrade, it may no longer know a name in
 * timeZones.ts.
 */
const UNKNOWN_ZONE = /: (\S+) can't be resolved to a non-deprecated time zone/

/** Why the builder cannot use an extract at all; undefined if the failure has another cause. */
function refusalOf(failure: ToolFailed): string | undefined {
  if (failure instanceof NoRoads)
    return 'has no roads that the routing engine can use, or lacks the nodes of its roads.'
  if (failure.message.includes('unsorted input data'))
    return 'is not sorted by type and id. `osmium sort` sorts it.'
  return undefined
}

/** The import's parameters for the tiles. */
export interface TilesJob {
  readonly extract: string
  readonly facts: { readonly bounds: BoundingBox; readonly coverage: Coverage; readonly zoneAt: ZoneAt }
  /**
   * The folder that is created for the tiles, which are in its folder `tiles`. Temporary folders with its name and an
   * ending are created beside it.
   */
  readonly folder: string
  /** The number of the builder's threads. It takes more memory with each. */
  readonly threads: number
  readonly signal: AbortSignal
  /** Called with the share that is done, from 0 to 1. */
  readonly onProgress: (share: number) => void
  /** Called with a sentence for everything that the builder refused, so that the tiles lack it. */
  readonly onNote: (sentence: string) => void
}

/**
 * Builds Valhalla's routing tiles from an extract, with its executables in child processes. Objects and time zones
 * that make the builder fail are left out.
 * @throws {ExtractRefused} {@link ValhallaMissing}, {@link ToolFailed} and the system's errors
 */
export async function buildTiles(job: TilesJob): Promise<void> {
  const refused = new Set<string>()
  const zoneAt: ZoneAt = (longitude, latitude) => {
    const zone = job.facts.zoneAt(longitude, latitude)
    return zone === undefined || refused.has(zone) ? undefined : zone
  }
  const readable = new ReadableExtract(job)
  try {
    for (;;) {
      let stage: BuilderStage = 'initialize'
      const onStage = (reached: BuilderStage): void => void (stage = reached)
      try {
        await buildOnce({ ...job, extract: readable.path, facts: { ...job.facts, zoneAt } }, onStage)
        return
      } catch (error) {
        if (!(error instanceof ToolFailed) || error instanceof ToolKilled || isFull(job.folder)) throw error
        const refusal = refusalOf(error)
        if (refusal !== undefined) throw new ExtractRefused(`${job.extract} ${refusal}`, { cause: error })
        const zone = UNKNOWN_ZONE.exec(error.message)?.[1]
        if (zone === undefined) {
          if (!(await readable.leaveOut(stage, error))) throw error
        } else if (refused.has(zone)) throw error
        else {
          refused.add(zone)
          job.onNote(`The routing engine does not know the time zone ${zone}; roads there have none.`)
        }
      }
    }
  } finally {
    readable.remove()
  }
}

async function buildOnce(job: TilesJob, onStage: (stage: BuilderStage) => void): Promise<void> {
  const { extract, facts, folder, threads, signal, onProgress } = job
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const borders = join(folder, 'borders.sqlite')
  await buildBorders(facts, borders, folder, signal)
  onProgress(0.05)
  const onLine = (line: string): void => {
    const stage = BUILDER_STAGES.find(([, says]) => line.includes(says))
    if (stage !== undefined) onStage(stage[0])
    if (!line.startsWith('[TIMING]')) return
    const reached = MILESTONES.find(([milestone]) => line.includes(milestone))
    if (reached !== undefined) onProgress(reached[1])
  }
  await runBuilder({ extract, folder, threads, signal, onLine, borders })
  for (const left of [borders, join(folder, 'duplicateways.txt')]) rmSync(left, { force: true })
}
