import { Worker } from 'node:worker_threads'
import { IP_LISTS_WORKER } from '../../../workers/urls.ts'
import type { AddressRanges } from './addressRanges.ts'

/** Lists of addresses to read, by the names under which their ranges are returned. */
export type ListTask = Readonly<Record<string, readonly string[]>>

/**
 * Reads lists in a thread of its own, which ends then: a list with a million lines takes seconds.
 * @throws Error naming a file and what is wrong with it
 */
export function readInThread<Task extends ListTask>(
  task: Task,
): Promise<{ readonly [Name in keyof Task]: AddressRanges }> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(IP_LISTS_WORKER, { workerData: task })
    thread.once('message', resolve)
    thread.once('error', reject)
    thread.once('exit', (code) => reject(new Error(`The thread that reads lists ended with ${code}.`)))
  })
}
