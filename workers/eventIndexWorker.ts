import { parentPort, workerData } from 'node:worker_threads'
import { serveEventDatabase } from '../src/events/eventWorker.ts'

serveEventDatabase(parentPort!, workerData as string)
