import { parentPort } from 'node:worker_threads'
import { serveSyncRows } from '../src/sync/rowsWorker.ts'

serveSyncRows(parentPort!)
