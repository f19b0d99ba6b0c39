import { Worker } from 'node:worker_threads'
import { WEBHOOK_WORKER } from '../../workers/urls.ts'
import { WorkerCalls, type ThreadEnd } from '../runtime/workerCalls.ts'
import { DeliveriesUnreadable, type DeliveryRetention } from './webhookDatabase.ts'
import type { DeliveryStore } from './webhookPort.ts'
import type { DeliveryThread } from './webhookWorker.ts'

/** The thread ended or its database failed. */
export class DeliveriesFailed extends Error {
  override readonly name = 'DeliveriesFailed'
}

/**
 * Opens the deliveries: SQLite in a separate thread, whose flushes and removals delay nobody.
 * @param options.file created if absent
 * @param options.failed called once if it fails later; all calls reject then
 * @throws {DeliveriesUnreadable} {@link DeliveriesFailed}
 */
export async function openDeliveries(options: {
  readonly file: string
  readonly retention: DeliveryRetention
  readonly failed: (error: Error) => void
}): Promise<DeliveryStore> {
  const { file, retention, failed } = options
  const worker = new Worker(WEBHOOK_WORKER, { workerData: { file, retention } })
  const calls = new WorkerCalls<DeliveryThread>(worker, { errorOf: (end) => errorOf(end, file), failed })
  await calls.opened
  return {
    states: () => calls.call('states'),
    begin: (webhookId, state) => calls.call('begin', webhookId, state),
    setState: (webhookId, state) => calls.call('setState', webhookId, state),
    take: (webhookId, state, deliveries) => calls.call('take', webhookId, state, deliveries),
    save: (delivery) => calls.call('save', delivery),
    pending: (webhookId) => calls.call('pending', webhookId),
    get: (webhookId, id) => calls.call('get', webhookId, id),
    list: (webhookId, query) => calls.call('list', webhookId, query),
    remove: (webhookId) => calls.call('remove', webhookId),
    close: () => calls.close(new DeliveriesFailed('The deliveries are closed.')),
  }
}

function errorOf(end: ThreadEnd, file: string): Error {
  if (end.is === 'exited') return new DeliveriesFailed(`The thread of ${file} ended with code ${end.code}.`)
  const cause = end.is === 'failed' ? end.failure : (end.cause as Error)
  if (cause.name === 'DeliveriesUnreadable') return new DeliveriesUnreadable(file, cause.cause)
  return new DeliveriesFailed(`The deliveries in ${file} failed: ${cause.message}.`, { cause })
}
