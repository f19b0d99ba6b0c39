/**
 * One run of a sync, from the sources to the counts.
 *
 * Owns: the order of the steps, which geofences are written and deleted. Does not own: when it runs ({@link
 * SyncRunner}), how sources are fetched (fetchSources.ts) and read (rowsPort.ts), and how geofences are written
 * (geofenceWrites.ts).
 *
 * Invariants
 * - SYNC-3: Nothing is written before every source has arrived whole and was read to its end.
 * - SYNC-5: What is remembered of a source is that its content was taken whole, with its deletions. It is forgotten before
 *   the first of its rows is written, and known again at the end; so a run that ends in between does not hide that another
 *   content was taken in part.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Geofence, GeofenceProperties } from '../model/geofence.ts'
import type { GeofenceDefinition } from '../registry/geofences/geofenceRows.ts'
import { resolveArea } from '../registry/geofences/resolveArea.ts'
import { RunLost } from '../registry/sync/syncRegistry.ts'
import type { SourceState, SyncRun, SyncSettings, SyncStatus } from '../registry/sync/syncRows.ts'
import { unlessAborted } from '../runtime/aborted.ts'
import { ApiError } from '../runtime/errors.ts'
import { Slice } from '../runtime/slices.ts'
import { fetchSources } from './fetchSources.ts'
import { GeofenceWrites } from './geofenceWrites.ts'
import type { ReadRow, SourceRows } from './rowsPort.ts'
import { draftOf, rowTextOf, isSameLookUp } from './rowText.ts'
import { SecretsUnreadable } from './secretBox.ts'
import { sourcesOf } from './sourceRequest.ts'
import { kept, MAX_CHANGES_SHOWN, RunCanceled, RunState, type SyncParts } from './syncRunState.ts'

/** How often the counts of a run that writes nothing are shown. */
const PROGRESS_MS = 1000
const MARKS_A_TURN = 500
/** The pause between two attempts to write how a run ended. */
const WRITE_AGAIN_MS = 2000

/**
 * Does a run that belongs to this process.
 * @returns how it ended
 * @throws {RunLost}, or the reason of the signal if that is not {@link RunCanceled}
 */
export async function doRun(parts: SyncParts, run: SyncRun, signal: AbortSignal): Promise<SyncRun> {
  return new RunWork(new RunState(parts, run, signal)).do()
}

class RunWork {
  readonly #state: RunState
  readonly #writes: GeofenceWrites
  #settings: Pick<SyncSettings, 'emails' | 'notify'> = { emails: [], notify: 'always' }
  /** Whether all rows were taken, and what is missing was deleted. */
  #isComplete = false

  constructor(state: RunState) {
    this.#state = state
    this.#writes = new GeofenceWrites(state)
  }

  get #parts(): SyncParts {
    return this.#state.parts
  }

  get #run(): SyncRun {
    return this.#state.run
  }

  get #signal(): AbortSignal {
    return this.#state.signal
  }

  async do(): Promise<SyncRun> {
    let rows: SourceRows | undefined
    let ownFolder: string | undefined
    try {
      const { syncs, box, folder, openRows } = this.#parts
      const settings = syncs.settings(this.#run.scope)
      if (settings === undefined) return await this.#end('failed', 'There are no settings.')
      this.#settings = settings
      this.#state.sources = sourcesOf(settings, box.open(this.#run.scope, settings.sealed))
      ownFolder = await mkdtemp(join(folder, 'run-'))
      await fetchSources(this.#state, ownFolder)
      if (this.#state.arrived.length > 0) {
        rows = await openRows()
        await this.#survey(rows)
        await this.#takeRows(rows)
        if (settings.deleteMissing) await this.#deleteMissing(rows, settings)
        this.#isComplete = true
      }
      return await this.#end(this.#outcome())
    } catch (error) {
      if (error instanceof RunLost) throw error
      if (this.#signal.aborted && !(this.#signal.reason instanceof RunCanceled)) throw this.#signal.reason
      if (this.#signal.aborted) return await this.#end('canceled')
      if (error instanceof SecretsUnreadable) return await this.#end('failed', error.message)
      if (error instanceof ApiError)
        return await this.#end('failed', `Nothing can be written: ${error.message}`)
      throw error
    } finally {
      await rows?.close()
      if (ownFolder !== undefined) await rm(ownFolder, { recursive: true, force: true })
    }
  }

  async #survey(rows: SourceRows): Promise<void> {
    // A gigabyte of short rows takes many minutes.
    const problems = await unlessAborted(
      rows.survey(this.#state.arrived.map(({ file }) => file)),
      this.#signal,
    )
    const read: string[] = []
    for (const [i, { index }] of this.#state.arrived.entries()) {
      const problem = problems[i]
      if (problem === undefined) {
        this.#run.sources[index]!.status = 'read'
        read.push(this.#state.sources[index]!.id)
      } else this.#state.fail(index, { ...problem, httpStatus: undefined })
    }
    const { syncs } = this.#parts
    const { scope, dryRun } = this.#run
    await this.#state.save(() =>
      (dryRun ? [] : read)
        .filter((source) => syncs.sourceState(scope, source) !== undefined)
        .map((source) => syncs.sourceChange(scope, source, undefined)),
    )
  }

  async #takeRows(rows: SourceRows): Promise<void> {
    const slice = new Slice()
    slice.pause()
    // The next batch is read while this one is compared.
    let next = rows.next()
    for (;;) {
      const batch = await unlessAborted(next, this.#signal)
      if (batch === undefined) break
      next = rows.next()
      // It is awaited in the next turn of the loop, or never. In the latter case, its failure is not the reason of the
      // end.
      next.catch(() => {})
      slice.resume()
      for (const row of batch.rows) {
        const lookedUp = this.#take(row, this.#state.arrived[batch.file]!.index)
        if (lookedUp !== undefined) {
          slice.pause()
          await lookedUp
          slice.resume()
        }
        if (slice.isOver) await slice.next()
      }
      slice.pause()
      this.#signal.throwIfAborted()
      if (this.#writes.isFull) await this.#writes.write()
      else if (this.#parts.time.now() - this.#state.savedAt > PROGRESS_MS) await this.#writes.write()
    }
    await this.#writes.write()
  }

  /**
   * Takes a row.
   * @returns a promise if something must be looked up
   */
  #take(row: ReadRow, source: number): void | Promise<void> {
    const told = this.#run.sources[source]!
    const { tag, externalId, refusal, text } = row
    told.rows++
    if (row.isRepeated) {
      told.repeated++
      return
    }
    if (refusal !== undefined) return this.#state.refuse(source, { ...refusal, source: told.name })
    const now = this.#parts.time.now()
    const store = this.#parts.geofences.store(this.#run.scope)
    const existing = store.glimpse(tag!, externalId!)
    const sources = this.#sourcesNaming(row, source)
    if (existing !== undefined && rowTextOf(existing, now) === text)
      return this.#same(existing, source, sources)
    const draft = draftOf(text!)
    const { placeId, address } = draft.definition
    const isLookedUp = placeId !== undefined || address !== undefined
    if (isLookedUp && existing !== undefined && isSameLookUp(existing, draft, now))
      return this.#same(existing, source, sources)
    const definition = resolveArea(draft, this.#parts.finder)
    const characters = text!.length
    const take = (known: GeofenceDefinition) =>
      this.#writes.add({ definition: known, characters, source, sources })
    if (!(definition instanceof Promise)) return take(definition)
    return definition.then(take, (error: unknown) => {
      if (!(error instanceof ApiError)) throw error
      const { message, param } = error
      this.#state.refuse(source, { source: told.name, line: row.line, row: row.row, column: param, message })
    })
  }

  #same(existing: Geofence, source: number, sources: readonly string[]): void {
    this.#run.sources[source]!.unchanged++
    // A geofence that no run has written does not belong to the sync, even if a row says the same.
    const mark = this.#parts.syncs.mark(existing.scope, existing.id)
    if (mark === undefined || sources.every((id) => mark.sources.includes(id))) return
    this.#writes.remark(
      this.#parts.syncs.markChange({ ...mark, sources: [...new Set([...mark.sources, ...sources])] }),
    )
  }

  #sourcesNaming({ files }: ReadRow, source: number): readonly string[] {
    const own = this.#state.sources[source]!.id
    return files === undefined
      ? [own]
      : files.map((file) => this.#state.sources[this.#state.arrived[file]!.index]!.id)
  }

  /** Deletes what runs have written and no source names any more, unless that is too much. */
  async #deleteMissing(rows: SourceRows, { maxDeleteShare }: SyncSettings): Promise<void> {
    const { syncs, geofences } = this.#parts
    const { scope, force, dryRun } = this.#run
    const store = geofences.store(scope)
    const missing: string[] = []
    const gone: string[] = []
    let all = 0
    for (let after = ''; ;) {
      const marks = syncs.marksAfter(scope, after, MARKS_A_TURN)
      if (marks.length === 0) break
      after = marks.at(-1)!.id
      const own: GeofenceProperties[] = []
      const slice = new Slice()
      for (const { id, sources, updatedAt } of marks) {
        if (slice.isOver) await slice.next()
        const geofence = store.get(id)
        if (geofence === undefined) {
          gone.push(id)
          continue
        }
        if (geofence.updatedAt !== updatedAt) continue
        all++
        if (sources.every((source) => this.#speaksFor(source))) own.push(geofence)
      }
      const named = await rows.named(own.map(({ tag, externalId }) => [tag, externalId]))
      for (const [i, { id }] of own.entries()) if (!named[i]) missing.push(id)
      this.#signal.throwIfAborted()
    }
    if (missing.length > maxDeleteShare * all && !force) {
      this.#run.deletionHeld = { count: missing.length, of: all }
      missing.length = 0
    }
    if (dryRun) {
      this.#run.deleted = missing.length
      for (const id of missing.slice(0, MAX_CHANGES_SHOWN)) {
        const geofence = store.get(id)
        if (geofence !== undefined) this.#state.show('deleted', store.whole(geofence))
      }
      return
    }
    await this.#writes.delete(gone, missing)
  }

  /**
   * Whether this source no longer has the geofence, if no row names it: the source was read completely, or was removed
   * from the settings.
   */
  #speaksFor(id: string): boolean {
    const index = this.#state.sources.findIndex((source) => source.id === id)
    return index < 0 || this.#run.sources[index]!.status === 'read'
  }

  #outcome(): SyncStatus {
    const { sources, deletionHeld } = this.#run
    if (sources.every(({ status }) => status === 'failed')) return 'failed'
    const isWhole = sources.every(({ status, refused }) => status !== 'failed' && refused === 0)
    return isWhole && deletionHeld === undefined ? 'succeeded' : 'partial'
  }

  /** Writes how the run ended, and repeats that until it succeeds. */
  async #end(status: SyncStatus, message?: string): Promise<SyncRun> {
    const { syncs, time } = this.#parts
    const { scope, dryRun } = this.#run
    for (;;) {
      try {
        return await syncs.edit(() => {
          const active = syncs.held(this.#run)
          const { holder: _, ...run } = this.#run
          const ended: SyncRun = {
            ...run,
            ...kept(active),
            status,
            finishedAt: time.now(),
            ...(message && { message }),
            ...(dryRun && { changes: this.#state.changes }),
          }
          const states = dryRun || status === 'canceled' ? [] : this.#states(ended)
          const told = this.#parts.tell(ended, this.#state.refusals, this.#settings)
          const notified = { ...ended, notification: told.state }
          syncs.commit([
            ...states.map(([source, state]) => syncs.sourceChange(scope, source, state)),
            syncs.saved(notified, this.#state.refusals),
            ...told.changes,
          ])
          return notified
        })
      } catch (error) {
        if (!(error instanceof ApiError)) throw error
        await this.#state.sleep(WRITE_AGAIN_MS, false)
      }
    }
  }

  /** What is remembered of the sources; undefined for one that must be fetched again even if it has not changed. */
  #states({ sources, deletionHeld }: SyncRun): [string, SourceState | undefined][] {
    return this.#state.arrived.flatMap(({ index, state }): [string, SourceState | undefined][] => {
      const { status, refused } = sources[index]!
      if (status !== 'read') return []
      const isWhole = this.#isComplete && refused === 0 && deletionHeld === undefined
      return [[this.#state.sources[index]!.id, isWhole ? state : undefined]]
    })
  }
}
