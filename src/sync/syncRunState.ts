import { shapeOutline } from '../geometry/shape.ts'
import type { AreaFinder } from '../registry/geofences/areaFinder.ts'
import type { GeofenceDefinition } from '../registry/geofences/geofenceRows.ts'
import type { Geofences } from '../registry/geofences/geofences.ts'
import type { Change } from '../registry/store/editLog.ts'
import type { SyncRegistry } from '../registry/sync/syncRegistry.ts'
import type {
  SourceState,
  SyncChange,
  SyncRefusal,
  SyncRun,
  SyncSettings,
  SyncSource,
} from '../registry/sync/syncRows.ts'
import { MAX_ERRORS } from '../registry/transfer/importHistory.ts'
import type { Time } from '../runtime/clock.ts'
import type { Fetched } from './fetchSource.ts'
import type { SourceRows } from './rowsPort.ts'
import type { SecretBox } from './secretBox.ts'
import type { SourceFailed } from './sourceFailed.ts'
import type { Source } from './sourceRequest.ts'

/** How many changes of a dry run are kept to be shown. */
export const MAX_CHANGES_SHOWN = 300

export interface SyncParts {
  readonly syncs: SyncRegistry
  readonly geofences: Geofences
  readonly finder: AreaFinder
  readonly box: SecretBox
  readonly time: Time
  /** The folder for the files of sources. It contains nothing else. */
  readonly folder: string
  readonly openRows: () => Promise<SourceRows>
  readonly fetch: (
    source: Source,
    file: string,
    known: SourceState | undefined,
    signal: AbortSignal,
  ) => Promise<Fetched>
  /** Returns the changes, within the edit, that make people learn how a run ended. */
  readonly tell: (
    run: SyncRun,
    refused: readonly SyncRefusal[],
    settings: Pick<SyncSettings, 'emails' | 'notify'>,
  ) => {
    readonly state: NonNullable<SyncRun['notification']>
    readonly changes: readonly Change[]
  }
}

/** Somebody ended the run by a call. */
export class RunCanceled extends Error {
  override readonly name = 'RunCanceled'
}

/** A source that arrived, with its file. */
export interface Arrived {
  readonly index: number
  readonly file: string
  readonly state: SourceState
}

/** What the steps of a run share: its record, its sources, and what was refused. */
export class RunState {
  readonly parts: SyncParts
  readonly signal: AbortSignal
  readonly refusals: SyncRefusal[] = []
  /** What a dry run would do. */
  readonly changes: SyncChange[] = []
  readonly arrived: Arrived[] = []
  run: SyncRun
  /** When the counts of the run were last saved. */
  savedAt: number
  #sources: readonly Source[] = []

  constructor(parts: SyncParts, run: SyncRun, signal: AbortSignal) {
    this.parts = parts
    this.run = { ...run, sources: [] }
    this.signal = signal
    this.savedAt = parts.time.now()
  }

  get sources(): readonly Source[] {
    return this.#sources
  }

  set sources(sources: readonly Source[]) {
    this.#sources = sources
    this.run.sources = sources.map(({ name }) => newSource(name))
  }

  /** A source could not be fetched or read. */
  fail(
    index: number,
    { code, message, httpStatus }: Pick<SourceFailed, 'code' | 'message' | 'httpStatus'>,
  ): void {
    const told = this.run.sources[index]!
    told.status = 'failed'
    told.error = { code, message }
    if (httpStatus !== undefined) told.httpStatus = httpStatus
  }

  refuse(source: number, refusal: SyncRefusal): void {
    this.run.sources[source]!.refused++
    if (this.refusals.length < MAX_ERRORS) this.refusals.push(refusal)
    else this.run.moreErrors++
  }

  /** Keeps what a dry run would do, to be shown. */
  show(change: SyncChange['change'], { tag, externalId, description, shape }: GeofenceDefinition): void {
    if (this.changes.length >= MAX_CHANGES_SHOWN) return
    this.changes.push({ change, tag, externalId, description, ...shapeOutline(shape) })
  }

  /**
   * Saves the run.
   * @param alongside returns what else is written, within the edit
   */
  async save(alongside: () => readonly Change[] = () => []): Promise<void> {
    const { syncs, time } = this.parts
    await syncs.edit(() => {
      const saved = { ...this.run, ...kept(syncs.held(this.run)) }
      syncs.commit([...alongside(), syncs.saved(saved)])
    })
    this.savedAt = time.now()
  }

  /**
   * Waits.
   * @param isEndedBySignal whether a cancelation ends it, too
   */
  sleep(milliseconds: number, isEndedBySignal = true): Promise<void> {
    const signal = this.signal
    return new Promise((resolve, reject) => {
      const isOver = () => signal.aborted && (isEndedBySignal || !(signal.reason instanceof RunCanceled))
      if (isOver()) return reject(signal.reason as Error)
      const ended = (): void => {
        if (!isOver()) return
        cancel()
        reject(signal.reason as Error)
      }
      const cancel = this.parts.time.after(milliseconds, () => {
        signal.removeEventListener('abort', ended)
        resolve()
      })
      signal.addEventListener('abort', ended, { once: true })
    })
  }
}

/** The members of a running run that others may have changed. */
export function kept({ isCanceled }: SyncRun): Partial<SyncRun> {
  return isCanceled ? { isCanceled } : {}
}

function newSource(name: string): SyncSource {
  return { name, attempts: 0, rows: 0, created: 0, updated: 0, unchanged: 0, repeated: 0, refused: 0 }
}
