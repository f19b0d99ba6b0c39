import type { MessagePort } from 'node:worker_threads'
import { systemClock } from '../runtime/clock.ts'
import { serveCalls, type ServedMethods } from '../runtime/workerCalls.ts'

/** Milliseconds between two checks for messages past their retention. */
const TIDY_MS = 60_000

/** A database whose changes are gathered until {@link commit}, and from which old messages are removed. */
interface TidiedDatabase {
  /**
   * Removes some messages past their retention.
   * @returns whether there may be more
   */
  tidySome(now: number): boolean
  commit(): void
  close(): void
}

/**
 * Serves a database to the thread at the other end of the port until it is closed or fails. Calls that arrive together
 * share one transaction, and are answered after it. In between, old messages are removed.
 * @template M the methods that can be called
 */
export function serveTidiedStore<M>(port: MessagePort, open: () => ServedMethods<M> & TidiedDatabase): void {
  serveCalls<M>(port, ({ guard }) => {
    const database = open()
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
