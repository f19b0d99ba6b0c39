import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { buildBorders } from './borders.ts'
import type { ZoneAt } from './boundaries.ts'
import type { Coverage } from './coverage.ts'
import { isFull } from './importNeeds.ts'
import { ExtractRefused } from './osmPbfBlobs.ts'
import type { BoundingBox } from './port.ts'
import { BUILDER_STAGES, runBuilder, type BuilderStage } from './tileBuilder.ts'
import { ReadableExtract } from './readableExtract.ts'
import { ToolFailed, ToolKilled } from './valhallaTools.ts'

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

/** How the builder ends on extracts that it cannot use as a whole, and what that means. */
const REFUSALS: readonly (readonly [cause: RegExp, meaning: string])[] = [
  [/unsorted input data/, 'is not sorted by type and id. `osmium sort` sorts it.'],
  [
    /GraphId level exceeds|GraphId with invalid tile id/,
    'has no roads that the routing engine can use, or not their nodes.',
  ],
]

/** What the import needs of the extract and of who asked for it. */
export interface TilesJob {
  readonly extract: string
  readonly facts: { readonly bounds: BoundingBox; readonly coverage: Coverage; readonly zoneAt: ZoneAt }
  /** Is made anew; the tiles are then in the folder `tiles` in it. Beside it, others of its name with an ending come and go. */
  readonly folder: string
  /** Of the builder: with each it takes more memory. */
  readonly threads: number
  readonly signal: AbortSignal
  /** Told which share is done, 0 to 1. */
  readonly onProgress: (share: number) => void
  /** Told, in a sentence, what the builder refused and the tiles are without. */
  readonly onNote: (sentence: string) => void
}

/**
 * Builds Valhalla's routing tiles of an extract, by its own executables in child processes. Objects and time zones that end the
 * builder are left out.
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
        const refusal = REFUSALS.find(([cause]) => cause.test(error.message))
        if (refusal !== undefined) throw new ExtractRefused(`${job.extract} ${refusal[1]}`, { cause: error })
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
