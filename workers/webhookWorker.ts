import { parentPort, workerData } from 'node:worker_threads'
import { serveDeliveries } from '../src/delivery/webhookWorker.ts'

serveDeliveries(parentPort!, workerData.file, workerData.retention)
