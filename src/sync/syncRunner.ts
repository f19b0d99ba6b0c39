/**
 * Begins the runs of all environments and does them, one at a time in each.
 *
 * Owns: which run is due, that a run whose process ended is begun again once. Does not own: what a run does
 * (syncRun.ts), when this process may do runs (the lease of the job).
 */
import { createHash, randomUUID } from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import type { Job } from '../jobs/port.ts'
import { isLive, type ScopeId } from '../model/scope.ts'
import { RunLost, RunUnderWay } from '../registry/sync/syncRegistry.ts'
import type { SyncRun, SyncSettings, SyncTrigger } from '../registry/sync/syncRows.ts'
import { failureFields } from '../runtime/errors.ts'
import type { Logger } from '../runtime/logger.ts'
import { newId } from '../runtime/newId.ts'
import { lastNight, nextNight, type Night } from './schedule.ts'
import { doRun } from './syncRun.ts'
import { RunCanceled, type SyncParts } from './syncRunState.ts'

/** How long after its time a missed nightly run is still made up for. */
const MAX_LATE_MS = 12 * 3_600_000
/** How many runs of different environments are done at a time. */
const MAX_RUNS_AT_ONCE = 4

export interface SyncRunnerParts extends SyncParts {
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>
  /** Called after a run has ended. */
  readonly ended?: (run: SyncRun) => void
}

/** What a call wants of a run. */
export interface RunWanted {
  readonly trigger: SyncTrigger
  readonly by?: string
  readonly force?: boolean
  readonly dryRun?: boolean
}

export class SyncRunner implements Job {
  readonly name = 'geofence-sync'
  readonly isShared = true
  readonly #parts: SyncRunnerParts
  /** Names this process in the runs that it does. */
  readonly #holder = randomUUID()
  readonly #underWay = new Map<
    ScopeId,
    { readonly id: string; readonly controller: AbortController; done: Promise<void> }
  >()
  #wake = (): void => {}

  constructor(parts: SyncRunnerParts) {
    this.#parts = parts
    // What another process of this folder left.
    rmSync(parts.folder, { recursive: true, force: true })
    mkdirSync(parts.folder, { recursive: true, mode: 0o700 })
    parts.syncs.changed = () => this.#changed()
  }

  /**
   * Queues a run.
   * @throws {RunUnderWay}
   */
  request(scope: ScopeId, wanted: RunWanted): Promise<SyncRun> {
    const { syncs, time } = this.#parts
    return syncs.edit(() => syncs.begin(queued(scope, newId(time.now()), wanted)))
  }

  /**
   * Ends a run after the rows that are being written.
   * @returns the run; undefined if it is unknown
   */
  cancel(scope: ScopeId, id: string): Promise<SyncRun | undefined> {
    const { syncs, time } = this.#parts
    return syncs.edit(() => {
      const active = syncs.active(scope)
      if (active?.id !== id) return syncs.get(scope, id)?.run
      const run: SyncRun =
        active.status === 'queued'
          ? { ...active, status: 'canceled', isCanceled: true, finishedAt: time.now() }
          : { ...active, isCanceled: true }
      syncs.store(run)
      return run
    })
  }

  /** When the next nightly run of a scope is due; undefined if there is none. */
  nextRunAt(scope: ScopeId): number | undefined {
    const settings = this.#parts.syncs.settings(scope)
    if (settings === undefined || !settings.enabled) return undefined
    const now = this.#parts.time.now()
    return (this.#missed(scope, settings, now) ?? nextNight(now, settings.time, settings.timeZone)).at
  }

  begin(wake: () => void): () => void {
    this.#wake = wake
    return () => {
      this.#wake = () => {}
      for (const { controller } of this.#underWay.values())
        controller.abort(new RunLost('The process gave it up.'))
    }
  }

  dueAt(): number {
    const { syncs, time } = this.#parts
    const now = time.now()
    let next = Infinity
    for (const run of syncs.allActive) if (this.#isToDo(run)) return now
    for (const [scope, settings] of syncs.scopes) {
      if (!settings.enabled || syncs.active(scope) !== undefined) continue
      if (this.#missed(scope, settings, now) !== undefined) return now
      next = Math.min(next, nextNight(now, settings.time, settings.timeZone).at)
    }
    return next
  }

  async run(): Promise<void> {
    const { syncs, time } = this.#parts
    for (const [scope, settings] of syncs.scopes) {
      const night = settings.enabled ? this.#missed(scope, settings, time.now()) : undefined
      if (night === undefined) continue
      await syncs
        .edit(() => syncs.begin(queued(scope, idOfNight(scope, night.date), { trigger: 'nightly' })))
        .catch((error: unknown) => {
          // The nightly run is made up for afterwards.
          if (!(error instanceof RunUnderWay)) throw error
        })
    }
    for (const run of syncs.allActive) {
      if (!this.#isToDo(run)) continue
      if (run.status === 'running') await this.#beginAgain(run)
      else await this.#take(run)
    }
  }

  /** Resolves when no run is under way any more; call it after the end of the job. */
  async stopped(): Promise<void> {
    await Promise.all([...this.#underWay.values()].map(({ done }) => done))
  }

  /** Whether this process should begin a run, or clean it up because nobody does it. */
  #isToDo(run: SyncRun): boolean {
    if (this.#underWay.has(run.scope)) return false
    return run.status === 'running' || this.#underWay.size < MAX_RUNS_AT_ONCE
  }

  /** The nightly run that should have been by now, and was not. */
  #missed(scope: ScopeId, settings: SyncSettings, now: number): Night | undefined {
    const night = lastNight(now, settings.time, settings.timeZone)
    if (night.at <= settings.scheduledSince || now - night.at > MAX_LATE_MS) return undefined
    return this.#parts.syncs.has(scope, idOfNight(scope, night.date)) ? undefined : night
  }

  /** Begins a run again whose process is gone. */
  async #beginAgain(seen: SyncRun): Promise<void> {
    const { syncs, time, logger, tell } = this.#parts
    await syncs.edit(() => {
      const run = syncs.active(seen.scope)
      if (run?.id !== seen.id || run.holder !== seen.holder) return
      const { holder: _, ...rest } = run
      const finishedAt = time.now()
      if (run.isCanceled) return syncs.store({ ...rest, status: 'canceled', finishedAt })
      const interrupted: SyncRun = { ...rest, status: 'interrupted', finishedAt }
      const id = digestId(`${run.id} again`)
      if (run.repeats !== undefined || syncs.has(run.scope, id)) {
        // Nobody begins the run again, so this is how it ended.
        const told = tell(interrupted, [], syncs.settings(run.scope) ?? { emails: [], notify: 'always' })
        return syncs.commit([syncs.saved({ ...interrupted, notification: told.state }), ...told.changes])
      }
      const { trigger, by, force, dryRun } = run
      const again = queued(run.scope, id, { trigger, force, dryRun, ...(by !== undefined && { by }) })
      syncs.begin({ ...again, repeats: run.id }, interrupted)
    })
    logger.warn({ run: seen.id }, 'a geofence sync was interrupted')
  }

  async #take(seen: SyncRun): Promise<void> {
    const { syncs, time } = this.#parts
    const run = await syncs.edit(() => {
      const active = syncs.active(seen.scope)
      if (active?.id !== seen.id || active.status !== 'queued') return undefined
      const taken: SyncRun = { ...active, status: 'running', holder: this.#holder, startedAt: time.now() }
      syncs.store(taken)
      return taken
    })
    if (run === undefined) return
    const controller = new AbortController()
    const done = this.#do(run, controller.signal).finally(() => {
      this.#underWay.delete(run.scope)
      this.#wake()
    })
    this.#underWay.set(run.scope, { id: run.id, controller, done })
  }

  async #do(run: SyncRun, signal: AbortSignal): Promise<void> {
    const { logger, ended } = this.#parts
    const { id, trigger } = run
    const environment = isLive(run.scope) ? 'live' : 'test'
    try {
      const { status, sources, deleted } = await doRun(this.#parts, run, signal)
      logger.info(
        { run: id, trigger, environment, status, sources: sources.length, deleted },
        'geofence sync ended',
      )
      ended?.(run)
    } catch (error) {
      if (error instanceof RunLost) return
      logger.error({ run: id, environment, ...failureFields(error) }, 'geofence sync failed')
    }
  }

  #changed(): void {
    for (const [scope, { id, controller }] of this.#underWay) {
      const active = this.#parts.syncs.active(scope)
      if (active?.id === id && active.isCanceled) controller.abort(new RunCanceled('The run was canceled.'))
    }
    this.#wake()
  }
}

function queued(scope: ScopeId, id: string, wanted: RunWanted): Omit<SyncRun, 'createdAt'> {
  const { trigger, by, force = false, dryRun = false } = wanted
  return {
    id,
    scope,
    trigger,
    ...(by !== undefined && { by }),
    force,
    dryRun,
    status: 'queued',
    sources: [],
    deleted: 0,
    moreErrors: 0,
  }
}

/** The id of the run of a local date: however many processes begin it, there is one. */
function idOfNight(scope: ScopeId, date: string): string {
  return digestId(`nightly ${scope} ${date}`)
}

function digestId(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 24)
}
