import { parentPort, workerData } from 'node:worker_threads'
import { readLists } from '../src/geo/ip/listFile.ts'
import type { ListTask } from '../src/geo/ip/listThread.ts'

const lists = Object.entries(workerData as ListTask).map(([name, paths]) => [name, readLists(paths)] as const)
const buffers = lists.flatMap(([, { four, six }]) => [four.buffer, six.buffer])
parentPort!.postMessage(Object.fromEntries(lists), buffers)
