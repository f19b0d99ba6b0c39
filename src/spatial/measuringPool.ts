import type { Piscina } from 'piscina'
import { GEOMETRY_WORKER } from '../../workers/urls.ts'
import type { ShapeBatch } from '../geometry/shapeBatch.ts'
import type { Logger } from '../runtime/logger.ts'
import { openThreadPool } from '../runtime/threadPool.ts'
import type { Measurer } from './port.ts'

/**
 * How many batches may wait, besides those that are being measured. Callers measure all others themselves. A batch has
 * at most about 100 KB.
 */
const MOST_WAITING = 64

/**
 * Threads that measure shapes in memory that all threads share. They start with the first batch, and most servers
 * never have one.
 *
 * If there is no room for a batch, or its thread dies, nobody waits: the caller measures it.
 */
export class MeasuringPool implements Measurer {
  /** Counters for metrics. They only increase. */
  readonly counters = { measured: 0, refused: 0 }
  readonly #pool: Piscina<ShapeBatch, Float64Array>
  readonly #logger: Logger

  constructor(logger: Logger) {
    this.#logger = logger
    this.#pool = openThreadPool({
      worker: GEOMETRY_WORKER,
      thread: 'a geometry thread',
      logger,
      mostWaiting: MOST_WAITING,
    })
  }

  async measure(batch: ShapeBatch): Promise<Float64Array | undefined> {
    if (this.#pool.queueSize >= MOST_WAITING) {
      this.counters.refused++
      return undefined
    }
    try {
      const measures = await this.#pool.run(batch)
      this.counters.measured++
      return measures
    } catch (err) {
      this.counters.refused++
      this.#logger.warn({ err }, 'no geometry thread is available; using the main thread')
      return undefined
    }
  }

  /** Ends the threads. Batches that are being measured are abandoned. */
  close(): Promise<void> {
    return this.#pool.destroy()
  }
}
