import type { MessagePort } from 'node:worker_threads'
import { serveTidiedStore } from './tidiedStore.ts'
import { WebhookDatabase, type DeliveryRetention } from './webhookDatabase.ts'
import type { DeliveryStore } from './webhookPort.ts'

/** The thread's calls: all methods of the store except its end. */
export type DeliveryThread = Omit<DeliveryStore, 'close'>

/** Serves a delivery database to the thread at the other end of the port until it is closed or fails. */
export function serveDeliveries(port: MessagePort, file: string, retention: DeliveryRetention): void {
  serveTidiedStore<DeliveryThread>(port, () => new WebhookDatabase(file, retention))
}
