import { Worker } from 'node:worker_threads'
import { WEBHOOK_WORKER } from '../../workers/urls.ts'
import { DeliveriesUnreadable, type DeliveryRetention } from './webhookDatabase.ts'
import type { DeliveryStore } from './webhookPort.ts'
import type { DeliveryReply, DeliveryRequest } from './webhookWorker.ts'

/** The thread ended or its database failed. */
export class DeliveriesFailed extends Error {
  override readonly name = 'DeliveriesFailed'
}

interface Pending {
  resolve(value: unknown): void
  reject(error: Error): void
}

/**
 * Opens the deliveries: SQLite in a thread of its own, whose flushes and clearing hold up nobody.
 * @param options.file created where absent
 * @param options.failed told once, when it fails later on; all calls then reject
 * @throws {DeliveriesUnreadable} {@link DeliveriesFailed}
 */
export function openDeliveries(options: {
  readonly file: string
  readonly retention: DeliveryRetention
  readonly failed: (error: Error) => void
}): Promise<DeliveryStore> {
  const { file, retention } = options
  const worker = new Worker(WEBHOOK_WORKER, { workerData: { file, retention } })
  const calls = new Map<number, Pending>()
  let lastCall = 0
  let ended: Error | undefined

  return new Promise((resolve, reject) => {
    let failed = reject
    const fail = (error: Error) => {
      const expected = ended !== undefined
      ended ??= error
      for (const call of calls.values()) call.reject(ended)
      calls.clear()
      if (!expected) failed(error)
    }
    worker.on('message', (reply: DeliveryReply) => {
      if (reply.is === 'answer') {
        calls.get(reply.call)?.resolve(reply.value)
        calls.delete(reply.call)
      } else if (reply.is === 'opened') {
        failed = options.failed
        resolve(store)
      } else {
        // A class does not cross threads, its message does.
        const { cause } = reply.error
        fail(cause === undefined ? failure(reply.error) : new DeliveriesUnreadable(file, cause))
      }
    })
    worker.on('error', (error) => fail(failure(error)))
    worker.on('exit', (code) => fail(new DeliveriesFailed(`The thread of ${file} ended with code ${code}.`)))

    const failure = (cause: unknown) =>
      new DeliveriesFailed(`The deliveries in ${file} failed: ${(cause as Error).message}.`, { cause })

    const ask = <M extends keyof DeliveryStore>(method: M, ...args: Parameters<DeliveryStore[M]>) =>
      new Promise((resolveCall, rejectCall) => {
        if (ended !== undefined) return rejectCall(ended)
        const call = ++lastCall
        calls.set(call, { resolve: resolveCall, reject: rejectCall })
        worker.postMessage({ call, method, args } as DeliveryRequest)
      }) as ReturnType<DeliveryStore[M]>

    const store: DeliveryStore = {
      states: () => ask('states'),
      begin: (webhookId, state) => ask('begin', webhookId, state),
      setState: (webhookId, state) => ask('setState', webhookId, state),
      take: (webhookId, state, deliveries) => ask('take', webhookId, state, deliveries),
      save: (delivery) => ask('save', delivery),
      pending: (webhookId) => ask('pending', webhookId),
      get: (webhookId, id) => ask('get', webhookId, id),
      list: (webhookId, query) => ask('list', webhookId, query),
      remove: (webhookId) => ask('remove', webhookId),
      close: async () => {
        const closed = ask('close')
        ended = new DeliveriesFailed('The deliveries are closed.')
        await closed
      },
    }
  })
}
