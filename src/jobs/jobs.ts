/**
 * Runs jobs.
 *
 * Owns: when a job runs, its lease, the pauses after failures, the counts of its runs. Does not own: what is due and
 * what is done, which the job itself knows.
 *
 * Invariants
 * - JOBS-1: Of one job, at most one run is in progress in a process at a time.
 * - JOBS-2: A shared job runs only while this process has its lease.
 * - JOBS-3: Stopping waits for the run in progress; none begins after it.
 */
import { failureFields } from '../runtime/errors.ts'
import type { Time } from '../runtime/clock.ts'
import type { Service } from '../runtime/lifecycle.ts'
import type { Logger } from '../runtime/logger.ts'
import { Backoff, type RetryPauses } from '../runtime/retry.ts'
import type { Job, LeaseHolder, OpenLease } from './port.ts'

const PAUSES: RetryPauses = { firstMs: 500, lastMs: 60_000 }
/** The longest time between two looks at when a job is due; it limits the effect of a machine clock that jumps. */
const MAX_SLEEP_MS = 60_000

export interface JobsParts {
  readonly time: Time
  readonly logger: Pick<Logger, 'warn'>
  readonly openLease: OpenLease
}

/** Counts since the process started. */
export interface JobCounts {
  readonly name: string
  /** How many runs ended without a failure. */
  readonly runs: number
  readonly failures: number
}

/** The jobs of a process. */
export class Jobs {
  readonly #parts: JobsParts
  readonly #runners: JobRunner[] = []

  constructor(parts: JobsParts) {
    this.#parts = parts
  }

  /** The job as a service of the process. It runs between start and stop. */
  service(job: Job): Service {
    const { time, logger, openLease } = this.#parts
    const runner = new JobRunner(job, time, (error) =>
      logger.warn({ job: job.name, ...failureFields(error) }, 'a job failed; retrying'),
    )
    this.#runners.push(runner)
    let lease: { end(): Promise<void> } | undefined
    return {
      name: job.name,
      async start() {
        if (job.isShared) lease = await openLease(job.name, runner, () => job.isAble?.() ?? true)
        else await runner.begin()
      },
      stop: () => (job.isShared ? lease?.end() : runner.end()),
    }
  }

  get counts(): readonly JobCounts[] {
    return this.#runners.map(({ counts }) => counts)
  }
}

/** Runs one job whenever it is due, between {@link begin} and {@link end}. */
class JobRunner implements LeaseHolder {
  readonly #job: Job
  readonly #time: Time
  readonly #failed: (error: Error) => void
  readonly counts: { name: string; runs: number; failures: number }
  #ended = new AbortController()
  #running: Promise<void> = Promise.resolve()
  #wake = () => {}

  constructor(job: Job, time: Time, failed: (error: Error) => void) {
    this.#job = job
    this.#time = time
    this.#failed = failed
    this.counts = { name: job.name, runs: 0, failures: 0 }
  }

  async begin(): Promise<void> {
    this.#ended = new AbortController()
    this.#running = this.#runUntil(this.#ended.signal)
  }

  async end(): Promise<void> {
    this.#ended.abort()
    await this.#running
  }

  async #runUntil(signal: AbortSignal): Promise<void> {
    const job = this.#job
    const backoff = new Backoff(PAUSES)
    const forget = job.begin?.(() => this.#wake())
    let lastEnd: number | undefined
    while (!signal.aborted) {
      const now = this.#time.now()
      // A clock that was set back must not delay the next run by as much.
      if (lastEnd !== undefined) lastEnd = Math.min(lastEnd, now)
      const waitMs = job.dueAt(lastEnd) - now
      if (waitMs > 0) {
        await this.#sleep(Math.min(waitMs, MAX_SLEEP_MS), signal, true)
        continue
      }
      try {
        await job.run(signal)
        this.counts.runs++
        lastEnd = this.#time.now()
        backoff.reset()
        // Work that resolves at once must not keep requests waiting, however many runs are due.
        await this.#sleep(0, signal, false)
      } catch (error) {
        if (signal.aborted) break
        this.counts.failures++
        this.#failed(error as Error)
        await this.#sleep(backoff.next(), signal, false)
      }
    }
    forget?.()
  }

  /** Resolves after this time, at the signal, or when the job is woken because it may be due earlier. */
  #sleep(milliseconds: number, signal: AbortSignal, isWakeable: boolean): Promise<void> {
    if (signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const woken = (): void => {
        cancel()
        signal.removeEventListener('abort', woken)
        this.#wake = () => {}
        resolve()
      }
      const cancel = this.#time.after(milliseconds, woken)
      signal.addEventListener('abort', woken)
      if (isWakeable) this.#wake = woken
    })
  }
}
