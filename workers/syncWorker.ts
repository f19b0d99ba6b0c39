import { parentPort } from 'node:worker_threads'
import { serveSyncRows } from '../src/sync/rowsWorker.ts'
import { runBehindTracking } from '../src/runtime/threadPriority.ts'

runBehindTracking()

serveSyncRows(parentPort!)
