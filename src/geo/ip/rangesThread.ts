import { Worker } from 'node:worker_threads'
import { IP_RANGES_WORKER } from '../../../workers/urls.ts'
import type { AddressRanges } from './addressRanges.ts'

/** What the thread reads: lists of the operator, or the ranges of some networks. */
export type RangesTask =
  | { readonly kind: 'lists'; readonly files: readonly string[] }
  | {
      readonly kind: 'networks'
      /** A file of `@ip-location-db/asn`. */
      readonly ipv4: string
      readonly ipv6: string
      /** A file with one network per line. */
      readonly chosen: string
    }

/**
 * Reads ranges in a separate thread, which ends afterwards, because a list with a million lines takes seconds.
 * @throws Error naming a file and what is wrong with it
 */
export function rangesInThread(task: RangesTask): Promise<AddressRanges> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(IP_RANGES_WORKER, { workerData: task })
    thread.once('message', resolve)
    thread.once('error', reject)
    thread.once('exit', (code) => reject(new Error(`The thread that reads ranges ended with ${code}.`)))
  })
}
