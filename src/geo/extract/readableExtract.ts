import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { ExtractParts, type ExtractBlock } from './extractParts.ts'
import { ExtractRefused } from './osmPbfBlobs.ts'
import type { OsmObject } from './osmPbfObjects.ts'
import { findRefused, TooManyRefused, type RefusedObject } from './refusedObjects.ts'
import { NoRoads, runBuilder, type BuilderStage } from './tileBuilder.ts'
import { ToolFailed, ToolKilled } from './valhallaTools.ts'

/**
 * The most objects that are left out of one extract. If there are more than a few, the extract is at fault, and each
 * takes time to find.
 */
const MOST_LEFT_OUT = 20

/** The meanings of the builder's last message about an object. */
const REASONS: readonly (readonly [cause: RegExp, reason: string])[] = [
  [/overlong string/, 'it has a text of more than 1,024 bytes'],
  [/invalid location/, 'its latitude or longitude is out of range'],
  [/sto(i|l|ul|f|d)\b/, 'one of its tags has no number where the routing engine expects one'],
  [/exceeded maximum edge length/, 'it has a stretch that is too long for the routing engine'],
]

interface Job {
  readonly extract: string
  /** Temporary files are created beside this folder, under its name with an ending. */
  readonly folder: string
  readonly threads: number
  readonly signal: AbortSignal
  readonly onNote: (sentence: string) => void
}

/**
 * The extract as far as the builder can read it: the file itself, or a copy without the objects that make the builder
 * fail.
 */
export class ReadableExtract {
  readonly #job: Job
  #parts: ExtractParts | undefined
  #blocks: readonly ExtractBlock[] = []
  #refused: readonly RefusedObject[] = []
  #folder: string | undefined

  constructor(job: Job) {
    this.#job = job
  }

  get path(): string {
    return this.#folder === undefined ? this.#job.extract : join(this.#folder, 'extract.osm.pbf')
  }

  /**
   * Leaves out the objects that make the builder fail in this stage, and reports them.
   * @param failure how the builder ended
   * @returns false if no single object makes it fail
   * @throws {ExtractRefused} if there are too many; and errors of the builder that are no object's fault
   */
  async leaveOut(stage: BuilderStage, failure: Error): Promise<boolean> {
    const { extract, folder, signal, onNote } = this.#job
    if (stage === 'initialize') return false
    onNote('The routing engine cannot read all of the extract. Looking for the objects at fault.')
    if (this.#parts === undefined) {
      this.#parts = await ExtractParts.of(extract, signal)
      this.#blocks = this.#parts.blocks
    }
    this.#folder ??= mkdtempSync(`${folder}-readable-`)
    const most = MOST_LEFT_OUT - this.#refused.length
    const suspects = suspectsOf(stage)
    const attempt = (blocks: readonly ExtractBlock[]): Promise<Error | undefined> =>
      this.#attempt(stage, blocks)
    try {
      const found = await findRefused(this.#parts, this.#blocks, suspects, attempt, most)
      const isChanged = found.blocks.some((block, i) => block !== this.#blocks[i])
      for (const refused of found.refused) onNote(sentenceOf(refused))
      this.#blocks = found.blocks
      this.#refused = [...this.#refused, ...found.refused]
      await this.#parts.write(this.path, this.#blocks)
      return isChanged
    } catch (error) {
      if (!(error instanceof TooManyRefused)) throw error

      const { type, id } = error.last.object
      throw new ExtractRefused(
        `${extract} has more than ${MOST_LEFT_OUT} objects that the routing engine cannot read. ` +
          `For example ${type} ${id}: ${reasonOf(error.last)}.`,
        { cause: failure },
      )
    }
  }

  /** Removes the copy. */
  remove(): void {
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true })
  }

  async #attempt(end: BuilderStage, blocks: readonly ExtractBlock[]): Promise<Error | undefined> {
    const { threads, signal } = this.#job
    const folder = mkdtempSync(join(this.#folder!, 'attempt-'))
    const extract = join(folder, 'part.osm.pbf')
    try {
      await this.#parts!.write(extract, blocks)
      await runBuilder({ extract, folder, threads, signal, onLine: () => {}, end })
      return undefined
    } catch (error) {
      if (!(error instanceof ToolFailed) || error instanceof ToolKilled) throw error
      // Roads without their nodes are caused by choosing a part, not by an object.
      return error instanceof NoRoads ? undefined : error
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }
}

/**
 * The objects that can be at fault: all if the builder reads each object by itself, and otherwise those that it reads
 * together with others.
 */
function suspectsOf(stage: BuilderStage): ReadonlySet<OsmObject['type']> {
  if (stage === 'parsenodes') return new Set(['node'])
  if (stage === 'cleanup') return new Set(['way', 'relation'])
  return new Set(['node', 'way', 'relation'])
}

function sentenceOf(refused: RefusedObject): string {
  const { type, id } = refused.object
  return `The region is without ${type} ${id}, which the routing engine cannot read: ${reasonOf(refused)}.`
}

function reasonOf({ object, failure }: RefusedObject): string {
  if (object.texts.some((text) => text.includes(0))) return 'one of its texts has a NUL character'
  const known = REASONS.find(([cause]) => cause.test(failure.message))
  return known?.[1] ?? failure.message.replace(/\.$/, '')
}
