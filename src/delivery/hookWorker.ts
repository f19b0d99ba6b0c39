import type { MessagePort } from 'node:worker_threads'
import { systemClock } from '../runtime/clock.ts'
import { serveCalls } from '../runtime/workerCalls.ts'
import { HookDatabase } from './hookDatabase.ts'
import type { HookStore } from './hookLog.ts'

/** The thread's calls: all methods of the store except its end. */
export type HookThread = Omit<HookStore, 'close'>

/** Milliseconds between two checks for messages past their retention. */
const TIDY_MS = 60_000

/**
 * Serves a hook log to the thread at the other end of the port until it is closed or fails. Calls that arrive together
 * share one transaction, and are answered after it.
 */
export function serveHookLog(port: MessagePort, file: string, keepMs: number): void {
  serveCalls<HookThread>(port, ({ guard }) => {
    const database = new HookDatabase(file, keepMs)
    let tidying: NodeJS.Timeout
    const tidyAfter = (milliseconds: number): void => {
      // A thread ends when its port is closed.
      tidying = setTimeout(() => guard(tidy), milliseconds).unref()
    }
    const tidy = (): void => tidyAfter(database.tidySome(systemClock.now()) ? 1 : TIDY_MS)
    tidyAfter(0)
    return {
      opened: undefined,
      methods: database,
      beforeAnswers: () => database.commit(),
      close() {
        clearTimeout(tidying)
        database.close()
      },
    }
  })
}
