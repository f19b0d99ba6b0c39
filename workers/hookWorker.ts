import { parentPort, workerData } from 'node:worker_threads'
import { serveHookLog } from '../src/delivery/hookWorker.ts'

serveHookLog(parentPort!, workerData.file, workerData.keepMs)
