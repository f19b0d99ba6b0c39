import type { MessagePort } from 'node:worker_threads'
import { systemClock } from '../runtime/clock.ts'
import { serveCalls } from '../runtime/workerCalls.ts'
import { WebhookDatabase, type DeliveryRetention } from './webhookDatabase.ts'
import type { DeliveryStore } from './webhookPort.ts'

/** The thread's calls: all methods of the store except its end. */
export type DeliveryThread = Omit<DeliveryStore, 'close'>

/** Milliseconds between two checks for deliveries past their retention. */
const TIDY_MS = 60_000

/**
 * Serves a delivery database to the thread at the other end of the port until it is closed or fails. Calls that
 * arrive together share one transaction, and are answered after it.
 */
export function serveDeliveries(port: MessagePort, file: string, retention: DeliveryRetention): void {
  serveCalls<DeliveryThread>(port, ({ guard }) => {
    const database = new WebhookDatabase(file, retention)
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
