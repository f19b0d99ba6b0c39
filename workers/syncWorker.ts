import { parentPort } from 'node:worker_threads'
import { serveSyncRows } from '../src/sync/rowsWorker.ts'
import { lowerPriority } from '../src/runtime/threadPriority.ts'

lowerPriority()

serveSyncRows(parentPort!)
