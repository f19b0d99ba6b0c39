import { availableParallelism } from 'node:os'
import { Piscina } from 'piscina'
import { GEOMETRY_WORKER } from '../../workers/urls.ts'
import type { ShapeBatch } from '../geometry/shapeBatch.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Measurer } from './port.ts'

/** Batches that wait, beside those under way; more are measured by whoever asks. A batch is some 100 KB at most. */
const MOST_WAITING = 64
/** A thread takes some 10 MB; it ends when nobody has asked for so long. */
const IDLE_MILLISECONDS = 60_000

/**
 * Threads that measure shapes where they lie, in memory that all threads share. They start with the first batch: most
 * servers never have one.
 *
 * Where a batch finds no room, or the thread that has it dies, nobody waits for another: the asker measures it.
 */
export class MeasuringPool implements Measurer {
  /** For metrics; they only rise. */
  readonly counters = { measured: 0, refused: 0 }
  readonly #pool: Piscina<ShapeBatch, Float64Array>
  readonly #logger: Logger

  constructor(logger: Logger) {
    this.#logger = logger
    this.#pool = new Piscina({
      filename: GEOMETRY_WORKER.href,
      minThreads: 0,
      maxThreads: Math.max(1, availableParallelism() - 1),
      maxQueue: MOST_WAITING,
      idleTimeout: IDLE_MILLISECONDS,
      recordTiming: false,
    })
    // A thread that ends by itself; a batch that it had is rejected besides.
    this.#pool.on('error', (err) => logger.error({ err }, 'a geometry thread failed'))
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

  /** What is under way is given up. */
  close(): Promise<void> {
    return this.#pool.destroy()
  }
}
