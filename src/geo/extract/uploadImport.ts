import { writeFileSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { retry } from '../../runtime/retry.ts'
import { NameTaken, NoRoom, refuseOtherKind } from './finishedBuild.ts'
import { importMapRegion, type ImportStage } from './importMapRegion.ts'
import { MapRegionsRefused } from './mapRegionFiles.ts'
import { ExtractRefused } from './osmPbfBlobs.ts'
import { ToolFailed, ValhallaMissing } from './valhallaTools.ts'

/** The messages of the process that imports an extract to the server that received it. */
export type UploadNews =
  | { readonly stage: ImportStage; readonly share: number }
  /** A part of the extract that the region lacks. */
  | { readonly note: string }
  /** Whether the sentence is for the user. Otherwise the failure is ours, or that of the system. */
  | { readonly failed: string; readonly isTold: boolean }

/** The extract that was received. */
export interface ReceivedExtract {
  /** The folder of all map regions. */
  readonly folder: string
  readonly path: string
  /** The name of the map region. */
  readonly name: string
}

/** For half a minute it tries to lock the folder, which another import or command may hold. */
const LOCKING = { pauses: { firstMs: 1000, lastMs: 1000 }, attempts: 30 }
/** How often the progress of a stage is reported. */
const TELL_MS = 500
/** If memory runs out, the system ends this process rather than the server. */
const FIRST_TO_BE_KILLED = '1000'

/** Errors whose sentence is for the user. */
const TOLD = [ExtractRefused, MapRegionsRefused, NameTaken, NoRoom, ToolFailed, ValhallaMissing] as const

/**
 * Imports an extract that a server has received. Its process does nothing else, and has a low priority. If the server
 * ends, this process ends, too.
 * @param lock locks the folder of the map regions; throws if another process is changing them
 */
export async function importUpload(
  { folder, path, name }: ReceivedExtract,
  lock: (folder: string) => () => void,
): Promise<void> {
  // The tools that this process has started end with it.
  const orphaned = (): never => process.exit(1)
  process.once('disconnect', orphaned)
  // A terminal sends these signals to all processes. This one ends when the server says so.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {})
  giveWay()
  const tell = (news: UploadNews): void => void process.send?.(news)
  try {
    const release = await retry(async () => lock(folder), LOCKING)
    try {
      refuseOtherKind(folder, name, 'extract')
      await importMapRegion({
        folder,
        path,
        name,
        threads: 1,
        isSample: false,
        now: Date.now,
        signal: new AbortController().signal,
        onProgress: seldom((stage, share) => tell({ stage, share })),
        onNote: (note) => tell({ note }),
      })
    } finally {
      release()
    }
  } catch (error) {
    tell(failureOf(error as Error))
    process.exitCode = 1
  } finally {
    process.off('disconnect', orphaned)
    process.disconnect?.()
  }
}

function giveWay(): void {
  setPriority(constants.priority.PRIORITY_LOW)
  try {
    writeFileSync('/proc/self/oom_score_adj', FIRST_TO_BE_KILLED)
  } catch {
    // Other systems have no such file.
  }
}

function failureOf(error: Error): UploadNews {
  if (error.name === 'StoreLocked')
    return { failed: 'Another import or command is working on the map regions. Try again.', isTold: true }
  if (error instanceof NameTaken)
    return { failed: 'A region of added addresses has this name. Choose another name.', isTold: true }
  const isTold = TOLD.some((one) => error instanceof one)
  return { failed: isTold ? error.message : (error.stack ?? error.message), isTold }
}

/** Each stage, and its progress now and then. */
function seldom(
  tell: (stage: ImportStage, share: number) => void,
): (stage: ImportStage, share: number) => void {
  let told: ImportStage | undefined
  let toldAt = -Infinity
  return (stage, share) => {
    const now = performance.now()
    if (stage === told && now - toldAt < TELL_MS) return
    told = stage
    toldAt = now
    tell(stage, share)
  }
}
