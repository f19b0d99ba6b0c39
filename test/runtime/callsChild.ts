import { parentPort } from 'node:worker_threads'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { CallRefused, serveCalls } from '../../src/runtime/workerCalls.ts'

/** The thread of workerCalls.test.ts. */
export interface TestThread {
  add(a: number, b: number): number
  /** Answers once something was added. */
  late(value: string): Promise<string>
  refuse(reason: string): Promise<void>
  throwNow(reason: string): void
  throwLater(reason: string): Promise<void>
  throwUncaught(reason: string): void
  exit(code: number): void
  failAtClose(): void
  /** How often {@link beforeAnswers} ran. */
  rounds(): number
}

class Failed extends Error {
  override readonly name = 'Failed'
}

class Methods implements TestThread {
  // A call must reach the object that has the methods, which this private field shows.
  #rounds = 0
  failsAtClose = false
  beforeAnswers(): void {
    this.#rounds++
  }
  #added = Promise.withResolvers<void>()
  add(a: number, b: number): number {
    this.#added.resolve()
    return a + b
  }
  async late(value: string): Promise<string> {
    await this.#added.promise
    return value
  }
  async refuse(reason: string): Promise<void> {
    throw new CallRefused(reason)
  }
  throwNow(reason: string): void {
    throw new Failed(reason, { cause: new Error('below') })
  }
  async throwLater(reason: string): Promise<void> {
    await nextTurn()
    throw new Failed(reason)
  }
  throwUncaught(reason: string): void {
    setImmediate(() => {
      throw new Error(reason)
    })
  }
  exit(code: number): void {
    process.exit(code)
  }
  failAtClose(): void {
    this.failsAtClose = true
  }
  rounds(): number {
    return this.#rounds
  }
}

const [mode] = process.argv.slice(2)
serveCalls<TestThread, string, number>(parentPort!, ({ notice, guard }) => {
  if (mode === 'broken') throw new Failed('cannot open')
  const methods = new Methods()
  notice(1)
  if (mode === 'timer') setImmediate(() => guard(() => methods.throwNow('timer')))
  return {
    opened: 'here',
    methods,
    ...(mode === 'together' && { beforeAnswers: () => methods.beforeAnswers() }),
    close() {
      if (methods.failsAtClose) throw new Failed('cannot close')
    },
  }
})
