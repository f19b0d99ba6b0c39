import type { MessagePort } from 'node:worker_threads'
import { HookDatabase } from './hookDatabase.ts'
import type { HookStore } from './hookLog.ts'
import { serveTidiedStore } from './tidiedStore.ts'

/** The thread's calls: all methods of the store except its end. */
export type HookThread = Omit<HookStore, 'close'>

/** Serves a hook log to the thread at the other end of the port until it is closed or fails. */
export function serveHookLog(port: MessagePort, file: string, keepMs: number): void {
  serveTidiedStore<HookThread>(port, () => new HookDatabase(file, keepMs))
}
