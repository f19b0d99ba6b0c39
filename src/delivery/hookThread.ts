import { Worker } from 'node:worker_threads'
import { HOOK_WORKER } from '../../workers/urls.ts'
import { WorkerCalls, type ThreadEnd } from '../runtime/workerCalls.ts'
import type { HookStore } from './hookLog.ts'
import type { HookThread } from './hookWorker.ts'

/** The thread has ended, or its database failed or cannot be used. */
export class HookLogFailed extends Error {
  override readonly name = 'HookLogFailed'
}

/**
 * Opens a hook log: SQLite in a separate thread, whose flushes delay nobody.
 * @param options.file created if absent
 * @param options.keepMs how long messages are kept that cannot be delivered
 * @param options.failed called once if it fails later; all calls reject then
 * @throws {HookLogFailed}
 */
export async function openHookStore(options: {
  readonly file: string
  readonly keepMs: number
  readonly failed: (error: Error) => void
}): Promise<HookStore> {
  const { file, keepMs, failed } = options
  const worker = new Worker(HOOK_WORKER, { workerData: { file, keepMs } })
  const calls = new WorkerCalls<HookThread>(worker, { errorOf: (end) => errorOf(end, file), failed })
  await calls.opened
  return {
    ends: () => calls.call('ends'),
    stays: (hookId) => calls.call('stays', hookId),
    begin: (hookId, known) => calls.call('begin', hookId, known),
    append: (entries) => calls.call('append', entries),
    read: (hookId, after, limit) => calls.call('read', hookId, after, limit),
    get: (id) => calls.call('get', id),
    remove: (ids) => calls.call('remove', ids),
    forget: (hookId, whole) => calls.call('forget', hookId, whole),
    close: () => calls.close(new HookLogFailed('The messages of hooks are closed.')),
  }
}

function errorOf(end: ThreadEnd, file: string): Error {
  if (end.is === 'exited') return new HookLogFailed(`The thread of ${file} ended with code ${end.code}.`)
  const cause = end.is === 'failed' ? end.failure : (end.cause as Error)
  return new HookLogFailed(
    `${file} failed: ${cause.message}. If you move the file away, hooks of areas and roaming begin anew.`,
    { cause },
  )
}
