/**
 * Valhalla in a child process of ours. If it ran in this process, its searches would use the threads of the file
 * system and of DNS, its memory would count as ours, and a fault in it would end tracking.
 *
 * Owns: the life of the child, and who waits for it. Does not own: what requests mean, what answers are kept
 * (cache.ts).
 *
 * Invariants
 * - VALHALLA-1: The child starts with the first request, ends after ten minutes without one, and is started again by
 *   the next.
 * - VALHALLA-2: It has at most one request more than it has threads, so that none of its threads waits for this
 *   process. The other requests wait here, bounded in number and bytes. Past the bound, and after waiting too long,
 *   the answer is 503.
 * - VALHALLA-3: When a child ends by itself, the requests that it had fail with 503, because one of them may have
 *   been the reason.
 * - VALHALLA-4: A request that is not answered in time fails with 503 and its child is killed, since nothing else
 *   ends a search. The other requests that the child had are tried once more.
 * - VALHALLA-5: A child whose memory has grown past its bound finishes the requests that it has, and a new child
 *   takes over.
 * - VALHALLA-6: A child that fails repeatedly is started more and more slowly, at most five seconds apart.
 */
import { ByteBound } from '../../runtime/byteBound.ts'
import type { Logger } from '../../runtime/logger.ts'
import { Backoff, type RetryPauses } from '../../runtime/retry.ts'
import type { EngineReply, EngineRequest } from './engineChild.ts'
import {
  RoutingGone,
  RoutingMissing,
  RoutingOverloaded,
  RoutingTimedOut,
  type RoutingAction,
} from './port.ts'
import { engineRefusal } from './refusals.ts'
import type { Valhalla } from './valhalla.ts'
import {
  openChild,
  startChild,
  type ChildCall,
  type Child,
  type ChildEnd,
  type ChildOptions,
} from './valhallaChild.ts'

/** The most bytes of all waiting requests together. */
const MAX_WAITING_BYTES = 32 * 1024 * 1024
const IDLE_MS = 600_000
const TICK_MS = 1000
/**
 * A child reports every second that it is alive. Silence is counted in ticks of this process, so that the time in
 * which this process itself stood still does not count.
 */
const MAX_SILENT_TICKS = 10
/** How long a machine may take to start a child while it is busy with other work. */
const MAX_STARTING_TICKS = 60
/** The pauses between the starts of children that fail, from the second failure on. */
const PAUSES: RetryPauses = { firstMs: 100, lastMs: 5000 }
/** A child that has lived this long has not failed at its start. */
const SOUND_MS = 30_000
/** After the package could not be loaded, it is not tried again for this long. */
const MISSING_MS = 60_000
/** After how many seconds a client should try again. */
const RETRY_SECONDS = 1
export interface ValhallaProcessOptions extends ChildOptions {
  /** The name of the region, for the log. */
  readonly name: string
  /** How long a request may wait, and again how long its answer may take, in milliseconds. It is more than 0. */
  readonly timeoutMs: number
  /** How many requests may wait. */
  readonly maxWaiting: number
  readonly logger: Logger
  /** Called for each child that ended. */
  readonly ended: (end: ChildEnd) => void
}

export class ValhallaProcess implements Valhalla {
  readonly #options: ValhallaProcessOptions
  readonly #waiting: ChildCall[] = []
  readonly #waitingBytes = new ByteBound(MAX_WAITING_BYTES)
  #child: Child | undefined
  #lastId = 0
  #usedAt = 0
  #hasFailed = false
  readonly #backoff = new Backoff(PAUSES)
  #pause: NodeJS.Timeout | undefined
  #ticking: NodeJS.Timeout | undefined
  /** The time of {@link performance} until which no child is started. */
  #missingUntil = 0
  #stopped: (() => void) | undefined
  #stopping: Promise<void> | undefined

  constructor(options: ValhallaProcessOptions) {
    this.#options = options
  }

  /** How many requests no child has got yet. */
  get waiting(): number {
    return this.#waiting.length
  }

  /** The resident bytes of the child; 0 if there is none. */
  get residentBytes(): number {
    return this.#child?.residentBytes ?? 0
  }

  get condition(): string {
    if (this.#isMissing()) return 'cannot be loaded on this machine'
    const waiting = this.#waiting.length === 0 ? '' : `, ${this.#waiting.length} requests waiting`
    if (this.#child === undefined)
      return (this.#pause === undefined ? 'not in use' : 'starting again') + waiting
    return (this.#child.ready ? 'running' : 'starting') + waiting
  }

  call(action: RoutingAction, request: string): Promise<Buffer> {
    if (this.#stopping !== undefined) return Promise.reject(gone('The routing engine is being replaced.'))
    if (this.#isMissing()) return Promise.reject(missing())
    if (this.#waiting.length >= this.#options.maxWaiting || !this.#waitingBytes.tryAcquire(request.length)) {
      return Promise.reject(new RoutingOverloaded('Too many routing requests are waiting.', RETRY_SECONDS))
    }
    return new Promise((resolve, reject) => {
      const call: ChildCall = { action, request, resolve, reject, timer: undefined, retried: false }
      this.#waiting.push(call)
      this.#giveUpLater(call)
      this.#pump()
    })
  }

  stop(): Promise<void> {
    this.#stopping ??= new Promise((resolve) => {
      this.#stopped = resolve
      this.#endIfDone()
    })
    return this.#stopping
  }

  #isMissing(): boolean {
    return performance.now() < this.#missingUntil
  }

  /** Passes requests to the child as far as possible, and starts one if there is none. */
  #pump(): void {
    const child = this.#child
    if (child === undefined) {
      if (this.#waiting.length > 0 && this.#pause === undefined) this.#start()
      return
    }
    if (!child.ready || child.retiring !== undefined || child.end !== undefined) return
    while (child.calls.size <= this.#options.threads && this.#waiting.length > 0) {
      const call = this.#waiting.shift()!
      this.#waitingBytes.release(call.request.length)
      this.#send(child, call)
    }
  }

  #send(child: Child, call: ChildCall): void {
    const id = ++this.#lastId
    const { action, request } = call
    child.calls.set(id, call)
    this.#bound(call, () => {
      // Another call has already cost the child its life. This call is late, too, but is tried again with the others.
      if (child.end === undefined && child.calls.delete(id)) this.#giveUp(child, call)
    })
    child.process.send({ id, action, request } satisfies EngineRequest, () => {})
  }

  #giveUp(child: Child, { action, reject }: ChildCall): void {
    const { name, timeoutMs } = this.#options
    this.#options.logger.warn({ region: name, action }, 'a routing request took too long; ending its process')
    reject(
      new RoutingTimedOut(`The routing engine did not respond within ${timeoutMs / 1000} s.`, RETRY_SECONDS),
    )
    this.#kill(child, 'hung')
  }

  /** A request that waits too long is answered with an error. */
  #giveUpLater(call: ChildCall): void {
    this.#bound(call, () => {
      const at = this.#waiting.indexOf(call)
      if (at < 0) return
      this.#waiting.splice(at, 1)
      this.#waitingBytes.release(call.request.length)
      call.reject(new RoutingOverloaded('The routing engine is busy.', RETRY_SECONDS))
      this.#endIfDone()
    })
  }

  /** Calls `late` after the time limit, unless something else has become of the call before. */
  #bound(call: ChildCall, late: () => void): void {
    clearTimeout(call.timer)
    // Messages that came while this process stood still are read before the clock is believed.
    call.timer = setTimeout(() => setImmediate(late), this.#options.timeoutMs)
  }

  #start(): void {
    const { logger, name } = this.#options
    const child = startChild(this.#options)
    this.#child = child
    child.process.on('message', (reply) => this.#hear(child, reply as EngineReply))
    child.process.on('error', (err) => logger.error({ err }, 'the routing process failed'))
    child.process.on('exit', (code, signal) => this.#ended(child, code, signal))
    if (child.process.pid === undefined) return this.#ended(child, null, null)
    openChild(child, this.#options, (line) => logger.warn({ region: name }, `routing process: ${line}`))
    this.#usedAt = performance.now()
    this.#ticking ??= setInterval(() => this.#tick(), TICK_MS).unref()
  }

  #hear(child: Child, reply: EngineReply): void {
    child.silentTicks = 0
    switch (reply.is) {
      case 'ready':
        child.ready = true
        return this.#pump()
      case 'unusable':
        this.#options.logger.error({ reason: reply.reason }, 'the routing engine cannot be loaded')
        this.#missingUntil = performance.now() + MISSING_MS
        return this.#kill(child, 'missing')
      case 'alive':
        child.residentBytes = reply.residentBytes
        if (reply.residentBytes > this.#options.memoryBytes) this.#replace(child)
        return
      case 'answer':
        this.#take(child, reply.id)?.resolve(reply.json)
        break
      case 'refusal':
        this.#take(child, reply.id)?.reject(engineRefusal(reply.message))
    }
    this.#usedAt = performance.now()
    if (child.retiring !== undefined) this.#retire(child, child.retiring)
    this.#pump()
    this.#endIfDone()
  }

  #take(child: Child, id: number): ChildCall | undefined {
    const call = child.calls.get(id)
    clearTimeout(call?.timer)
    child.calls.delete(id)
    return call
  }

  #tick(): void {
    const child = this.#child
    if (child === undefined) return
    child.silentTicks++
    if (child.silentTicks > (child.ready ? MAX_SILENT_TICKS : MAX_STARTING_TICKS)) {
      this.#options.logger.warn(
        { region: this.#options.name },
        'the routing process does not respond; ending it',
      )
      this.#kill(child, 'silent')
    } else if (child.calls.size === 0 && performance.now() - this.#usedAt > IDLE_MS) {
      this.#retire(child, 'idle')
    }
  }

  #replace(child: Child): void {
    const { residentBytes, retiring } = child
    const { logger, name, memoryBytes } = this.#options
    if (retiring !== undefined) return
    logger.info(
      { region: name, residentBytes, memoryBytes },
      'the routing process uses too much memory; replacing it',
    )
    this.#retire(child, 'memory')
  }

  #retire(child: Child, why: NonNullable<Child['retiring']>): void {
    child.retiring = why
    if (child.calls.size === 0) this.#kill(child, why)
  }

  #kill(child: Child, why: ChildEnd): void {
    if (child.end !== undefined) return
    child.end = why
    child.process.kill('SIGKILL')
  }

  #ended(child: Child, code: number | null, signal: NodeJS.Signals | null): void {
    if (this.#child !== child) return
    this.#child = undefined
    clearInterval(this.#ticking)
    this.#ticking = undefined
    const end = child.end ?? 'crashed'
    this.#options.ended(end)
    const failed = end === 'crashed' || end === 'hung' || end === 'silent'
    if (end === 'crashed') {
      const { logger, name } = this.#options
      logger.error(
        { region: name, code, signal, requests: child.calls.size },
        'the routing process ended unexpectedly',
      )
    }
    const again: ChildCall[] = []
    for (const call of child.calls.values()) {
      clearTimeout(call.timer)
      if (failed && end !== 'crashed' && !call.retried) again.push(call)
      else call.reject(end === 'missing' ? missing() : gone('The routing engine ended during the request.'))
    }
    this.#waitAgain(again)
    if (end === 'missing') this.#refuseWaiting()
    if (failed) this.#pauseAfter(performance.now() - child.startedAt)
    this.#pump()
    this.#endIfDone()
  }

  /** Puts calls in front of all others. They were within the limits before. */
  #waitAgain(calls: readonly ChildCall[]): void {
    for (const call of calls.toReversed()) {
      if (!this.#waitingBytes.tryAcquire(call.request.length)) {
        call.reject(new RoutingOverloaded('Too many routing requests are waiting.', RETRY_SECONDS))
        continue
      }
      call.retried = true
      this.#waiting.unshift(call)
      this.#giveUpLater(call)
    }
  }

  #refuseWaiting(): void {
    for (const call of this.#waiting.splice(0)) {
      clearTimeout(call.timer)
      this.#waitingBytes.release(call.request.length)
      call.reject(missing())
    }
  }

  /** Delays the next start. The more children have failed, the longer the pause is. */
  #pauseAfter(livedMs: number): void {
    const isFirst = !this.#hasFailed || livedMs > SOUND_MS
    this.#hasFailed = true
    if (isFirst) return this.#backoff.reset()
    this.#pause = setTimeout(() => {
      this.#pause = undefined
      this.#pump()
    }, this.#backoff.next())
  }

  #endIfDone(): void {
    if (this.#stopped === undefined || this.#waiting.length > 0) return
    const child = this.#child
    if (child === undefined) {
      clearTimeout(this.#pause)
      this.#stopped()
    } else if (child.calls.size === 0) {
      this.#retire(child, 'stopped')
    }
  }
}

function gone(message: string): RoutingGone {
  return new RoutingGone(message, RETRY_SECONDS)
}

function missing(): RoutingMissing {
  return new RoutingMissing(
    'Routing needs the package @valhallajs/valhallajs, which cannot be loaded on this machine.',
    MISSING_MS / 1000,
  )
}
