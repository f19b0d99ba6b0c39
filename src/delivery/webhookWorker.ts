import type { MessagePort } from 'node:worker_threads'
import { systemClock } from '../runtime/clock.ts'
import { serveCalls } from '../runtime/workerCalls.ts'
import { WebhookDatabase, type DeliveryRetention } from './webhookDatabase.ts'
import type { DeliveryStore } from './webhookPort.ts'

/** What is asked of the thread: all methods of the store but its end. */
export type DeliveryThread = Omit<DeliveryStore, 'close'>

/** Milliseconds between two looks at what is past its retention. */
const TIDY_MS = 60_000

/**
 * Serves a delivery database to the thread at the other end of the port until it is closed or fails. What arrives
 * together goes into one transaction, and is answered when that has ended.
 */
export function serveDeliveries(port: MessagePort, file: string, retention: DeliveryRetention): void {
  serveCalls<DeliveryThread>(port, ({ guard }) => {
    const database = new WebhookDatabase(file, retention)
    let tidying: NodeJS.Timeout
    const tidyAfter = (milliseconds: number): void => {
      // A thread whose port is closed ends.
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
