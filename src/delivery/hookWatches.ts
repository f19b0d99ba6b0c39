import type { LivePosition, PositionObserver, Positions, Roams } from '../actor/port.ts'
import type { Hook } from '../model/hook.ts'
import type { ScopeId } from '../model/scope.ts'
import { ConcurrencyLimit } from '../runtime/concurrencyLimit.ts'
import type { Time } from '../runtime/clock.ts'
import { ApiError, failureFields } from '../runtime/errors.ts'
import type { Logger } from '../runtime/logger.ts'
import { Slice } from '../runtime/slices.ts'
import { AreaScope } from './areaScope.ts'
import { AreaWatch } from './areaWatch.ts'
import type { HookEntry, HookLog } from './hookLog.ts'
import { HookQueue } from './hookQueue.ts'
import { RoamWatch } from './roamWatch.ts'

/** How many devices or pairs one hook may know, and all hooks together. Each takes about 400 bytes. */
const MOST_OF_A_HOOK = 100_000
const MOST = 500_000
/** How many messages of one hook may wait to be delivered. */
const MOST_MESSAGES = 50_000
/** How many positions of a look are judged before the results are stored. */
const JUDGED_AT_ONCE = 1000
/** How many messages of roaming are completed at a time. */
const DRAFTS_AT_ONCE = 500
/** The pause before failed work is tried again. */
const AGAIN_MS = 1000

type Watched = AreaWatch | RoamWatch

/** Finds the positions of devices, by which hooks of areas and roaming are judged. */
export interface HookPositions {
  readonly positions: Positions
  readonly roams: Roams
}

export interface HookWatchesParts extends HookPositions {
  readonly log: HookLog
  readonly time: Time
  readonly logger: Logger
  /** Pauses a hook that cannot continue until it is put again. */
  readonly pause: (hookId: string, reason: string) => void
}

/**
 * The hooks of areas and roaming: who is where, and what that means for each of them.
 *
 * The obvious way takes a position, changes what is known, and sends a message. Then a process that ends in between
 * either tells twice or never. Here, what is known and what is told are stored together, and what is stored is sent
 * later, by a cursor. After the end of the process, the positions are looked up and compared with what is stored.
 *
 * Owns: when positions are looked up, in which order they are judged, all bounds. Does not own: what a position means
 * (areaWatch.ts, roamWatch.ts), what is stored (HookLog), what is sent (WebhookEndpoint).
 */
export class HookWatches implements PositionObserver {
  readonly #parts: HookWatchesParts
  readonly #queue: HookQueue
  readonly #watches = new Map<string, Watched>()
  /** Hooks with too many waiting messages. They continue when most of them are delivered. */
  readonly #suspended = new Map<string, Hook>()
  readonly #scopes = new Map<ScopeId, AreaScope>()
  #entries: HookEntry[] = []
  #stored: Promise<void> = Promise.resolve()
  /** Changes are made one after the other. */
  readonly #changes = new ConcurrencyLimit(1)
  readonly #timers = new Set<() => void>()
  /** The watches whose messages are being completed. */
  readonly #completing = new Set<RoamWatch>()
  #isStopped = false

  constructor(parts: HookWatchesParts) {
    this.#parts = parts
    this.#queue = new HookQueue({
      store: () => this.#flush(),
      failed: (error) => parts.logger.error(failureFields(error), 'a position could not be judged for hooks'),
      lost: () => {
        for (const watch of this.#watches.values()) if (watch.kind === 'area') void this.#attempt(watch)
      },
    })
  }

  /** Why the hook gets no messages now; undefined if it does. */
  trouble(hookId: string): string | undefined {
    if (this.#suspended.has(hookId)) return `More than ${MOST_MESSAGES} messages wait.`
    const watch = this.#watches.get(hookId)
    if (watch === undefined) return undefined
    return watch.trouble ?? (this.#parts.roams.isConnected ? undefined : 'Tile38 is not connected.')
  }

  /**
   * Begins to watch for a hook, or continues if nothing has changed. Resolves after the first attempt to look up which
   * devices are there. The attempt is repeated until it succeeds.
   */
  async put(hook: Hook): Promise<void> {
    const watch = await this.#changes.run(() => this.#put(hook))
    if (watch !== undefined) await this.#attempt(watch)
  }

  /** Ends the watch of a hook that is gone, or has another subject now. */
  remove(hookId: string): Promise<void> {
    return this.#changes.run(async () => {
      await this.#end(hookId)
      await this.#parts.log.forget(hookId, true)
    })
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#parts.positions.observer = undefined
    for (const cancel of this.#timers) cancel()
    await this.#changes.run(() => Promise.resolve())
    for (const watch of this.#watches.values()) this.#close(watch)
    await this.#queue.done()
    await this.#stored
  }

  moved(position: LivePosition): void {
    const copy = { ...position }
    this.#queue.position(() => this.#judge(copy))
  }

  removed(scope: ScopeId, deviceId: string, recordId: string): void {
    this.#queue.position(() => this.#scopeOf(scope).removed(deviceId, recordId, this.#told))
  }

  /** Returns the watch if it is a new one. */
  async #put(hook: Hook): Promise<Watched | undefined> {
    const definition = definitionOf(hook)
    if (this.#watches.get(hook.id)?.definition === definition && hook.enabled) return undefined
    const { log } = this.#parts
    await this.#end(hook.id)
    const known = await log.stays(hook.id)
    const isSame = hook.enabled && known?.definition === definition
    if (known !== undefined && !isSame) await log.forget(hook.id, false)
    if (!hook.enabled || this.#isStopped) return undefined
    const stays = isSame ? known : undefined
    const { area, roam } = hook
    const watch =
      area === undefined
        ? new RoamWatch({ ...hook, roam: roam! }, definition, stays)
        : new AreaWatch({ ...hook, area }, definition, stays)
    this.#watches.set(hook.id, watch)
    return watch
  }

  async #end(hookId: string): Promise<void> {
    this.#suspended.delete(hookId)
    const watch = this.#watches.get(hookId)
    if (watch === undefined) return
    this.#watches.delete(hookId)
    this.#close(watch)
    await this.#queue.done()
    await this.#stored
  }

  #close(watch: Watched): void {
    watch.isEnded = true
    if (watch.kind === 'area') this.#scopes.get(watch.hook.scope)?.remove(watch)
    else this.#completing.delete(watch)
  }

  /** Looks up which devices are there. A failed attempt is repeated. */
  async #attempt(watch: Watched): Promise<void> {
    if (watch.isEnded) return
    try {
      if (watch.kind === 'area') await this.#look(watch)
      else await this.#roam(watch)
      watch.trouble = undefined
    } catch (error) {
      watch.trouble = (error as Error).message
      this.#again(error, () => this.#attempt(watch))
    }
  }

  async #look(watch: AreaWatch): Promise<void> {
    const { positions, roams } = this.#parts
    const { scope } = watch.hook
    const look = ++watch.looks
    const reach = this.#scopeOf(scope).add(watch)
    positions.observer = this
    watch.doubt()
    const found: LivePosition[] = []
    const isEnded = () => watch.isEnded || watch.looks !== look
    await positions.look(scope, reach, {
      get isEnded() {
        return isEnded()
      },
      found: (position) => void found.push({ ...position }),
      pause: () => {},
    })
    // They are not queued like positions that may be dropped: the area would then be looked up again, and as many
    // would be dropped again.
    for (let from = 0; from < found.length && !isEnded(); from += JUDGED_AT_ONCE)
      await this.#queue.done(() => this.#judgeAll(found.slice(from, from + JUDGED_AT_ONCE), watch))
    await this.#queue.done()
    const missing = watch.unconfirmed()
    const located = await roams.locate(scope, missing)
    await this.#queue.done(() => this.#conclude(watch, missing, located))
  }

  /** Judges the devices that were not found in the area, and ends the first look. */
  *#conclude(
    watch: AreaWatch,
    missing: readonly string[],
    located: readonly (LivePosition | undefined)[],
  ): Generator<void, void> {
    const { log } = this.#parts
    const doubted = new Set(watch.unconfirmed())
    for (const [i, deviceId] of missing.entries()) {
      if (!doubted.has(deviceId)) continue
      const position = located[i]
      if (position !== undefined) yield* this.#judge(position, watch)
      else this.#told(watch, watch.removed(deviceId))
      yield
    }
    if (!watch.isNew || watch.isEnded) return
    watch.isNew = false
    this.#store(() => log.begin(watch.hook.id, watch.known()))
  }

  *#judgeAll(positions: readonly LivePosition[], watch: AreaWatch): Generator<void, void> {
    for (const position of positions) {
      yield* this.#judge(position, watch)
      yield
    }
  }

  #judge(position: LivePosition, only?: AreaWatch): Generator<void, void> {
    return this.#scopeOf(position.scope).moved(position, this.#parts.time.now(), this.#told, only)
  }

  #scopeOf(scope: ScopeId): AreaScope {
    let areas = this.#scopes.get(scope)
    if (areas === undefined) this.#scopes.set(scope, (areas = new AreaScope()))
    return areas
  }

  async #roam(watch: RoamWatch): Promise<void> {
    const { roams, log, time } = this.#parts
    const { scope, id } = watch.hook
    await roams.roam(scope, watch.meters, {
      get isEnded() {
        return watch.isEnded
      },
      met: (position, other) => {
        watch.met(position, other, time.now())
        this.#check(watch)
        this.#complete(watch)
      },
      gone: (deviceId) => {
        this.#told(watch, watch.gone(deviceId))
        void this.#flush()
      },
      interrupted: () => this.#soon(watch, () => this.#compare(watch)),
    })
    if (!watch.isNew) return this.#compare(watch)
    watch.isNew = false
    this.#store(() => log.begin(id, { definition: watch.definition, stays: [] }))
    await this.#stored
  }

  /** Looks up the devices of all pairs, and compares them again. */
  async #compare(watch: RoamWatch): Promise<void> {
    const since = watch.comparisons
    const devices = watch.devices()
    const located = await this.#parts.roams.locate(watch.hook.scope, devices)
    const places = new Map(devices.map((deviceId, i) => [deviceId, located[i]]))
    const slice = new Slice()
    for (const pair of watch.pairs()) {
      if (slice.isOver) await slice.next()
      const [one, other] = pair.devices
      const now = this.#parts.time.now()
      this.#told(watch, watch.compare(pair, places.get(one), places.get(other), since, now))
    }
    await this.#flush()
    this.#complete(watch)
  }

  /**
   * Completes messages with what is known about the other device. Only one call runs at a time, so the messages stay
   * in order.
   */
  #complete(watch: RoamWatch): void {
    if (this.#completing.has(watch) || !watch.hasDrafts) return
    this.#completing.add(watch)
    this.#soon(watch, async () => {
      while (watch.hasDrafts && !watch.isEnded) {
        const drafts = watch.drafts(DRAFTS_AT_ONCE)
        const ids = [...new Set(drafts.map(({ other }) => other.deviceId))]
        const found = await this.#parts.roams.locate(watch.hook.scope, ids)
        const located = new Map(ids.map((deviceId, i) => [deviceId, found[i]]))
        this.#told(watch, watch.conclude(drafts, located, this.#parts.time.now()))
        await this.#flush()
      }
      this.#completing.delete(watch)
    })
  }

  readonly #told = (watch: Watched, entry: HookEntry | undefined): void => {
    if (watch.isEnded) return
    if (entry !== undefined) this.#entries.push(entry)
    this.#check(watch)
  }

  /** Pauses a hook that has too many devices, and suspends one whose messages are not delivered. */
  #check(watch: Watched): void {
    if (watch.isEnded) return
    const { log, pause } = this.#parts
    const { id } = watch.hook
    const reason = (watch.kind === 'roam' ? watch.overload : undefined) ?? this.#excess(watch)
    if (reason !== undefined) {
      this.#close(watch)
      this.#watches.delete(id)
      void this.#flush()
      this.#store(() => log.forget(id, false))
      pause(id, reason)
    } else if (log.count(id) > MOST_MESSAGES) {
      this.#close(watch)
      this.#watches.delete(id)
      this.#suspended.set(id, watch.hook)
      this.#later(() => this.#resume(id))
    }
  }

  #excess({ size }: Watched): string | undefined {
    if (size > MOST_OF_A_HOOK) return `It would have to know more than ${MOST_OF_A_HOOK} devices or pairs.`
    if (this.#watches.size * MOST_OF_A_HOOK <= MOST) return undefined
    let sum = 0
    for (const watch of this.#watches.values()) sum += watch.size
    return sum > MOST
      ? `All hooks together would have to know more than ${MOST} devices and pairs.`
      : undefined
  }

  async #resume(hookId: string): Promise<void> {
    const { log } = this.#parts
    await log.recount()
    const hook = this.#suspended.get(hookId)
    if (hook === undefined) return
    if (log.count(hookId) > MOST_MESSAGES / 2) this.#later(() => this.#resume(hookId))
    else await this.put(hook)
  }

  #flush(): Promise<void> {
    const entries = this.#entries
    this.#entries = []
    if (entries.length > 0) this.#store(() => this.#parts.log.append(entries))
    return this.#stored
  }

  /** Stores one change after the other. A failure of the log ends the process. */
  #store(work: () => Promise<void>): void {
    this.#stored = this.#stored.then(work).catch((error: unknown) => {
      if (!this.#isStopped)
        this.#parts.logger.error(failureFields(error), 'the messages of hooks cannot be stored')
    })
  }

  /** Does the work now, and repeats it until it succeeds or the watch ends. */
  #soon(watch: Watched, work: () => Promise<void>): void {
    work().catch((error: unknown) =>
      this.#again(error, async () => {
        if (!watch.isEnded) this.#soon(watch, work)
      }),
    )
  }

  #again(error: unknown, work: () => Promise<void>): void {
    if (!(error instanceof ApiError))
      this.#parts.logger.error(failureFields(error), 'a hook cannot watch; retrying')
    this.#later(work)
  }

  #later(work: () => Promise<void>): void {
    if (this.#isStopped) return
    const cancel = this.#parts.time.after(AGAIN_MS, () => {
      this.#timers.delete(cancel)
      void work()
    })
    this.#timers.add(cancel)
  }
}

/** The part of a hook that decides which devices it knows. If it changes, the hook starts again. */
function definitionOf({ area, roam, detect, userIds, deviceIds }: Hook): string {
  return JSON.stringify({ area, roam, detect, userIds, deviceIds })
}
