/**
 * Calls from one thread to another: methods by name, answered in the order in which they were made.
 *
 * Owns: matching answers with calls, and what becomes of calls when the thread ends. Does not own: what the methods do.
 *
 * Invariants
 * - CALLS-1: A method that throws ends its thread, and with it all calls. One that throws `CallRefused` fails alone.
 * - CALLS-2: After the end of the thread, for whatever reason, no call waits, and each new one is rejected at once.
 */
import type { MessagePort, Worker } from 'node:worker_threads'

/** The call failed; the thread continues with the others. */
export class CallRefused extends Error {
  override readonly name = 'CallRefused'
}

/** An error of the thread. Its name identifies it, because its class is lost between threads. */
export interface ThreadFailure {
  readonly name: string
  readonly message: string
  readonly stack: string | undefined
  readonly cause: unknown
}

/** Why a thread has ended: it reported an error, threw an uncaught one, or just exited. */
export type ThreadEnd =
  | { readonly is: 'failed'; readonly failure: ThreadFailure }
  | { readonly is: 'thrown'; readonly cause: unknown }
  | { readonly is: 'exited'; readonly code: number }

type Arguments<F> = F extends (...args: infer A) => unknown ? A : never
type Answer<F> = F extends (...args: never[]) => infer R ? Awaited<R> : never

/** The thread's methods: synchronous, or with an answer that later calls may overtake. */
export type ServedMethods<M> = {
  [K in keyof M]: (...args: Arguments<M[K]>) => Answer<M[K]> | Promise<Answer<M[K]>>
}

type Call =
  | { readonly call: number; readonly method: PropertyKey; readonly args: readonly unknown[] }
  | 'close'

type Reply =
  | { readonly is: 'opened'; readonly value: unknown }
  | { readonly is: 'answer'; readonly call: number; readonly value: unknown }
  | { readonly is: 'refused'; readonly call: number; readonly message: string }
  | { readonly is: 'notice'; readonly notice: unknown }
  /** The last message. */
  | { readonly is: 'failed'; readonly failure: ThreadFailure }

interface Pending {
  resolve(value: never): void
  reject(error: Error): void
}

/**
 * The calling end.
 * @template M the methods of the thread
 * @template O what it reports once it is open
 * @template N what it reports without being asked
 */
export class WorkerCalls<M, O = undefined, N = never> {
  /** Resolves when the thread is open. Rejects if it ends before that. */
  readonly opened: Promise<O>
  readonly #worker: Worker
  readonly #calls = new Map<number, Pending>()
  readonly #exited: Promise<void>
  readonly #opening = Promise.withResolvers<O>()
  readonly #options: WorkerCallsOptions<N>
  #isOpen = false
  #lastCall = 0
  /** The error for further calls. */
  #ended: Error | undefined
  /** Why the thread has ended, if it was not closed. */
  #failure: Error | undefined

  constructor(worker: Worker, options: WorkerCallsOptions<N>) {
    this.#worker = worker
    this.#options = options
    this.opened = this.#opening.promise
    worker.on('message', (reply: Reply) => this.#hear(reply))
    worker.on('error', (cause) => this.#end({ is: 'thrown', cause }))
    this.#exited = new Promise((resolve) => {
      worker.on('exit', (code) => {
        this.#end({ is: 'exited', code })
        resolve()
      })
    })
  }

  /** Whether it is closed, or the thread has ended. */
  get isEnded(): boolean {
    return this.#ended !== undefined
  }

  /**
   * Calls a method.
   * @throws {CallRefused} and, after the end of the thread, the reason for it
   */
  call<K extends keyof M>(method: K, ...args: Arguments<M[K]>): Promise<Answer<M[K]>> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended)
    const call = ++this.#lastCall
    this.#worker.postMessage({ call, method, args } satisfies Call)
    return new Promise((resolve, reject) => this.#calls.set(call, { resolve, reject }))
  }

  /**
   * Lets the thread finish its calls and end. Resolves when it has ended.
   * @param error the error of later calls
   * @throws the thread's failure, if it has failed
   */
  async close(error: Error): Promise<void> {
    if (this.#ended === undefined) {
      this.#ended = error
      this.#worker.postMessage('close' satisfies Call)
    }
    await this.#exited
    if (this.#failure !== undefined) throw this.#failure
  }

  #hear(reply: Reply): void {
    switch (reply.is) {
      case 'answer':
        this.#take(reply.call)?.resolve(reply.value as never)
        return
      case 'refused':
        this.#take(reply.call)?.reject(new CallRefused(reply.message))
        return
      case 'notice':
        this.#options.noticed?.(reply.notice as N)
        return
      case 'opened':
        this.#isOpen = true
        this.#opening.resolve(reply.value as O)
        return
      case 'failed':
        this.#end(reply)
    }
  }

  #take(call: number): Pending | undefined {
    const pending = this.#calls.get(call)
    this.#calls.delete(call)
    return pending
  }

  #end(end: ThreadEnd): void {
    const isClosed = this.#ended !== undefined
    // A failure is the cause of what follows from it, such as the exit.
    if (!isClosed || end.is !== 'exited') this.#failure ??= this.#options.errorOf(end)
    const error = (this.#ended ??= this.#failure!)
    for (const { reject } of this.#calls.values()) reject(error)
    this.#calls.clear()
    if (!this.#isOpen) this.#opening.reject(error)
    else if (!isClosed) this.#options.failed(error)
  }
}

export interface WorkerCallsOptions<N> {
  /** The error for calls after the end. */
  readonly errorOf: (end: ThreadEnd) => Error
  /** Called once, if the thread ends after it has opened and before it is closed. */
  readonly failed: (error: Error) => void
  readonly noticed?: (notice: N) => void
}

/** The thread's interface to the other end. */
export interface Caller<N> {
  notice(notice: N): void
  /** Does work outside of calls, such as that of a timer. If it throws, the thread ends as after a call. */
  guard(work: () => void): void
}

export interface ServedThread<M, O> {
  readonly methods: ServedMethods<M>
  /** The first message to the other end. */
  readonly opened: O
  /**
   * Called before answers are sent. If it is present, calls that arrive together are answered together, so that one
   * transaction is committed for all of them.
   */
  readonly beforeAnswers?: () => void
  close(): void
}

/** The called end: serves the methods until it is closed or fails. */
export function serveCalls<M, O = undefined, N = never>(
  port: MessagePort,
  open: (caller: Caller<N>) => ServedThread<M, O>,
): void {
  const reply = (message: Reply): void => port.postMessage(message)
  const fail = (error: unknown): void => {
    const { name, message, stack, cause } = error as Error
    reply({ is: 'failed', failure: { name, message, stack, cause } })
    port.close()
  }
  const guard = (work: () => void): void => {
    try {
      work()
    } catch (error) {
      fail(error)
    }
  }

  guard(() => {
    const served = open({ notice: (notice) => reply({ is: 'notice', notice }), guard })
    const methods = served.methods as unknown as Record<PropertyKey, (...args: readonly unknown[]) => unknown>
    const { beforeAnswers } = served
    const answers: Reply[] = []

    const answerAll = (): void => {
      beforeAnswers?.()
      for (const answer of answers.splice(0)) reply(answer)
    }
    const answer = (message: Reply): void => {
      if (beforeAnswers === undefined) return reply(message)
      if (answers.push(message) === 1) setImmediate(() => guard(answerAll))
    }
    const answerLater = async (call: number, value: Promise<unknown>): Promise<void> => {
      try {
        answer({ is: 'answer', call, value: await value })
      } catch (error) {
        if (error instanceof CallRefused) answer({ is: 'refused', call, message: error.message })
        else fail(error)
      }
    }

    port.on('message', (message: Call) =>
      guard(() => {
        if (message === 'close') {
          answerAll()
          served.close()
          port.close()
          return
        }
        const { call, method, args } = message
        const value = methods[method]!(...args)
        if (value instanceof Promise) void answerLater(call, value)
        else answer({ is: 'answer', call, value })
      }),
    )
    reply({ is: 'opened', value: served.opened })
  })
}
