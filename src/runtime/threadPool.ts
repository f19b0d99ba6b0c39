import { availableParallelism } from 'node:os'
import { Piscina } from 'piscina'
import type { Logger } from './logger.ts'
import type { ShortFirstQueue } from './shortFirstQueue.ts'

/** A thread takes 10 to 40 MB of memory, so it ends after this long without a task. */
const IDLE_MS = 60_000

export interface ThreadPoolOptions {
  /** The entry point of the threads. */
  readonly worker: URL
  /** What the log calls one of the threads: `a geometry thread`. */
  readonly thread: string
  readonly logger: Logger | undefined
  /** How many threads there may be; one less than the processors if absent. */
  readonly threads?: number
  /** How many tasks may wait, besides those that are being done; any number if absent. */
  readonly mostWaiting?: number
  /** The order in which tasks are done; that in which they came if absent. */
  readonly queue?: ShortFirstQueue
}

/**
 * Opens a pool of threads for tasks that take too long for the event loop. They start with the first task. If a thread
 * dies, its task is rejected, and another thread takes the next ones.
 */
export function openThreadPool<Task, Answer>(options: ThreadPoolOptions): Piscina<Task, Answer> {
  const { worker, thread, logger, threads, mostWaiting = Infinity, queue } = options
  const pool = new Piscina<Task, Answer>({
    filename: worker.href,
    minThreads: 0,
    maxThreads: threads ?? Math.max(1, availableParallelism() - 1),
    maxQueue: mostWaiting,
    ...(queue !== undefined && { taskQueue: queue }),
    idleTimeout: IDLE_MS,
    recordTiming: false,
  })
  // A thread has ended by itself. Without a listener, this would end the process.
  pool.on('error', (err) => logger?.error({ err }, `${thread} failed`))
  return pool
}
