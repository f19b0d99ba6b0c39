import type { MessagePort } from 'node:worker_threads'
import { systemClock } from '../runtime/clock.ts'
import { WebhookDatabase, type DeliveryRetention } from './webhookDatabase.ts'
import type { DeliveryStore } from './webhookPort.ts'

/** What is asked of the thread: a method of the store and its arguments. */
export type DeliveryRequest = {
  [M in keyof DeliveryStore]: {
    readonly call: number
    readonly method: M
    readonly args: Parameters<DeliveryStore[M]>
  }
}[keyof DeliveryStore]

export type DeliveryReply =
  | { readonly is: 'opened' }
  | { readonly is: 'answer'; readonly call: number; readonly value: unknown }
  /** The last word. */
  | { readonly is: 'failed'; readonly error: Error }

/** Milliseconds between two looks at what is past its retention. */
const TIDY_MS = 60_000

/**
 * Serves a delivery database to the thread at the other end of the port until it is closed or fails. What arrives
 * together goes into one transaction, and is answered when that has ended.
 */
export function serveDeliveries(port: MessagePort, file: string, retention: DeliveryRetention): void {
  const reply = (message: DeliveryReply): void => port.postMessage(message)
  const guard = (work: () => void): void => {
    try {
      work()
    } catch (error) {
      reply({ is: 'failed', error: error as Error })
      port.close()
    }
  }

  guard(() => {
    const database = new WebhookDatabase(file, retention)
    const answers: DeliveryReply[] = []
    let tidying: NodeJS.Timeout | undefined

    const answer = (): void => {
      database.commit()
      for (const each of answers.splice(0)) reply(each)
    }
    const tidy = (): void => {
      const more = database.tidySome(systemClock.now())
      // A thread whose port is closed ends.
      tidying = setTimeout(() => guard(tidy), more ? 1 : TIDY_MS).unref()
    }
    const serve = ({ call, method, args }: DeliveryRequest): void => {
      if (answers.length === 0) setImmediate(() => guard(answer))
      if (method !== 'close') {
        const run = database[method] as (...args: unknown[]) => unknown
        answers.push({ is: 'answer', call, value: run.apply(database, args) })
        return
      }
      answer()
      clearTimeout(tidying)
      database.close()
      reply({ is: 'answer', call, value: undefined })
      port.close()
    }

    port.on('message', (request: DeliveryRequest) => guard(() => serve(request)))
    reply({ is: 'opened' })
    tidy()
  })
}
