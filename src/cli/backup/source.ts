import type { CopyableEventIndex } from '../../events/port.ts'
import type { CopyableLog, CopyableSnapshots } from '../../log/port.ts'
import type { BackupSource, HeldContents } from './port.ts'

export interface SourceParts {
  readonly storeId: string
  readonly partitions: number
  readonly log: CopyableLog
  readonly events: CopyableEventIndex
  /** The pause of {@link CopyableEventIndex.copy}, in milliseconds. */
  readonly pauseMs: number
  readonly registry: { readonly revision: number; freeze(): () => void }
  readonly snapshots: CopyableSnapshots
  /** No snapshot is added or removed, and the log is not trimmed, until the returned function is called. */
  readonly holdSnapshots: () => Promise<() => void>
}

/** Another process is copying the store. */
export class BackupUnderWay extends Error {
  override name = 'BackupUnderWay'

  constructor() {
    super('Another backup of this data folder is already running.')
  }
}

/** The event index could not be copied. */
export class EventsNotCopied extends Error {
  override name = 'EventsNotCopied'

  constructor(file: string, cause: Error) {
    super(`The event index cannot be copied to ${file}: ${cause.message}`, { cause })
  }
}

/**
 * The store of this process, which is copied while it is at work.
 *
 * The naive way stops everything for as long as the copy takes. Here nobody waits. Instead, the parts are copied in an
 * order that makes them fit together like those of a killed process, which every start can read:
 *
 * Invariants
 * - BACKUP-1: Snapshots and the trimming of the log pause, so whatever the parts below need stays in the log.
 * - BACKUP-2: The event index is copied first: the log, which is taken later, is never behind it and has what it
 *   lacks.
 * - BACKUP-3: The log is taken up to its last durable frame, which is everything that was acknowledged before the
 *   backup was requested.
 * - BACKUP-4: The registry is taken in the same turn of the event loop, so it is as new as the newest commit (G10).
 */
export class OpenStore implements BackupSource {
  readonly #parts: SourceParts
  #busy = false

  constructor(parts: SourceParts) {
    this.#parts = parts
  }

  /** @throws {BackupUnderWay} {@link EventsNotCopied} */
  async hold(
    folder: string,
    progress: (copied: number, total: number) => void,
    signal: AbortSignal,
  ): Promise<HeldContents> {
    if (this.#busy) throw new BackupUnderWay()
    this.#busy = true
    const { storeId, partitions, log, registry, snapshots } = this.#parts
    const releases: (() => void)[] = [() => (this.#busy = false)]
    const release = async (): Promise<void> => {
      for (const undo of releases.splice(0).toReversed()) undo()
    }
    try {
      releases.push(await this.#parts.holdSnapshots())
      const eventsPosition = await this.#copyEvents(`${folder}/events.sqlite`, progress, signal)
      const { offset, files, manifest } = await log.files()
      releases.push(registry.freeze())
      const whole = ['registry.sqlite', ...snapshots.files(), 'store.json']
      return {
        storeId,
        partitions,
        logPosition: offset,
        eventsPosition,
        registryRevision: registry.revision,
        files: [...files, ...whole.map((name) => ({ name }))],
        texts: [manifest],
        release,
      }
    } catch (error) {
      await release()
      throw error
    }
  }

  async #copyEvents(file: string, progress: (copied: number, total: number) => void, signal: AbortSignal) {
    try {
      return await this.#parts.events.copy(file, { pauseMs: this.#parts.pauseMs, progress, signal })
    } catch (error) {
      throw new EventsNotCopied(file, error as Error)
    }
  }
}
