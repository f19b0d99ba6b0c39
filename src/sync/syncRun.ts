/**
 * One run of a sync, from the sources to the counts.
 *
 * Owns: the order of the steps, what is written and deleted. Does not own: when it runs ({@link SyncRunner}), how a
 * source is fetched (fetchSource.ts) and read (rowsPort.ts).
 *
 * Invariants
 * - SYNC-3: Nothing is written before every source has arrived whole and was read to its end.
 * - SYNC-4: Each write checks within its edit that this process still has the run; who lost it writes no more.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { shapeOutline } from '../geometry/shape.ts'
import type { Geofence } from '../model/geofence.ts'
import type { AreaFinder } from '../registry/geofences/areaFinder.ts'
import type { GeofenceDefinition } from '../registry/geofences/geofenceRows.ts'
import type { Geofences } from '../registry/geofences/geofences.ts'
import type { Listed } from '../registry/records/recordList.ts'
import { resolveArea } from '../registry/geofences/resolveArea.ts'
import type { Change } from '../registry/store/editLog.ts'
import type { SyncRegistry } from '../registry/sync/syncRegistry.ts'
import { RunLost } from '../registry/sync/syncRegistry.ts'
import type {
  SourceState,
  SyncChange,
  SyncRefusal,
  SyncRun,
  SyncSettings,
  SyncSource,
  SyncStatus,
} from '../registry/sync/syncRows.ts'
import type { Time } from '../runtime/clock.ts'
import { ApiError } from '../runtime/errors.ts'
import { Slice } from '../runtime/slices.ts'
import { MAX_ERRORS } from '../registry/transfer/importHistory.ts'
import { pairHash } from './pairHash.ts'
import type { ReadRow, SourceRows } from './rowsPort.ts'
import { draftOf, rowTextOf, isSameLookUp } from './rowText.ts'
import type { Fetched } from './fetchSource.ts'
import { SecretsUnreadable, type SecretBox } from './secretBox.ts'
import { SourceFailed } from './sourceFailed.ts'
import { sourcesOf, type Source } from './sourceRequest.ts'

/** Of a transaction; with their marks they must fit into an atomic batch of the registry. */
const MAX_WRITES = 200
/** How often the counts of a run that writes nothing are shown. */
const PROGRESS_MS = 1000
const MARKS_A_TURN = 500
/** Of a dry run, so many changes are kept to be shown. */
const MAX_CHANGES_SHOWN = 300
/** Pauses before a source is asked again. */
const RETRY_MS = [10_000, 60_000, 300_000]
const MAX_RETRY_AFTER_MS = 30 * 60_000
/** Between two attempts to write how a run ended. */
const WRITE_AGAIN_MS = 2000

export interface SyncParts {
  readonly syncs: SyncRegistry
  readonly geofences: Geofences
  readonly finder: AreaFinder
  readonly box: SecretBox
  readonly time: Time
  /** For the files of sources; nothing else is in it. */
  readonly folder: string
  readonly openRows: () => Promise<SourceRows>
  readonly fetch: (
    source: Source,
    file: string,
    known: SourceState | undefined,
    signal: AbortSignal,
  ) => Promise<Fetched>
  /** Within an edit: what must be written so that people are told how a run ended. */
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
interface Arrived {
  readonly index: number
  readonly file: string
  readonly state: SourceState
}

interface Pending {
  readonly definition: GeofenceDefinition
  readonly source: number
  readonly sources: readonly string[]
}

/**
 * Does a run that this process has.
 * @returns how it ended
 * @throws {RunLost}, or the reason of the signal if that is not {@link RunCanceled}
 */
export async function doRun(parts: SyncParts, run: SyncRun, signal: AbortSignal): Promise<SyncRun> {
  const work = new RunWork(parts, run, signal)
  return work.do()
}

class RunWork {
  readonly #parts: SyncParts
  readonly #signal: AbortSignal
  readonly #errors: SyncRefusal[] = []
  readonly #changes: SyncChange[] = []
  /** The pairs that rows name. */
  readonly #named = new Set<number>()
  readonly #arrived: Arrived[] = []
  #run: SyncRun
  #sources: readonly Source[] = []
  #settings: Pick<SyncSettings, 'emails' | 'notify'> = { emails: [], notify: 'always' }
  #pending: Pending[] = []
  #savedAt: number
  #folder: string | undefined

  constructor(parts: SyncParts, run: SyncRun, signal: AbortSignal) {
    this.#parts = parts
    this.#run = { ...run, sources: [] }
    this.#signal = signal
    this.#savedAt = parts.time.now()
  }

  async do(): Promise<SyncRun> {
    let rows: SourceRows | undefined
    try {
      const { syncs, box, folder, openRows } = this.#parts
      const settings = syncs.settings(this.#run.scope)
      if (settings === undefined) return await this.#end('failed', 'There are no settings.')
      this.#settings = settings
      this.#sources = sourcesOf(settings, box.open(this.#run.scope, settings.sealed))
      this.#run.sources = this.#sources.map(({ name }) => newSource(name))
      this.#folder = await mkdtemp(join(folder, 'run-'))
      await this.#fetchAll()
      if (this.#arrived.length > 0) {
        rows = await openRows()
        await this.#survey(rows)
        await this.#takeRows(rows)
        if (settings.deleteMissing) await this.#deleteMissing(settings)
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
      if (this.#folder !== undefined) await rm(this.#folder, { recursive: true, force: true })
    }
  }

  async #fetchAll(): Promise<void> {
    for (const index of this.#sources.keys()) {
      await this.#fetch(index)
      await this.#save()
    }
  }

  async #fetch(index: number): Promise<void> {
    const { syncs, fetch } = this.#parts
    const { scope, force } = this.#run
    const source = this.#sources[index]!
    const told = this.#run.sources[index]!
    const file = join(this.#folder!, String(index))
    const known = force ? undefined : syncs.sourceState(scope, source.id)
    for (;;) {
      this.#signal.throwIfAborted()
      try {
        told.attempts++
        const { httpStatus, content, etag, lastModified } = await fetch(source, file, known, this.#signal)
        Object.assign(told, { httpStatus, ...(etag !== undefined && { etag }) })
        if (content !== undefined) told.bytes = content.bytes
        if (content === undefined || content.sha256 === known?.sha256) {
          told.status = 'unchanged'
          return
        }
        const state = {
          sha256: content.sha256,
          ...(etag !== undefined && { etag }),
          ...(lastModified !== undefined && { lastModified }),
        }
        this.#arrived.push({ index, file, state })
        return
      } catch (error) {
        if (!(error instanceof SourceFailed)) throw error
        const pause = RETRY_MS[told.attempts - 1]
        if (!error.isPassing || pause === undefined) return this.#fail(index, error)
        await this.#sleep(Math.max(pause, Math.min(error.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS)))
      }
    }
  }

  #fail(
    index: number,
    { code, message, httpStatus }: Pick<SourceFailed, 'code' | 'message' | 'httpStatus'>,
  ): void {
    const told = this.#run.sources[index]!
    told.status = 'failed'
    told.error = { code, message }
    if (httpStatus !== undefined) told.httpStatus = httpStatus
  }

  async #survey(rows: SourceRows): Promise<void> {
    const problems = await rows.survey(this.#arrived.map(({ file }) => file))
    for (const [i, { index }] of this.#arrived.entries()) {
      const problem = problems[i]
      if (problem === undefined) this.#run.sources[index]!.status = 'read'
      else this.#fail(index, { ...problem, httpStatus: undefined })
    }
    await this.#save()
  }

  async #takeRows(rows: SourceRows): Promise<void> {
    const slice = new Slice()
    slice.pause()
    // The next batch is read while this one is compared.
    let next = rows.next()
    for (;;) {
      const batch = await next
      if (batch === undefined) break
      next = rows.next()
      // Awaited in the next turn of the loop, or never: then its failure is not the reason of the end.
      next.catch(() => {})
      slice.resume()
      for (const row of batch.rows) {
        const lookedUp = this.#take(row, this.#arrived[batch.file]!.index)
        if (lookedUp !== undefined) {
          slice.pause()
          await lookedUp
          slice.resume()
        }
        if (slice.isOver) await slice.next()
      }
      slice.pause()
      this.#signal.throwIfAborted()
      if (this.#pending.length >= MAX_WRITES) await this.#write()
      else if (this.#parts.time.now() - this.#savedAt > PROGRESS_MS) await this.#write()
    }
    await this.#write()
  }

  /** @returns a promise if something must be looked up */
  #take(row: ReadRow, source: number): void | Promise<void> {
    const told = this.#run.sources[source]!
    const { tag, externalId, refusal, text } = row
    told.rows++
    if (tag !== undefined && externalId !== undefined) this.#named.add(pairHash(tag, externalId))
    if (row.isRepeated) {
      told.repeated++
      return
    }
    if (refusal !== undefined) return this.#refuse(source, { ...refusal, source: told.name })
    const now = this.#parts.time.now()
    const store = this.#parts.geofences.store(this.#run.scope)
    const before = store.byPair(tag!, externalId!)
    const existing = before && store.whole(before)
    const sources = this.#sourcesNaming(row, source)
    if (existing !== undefined && rowTextOf(existing, now) === text)
      return this.#same(existing, source, sources)
    const draft = draftOf(text!)
    const { placeId, address } = draft.definition
    const isLookedUp = placeId !== undefined || address !== undefined
    if (isLookedUp && existing !== undefined && isSameLookUp(existing, draft, now))
      return this.#same(existing, source, sources)
    const definition = resolveArea(draft, this.#parts.finder)
    const take = (known: GeofenceDefinition) =>
      void this.#pending.push({ definition: known, source, sources })
    if (!(definition instanceof Promise)) return take(definition)
    return definition.then(take, (error: unknown) => {
      if (!(error instanceof ApiError)) throw error
      const { message, param } = error
      this.#refuse(source, { source: told.name, line: row.line, row: row.row, column: param, message })
    })
  }

  #same(existing: Geofence, source: number, sources: readonly string[]): void {
    this.#run.sources[source]!.unchanged++
    // What a run did not write is not its own, even if a row says the same.
    const mark = this.#parts.syncs.mark(existing.scope, existing.id)
    if (mark === undefined || sources.every((id) => mark.sources.includes(id))) return
    this.#remarked.push(
      this.#parts.syncs.markChange({ ...mark, sources: [...new Set([...mark.sources, ...sources])] }),
    )
  }
  #remarked: Change[] = []

  #sourcesNaming({ files }: ReadRow, source: number): readonly string[] {
    const own = this.#sources[source]!.id
    return files === undefined ? [own] : files.map((file) => this.#sources[this.#arrived[file]!.index]!.id)
  }

  #refuse(source: number, refusal: SyncRefusal): void {
    this.#run.sources[source]!.refused++
    if (this.#errors.length < MAX_ERRORS) this.#errors.push(refusal)
    else this.#run.moreErrors++
  }

  /** Writes what is pending, some rows at a time, each with the counts that it changes. */
  async #write(): Promise<void> {
    const { syncs, geofences } = this.#parts
    const { scope, dryRun } = this.#run
    if (this.#pending.length === 0 && this.#remarked.length === 0) return this.#save()
    while (this.#pending.length > 0 || this.#remarked.length > 0) {
      const part = this.#pending.slice(0, MAX_WRITES)
      const marks = this.#remarked.slice(0, MAX_WRITES)
      if (dryRun) {
        const store = geofences.store(scope)
        const outcomes = part.map(({ definition: { tag, externalId } }) => ({
          created: store.byPair(tag, externalId) === undefined,
        }))
        for (const [i, { definition }] of part.entries())
          this.#show(outcomes[i]!.created ? 'created' : 'updated', definition)
        this.#run = this.#counting(part, outcomes)
      } else {
        this.#run = await syncs.edit(() => {
          const active = syncs.held(this.#run)
          let counted = this.#run
          const alongside = (outcomes: readonly { readonly created: boolean; readonly record: Listed }[]) => {
            counted = { ...this.#counting(part, outcomes), ...kept(active) }
            const written = outcomes.map(({ record: { id, updatedAt } }, i) =>
              syncs.markChange({ scope, id, sources: part[i]!.sources, updatedAt }),
            )
            return [...marks, ...written, syncs.saved(counted)]
          }
          if (part.length === 0) syncs.commit(alongside([]))
          else
            geofences.putMany(
              scope,
              part.map(({ definition }) => definition),
              { alongside },
            )
          return counted
        })
      }
      this.#pending = this.#pending.slice(part.length)
      this.#remarked = this.#remarked.slice(marks.length)
      this.#savedAt = this.#parts.time.now()
      this.#signal.throwIfAborted()
    }
  }

  /** Keeps what a dry run would do, to be shown. */
  #show(change: SyncChange['change'], { tag, externalId, description, shape }: GeofenceDefinition): void {
    if (this.#changes.length >= MAX_CHANGES_SHOWN) return
    this.#changes.push({ change, tag, externalId, description, ...shapeOutline(shape) })
  }

  /** The run after these rows. */
  #counting(part: readonly Pending[], outcomes: readonly { readonly created: boolean }[]): SyncRun {
    const sources = this.#run.sources.map((source) => ({ ...source }))
    for (const [i, { source }] of part.entries()) {
      if (outcomes[i]!.created) sources[source]!.created++
      else sources[source]!.updated++
    }
    return { ...this.#run, sources }
  }

  /** Deletes what runs wrote and no source names any more, unless it is too much. */
  async #deleteMissing({ maxDeleteShare }: SyncSettings): Promise<void> {
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
        const isNamed = this.#named.has(pairHash(geofence.tag, geofence.externalId))
        if (!isNamed && sources.every((source) => this.#speaksFor(source))) missing.push(id)
      }
      await slice.next()
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
        if (geofence !== undefined) this.#show('deleted', store.whole(geofence))
      }
      return
    }
    await this.#delete(gone, missing)
  }

  /** Whether a source that is not named by any row no longer names it: it was read whole now, or is set no more. */
  #speaksFor(id: string): boolean {
    const index = this.#sources.findIndex((source) => source.id === id)
    return index < 0 || this.#run.sources[index]!.status === 'read'
  }

  async #delete(gone: readonly string[], missing: readonly string[]): Promise<void> {
    const { syncs, geofences } = this.#parts
    const { scope } = this.#run
    const store = geofences.store(scope)
    const ids = [...gone, ...missing]
    for (let i = 0; i < ids.length; i += MAX_WRITES) {
      const part = ids.slice(i, i + MAX_WRITES)
      this.#run = await syncs.edit(() => {
        const active = syncs.held(this.#run)
        // Somebody may have written one in the meantime.
        const deleted = part.filter((id) => {
          const geofence = store.get(id)
          return geofence !== undefined && geofence.updatedAt === syncs.mark(scope, id)?.updatedAt
        })
        const unmarked = part.filter((id) => deleted.includes(id) || store.get(id) === undefined)
        const counted = { ...this.#run, ...kept(active), deleted: this.#run.deleted + deleted.length }
        geofences.deleteMany(scope, deleted, [
          ...unmarked.map((id) => syncs.unmarkChange(scope, id)),
          syncs.saved(counted),
        ])
        return counted
      })
      this.#signal.throwIfAborted()
    }
  }

  #outcome(): SyncStatus {
    const { sources, deletionHeld } = this.#run
    if (sources.every(({ status }) => status === 'failed')) return 'failed'
    const isWhole = sources.every(({ status, refused }) => status !== 'failed' && refused === 0)
    return isWhole && deletionHeld === undefined ? 'succeeded' : 'partial'
  }

  /** Writes how it ended, as often as it takes. */
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
            ...(dryRun && { changes: this.#changes }),
          }
          const states = dryRun || status === 'canceled' ? [] : this.#states(ended)
          const told = this.#parts.tell(ended, this.#errors, this.#settings)
          const notified = { ...ended, notification: told.state }
          syncs.commit([
            ...states.map(([source, state]) => syncs.sourceChange(scope, source, state)),
            syncs.saved(notified, this.#errors),
            ...told.changes,
          ])
          return notified
        })
      } catch (error) {
        if (!(error instanceof ApiError)) throw error
        await this.#sleep(WRITE_AGAIN_MS, false)
      }
    }
  }

  /** What is remembered of the sources; undefined of one that must be fetched again whatever it is. */
  #states({ sources, deletionHeld }: SyncRun): [string, SourceState | undefined][] {
    return this.#arrived.flatMap(({ index, state }): [string, SourceState | undefined][] => {
      const { status, refused } = sources[index]!
      if (status !== 'read') return []
      const isWhole = refused === 0 && deletionHeld === undefined && this.#pending.length === 0
      return [[this.#sources[index]!.id, isWhole ? state : undefined]]
    })
  }

  async #save(): Promise<void> {
    const { syncs, time } = this.#parts
    await syncs.edit(() => syncs.store({ ...this.#run, ...kept(syncs.held(this.#run)) }))
    this.#savedAt = time.now()
  }

  /** @param isEndedBySignal also by a cancelation */
  #sleep(milliseconds: number, isEndedBySignal = true): Promise<void> {
    const signal = this.#signal
    return new Promise((resolve, reject) => {
      const isOver = () => signal.aborted && (isEndedBySignal || !(signal.reason instanceof RunCanceled))
      if (isOver()) return reject(signal.reason as Error)
      const ended = (): void => {
        if (!isOver()) return
        cancel()
        reject(signal.reason as Error)
      }
      const cancel = this.#parts.time.after(milliseconds, () => {
        signal.removeEventListener('abort', ended)
        resolve()
      })
      signal.addEventListener('abort', ended, { once: true })
    })
  }
}

/** What others may have changed of a run under way. */
function kept({ isCanceled }: SyncRun): Partial<SyncRun> {
  return isCanceled ? { isCanceled } : {}
}

function newSource(name: string): SyncSource {
  return { name, attempts: 0, rows: 0, created: 0, updated: 0, unchanged: 0, repeated: 0, refused: 0 }
}
