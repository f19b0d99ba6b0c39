import { fork, type ChildProcess } from 'node:child_process'
import { availableParallelism, constants, setPriority } from 'node:os'
import { PASSWORD_CHILD } from '../../workers/urls.ts'
import { ApiError } from '../runtime/errors.ts'
import type { Logger } from '../runtime/logger.ts'
import type { HashAnswer, HashQuestion, HashTask } from './hashChild.ts'

/** The child takes about 45 MB of memory. It ends after this long without a password. */
const REST_MS = 60_000
/** How long a hash may take in a child that only gets what nobody else wants of the processors. */
const IDLE_LIMIT_MS = 2000
/** For how long the next child has a share of the processors then, if passwords keep coming. */
const BUSY_MS = 60_000
/**
 * The child asks for memory in large pages, where the system has them. A hash reads 128 MiB in no order, and takes two
 * thirds of the time then.
 */
const LARGE_PAGES = 'glibc.malloc.hugetlb=1'

export interface HashProcessOptions {
  /** For failures of the child. */
  readonly logger?: Logger | undefined
  /** What the child runs. Tests provide their own. */
  readonly child?: URL
  /** The command that runs another one with idle priority. */
  readonly idleCommand?: string
  readonly idleLimitMs?: number
}

interface Waiting {
  readonly question: HashQuestion
  readonly resolve: (hash: Uint8Array) => void
  readonly reject: (error: Error) => void
}

interface Child {
  readonly process: ChildProcess
  readonly isIdle: boolean
  readonly startedAt: number
  hasAnswered: boolean
}

/**
 * Hashes passwords in a child process, which starts with the first password.
 *
 * The kernel lets a thread run to the end of its slice of some milliseconds before it lets another one in, however low
 * its priority is. Only a thread with the policy SCHED_IDLE gives way at once. So the child gets this policy, by the
 * command `chrt`, on systems that have it and more than one processor. Where other programs want all processors, a hash
 * would then take minutes. So after {@link IDLE_LIMIT_MS} the child is replaced by one with a low priority of the usual
 * kind, which has its share. Because it is a process of its own, its memory is free as soon as it is ended.
 *
 * Invariants
 * - HASH-PROCESS-1: Every hash is answered or refused, also if the child cannot be started, ends or gets no processor.
 */
export class HashProcess {
  readonly #options: HashProcessOptions
  readonly #idleLimitMs: number
  /** Whether there is any hope of starting a child with idle priority. */
  #canIdle = process.platform === 'linux' && availableParallelism() > 1
  readonly #waiting = new Map<number, Waiting>()
  #questions = 0
  #child: Child | undefined
  #rest: NodeJS.Timeout | undefined

  /** Starts nothing. */
  constructor(options: HashProcessOptions = {}) {
    this.#options = options
    this.#idleLimitMs = options.idleLimitMs ?? IDLE_LIMIT_MS
  }

  /**
   * Hashes a password.
   * @throws {ApiError} 503 if the child failed
   */
  derive(task: HashTask): Promise<Uint8Array> {
    clearTimeout(this.#rest)
    const child = (this.#child ??= this.#start(this.#canIdle))
    return new Promise((resolve, reject) => {
      const question = { ...task, id: ++this.#questions }
      this.#waiting.set(question.id, { question, resolve, reject })
      this.#ask(child, question)
    })
  }

  #ask(child: Child, question: HashQuestion): void {
    // What is asked keeps our process alive until it is answered, or until it is known that the child has ended.
    child.process.ref()
    child.process.channel?.ref()
    // If it cannot be sent, the child has ended, and `#ended` deals with the question.
    child.process.send(question, () => {})
    if (!child.isIdle) return
    const lose = () => {
      if (this.#child === child && this.#waiting.has(question.id)) this.#replace(child)
    }
    setTimeout(lose, this.#idleLimitMs).unref()
  }

  #start(isIdle: boolean): Child {
    const { child: entry = PASSWORD_CHILD, idleCommand = 'chrt' } = this.#options
    const forked = fork(entry, {
      serialization: 'advanced',
      ...(isIdle
        ? { execPath: idleCommand, execArgv: ['-i', '0', process.execPath] }
        : { execArgv: [] as string[] }),
      // The child gets nothing of our environment, which contains keys and passwords.
      env: { PATH: process.env.PATH, UV_THREADPOOL_SIZE: '2', GLIBC_TUNABLES: LARGE_PAGES },
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    if (!isIdle && forked.pid !== undefined) lowerPriority(forked.pid)
    const child = { process: forked, isIdle, startedAt: performance.now(), hasAnswered: false }
    forked.on('message', (answer: HashAnswer) => this.#answered(child, answer))
    forked.once('error', (error) => this.#ended(child, error))
    forked.once('exit', (code, signal) => this.#ended(child, { code, signal }))
    return child
  }

  #answered(child: Child, { id, hash }: HashAnswer): void {
    child.hasAnswered = true
    const waiting = this.#waiting.get(id)
    // It may have been answered by another child.
    if (waiting === undefined) return
    this.#waiting.delete(id)
    if (hash === undefined) waiting.reject(failed())
    else waiting.resolve(hash)
    if (this.#waiting.size > 0 || this.#child !== child) return
    child.process.unref()
    child.process.channel?.unref()
    const isPast = !child.isIdle && this.#canIdle && performance.now() - child.startedAt > BUSY_MS
    this.#rest = setTimeout(() => this.#end(child), isPast ? 0 : REST_MS).unref()
  }

  #end(child: Child): void {
    if (this.#child !== child || this.#waiting.size > 0) return
    this.#child = undefined
    child.process.disconnect()
  }

  #ended(child: Child, why: unknown): void {
    if (this.#child !== child) return
    this.#child = undefined
    if (child.isIdle && !child.hasAnswered) {
      // There is no such command, or it may not give this priority, as in some containers.
      this.#canIdle = false
      this.#replace(child)
      return
    }
    this.#options.logger?.error({ why }, 'the process that hashes passwords ended')
    const waiting = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const { reject } of waiting) reject(failed())
  }

  /** Asks a child without idle priority for all that waits. */
  #replace(child: Child): void {
    child.process.kill('SIGKILL')
    const next = (this.#child = this.#start(false))
    for (const { question } of this.#waiting.values()) this.#ask(next, question)
  }
}

function lowerPriority(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // The child has ended already, which is reported in another way.
  }
}

function failed(): ApiError {
  return new ApiError(503, 'The password could not be checked. Try again.', { retryAfter: 1 })
}
