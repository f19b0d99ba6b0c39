import { Worker } from 'node:worker_threads'
import { SYNC_WORKER } from '../../workers/urls.ts'
import { WorkerCalls, type ThreadEnd } from '../runtime/workerCalls.ts'
import type { SourceRows } from './rowsPort.ts'
import type { SyncRowsThread } from './rowsWorker.ts'

/** The limit of the thread's heap, which is more than a million rows need. */
const MAX_HEAP_BYTES = 400 * 1024 * 1024

/** The thread that reads rows has ended. */
export class RowsFailed extends Error {
  override readonly name = 'RowsFailed'
}

/** Starts a thread that reads the rows of one run. */
export async function openSourceRows(): Promise<SourceRows> {
  const worker = new Worker(SYNC_WORKER, {
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_BYTES / (1024 * 1024) },
  })
  const calls = new WorkerCalls<SyncRowsThread>(worker, { errorOf, failed: () => {} })
  await calls.opened
  return {
    survey: (files) => calls.call('survey', files),
    next: () => calls.call('next'),
    named: (pairs) => calls.call('named', pairs),
    close: async () => void (await worker.terminate()),
  }
}

function errorOf(end: ThreadEnd): Error {
  if (end.is === 'exited') return new RowsFailed(`The thread that reads rows ended with code ${end.code}.`)
  const cause = end.is === 'failed' ? end.failure : (end.cause as Error)
  return new RowsFailed(`The rows cannot be read: ${cause.message}.`, { cause })
}
